"""The Typer application: the commands, their options and their help.

Each command imports its implementation when it runs, so that ``capo --help`` answers at once.
"""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._console import Console
from ._help import GroupedHelpCommand, PipedHelpGroup
from ._options import (
    COLUMNS,
    MODEL,
    OUTPUT,
    AuxiliariesOption,
    BenefitTPOption,
    BudgetOption,
    CategoryOption,
    ClusterOption,
    ComparisonOutputOption,
    ConfidenceOption,
    ConstraintOption,
    CostFNOption,
    CostFPOption,
    CrossFitFoldsOption,
    DelimiterOption,
    DeltaOption,
    DropOption,
    EncodingOption,
    ExplainedColumnOption,
    ExplainedRowOption,
    ExplanationFoldsOption,
    ExplanationOutputOption,
    FitMeasureOption,
    FormatOption,
    GroupOption,
    HeldOutFoldsOption,
    IdOption,
    JobsOption,
    JsonOption,
    LabelSeparatorOption,
    MaxRowsOption,
    MeasureArgOption,
    MeasureOption,
    ModelArgument,
    ModelOutputOption,
    ObjectiveOption,
    OptionalModelOutputOption,
    PageOutputOption,
    PartitionRowsOption,
    PositiveOption,
    PredictionsOutputOption,
    PresetOption,
    QuietOption,
    SampleSizeOption,
    SeedOption,
    StrictOption,
    TableArgument,
    TargetOption,
    TargetsOption,
    TimeOption,
    TrustOption,
    TypesOption,
    TypesOutputOption,
    WeightOption,
)

if TYPE_CHECKING:
    from ..io.tables import TableReader

MAX_HELP_WIDTH = 110
#: Cross-fitting folds of each model that 'capo compare' trains.
N_CROSS_FIT_FOLDS = 5

app = typer.Typer(
    name="capo",
    cls=PipedHelpGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_WIDTH},
)


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__

        typer.echo(f"capo {__version__}")
        raise typer.Exit


@app.callback()
def capo(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Train classifiers that optimize your evaluation measure.

    \b
    A typical session, from a table to a report:
      capo inspect train.csv
      capo compare train.csv --target churned --measure f1
      capo fit train.csv --target churned --measure f1 -o churn.capo
      capo predict churn.capo new.csv -o predictions.csv
      capo explain churn.capo test.csv
      capo report churn.capo test.csv -o report.html

    \b
    Results go to standard output, messages to standard error.
    Exit codes: 0 success, 1 internal error, 2 bad input or usage, 130 interrupted, 143 terminated.
    """


@app.command(cls=GroupedHelpCommand, short_help="Train a model and print its out-of-fold scores.")
def fit(
    table: TableArgument,
    output: ModelOutputOption,
    target: TargetsOption = None,
    label_separator: LabelSeparatorOption = None,
    measure: FitMeasureOption = None,
    measure_arg: MeasureArgOption = None,
    cost_fp: CostFPOption = None,
    cost_fn: CostFNOption = None,
    benefit_tp: BenefitTPOption = None,
    auxiliaries: AuxiliariesOption = None,
    preset: PresetOption = None,
    budget: BudgetOption = None,
    positive: PositiveOption = None,
    weight: WeightOption = None,
    group: GroupOption = None,
    time: TimeOption = None,
    drop: DropOption = None,
    ids: IdOption = None,
    category: CategoryOption = None,
    types: TypesOption = None,
    strict: StrictOption = False,
    delta: DeltaOption = "linear",
    folds: CrossFitFoldsOption = 5,
    jobs: JobsOption = 1,
    cluster: ClusterOption = None,
    sample_size: SampleSizeOption = 100_000,
    partition_rows: PartitionRowsOption = None,
    seed: SeedOption = 0,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
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
      capo fit larger-than-memory.csv -t y --cluster local:2 -o m.capo
    """
    from .commands.fit import ClusterOptions, ColumnOptions, ModelOptions, run_fit

    given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp}
    prices = {name: text for name, text in given.items() if text is not None}
    columns = ColumnOptions(
        targets=target,
        label_separator=label_separator,
        positive=positive,
        weight=weight,
        group=group,
        time=time,
        drop=drop,
        ids=ids,
        categories=category,
        types=types,
        prices=prices,
    )
    options = ModelOptions(
        measure=measure or ("cost" if prices else "f1"),
        measure_args=measure_arg,
        auxiliaries=auxiliaries,
        preset=preset,
        budget=budget,
        delta=delta,
        folds=folds,
        jobs=jobs,
        seed=seed,
    )
    run_fit(
        _open_table(table, format, delimiter, encoding),
        columns,
        options,
        output,
        Console(quiet, json, strict),
        None if cluster is None else ClusterOptions(cluster, sample_size, partition_rows),
    )


