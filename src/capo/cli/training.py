"""``capo fit`` and ``capo refit``: train a model and write it to a file."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..exceptions import InvalidInputError
from . import options
from .console import Console, check_model_output

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier
    from ..io.formats import TableReader
    from ..io.parts import TablePart
    from .training_data import TrainingPlan, TrainingTable

#: About as many parts are tried to learn the types of the columns, until one has rows of both classes.
N_TRIED_PARTS = 8
#: Copies of the table that training makes: as read, as numbers, and as features of the auxiliaries.
N_TABLE_COPIES = 8
#: Bytes for each row that the forests of all folds take, if there are any.
FOREST_BYTES_PER_ROW = 15_000
FORESTS = frozenset({"trees", "full_trees", "rf", "auto"})
#: Smaller files are read at once.
MIN_CHECKED_BYTES = 2**25


@options.command("Train a model and print its out-of-fold scores.")
def fit(
    *,
    table: options.TableOptions,
    output: options.ModelOutput,
    training: options.TrainingOptions,
    folds: Annotated[
        int | None,
        options.model_option(
            "--folds NUMBER",
            "Folds for cross-fitting the auxiliaries and choosing C.",
            min=2,
            show_default="5",
        ),
    ] = None,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    out_of_core: Annotated[
        str,
        options.reading_option(
            "--out-of-core WHEN",
            "Read the table in parts, without a cluster: auto, if the training needs more memory than "
            "there is; yes or no.",
        ),
    ] = "auto",
    sample_size: Annotated[
        int,
        options.reading_option(
            "--sample-size NUMBER",
            "Rows that the auxiliaries are trained on if the table is read in parts.",
            min=20,
        ),
    ] = 100_000,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model for a measure and print its out-of-fold scores.

    \b
    Columns may hold numbers or text and may have missing values. The target has two classes, more
    classes, or several labels per row; 'capo measures' lists the measures of each.
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo fit train.parquet -t y -m fbeta --measure-arg beta=2 --positive yes --id customer -o m.capo
      capo fit train.csv -t y -m recall_at_precision --measure-arg floor=0.9 -a lgbm,rf,linear -o m.capo
      capo fit train.csv -t y -m '10*tp - 2*fp - 5*fn' -o profit.capo
      capo fit train.csv -t species -m f1_macro -o species.capo
      capo fit train.csv -t sports,politics,arts -m f1_samples -o topics.capo
      capo fit train.csv -t tags --label-separator ';' -m f1_micro -o tags.capo
      capo fit train.csv -t fraud --cost-fn amount --cost-fp 5 -o fraud.capo
      zcat big.csv.gz | capo fit - -t y -o m.capo
      capo fit 'part-*.parquet' -t y --cluster tcp://scheduler:8786 -o m.capo
      capo fit larger-than-memory.csv -t y --out-of-core yes -o m.capo
    """
    from .training_data import TrainingPlan

    console = Console(quiet, json, training.strict)
    reader = table.open()
    plan = TrainingPlan(training, folds)
    check_model_output(output, *reader.paths, *plan.files)
    if _needs_parts(reader, plan, cluster, out_of_core, sample_size, console):
        model, n_rows, summary, data = _fit_in_parts(
            reader, plan, cluster, partition_rows, sample_size, console
        )
    else:
        data = plan.read(reader, console)
        _note_few_groups(data, folds, console)
        with console.step("training"):
            groups = {} if data.groups is None else {"groups": data.groups}
            data.model.fit(data.X, data.y, sample_weight=data.sample_weight, **data.prices, **groups)
        model, n_rows = data.model.set_params(verbose=0), len(data.y)
        summary = model.summary()
    record = _training_record(reader, n_rows, data.X)
    if data.prices:
        record["prices"] = data.price_columns.sources
    _write(model, summary, output, data.schema.to_dict(), record, console)


def _training_record(table: TableReader, n_rows: int, X: Any) -> dict[str, Any]:
    from ..io.table_schema import profile_columns
    from .inputs import table_sha256

    record = {"table": table.name, "rows": n_rows, "sha256": table_sha256(table)}
    return {**record, "columns": profile_columns(X)}


