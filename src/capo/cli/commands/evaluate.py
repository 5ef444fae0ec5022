"""``capo evaluate``: all measures of a model on labeled rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...io.tables import TableReader
from .._console import Console
from ._loaded_model import load_model
from ._model_kinds import model_kind
from ._table_checksum import training_table_notes


def run_evaluate(
    path: str, table: TableReader, trusted: Sequence[str] | None, seed: int, console: Console
) -> None:
    """Show all measures and the confusion matrix."""
    loaded = load_model(path, trusted, console)
    n_rows, evaluation = model_kind(loaded.model).evaluate(loaded, table, seed, console)
    training_table_notes(loaded.manifest, table, console)
    console.result(
        f"{table.name}: {n_rows:,} rows\n\n{evaluation}",
        {"table": table.name, "rows": n_rows, **evaluation.to_dict()},
    )
