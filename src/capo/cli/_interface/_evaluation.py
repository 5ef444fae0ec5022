"""Commands that evaluate a model on a table."""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._console import Console
from .._options import (
    OUTPUT,
    ClusterOptions,
    ConsoleOptions,
    ExplanationOptions,
    ModelFileOptions,
    QuietOption,
    SeedOption,
    TableOptions,
    output_option,
)


def evaluate(
    *,
    model: ModelFileOptions,
    table: TableOptions,
    cluster: ClusterOptions,
    seed: SeedOption = 0,
    console: ConsoleOptions,
) -> None:
    """Evaluate a model on labeled rows: all measures and the confusion matrix.

    \b
    Each measure comes with a 95% bootstrap interval. With more than two classes or several labels per row,
    precision, recall and F1 of each one follow.
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --json > evaluation.json
      capo evaluate churn.capo 'test-*.parquet' --cluster tcp://scheduler:8786
    """
    from ..commands.evaluate import run_evaluate

    run_evaluate(model, table.open(), cluster, seed, console.open())


def explain(
    *,
    model: ModelFileOptions,
    table: TableOptions,
    options: ExplanationOptions,
    output: Annotated[
        Path | None,
        output_option(help="JSON file to write, besides the text on standard output."),
    ] = None,
    seed: SeedOption = 0,
    console: ConsoleOptions,
) -> None:
    """Show which columns the measure depends on, and why single rows are predicted as they are.

    \b
    The importance of a column is what the measure loses if the column's values are shuffled among the rows,
    with a 95% interval. Columns that are near-copies of each other are shuffled together. The effects of the
    strongest columns on the probability follow. Use rows that the model was not trained on, or --folds.
      capo explain churn.capo test.csv
      capo explain churn.capo train.csv --folds 5
    --row shows the change in log-odds by each column of a row; the table needs no labels for that.
      capo explain churn.capo new.csv --row 17 --row 230
      capo explain churn.capo test.csv --json | jq '.importance[0]'
    """
    from ..commands.explain import run_explain

    run_explain(model, table.open(), options, output, seed, console.open())


def report(
    *,
    model: ModelFileOptions,
    table: TableOptions,
    output: Annotated[
        Path,
        output_option(help="HTML file to write."),
    ],
    comparison: Annotated[
        Path | None,
        typer.Option(
            "--comparison", metavar="FILE", help="Output of 'capo compare --json' to include in the report."
        ),
    ] = None,
    seed: SeedOption = 0,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            help="Show which columns the measure depends on, which takes about as long as predicting 10,000 "
            "rows for each column.",
            rich_help_panel=OUTPUT,
        ),
    ] = True,
    quiet: QuietOption = False,
) -> None:
    """Write an HTML report on a model and labeled rows: one file that opens offline.

    \b
    The page has a slider for the threshold, all measures, calibration, the columns that matter and their
    effects, the worst errors, and the training. For a model with prices of each row it shows the money that
    is saved in place of the slider.
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from ..commands.report import run_report

    run_report(model, table.open(), output, comparison, seed, explain, Console(quiet))
