"""The commands with their options and help."""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import Console
from .options import (
    COLUMNS,
    MODEL,
    OUTPUT,
    ClusterOptions,
    ColumnOptions,
    ComparisonModelOptions,
    ConsoleOptions,
    DriftConsoleOptions,
    ExplanationOptions,
    FitClusterOptions,
    FitColumnOptions,
    GuaranteeOptions,
    JobsOption,
    JsonOption,
    ModelArgument,
    ModelFileOptions,
    ModelOptions,
    ModelOutputOption,
    OptionalModelOutputOption,
    OptionalTableOptions,
    QuietOption,
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
    from .commands.inspect import run_inspect

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
    from .commands.compare import run_compare

    run_compare(table.open(), columns, options, output, console.open())


def fit(
    *,
    table: TableOptions,
    output: ModelOutputOption,
    columns: FitColumnOptions,
    options: ModelOptions,
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
      capo fit train.csv -t species -m f1_macro -o species.capo
      capo fit train.csv -t sports,politics,arts -m f1_samples -o topics.capo
      capo fit train.csv -t tags --label-separator ';' -m f1_micro -o tags.capo
      capo fit train.csv -t fraud --cost-fn amount --cost-fp 5 -o fraud.capo
      zcat big.csv.gz | capo fit - -t y -o m.capo
      capo fit 'part-*.parquet' -t y --cluster tcp://scheduler:8786 -o m.capo
      capo fit larger-than-memory.csv -t y --out-of-core yes -o m.capo
    """
    from .commands.fit import run_fit

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
    from .commands.refit import run_refit

    run_refit(model, table.open(), output, jobs, seed, console.open())


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
    from .commands.predict import run_predict

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
    from .commands.guarantee import run_guarantee

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
    from .commands.adjust import run_adjust

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
    from .commands.export import run_export

    run_export(model, output, Console(quiet))


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
    from .commands.evaluate import run_evaluate

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
    from .commands.explain import run_explain

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
    from .commands.report import run_report

    run_report(model, table.open(), output, comparison, seed, explain, Console(quiet))


def show(model: ModelArgument, json: JsonOption = False) -> None:
    """Describe a model file without loading the model.

    \b
      capo show churn.capo
    """
    from .commands.show import run_show

    run_show(model, Console(as_json=json))


def measures(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of a measure, or a formula; by default all.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the measures: formula, parameters, and when to use them.

    \b
      capo measures
      capo measures fbeta
    """
    from .commands.measures import run_measures

    run_measures(name, Console(as_json=json))


def demo() -> None:
    """Compare capo with simpler methods on scikit-learn's digits, and adapt a yes-or-no rule.

    \b
    The data comes with scikit-learn.
      capo demo
    """
    from .commands.demo import run_demo

    run_demo()
