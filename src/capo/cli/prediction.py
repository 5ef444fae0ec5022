"""``capo predict``, ``adjust`` and ``guarantee``: a model on new rows."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

import gzip
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar, cast

from ..exceptions import InvalidInputError
from . import options
from .console import (
    Console,
    Step,
    check_file_ending,
    check_model_output,
    check_output,
    format_file_size,
    is_stdout,
    open_output,
)

if TYPE_CHECKING:
    import polars as pl

    from .._compat import FloatArray
    from ..decisions import PrevalenceEstimate
    from ..io.parts import TablePart
    from ..io.source import Batch
    from ..io.table_schema import Schema
    from .inputs import LoadedModel

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The separator of values for each ending of a text file; None for JSON lines.
SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t", ".jsonl": None, ".ndjson": None}
PARQUET = (".parquet", ".pq")
#: Rows of a Parquet file that are kept in memory.
MAX_KEPT_ROWS = 500_000
#: Scores that are kept; of more rows, every second, fourth, ... is kept.
MAX_KEPT_SCORES = 100_000
#: Columns that a line about differences names.
MAX_NAMED_COLUMNS = 5
#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10
#: Parts under way for each thread of the workers, so that none of them waits for the next part.
N_PARTS_AHEAD = 2


@options.command("Predict a label and a probability for each row.")
def predict(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    output: Annotated[
        Path | None,
        options.output_option(
            "--output -o FILE",
            "CSV, TSV or JSON lines file, also .gz, or Parquet file to write; by default CSV to "
            "standard output.",
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        options.column_option(
            "--id COLUMN",
            "Column to copy to the predictions; by default those named in training; repeatable.",
        ),
    ] = None,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    json: Annotated[
        bool,
        options.output_option(
            "--json",
            "Print how the rows differ from the training rows as JSON; needs --output.",
        ),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict a label and a probability for each row of a table.

    \b
    The table is read in batches, so that it can be of any length. Columns may be in any order, and
    additional ones are ignored. A category that did not occur in training counts as a missing value.
    Messages tell how the rows differ from the training rows: the estimated share of positives, categories
    and missing values that were not in training.
    With more than two classes there is one probability for each class, with several labels per row one for
    each label.
    A model with prices of each row reads their columns here too: the predictions have the threshold of each
    row, and what calling it positive is worth in expectation. Without the columns, one threshold is used,
    if they were dropped in training and are no features.
      capo predict churn.capo new.csv -o predictions.csv
      capo predict churn.capo new.csv --id customer | head
      capo predict churn.capo 'new-*.parquet' --cluster local:4 -o predictions.parquet
    """
    from .inputs import divide, read_batches

    console = Console(quiet, json)
    reader = table.open()
    content = "predictions are written to .csv, .tsv or .jsonl files, also with .gz, or to .parquet files"
    endings = [*SEPARATORS, *(f"{ending}.gz" for ending in SEPARATORS), *PARQUET]
    check_file_ending(output, endings, content)
    check_output(output, *reader.paths, model_file.path)
    loaded = model_file.load(console)
    schema = loaded.schema if ids is None else loaded.schema.with_ids(ids)
    function = partial(predict_rows, loaded, schema)
    if json and is_stdout(output):
        raise InvalidInputError(
            "--json prints the drift report, so that the predictions need a file: name one with --output."
        )
    drift = Drift(loaded)
    parts = () if cluster is None else divide(reader, partition_rows, console)
    with (
        console.step("predicting") as step,
        open_output(output) as stream,
        open_writer(stream, output) as writer,
    ):
        batches = read_batches(reader, step)
        first = next(batches)
        check_prediction(loaded, schema, first, ids or (), console)
        if cluster is None:
            rows = map_in_threads(function, chain([first], batches))
        else:
            rows = _predict_parts(function, parts, cluster, step, console)
        with closing(rows):
            for predicted in rows:
                drift.observe(predicted)
                writer.write(predicted.frame)
    if quiet and not json:
        return
    with console.step("comparing with the training rows"):
        drift.estimate_prevalence()
    for line in drift.lines():
        console.log(f"new rows: {line}")
    if json:
        console.result("", drift.to_dict())


class TextWriter:
    """Writes batches of predictions as CSV, TSV or JSON lines."""

    def __init__(self, file: BinaryIO, separator: str | None) -> None:
        self.file, self.separator, self.include_header = file, separator, True

    def write(self, batch: pl.DataFrame) -> None:
        """Write a batch."""
        if self.separator is None:
            text = batch.write_ndjson()
        else:
            text = batch.write_csv(separator=self.separator, include_header=self.include_header)
        self.include_header = False
        self.file.write(text.encode())


