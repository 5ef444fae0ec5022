"""Commands that train models or prepare the training."""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._options import (
    COLUMNS,
    ColumnOptions,
    ComparisonModelOptions,
    ConsoleOptions,
    FitClusterOptions,
    FitColumnOptions,
    FitModelOptions,
    JobsOption,
    ModelFileOptions,
    ModelOutputOption,
    SeedOption,
    TableOptions,
    TrainingConsoleOptions,
    output_option,
)


def inspect(
    *,
    table: TableOptions,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="Column with the labels.", rich_help_panel=COLUMNS
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option(help="TOML file to write, for 'capo fit --types'."),
    ] = None,
    console: ConsoleOptions,
) -> None:
    """Show what each column of a table is taken for, why, an example and the share of missing values.

    \b
    With --target, notes name what would mislead: columns that give the target away, constant columns, rows
    that are sorted by the target. The kinds can be written to a file, changed there, and used in training.
      capo inspect train.csv --target churned
      capo inspect train.csv -o types.toml
      capo fit train.csv --target churned --types types.toml -o churn.capo
    """
    from ..commands.inspect import run_inspect

    run_inspect(table.open(), target, output, console.open())


def compare(
    *,
    table: TableOptions,
    columns: ColumnOptions,
    options: ComparisonModelOptions,
    output: Annotated[
        Path | None,
        output_option(help="JSON file to write, for 'capo report --comparison'."),
    ] = None,
    console: TrainingConsoleOptions,
) -> None:
    """Compare capo with simpler methods on a table by cross-validation.

    \b
    The simpler methods are a default learner, the same learner with a tuned threshold, and the stack of
    all auxiliaries with a tuned threshold; each class or label has its own threshold if there are more
    than two. All are evaluated on the same held-out rows. With prices of each row, the values are the mean
    money per held-out row.
      capo compare train.csv --target churned --measure f1
      capo compare train.csv -t y -m mcc -a lgbm,rf,linear -o comparison.json
      capo compare train.csv -t fraud --cost-fn amount --cost-fp 5
    """
    from ..commands.compare import run_compare

    run_compare(table.open(), columns, options, output, console.open())


def fit(
    *,
    table: TableOptions,
    output: ModelOutputOption,
    columns: FitColumnOptions,
    options: FitModelOptions,
    cluster: FitClusterOptions,
    console: TrainingConsoleOptions,
) -> None:
    """Train a model for a measure and print its out-of-fold scores.

    \b
    Columns may hold numbers or text and may have missing values. The target has two classes, more
    classes, or several labels per row; 'capo measures' lists the measures of each.
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo fit train.parquet -t y -m fbeta --measure-arg beta=2 --positive yes --id customer -o m.capo
      capo fit train.csv -t y -m recall_at_precision --measure-arg floor=0.9 -a lgbm,rf,linear -o m.capo
      capo fit train.csv -t y -m '10*tp - 2*fp - 5*fn' -o profit.capo
      capo fit train.csv -t y --budget 60s -o m.capo
      capo fit train.csv -t species -m f1_macro -o species.capo
      capo fit train.csv -t sports,politics,arts -m f1_samples -o topics.capo
      capo fit train.csv -t tags --label-separator ';' -m f1_micro -o tags.capo
      capo fit train.csv -t fraud --cost-fn amount --cost-fp 5 -o fraud.capo
      zcat big.csv.gz | capo fit - -t y -o m.capo
      capo fit 'part-*.parquet' -t y --cluster tcp://scheduler:8786 -o m.capo
      capo fit larger-than-memory.csv -t y --out-of-core yes -o m.capo
    """
    from ..commands.fit import run_fit

    run_fit(table.open(), columns, options, cluster, output, console.open())


def refit(
    *,
    model: ModelFileOptions,
    table: TableOptions,
    output: ModelOutputOption,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    console: ConsoleOptions,
) -> None:
    """Refit a model on 50 to some thousand labeled rows from where it is to be used.

    \b
    MODEL was trained elsewhere: in another country, shop, year or machine. TABLE has labeled rows from the
    new place, with the same columns, which MODEL has not seen. The result combines MODEL, as it is, with
    models trained on the new rows; calibration and threshold are those of the new place. If there are no
    labels, and only the share of positives has changed, use 'capo adjust'.
      capo refit north.capo south.csv -o south.capo
      capo evaluate south.capo south_test.csv
    """
    from ..commands.refit import run_refit

    run_refit(model, table.open(), output, jobs, seed, console.open())