def _write(
    model: CAPOClassifier,
    summary: Any,
    output: Path,
    schema: dict[str, Any],
    training: dict[str, Any],
    console: Console,
) -> None:
    """Write a model with its schema and the record of its training, and show its summary."""
    from .inputs import save_model
    from .rows import fit_results

    save_model(model, output, schema, training, console)
    console.result(
        summary,
        {
            "model": str(output),
            "measure": model.measure_.label,
            "classes": model.classes_.tolist(),
            "value": model.score_,
            "std": model.score_std_,
            "gap": model.gap_,
            "out_of_fold": [
                {"name": line.name, "value": line.value, "std": line.std} for line in summary.lines
            ],
            "seconds": model.timings_,
            **fit_results(model),
        },
    )


def _note_few_groups(data: TrainingTable, folds: int | None, console: Console) -> None:
    """Log a note if a class has rows in fewer groups than there are folds."""
    import numpy as np

    from ..learning.folds import DEFAULT_N_FOLDS, TimeFolds

    if data.groups is None or data.target_type == "multilabel" or isinstance(data.model.cv, TimeFolds):
        return
    n_groups = min(len(np.unique(data.groups[data.y == label])) for label in np.unique(data.y))
    n_folds = folds or DEFAULT_N_FOLDS
    if n_groups < n_folds:
        console.note(
            f"One class has rows in {n_groups} groups only: {n_groups} folds are used, not {n_folds}."
        )


def _needs_parts(
    table: TableReader,
    plan: TrainingPlan,
    cluster: str | None,
    out_of_core: str,
    sample_size: int,
    console: Console,
) -> bool:
    """Whether the table is read in parts: on a cluster, on demand, or because of its size, with a note."""
    options = {
        "--weight": plan.roles.weight,
        "--group": plan.roles.group,
        "--time": plan.roles.time,
        "--label-separator": plan.options.label_separator,
        "--cost-fp, --cost-fn and --benefit-tp": plan.prices,
    }
    conflict = next((name for name, value in options.items() if value), "")
    if out_of_core not in ("auto", "yes", "no"):
        raise InvalidInputError(f"--out-of-core must be auto, yes or no: got {out_of_core!r}.")
    if cluster is not None or out_of_core == "yes":
        if conflict:
            requested = "--out-of-core" if cluster is None else "--cluster"
            raise InvalidInputError(f"{requested} cannot be combined with {conflict}.")
        return True
    shortage = "" if out_of_core == "no" else _describe_shortage(table, plan.model.auxiliaries)
    if shortage and conflict:
        console.note(f"{shortage} It cannot be read in parts because of {conflict}.")
    elif shortage:
        console.note(
            f"{shortage} It is read in parts, and the auxiliaries are trained on a sample of {sample_size:,} "
            "rows. Use --out-of-core no to read it at once."
        )
    return bool(shortage) and not conflict


def _describe_shortage(table: TableReader, auxiliaries: str | list[str]) -> str:
    """A sentence about the memory if training on the whole table needs more than there is; otherwise ""."""
    from ..io.parts import estimate_size

    files = [Path(path) for path in table.paths]
    if find_spec("distributed") is None or not all(file.is_file() for file in files):
        return ""
    is_large = sum(file.stat().st_size for file in files) >= MIN_CHECKED_BYTES
    size = estimate_size(table) if is_large else None
    if size is None:
        return ""
    names = {auxiliaries} if isinstance(auxiliaries, str) else set(auxiliaries)
    per_row = FOREST_BYTES_PER_ROW if names & FORESTS else 0
    needed, available = N_TABLE_COPIES * size.n_bytes + per_row * size.n_rows, available_memory()
    if needed <= available:
        return ""
    return (
        f"Training on the whole table needs about {needed / 1e9:.1f} GB of memory, and {available / 1e9:.1f} "
        "GB are available."
    )


def available_memory() -> int:
    """Bytes of memory that this process can get without swapping."""
    import psutil  # comes with distributed
    from distributed.system import MEMORY_LIMIT

    return int(min(psutil.virtual_memory().available, MEMORY_LIMIT))