class ParquetWriter:
    """Keeps the predictions, since the types of a file must be known before its first row.

    Many rows are kept in temporary files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.batches: list[pl.DataFrame] = []
        self.files: list[Path] = []

    def write(self, batch: pl.DataFrame) -> None:
        """Keep a batch."""
        import polars as pl

        self.batches.append(batch)
        if sum(each.height for each in self.batches) >= MAX_KEPT_ROWS:
            self.files.append(self.folder / f"{len(self.files)}.arrow")
            pl.concat(self.batches, how="vertical_relaxed").write_ipc(self.files[-1])
            self.batches = []

    def write_file(self, file: BinaryIO) -> None:
        """Write the Parquet file."""
        import polars as pl

        frames = [pl.scan_ipc(path) for path in self.files] + [batch.lazy() for batch in self.batches]
        pl.concat(frames, how="vertical_relaxed").sink_parquet(file)


@contextmanager
def open_writer(file: BinaryIO, output: Path | None) -> Iterator[TextWriter | ParquetWriter]:
    """A writer in the format that the name of the output asks for, compressed if it ends in .gz."""
    name = output.name.lower() if output else ""
    if name.endswith(PARQUET):
        with TemporaryDirectory(prefix="capo-") as folder:
            writer = ParquetWriter(Path(folder))
            yield writer
            writer.write_file(file)
        return
    separator = SEPARATORS.get(Path(name.removesuffix(".gz")).suffix, ",")
    if not name.endswith(".gz"):
        yield TextWriter(file, separator)
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as compressed:
        yield TextWriter(cast(BinaryIO, compressed), separator)


@dataclass(frozen=True)
class PredictedRows:
    """The predictions for some rows, and how these differ from the training rows.

    Attributes
    ----------
    frame : polars.DataFrame
        The predictions.
    unseen, missing : Counter of str
        For each column, the rows with a new category, and those that miss a value that no training row did.
    decision : ndarray, optional
        The scores of a model of two classes.
    """

    frame: pl.DataFrame
    unseen: Counter[str]
    missing: Counter[str]
    decision: FloatArray | None


def check_prediction(
    loaded: LoadedModel, schema: Schema, batch: Batch, ids: Sequence[str], console: Console
) -> None:
    """Check the identifiers, and show what a user should know about the predictions."""
    from ..io.table_schema import require_column
    from .rows import missing_price_notes, prediction_columns

    columns = prediction_columns(loaded)
    for name in ids:
        require_column(name, batch.frame.columns, "identifier")
    for name in schema.id_columns(batch).columns:
        if name in columns:
            raise InvalidInputError(
                f"the identifier {name!r} has the name of a column of the predictions "
                f"({', '.join(columns[:MAX_LISTED_COLUMNS])}): rename it in the table."
            )
    for note in missing_price_notes(loaded, batch):
        console.note(note)


def predict_rows(loaded: LoadedModel, schema: Schema, batch: Batch) -> PredictedRows:
    """Predict a batch."""
    import polars as pl

    from ..io.table_schema import read_profiles
    from .rows import predict_batch

    features = schema.features(batch)
    predictions, scores = predict_batch(loaded, batch, features)
    series = [*schema.id_columns(batch), *predictions]
    unseen, missing = Counter[str](), Counter[str]()
    if isinstance(features, pl.DataFrame):
        for each in read_profiles(loaded.manifest.training.get("columns")):
            unseen[each.name] = each.count_unseen(features[each.name])
            missing[each.name] = each.count_newly_missing(features[each.name])
    return PredictedRows(pl.DataFrame(series), unseen, missing, scores)


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int | None = None
) -> Generator[Result]:
    """Yield the result for each item in their order, computed by as many threads as there are cores.

    At most one item more than there are threads is taken ahead, so that memory stays bounded. The error of an
    item is raised in its place.
    """
    from concurrent.futures import Future, ThreadPoolExecutor

    from joblib import cpu_count
    from threadpoolctl import threadpool_limits

    n_threads = n_threads or cpu_count()
    if n_threads == 1:
        yield from map(function, items)
        return
    # Loops and products inside a thread start no threads of their own: the limit of OpenMP is that of each
    # thread, the limit of BLAS that of all.
    pool = ThreadPoolExecutor(n_threads, initializer=threadpool_limits, initargs=(1, "openmp"))
    pending: deque[Future[Result]] = deque()
    with threadpool_limits(1, "blas"):
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _predict_parts(
    function: Callable[[Batch], PredictedRows],
    parts: Sequence[TablePart],
    cluster: str,
    step: Step,
    console: Console,
) -> Generator[PredictedRows]:
    """The predictions of the workers of a cluster, in the order of the rows.

    A part is started when the results of earlier ones have been used, so that only a few are in memory.
    """
    from dask.delayed import delayed

    from .inputs import connect

    n_rows, pending, waiting = 0, deque[Any](), deque(parts)
    with connect(cluster, console) as client:
        # A task that returns it, unlike scattered data, is repeated if its worker is lost.
        shared = client.compute(delayed(function, traverse=False))
        n_ahead = N_PARTS_AHEAD * max(sum(client.nthreads().values()), 1)
        while pending or waiting:
            while waiting and len(pending) < n_ahead:
                pending.append(client.submit(_predict_part, waiting.popleft(), shared, pure=False))
            for predicted in pending.popleft().result():
                n_rows += predicted.frame.height
                yield predicted
            step.progress(f"{n_rows:,} rows")


def _predict_part(part: TablePart, function: Callable[[Batch], PredictedRows]) -> list[PredictedRows]:
    """The predictions for a part, in batches; none if it has no rows."""
    from .inputs import BATCH_SIZE, apply_to_part

    return apply_to_part(part, lambda rows: list(map(function, rows.split(BATCH_SIZE))), [])


class Drift:
    """How new rows differ from the training rows, collected batch by batch in constant memory.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self.model = loaded.model
        self.unseen: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.n_rows = 0
        self.prevalence: PrevalenceEstimate | None = None
        self.is_label_shift = True
        population = self.model.population_
        is_adjusted = population is not None and population.log_odds_shift != 0
        #: The share of positives that the model was adjusted to.
        self.adjusted_to = population.prevalence if population is not None and is_adjusted else None
        self._scores: list[FloatArray] = []
        self._step = 1

    def observe(self, rows: PredictedRows) -> None:
        """Take the next rows into account."""
        import numpy as np

        self.unseen.update(rows.unseen)
        self.missing.update(rows.missing)
        first = -self.n_rows % self._step
        self.n_rows += rows.frame.height
        if rows.decision is None:
            return
        self._scores.append(rows.decision[first :: self._step])
        if sum(map(len, self._scores)) > MAX_KEPT_SCORES:
            self._scores = [np.concatenate(self._scores)[::2]]
            self._step *= 2

    def estimate_prevalence(self) -> None:
        """Estimate the share of positives, and whether more than it has changed, for two classes."""
        import numpy as np

        from ..decisions import MAX_MIXTURE_DISTANCE, estimate_prevalence, sampling_error
        from ..estimators import class_scores, current_shift

        if self._scores:
            log_odds = np.concatenate(self._scores) + self.model.decision_.log_odds
            found = estimate_prevalence(log_odds - current_shift(self.model), class_scores(self.model))
            self.is_label_shift = found.distance <= MAX_MIXTURE_DISTANCE + sampling_error(found.n_rows)
            self.prevalence = found

    def lines(self) -> list[str]:
        """One line for the prevalence, and one for each difference."""
        lines = [] if self.prevalence is None else [self._describe_prevalence(self.prevalence)]
        if +self.unseen:
            lines.append(f"categories that were not in training: {_list_counts(self.unseen)}")
        if +self.missing:
            lines.append(f"missing values in columns that had none: {_list_counts(self.missing)}")
        return lines

    def _describe_prevalence(self, found: PrevalenceEstimate) -> str:
        guarantee = self.model.guarantee_
        is_at_risk = guarantee is not None and guarantee.is_certified
        if not self.is_label_shift:
            risk = ", so that the guarantee may not hold" if is_at_risk else ""
            return (
                f"the scores differ from those in training by more than the share of positives (distance "
                f"{found.distance:.3f}){risk}: label some of these rows, and see 'capo evaluate'"
            )
        advice = ""
        if self._is_changed(found) and is_at_risk:
            advice = "; the guarantee may not hold: 'capo guarantee' with labeled rows like these renews it"
        elif self._is_changed(found) and guarantee is None:
            advice = "; 'capo adjust' adapts the model to it"
        adjusted = "" if self.adjusted_to is None else f", {self.adjusted_to:.2%} in the model's population"
        return (
            f"{found.value:.2%} positive as estimated (95% interval {found.low:.2%} to {found.high:.2%}), "
            f"{found.trained:.2%} in training{adjusted}{advice}"
        )

    def _is_changed(self, found: PrevalenceEstimate) -> bool:
        """Whether the interval excludes the share of positives that the model is for."""
        share = found.trained if self.adjusted_to is None else self.adjusted_to
        return not found.low <= share <= found.high

    def to_dict(self) -> dict[str, Any]:
        """The differences as plain values."""
        data: dict[str, Any] = {"rows": self.n_rows}
        if (found := self.prevalence) is not None:
            data |= {
                "prevalence": {"value": found.value, "low": found.low, "high": found.high},
                "trained_prevalence": found.trained,
                "adjusted_prevalence": self.adjusted_to,
                "prevalence_changed": self._is_changed(found),
                "mixture_distance": found.distance,
                "is_label_shift": self.is_label_shift,
            }
        return {**data, "unseen_categories": +self.unseen, "newly_missing": +self.missing}


