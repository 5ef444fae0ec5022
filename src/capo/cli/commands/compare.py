"""``capo compare``: capo against simpler methods, by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...inspection import compare, compare_many
from ...io.formats import TableReader
from ...learning.folds import TimeFolds
from ..console import Console, to_json, write_output
from ..inputs import table_sha256
from ..training_data import TrainingPlan


def run_compare(
    table: TableReader, plan: TrainingPlan, folds: int, seed: int, output: Path | None, console: Console
) -> None:
    """Show the comparison and its verdict, and write it to a file."""
    data = plan.read(table, console)
    with console.step("comparing", n_fits=folds) as step:
        # Prices are refused for other targets when the table is read.
        priced = {"prices": data.prices} if data.prices else {}
        comparison = (compare if data.target_type == "binary" else compare_many)(
            data.model,
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            groups=data.groups,
            folds=TimeFolds(folds) if plan.roles.time else folds,
            random_state=seed,
            **priced,
            on_progress=step.end_fit,
        )
    if comparison.source is not None:  # by which 'capo report' recognizes it
        source = replace(comparison.source, target=data.target, table=table.name, sha256=table_sha256(table))
        comparison = replace(comparison, source=source)
    size = f"{len(data.y):,} rows, {comparison.folds} folds"
    heading = f"{table.name}: {size}; default learner: {comparison.default_learner}"
    if output is not None:
        write_output(to_json(comparison.to_dict()).encode(), output, console)
    console.result(f"{heading}\n\n{comparison}", comparison.to_dict())