@app.command(cls=GroupedHelpCommand, short_help="Predict a label and a probability for each row.")
def predict(
    model: ModelArgument,
    table: TableArgument,
    output: PredictionsOutputOption = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column to copy to the predictions; by default those named in training; repeatable.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print how the rows differ from the training rows as JSON; needs --output.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    quiet: QuietOption = False,
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
    """
    from .commands.predict import run_predict

    reader = _open_table(table, format, delimiter, encoding)
    run_predict(model, reader, output, ids, trust, Console(quiet, json))


@app.command(cls=GroupedHelpCommand, short_help="Evaluate a model on labeled rows.")
def evaluate(
    model: ModelArgument,
    table: TableArgument,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Evaluate a model on labeled rows: all measures and the confusion matrix.

    \b
    Each measure comes with a 95% bootstrap interval. With more than two classes or several labels per row,
    precision, recall and F1 of each one follow.
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --json > evaluation.json
    """
    from .commands.evaluate import run_evaluate

    run_evaluate(model, _open_table(table, format, delimiter, encoding), trust, seed, Console(quiet, json))


@app.command(cls=GroupedHelpCommand, short_help="Choose a threshold that keeps a constraint on new rows.")
def guarantee(
    model: ModelArgument,
    table: TableArgument,
    output: OptionalModelOutputOption = None,
    constraint: ConstraintOption = None,
    confidence: ConfidenceOption = None,
    objective: ObjectiveOption = None,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
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

    reader = _open_table(table, format, delimiter, encoding)
    console = Console(quiet, json)
    run_guarantee(model, reader, output, constraint, confidence, objective, trust, seed, console)


@app.command(cls=GroupedHelpCommand, short_help="Adjust a model to another share of positives.")
def adjust(
    model: ModelArgument,
    output: ModelOutputOption,
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="Rows of the new population; labels are not needed."),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            "--prevalence",
            metavar="SHARE",
            help="Share of positives in the new population, if it is known.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Adjust a model to a population with another share of positives than its training table.

    \b
    The share of positives is estimated from unlabeled rows, with an interval; probabilities and threshold
    are adjusted to it. If more than the share of positives has changed, the model is not adjusted.
      capo adjust churn.capo new.csv -o new.capo
      capo adjust churn.capo --prevalence 0.02 -o rare.capo
    """
    from .commands.adjust import run_adjust

    reader = None if table is None else _open_table(table, format, delimiter, encoding)
    run_adjust(model, reader, output, prevalence, trust, seed, Console(quiet, json))


@app.command(cls=GroupedHelpCommand, short_help="Refit a model on a few rows from a new place.")
def refit(
    model: ModelArgument,
    table: TableArgument,
    output: ModelOutputOption,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
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

    reader = _open_table(table, format, delimiter, encoding)
    run_refit(model, reader, output, jobs, trust, seed, Console(quiet, json))


@app.command(cls=GroupedHelpCommand, short_help="Compare capo with simpler methods by cross-validation.")
def compare(
    table: TableArgument,
    output: ComparisonOutputOption = None,
    target: TargetsOption = None,
    label_separator: LabelSeparatorOption = None,
    measure: MeasureOption = "f1",
    measure_arg: MeasureArgOption = None,
    auxiliaries: AuxiliariesOption = None,
    preset: PresetOption = None,
    budget: BudgetOption = None,
    positive: PositiveOption = None,
    weight: WeightOption = None,
    group: GroupOption = None,
    time: TimeOption = None,
    drop: DropOption = None,
    category: CategoryOption = None,
    types: TypesOption = None,
    strict: StrictOption = False,
    delta: DeltaOption = "linear",
    folds: HeldOutFoldsOption = 5,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare capo with simpler methods on a table by cross-validation.

    \b
    The simpler methods are a default learner, the same learner with a tuned threshold, and the stack of
    all auxiliaries with a tuned threshold; each class or label has its own threshold if there are more
    than two. All are evaluated on the same held-out rows.
      capo compare train.csv --target churned --measure f1
      capo compare train.csv -t y -m mcc -a lgbm,rf,linear -o comparison.json
    """
    from .commands.compare import ColumnOptions, ModelOptions, run_compare

    columns = ColumnOptions(
        targets=target,
        label_separator=label_separator,
        positive=positive,
        weight=weight,
        group=group,
        time=time,
        drop=drop,
        categories=category,
        types=types,
    )
    options = ModelOptions(
        measure=measure,
        measure_args=measure_arg,
        auxiliaries=auxiliaries,
        preset=preset,
        budget=budget,
        delta=delta,
        folds=N_CROSS_FIT_FOLDS,
        jobs=jobs,
        seed=seed,
    )
    run_compare(
        _open_table(table, format, delimiter, encoding),
        columns,
        options,
        folds,
        output,
        Console(quiet, json, strict),
    )


@app.command(cls=GroupedHelpCommand, short_help="Show what each column of a table is taken for.")
def inspect(
    table: TableArgument,
    target: TargetOption = None,
    output: TypesOutputOption = None,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
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

    run_inspect(_open_table(table, format, delimiter, encoding), target, output, Console(quiet, json))


@app.command(cls=GroupedHelpCommand, short_help="Show which columns matter, and why rows are predicted so.")
def explain(
    model: ModelArgument,
    table: TableArgument,
    output: ExplanationOutputOption = None,
    row: ExplainedRowOption = None,
    column: ExplainedColumnOption = None,
    folds: ExplanationFoldsOption = None,
    max_rows: MaxRowsOption = 2000,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
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

    reader = _open_table(table, format, delimiter, encoding)
    run_explain(model, reader, output, row, column, folds, max_rows, trust, seed, Console(quiet, json))


@app.command(cls=GroupedHelpCommand, short_help="Write an HTML report on a model and labeled rows.")
def report(
    model: ModelArgument,
    table: TableArgument,
    output: PageOutputOption,
    comparison: Annotated[
        Path | None,
        typer.Option(
            "--comparison", metavar="FILE", help="Output of 'capo compare --json' to include in the report."
        ),
    ] = None,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    trust: TrustOption = None,
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
    effects, the worst errors, and the training.
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from .commands.report import run_report

    reader = _open_table(table, format, delimiter, encoding)
    run_report(model, reader, output, comparison, trust, seed, explain, Console(quiet))


@app.command(cls=GroupedHelpCommand, short_help="Describe a model file without loading the model.")
def show(model: ModelArgument, json: JsonOption = False) -> None:
    """Describe a model file without loading the model.

    \b
      capo show churn.capo
    """
    from .commands.show import run_show

    run_show(model, Console(as_json=json))


@app.command(cls=GroupedHelpCommand, short_help="List the measures and when to use them.")
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


@app.command(cls=GroupedHelpCommand, short_help="Convert a model to ONNX.")
def export(
    model: ModelArgument,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file to write.")],
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Convert a model to ONNX, for onnxruntime and other runtimes.

    \b
      capo export churn.capo churn.onnx
    """
    from .commands.export import run_export

    run_export(model, output, trust, Console(quiet))


@app.command(cls=GroupedHelpCommand, short_help="Show a comparison on scikit-learn's digits dataset.")
def demo() -> None:
    """Compare capo with simpler methods on scikit-learn's digits, and adapt a yes-or-no rule.

    \b
    The data comes with scikit-learn.
      capo demo
    """
    from .commands.demo import run_demo

    run_demo()


def _open_table(path: str, format: str | None, delimiter: str | None, encoding: str | None) -> TableReader:
    from ..io.tables import open_table

    return open_table(path, format=format, delimiter=delimiter, encoding=encoding)
