"""Training on a table in parts, which are files or rows of one large file, on a Dask cluster or here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...io.tables import NoRowsError, TablePart, TableReader
from .._console import Console
from .._options import ColumnOptions, FitClusterOptions, FitModelOptions
from ._cluster import divide, open_scheduler, read_parts
from ._training_data import OneClassError, TableTrainingData
from ._unfitted_model import prepare_training

if TYPE_CHECKING:
    from ...dask import DaskCAPOClassifier

#: About as many parts are tried to learn the types of the columns, until one has rows of both classes.
N_TRIED_PARTS = 8


def fit_in_parts(
    table: TableReader,
    columns: ColumnOptions,
    options: FitModelOptions,
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
    parts: Sequence[TablePart], columns: ColumnOptions, options: FitModelOptions, console: Console
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


def find_conflicts(columns: ColumnOptions, options: FitModelOptions) -> dict[str, object]:
    """The values of the options that are not possible if a table is read in parts."""
    return {
        "--weight": columns.weight,
        "--group": columns.group,
        "--time": columns.time,
        "--label-separator": columns.label_separator,
        "--cost-fp, --cost-fn and --benefit-tp": options.prices,
        "--budget": options.budget,
        "--repeats": options.repeats > 1,
    }
