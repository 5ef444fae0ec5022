"""``capo evaluate``, ``compare``, ``explain`` and ``report``: how good a model is, and why."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from . import options
from .console import Console
from .training import given_prices

#: Cross-fitting folds of each model of a comparison.
N_CROSS_FIT_FOLDS = 5


@options.command("Evaluate a model on labeled rows.")
def evaluate(
    *,
    model: options.ModelFile,
    trust: options.Trust = None,
    table: options.Table,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate a model on labeled rows: all measures and the confusion matrix.

    \b
    Each measure comes with a 95% bootstrap interval. With more than two classes or several labels per row,
    precision, recall and F1 of each one follow.
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --json > evaluation.json
      capo evaluate churn.capo 'test-*.parquet' --cluster tcp://scheduler:8786
    """
    from ..io.formats import open_table
    from .commands.evaluate import run_evaluate

    reader = open_table(table, format=format, delimiter=delimiter, encoding=encoding)
    run_evaluate(model, trust, reader, cluster, partition_rows, seed, Console(quiet, json))


@options.command("Compare capo with simpler methods by cross-validation.")
def compare(
    *,
    table: options.Table,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    targets: options.Targets = None,
    label_separator: options.LabelSeparator = None,
    positive: options.Positive = None,
    weight: options.Weight = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    categories: options.Categories = None,
    types: options.Types = None,
    strict: options.Strict = False,
    measure: options.Measure = None,
    measure_args: options.MeasureArgs = None,
    cost_fp: options.CostFP = None,
    cost_fn: options.CostFN = None,
    benefit_tp: options.BenefitTP = None,
    auxiliaries: options.Auxiliaries = None,
    preset: options.Preset = None,
    delta: options.Delta = "linear",
    folds: Annotated[
        int,
        options.option(
            options.MODEL, "--folds NUMBER", "Folds of the cross-validation; each is held out once.", min=2
        ),
    ] = 5,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None, options.output_option("JSON file to write, for 'capo report --comparison'.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
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
    from ..io.formats import open_table
    from . import training_data
    from .commands.compare import run_compare
    from .console import check_file_ending, check_output

    reader = open_table(table, format=format, delimiter=delimiter, encoding=encoding)
    check_file_ending(output, [".json"], "a comparison is written to a .json file")
    check_output(output, *reader.paths, types, *training_data.matrix_files(measure_args))
    prices = given_prices(cost_fp=cost_fp, cost_fn=cost_fn, benefit_tp=benefit_tp)
    names, in_time = training_data.parse_auxiliaries(auxiliaries, preset), bool(time)
    plan = training_data.TrainingPlan(
        training_data.make_model(names, delta, N_CROSS_FIT_FOLDS, jobs, seed, in_time=in_time),
        training_data.RequestedMeasure.parse(measure or ("cost" if prices else "f1"), measure_args),
        training_data.column_roles(targets, weight, group, time, drop, None, categories, types),
        label_separator,
        positive,
        prices,
    )
    run_compare(reader, plan, folds, seed, output, Console(quiet, json, strict))


@options.command("Show which columns matter, and why rows are predicted so.")
def explain(
    *,
    model: options.ModelFile,
    trust: options.Trust = None,
    table: options.Table,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    rows: Annotated[
        list[int] | None,
        options.option(
            options.MODEL, "--row NUMBER", "Explain the prediction of this row, counted from 1; repeatable."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        options.column_option("--column", "Explain this column only; repeatable. By default all columns."),
    ] = None,
    folds: Annotated[
        int | None,
        options.option(
            options.MODEL,
            "--folds NUMBER",
            "Train the model again on this many folds of TABLE, and explain it on the held-out rows.",
            min=2,
        ),
    ] = None,
    max_rows: Annotated[
        int,
        options.option(
            options.MODEL, "--max-rows NUMBER", "Rows to use; of a larger table a random sample.", min=2
        ),
    ] = 2000,
    output: Annotated[
        Path | None, options.output_option("JSON file to write, besides the text on standard output.")
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
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
    from ..io.formats import open_table
    from .commands.explain import run_explain

    reader = open_table(table, format=format, delimiter=delimiter, encoding=encoding)
    console = Console(quiet, json)
    run_explain(model, trust, reader, rows, columns, folds, max_rows, output, seed, console)


@options.command("Write an HTML report on a model and labeled rows.")
def report(
    *,
    model: options.ModelFile,
    trust: options.Trust = None,
    table: options.Table,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    output: Annotated[Path, options.output_option("HTML file to write.")],
    comparison: Annotated[
        Path | None,
        options.option(
            options.OTHER_OPTIONS,
            "--comparison FILE",
            "Output of 'capo compare --json' to include in the report.",
        ),
    ] = None,
    seed: options.Seed = 0,
    explain: Annotated[
        bool,
        options.option(
            options.OUTPUT,
            "--explain/--no-explain",
            "Show which columns the measure depends on, which takes about as long as predicting 10,000 "
            "rows for each column.",
        ),
    ] = True,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model and labeled rows: one file that opens offline.

    \b
    The page has a slider for the threshold, all measures, calibration, the columns that matter and their
    effects, the worst errors, and the training. For a model with prices of each row it shows the money that
    is saved in place of the slider.
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from ..io.formats import open_table
    from .commands.report import run_report

    reader = open_table(table, format=format, delimiter=delimiter, encoding=encoding)
    run_report(model, trust, reader, output, comparison, seed, explain, Console(quiet))
