"""``capo fit``: train a model and write it to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...io.formats import TableReader
from ...io.model_file import save
from ...io.parts import TablePart
from ...io.source import NoRowsError
from ...io.table_schema import profile_columns
from ...learning.folds import DEFAULT_N_FOLDS
from ..console import Console
from ..options import ColumnOptions, FitClusterOptions, ModelOptions
from .cluster import divide, needs_parts, open_scheduler, read_parts
from .kinds import model_kind
from .models import check_model_output, log_model_output, table_sha256
from .training_data import OneClassError, TableTrainingData
from .unfitted_model import option_files, parse_auxiliaries, prepare_training

if TYPE_CHECKING:
    from ...dask import DaskCAPOClassifier


#: About as many parts are tried to learn the types of the columns, until one has rows of both classes.
N_TRIED_PARTS = 8


def fit_in_parts(
    table: TableReader,
    columns: ColumnOptions,
    options: ModelOptions,
    cluster: FitClusterOptions,
    console: Console,
) -> tuple[DaskCAPOClassifier, TableTrainingData]:
    """Train on all rows; the types of the columns are those of one part, whose rows are returned."""
    from ...dask import DaskCAPOClassifier  # noqa: PLC0415 (an optional package)

    parts = divide(table, cluster, console)
    data, local = _prepare_training(parts, columns, options, console)
    if data.target.kind != "binary":
        raise InvalidInputError(
            "a table that is read in parts must have a target of two classes: leave out --cluster, or use "
            "--out-of-core no."
        )
    params = local.get_params(deep=False)
    del params["memory"]
    model = DaskCAPOClassifier(**{**params, "verbose": 0}, sample_size=cluster.sample_size)
    place = "training in parts" if cluster.address is None else f"training on {cluster.address}"
    with open_scheduler(cluster, options.jobs, console) as client, console.step(place):
        model.set_params(client=client).fit(*read_parts(parts, data.schema))
    model.client = None
    return model, data


def _prepare_training(
    parts: Sequence[TablePart], columns: ColumnOptions, options: ModelOptions, console: Console
) -> tuple[TableTrainingData, CAPOClassifier]:
    """The training data of a part with rows of both classes, and the unfitted classifier."""
    error: InvalidInputError = NoRowsError("none of the files has rows.")
    for part in _spread(parts):
        if len(parts) > 1:
            console.log(f"learning the columns from {part.name}, one of {len(parts):,} parts")
        try:
            return prepare_training(part, columns, options, console)
        except (NoRowsError, OneClassError) as found:
            error = found
    raise error


def _spread(parts: Sequence[TablePart]) -> list[TablePart]:
    """The first part, and some others from all over the table."""
    step = max(1, len(parts) // N_TRIED_PARTS)
    return list(parts[::step])


def find_conflicts(columns: ColumnOptions, options: ModelOptions) -> dict[str, object]:
    """The values of the options that are not possible if a table is read in parts."""
    return {
        "--weight": columns.weight,
        "--group": columns.group,
        "--time": columns.time,
        "--label-separator": columns.label_separator,
        "--cost-fp, --cost-fn and --benefit-tp": options.prices,
    }


def run_fit(
    table: TableReader,
    columns: ColumnOptions,
    options: ModelOptions,
    cluster: FitClusterOptions,
    output: Path,
    console: Console,
) -> None:
    """Train a model, in parts if the table is large or a cluster is named, write it, and show its summary."""
    check_model_output(output, *table.paths, *option_files(columns, options))
    if needs_parts(table, cluster, parse_auxiliaries(options), find_conflicts(columns, options), console):
        fitted, data = fit_in_parts(table, columns, options, cluster, console)
        model, n_rows, summary = fitted.to_local(), fitted.n_rows_, fitted.summary()
    else:
        model, data = _fit_in_memory(table, columns, options, console)
        n_rows, summary = len(data.y), model.summary()
    with console.step("writing"):
        training = {"table": table.name, "rows": n_rows, "sha256": table_sha256(table)}
        training["columns"] = profile_columns(data.X)
        if data.prices:
            training["prices"] = data.price_columns.sources
        save(model, output, schema=data.schema.to_dict(), training=training)
    console.result(summary, _fit_results(model, output))
    log_model_output(output, console)


def _fit_in_memory(
    table: TableReader, columns: ColumnOptions, options: ModelOptions, console: Console
) -> tuple[CAPOClassifier, TableTrainingData]:
    data, model = prepare_training(table, columns, options, console)
    if not columns.time:
        _note_few_groups(data, options.folds or DEFAULT_N_FOLDS, console)
    with console.step("training"):
        params = {} if data.groups is None else {"groups": data.groups}
        model.fit(data.X, data.y, sample_weight=data.sample_weight, **data.prices, **params)
    return model.set_params(verbose=0), data


def _note_few_groups(data: TableTrainingData, folds: int, console: Console) -> None:
    """Log a note if a class has rows in fewer groups than there are folds."""
    if data.groups is None or data.target.kind == "multilabel":
        return
    n_groups = min(len(np.unique(data.groups[data.y == label])) for label in np.unique(data.y))
    if n_groups < folds:
        console.note(f"One class has rows in {n_groups} groups only: {n_groups} folds are used, not {folds}.")


def _fit_results(model: CAPOClassifier, output: Path) -> dict[str, Any]:
    """The results of a fit for ``--json``."""
    return {
        "model": str(output),
        "measure": model.measure_.label,
        "classes": model.classes_.tolist(),
        "value": model.score_,
        "std": model.score_std_,
        "gap": model.gap_,
        "out_of_fold": [
            {"name": line.name, "value": line.value, "std": line.std} for line in model.summary().lines
        ],
        "seconds": model.timings_,
        **model_kind(model).fit_results(model),
    }