def _fit_in_parts(
    table: TableReader,
    plan: TrainingPlan,
    cluster: str | None,
    partition_rows: int | None,
    sample_size: int,
    console: Console,
) -> tuple[CAPOClassifier, int, Any, TrainingTable]:
    """The model of all rows, their number, its summary, and the rows that the types of columns are from."""
    from ..dask import DaskCAPOClassifier
    from .inputs import divide, read_parts

    parts = divide(table, partition_rows, console)
    data = _read_first_part(parts, plan, console)
    if data.target_type != "binary":
        raise InvalidInputError(
            "a table that is read in parts must have a target of two classes: leave out --cluster, or use "
            "--out-of-core no."
        )
    params = data.model.get_params(deep=False)
    del params["memory"]
    model = DaskCAPOClassifier(**{**params, "verbose": 0}, sample_size=sample_size)
    place = "training in parts" if cluster is None else f"training on {cluster}"
    with _open_scheduler(cluster, data.model.n_jobs or 1, console) as client, console.step(place):
        model.set_params(client=client).fit(*read_parts(parts, data.schema))
    model.client = None
    return model.to_local(), model.n_rows_, model.summary(), data


def _read_first_part(parts: Sequence[TablePart], plan: TrainingPlan, console: Console) -> TrainingTable:
    """The rows of the first part that has rows of both classes, of some from all over the table."""
    from ..io.source import NoRowsError
    from .training_data import OneClassError

    error: InvalidInputError = NoRowsError("none of the files has rows.")
    for part in parts[:: max(1, len(parts) // N_TRIED_PARTS)]:
        if len(parts) > 1:
            console.log(f"learning the columns from {part.name}, one of {len(parts):,} parts")
        try:
            return plan.read(part, console)
        except (NoRowsError, OneClassError) as found:
            error = found
    raise error


@contextmanager
def _open_scheduler(cluster: str | None, n_jobs: int, console: Console) -> Iterator[Any]:
    """A client of the cluster; without one, None and Dask's scheduler in this process, with some threads."""
    from .inputs import connect

    if cluster is not None:
        with connect(cluster, console) as client:
            yield client
        return
    import dask

    n_threads = n_jobs if n_jobs > 0 else os.cpu_count() or 1
    with dask.config.set(scheduler="synchronous" if n_threads == 1 else "threads", num_workers=n_threads):
        yield None


@options.command("Refit a model on a few rows from a new place.")
def refit(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    output: options.ModelOutput,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Refit a model on 50 to some thousand labeled rows from where it is to be used.

    \b
    MODEL was trained elsewhere: in another country, shop, year or machine. TABLE has labeled rows from the
    new place, with the same columns, which MODEL has not seen. The result combines MODEL, as it is, with
    models trained on the new rows; calibration and threshold are those of the new place. If there are no
    labels, and only the share of positives has changed, use 'capo adjust'.
      capo refit north.capo south.csv -o south.capo
      capo evaluate south.capo south_test.csv
    """
    from ..learning.folds import DEFAULT_N_FOLDS, TimeFolds
    from .inputs import EARLIER_TABLES, check_rows_are_new, training_checksums
    from .rows import price_columns

    console = Console(quiet, json)
    reader = table.open()
    check_model_output(output, *reader.paths, model_file.path)
    loaded = model_file.load(console)
    check_rows_are_new(loaded.manifest, reader, "a refit")
    with console.step(f"reading {reader.name}"):
        batch, schema = reader.read(), loaded.schema
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups = schema.groups(batch)
        params: dict[str, Any] = {} if groups is None else {"groups": groups}
        record = _training_record(reader, len(y), X)
        record[EARLIER_TABLES] = training_checksums(loaded.manifest)
        if loaded.model.prices_ is not None:
            columns = price_columns(loaded)
            params |= columns.read(batch, schema)
            record["prices"] = columns.sources
    old = loaded.model.set_params(n_jobs=jobs or None, random_state=seed, verbose=2)
    if isinstance(old.cv, TimeFolds):
        console.note("The model was trained with --time: the folds of the refit are random.")
        old.set_params(cv=DEFAULT_N_FOLDS)
    with console.step("training"):
        model = old.refit_on(X, y, weight, **params).set_params(verbose=0)
    if old.guarantee_ is not None and model.guarantee_ is None:
        console.note(
            "The guarantee of the old model does not hold for the refitted one: use 'capo guarantee' with "
            "other labeled rows."
        )
    _write(model, model.summary(), output, loaded.manifest.schema, record, console)
