"""``capo compare``: capo against simpler methods, by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...inspection import Comparison, compare, compare_many
from ...io.formats import TableReader
from ...learning.folds import TimeFolds
from ..console import Console
from ..options import ColumnOptions, ComparisonModelOptions
from ..output import check_file_ending, check_output, write_output
from .models import table_sha256
from .unfitted_model import option_files, prepare_training

#: Cross-fitting folds of each model.
N_CROSS_FIT_FOLDS = 5


def run_compare(
    table: TableReader,
    columns: ColumnOptions,
    options: ComparisonModelOptions,
    output: Path | None,
    console: Console,
) -> None:
    """Show the comparison and its verdict, and write it to a file."""
    if output is not None:
        check_file_ending(output, [".json"], "a comparison is written to a .json file")
    check_output(output, *table.paths, *option_files(columns, options))
    folds = options.folds
    model_options = replace(options, folds=N_CROSS_FIT_FOLDS)
    data, model = prepare_training(table, columns, model_options, console)
    with console.step("comparing", n_fits=folds) as step:
        # Prices are refused for other targets when the table is read.
        priced = {"prices": data.prices} if data.prices else {}
        comparison = (compare if data.target.kind == "binary" else compare_many)(
            model,
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            groups=data.groups,
            folds=TimeFolds(folds) if columns.time else folds,
            random_state=options.seed,
            **priced,
            on_progress=step.end_fit,
        )
    comparison = _record_table(comparison, table, columns)
    size = f"{len(data.y):,} rows, {comparison.folds} folds"
    heading = f"{table.name}: {size}; default learner: {comparison.default_learner}"
    if output is not None:
        write_output(console.to_json(comparison.to_dict()).encode(), output, console)
    console.result(f"{heading}\n\n{comparison}", comparison.to_dict())


def _record_table(comparison: Comparison, table: TableReader, columns: ColumnOptions) -> Comparison:
    """The comparison with its table and target, by which ``capo report`` recognizes it."""
    if comparison.source is None:
        return comparison
    source = replace(comparison.source, target=columns.target, table=table.name, sha256=table_sha256(table))
    return replace(comparison, source=source)
