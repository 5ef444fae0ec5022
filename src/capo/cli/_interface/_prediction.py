"""Commands that use a model, or make it ready for use."""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._console import Console
from .._options import (
    COLUMNS,
    MODEL,
    ClusterOptions,
    ConsoleOptions,
    DriftConsoleOptions,
    GuaranteeOptions,
    ModelFileOptions,
    ModelOutputOption,
    OptionalModelOutputOption,
    OptionalTableOptions,
    QuietOption,
    SeedOption,
    TableOptions,
    output_option,
)


def predict(
    *,
    model: ModelFileOptions,
    table: TableOptions,
    output: Annotated[
        Path | None,
        output_option(
            help="CSV, TSV or JSON lines file, also .gz, or Parquet file to write; by default CSV to "
            "standard output."
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column to copy to the predictions; by default those named in training; repeatable.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    cluster: ClusterOptions,
    console: DriftConsoleOptions,
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
    from ..commands.predict import run_predict

    run_predict(model, table.open(), output, ids, cluster, console.open())


def guarantee(
    *,
    model: ModelFileOptions,
    table: TableOptions,
    output: OptionalModelOutputOption = None,
    options: GuaranteeOptions,
    seed: SeedOption = 0,
    console: ConsoleOptions,
) -> None:
    """Choose a threshold that keeps a constraint on new rows with a stated confidence.

    \b
    TABLE holds labeled calibration rows that the model was not trained on. If no threshold passes the exact
    test, no row is predicted positive, and the message says how many rows would be needed.
      capo guarantee alarm.capo calibration.csv --constraint 'precision >= 0.9' -o promised.capo
      capo guarantee alarm.capo calibration.csv --constraint 'fpr <= 0.01' --confidence 0.99
      capo guarantee alarm.capo calibration.csv --constraint 'precision >= 0.8' --objective f1 --json
    """
    from ..commands.guarantee import run_guarantee

    run_guarantee(model, table.open(), options, output, seed, console.open())


def adjust(
    *,
    model: ModelFileOptions,
    table: OptionalTableOptions,
    output: ModelOutputOption,
    prevalence: Annotated[
        float | None,
        typer.Option(
            "--prevalence",
            metavar="SHARE",
            help="Share of positives in the new population, if it is known.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    seed: SeedOption = 0,
    console: ConsoleOptions,
) -> None:
    """Adjust a model to a population with another share of positives than its training table.

    \b
    The share of positives is estimated from unlabeled rows, with an interval; probabilities and threshold
    are adjusted to it. If more than the share of positives has changed, the model is not adjusted.
      capo adjust churn.capo new.csv -o new.capo
      capo adjust churn.capo --prevalence 0.02 -o rare.capo
    """
    from ..commands.adjust import run_adjust

    run_adjust(model, table.open(), output, prevalence, seed, console.open())


def export(
    *,
    model: ModelFileOptions,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file to write.")],
    quiet: QuietOption = False,
) -> None:
    """Convert a model to ONNX, for onnxruntime and other runtimes.

    \b
      capo export churn.capo churn.onnx
    """
    from ..commands.export import run_export

    run_export(model, output, Console(quiet))