def _list_counts(counts: Counter[str]) -> str:
    named = (+counts).most_common()
    shown = ", ".join(f"{name!r} ({count:,} rows)" for name, count in named[:MAX_NAMED_COLUMNS])
    more = len(named) - MAX_NAMED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown


@options.command("Adjust a model to another share of positives.")
def adjust(
    *,
    model_file: options.ModelOptions,
    table: options.UnlabeledTableOptions,
    output: options.ModelOutput,
    prevalence: Annotated[
        float | None,
        options.model_option(
            "--prevalence SHARE", "Share of positives in the new population, if it is known."
        ),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Adjust a model to a population with another share of positives than its training table.

    \b
    The share of positives is estimated from unlabeled rows, with an interval; probabilities and threshold
    are adjusted to it. If more than the share of positives has changed, the model is not adjusted.
      capo adjust churn.capo new.csv -o new.capo
      capo adjust churn.capo --prevalence 0.02 -o rare.capo
    """
    from ..io.model_file import save

    console, reader, X = Console(quiet, json), None, None
    if table.table:
        reader = table.open()
    elif prevalence is None:
        raise InvalidInputError("name a table with rows of the new population, or pass --prevalence.")
    check_model_output(output, *([] if reader is None else reader.paths), model_file.path)
    loaded = model_file.load(console)
    if reader is not None:
        with console.step(f"reading {reader.name}"):
            X = loaded.schema.features(reader.read())
    with console.step("adjusting"):
        model = loaded.model.for_population(X, prevalence=prevalence, random_state=seed)
    with console.step("writing"):
        save(model, output, schema=loaded.manifest.schema, training=loaded.manifest.training)
    before, after, population = loaded.model.threshold_, model.threshold_, model.population_
    assert population is not None
    threshold = f"positive above a probability of {after:.4g}, before {before:.4g}"
    console.result(
        f"population   {population}\nthreshold    {threshold}",
        {"model": str(output), **population.to_dict(), "threshold": after, "threshold_before": before},
    )
    console.log(f"\nwrote {output} ({format_file_size(output)})")


@options.command("Choose a threshold that keeps a constraint on new rows.")
def guarantee(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    output: Annotated[Path | None, options.output_option("--output -o FILE", "Model file to write.")] = None,
    constraint: Annotated[
        str | None,
        options.model_option(
            "--constraint LIMIT",
            "Constraint such as 'precision >= 0.9', on precision, fdr, npv, recall, fnr, specificity, "
            "fpr or positive_rate; by default that of the model's measure.",
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        options.model_option(
            "--confidence NUMBER",
            "Probability with which the constraint must hold; by default that of the measure, or 0.95.",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        options.model_option(
            "--objective MEASURE",
            "Measure to maximize among the thresholds that pass; by default recall for a precision or fpr.",
        ),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose a threshold that keeps a constraint on new rows with a stated confidence.

    \b
    TABLE holds labeled calibration rows that the model was not trained on. If no threshold passes the exact
    test, no row is predicted positive, and the message says how many rows would be needed.
      capo guarantee alarm.capo calibration.csv --constraint 'precision >= 0.9' -o promised.capo
      capo guarantee alarm.capo calibration.csv --constraint 'fpr <= 0.01' --confidence 0.99
      capo guarantee alarm.capo calibration.csv --constraint 'precision >= 0.8' --objective f1 --json
    """
    import numpy as np

    from ..io.model_file import save
    from .inputs import CALIBRATION_TABLE, check_rows_are_new, table_sha256

    console = Console(quiet, json)
    reader = table.open()
    check_model_output(output, *reader.paths, model_file.path)
    loaded = model_file.load(console)
    check_rows_are_new(loaded.manifest, reader, "a guarantee")
    with console.step(f"reading {reader.name}"):
        batch, schema = reader.read(), loaded.schema
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups = schema.groups(batch)
    if weight is not None and np.ptp(weight) > 0:
        raise InvalidInputError(
            "the model was trained with sample weights, and the exact test counts rows: drop the weights, or "
            "use calibration rows that were drawn with them."
        )
    limits: dict[str, Any] = {"constraint": constraint, "confidence": confidence, "objective": objective}
    with console.step("testing"):
        model = loaded.model.guarantee(X, y, **limits, groups=groups, random_state=seed)
    found = model.guarantee_
    assert found is not None
    console.result(
        f"{reader.name}: {found}\nthreshold: positive above a probability of {model.threshold_:.4g}",
        {"table": reader.name, "threshold": model.threshold_, **found.to_dict()},
    )
    if output is not None:
        with console.step("writing"):
            training = {**loaded.manifest.training, CALIBRATION_TABLE: table_sha256(reader)}
            save(model, output, schema=loaded.manifest.schema, training=training)
        console.log(f"\nwrote {output} ({format_file_size(output)})")
