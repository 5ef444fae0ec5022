"""``capo evaluate``: all measures of a model on labeled rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...io.tables import TableReader
from .._console import Console
from ._labeled_predictions import evaluate_predictions, predict_labeled
from ._loaded_model import load_model
from ._table_checksum import training_table_notes


def run_evaluate(
    path: str, table: TableReader, trusted: Sequence[str] | None, seed: int, console: Console
) -> None:
    """Show all measures and the confusion matrix."""
    loaded = load_model(path, trusted, console)
    predictions = predict_labeled(loaded, table, console)
    training_table_notes(loaded.manifest, table, console)
    evaluation = evaluate_predictions(loaded, predictions, seed, console)
    n_rows = len(predictions.positive)
    console.result(
        f"{table.name}: {n_rows:,} rows\n\n{evaluation}",
        {"table": table.name, "rows": n_rows, **evaluation.to_dict()},
    )
