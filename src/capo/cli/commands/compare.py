"""``capo compare``: capo against simpler methods, by cross-validation."""

from __future__ import annotations

from ...inspection import compare
from ...io.tables import TableReader
from .._console import Console
from ._model_options import ModelOptions, prepare_training
from ._training_data import ColumnOptions

__all__ = ["ColumnOptions", "ModelOptions", "run_compare"]


def run_compare(
    table: TableReader, columns: ColumnOptions, options: ModelOptions, folds: int, console: Console
) -> None:
    """Show the comparison and its verdict."""
    data, model = prepare_training(table, columns, options, console)
    with console.step("comparing") as step:
        comparison = compare(
            model,
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            folds=folds,
            random_state=options.seed,
            on_progress=step.progress,
        )
    size = f"{len(data.y):,} rows, {comparison.folds} folds"
    heading = f"{table.name}: {size}; default learner: {comparison.default_learner}"
    console.result(f"{heading}\n\n{comparison}", comparison.to_dict())
