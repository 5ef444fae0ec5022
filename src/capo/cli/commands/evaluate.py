"""``capo evaluate``: all measures of a model on labeled rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...exceptions import InvalidInputError
from ...inspection import Evaluation
from ...io.formats import TableReader
from ..console import Console, check_output
from ..inputs import LoadedModel, connect, divide, load_model, read_parts, training_table_notes
from .kinds import BinaryKind, model_kind


def run_evaluate(
    path: str,
    trusted: Sequence[str] | None,
    table: TableReader,
    cluster: str | None,
    partition_rows: int | None,
    seed: int,
    console: Console,
) -> None:
    """Show all measures and the confusion matrix, on a cluster if one is named."""
    check_output(None, *table.paths, path)
    loaded = load_model(path, trusted, console)
    if cluster is None:
        n_rows, evaluation = model_kind(loaded.model).evaluate(loaded, table, seed, console)
    else:
        n_rows, evaluation = _evaluate_on_cluster(loaded, table, cluster, partition_rows, seed, console)
    training_table_notes(loaded.manifest, table, console)
    console.result(
        f"{table.name}: {n_rows:,} rows\n\n{evaluation}",
        {"table": table.name, "rows": n_rows, **evaluation.to_dict()},
    )


def _evaluate_on_cluster(
    loaded: LoadedModel,
    table: TableReader,
    cluster: str,
    partition_rows: int | None,
    seed: int,
    console: Console,
) -> tuple[int, Evaluation]:
    """The number of rows, and all measures; the decisions stay on the workers."""
    from ...dask import evaluate  # noqa: PLC0415 (an optional package)

    _check_model(loaded, console)
    parts = divide(table, partition_rows, console)
    with connect(cluster, console) as client, console.step(f"evaluating on {cluster}"):
        X, y = read_parts(parts, loaded.schema)
        evaluation = evaluate(loaded.model, X, y, random_state=seed, client=client)
    return int(sum(evaluation.confusion)), evaluation


def _check_model(loaded: LoadedModel, console: Console) -> None:
    """Raise if a model cannot be evaluated in parts; a note if its groups are not used."""
    if not isinstance(model_kind(loaded.model), BinaryKind):
        raise InvalidInputError("--cluster is for models of two classes without prices: leave it out.")
    if getattr(loaded.schema, "weight", ""):
        raise InvalidInputError("--cluster is for models that were trained without --weight: leave it out.")
    if getattr(loaded.schema, "group", ""):
        console.note("The intervals treat the rows as independent: groups are not used with --cluster.")
