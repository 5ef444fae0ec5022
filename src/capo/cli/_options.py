"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

COLUMNS, MODEL, READING, OUTPUT = "Columns", "Model", "Reading the table", "Output"
#: Groups of options in the help of a command, in their order.
OPTION_GROUPS = (COLUMNS, MODEL, READING, OUTPUT)
MAX_SEED = 2**32 - 1


def _complete_measure_names() -> list[str]:
    from .. import measures, multiclass, multilabel  # noqa: PLC0415 (only for tab completion)

    return sorted({*measures.names(), *multiclass.names(), *multilabel.names()})


TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, JSON lines, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a pattern "
        "of several, such as 'part-*.csv'; - for standard input.",
    ),
]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'.")]

TargetOption = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="Column with the labels.", rich_help_panel=COLUMNS),
]
TargetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the labels of two or more classes; several columns of 0 and 1, by repeating the "
        "option or as a,b,c, if a row may have several labels.",
        rich_help_panel=COLUMNS,
    ),
]
LabelSeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="TEXT",
        help="The target column has several labels per row, with this text between them.",
        rich_help_panel=COLUMNS,
    ),
]
PositiveOption = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="Label of the positive class; by default the larger of the two.",
        rich_help_panel=COLUMNS,
    ),
]
WeightOption = Annotated[
    str | None,
    typer.Option(
        "--weight", metavar="COLUMN", help="Column with the sample weights.", rich_help_panel=COLUMNS
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Column of groups, such as patients: the rows of a group are held out together. Not a feature.",
        rich_help_panel=COLUMNS,
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column with dates or numbers: folds predict later rows from earlier ones.",
        rich_help_panel=COLUMNS,
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Ignore this column; repeatable.", rich_help_panel=COLUMNS),
]
IdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Identifier: copied to the predictions, not used as a feature; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
CategoryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="COLUMN",
        help="Treat this column of numbers as categories; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
TypesOption = Annotated[
    Path | None,
    typer.Option(
        "--types",
        metavar="FILE",
        help="Kinds of columns in TOML, as 'capo inspect -o FILE' writes them.",
        rich_help_panel=COLUMNS,
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Stop with an error where a note would say that the data may mislead.",
        rich_help_panel=COLUMNS,
    ),
]

FitMeasureOption = Annotated[
    str | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        show_default="f1, or cost if prices are given",
        help="Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
        autocompletion=_complete_measure_names,
        rich_help_panel=MODEL,
    ),
]
MeasureOption = Annotated[
    str,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
        autocompletion=_complete_measure_names,
        rich_help_panel=MODEL,
    ),
]
MeasureArgOption = Annotated[
    list[str] | None,
    typer.Option(
        "--measure-arg",
        metavar="NAME=VALUE",
        help="Parameter of the measure, such as beta=2, classes=a,b, order=low,mid,high or matrix=costs.csv; "
        "repeatable.",
        rich_help_panel=MODEL,
    ),
]
CostFPOption = Annotated[
    str | None,
    typer.Option(
        "--cost-fp",
        metavar="COLUMN|NUMBER",
        help="What a false positive costs: a column with the amount of each row, or a number for all rows. "
        "Makes 'cost' the measure.",
        rich_help_panel=MODEL,
    ),
]
CostFNOption = Annotated[
    str | None,
    typer.Option(
        "--cost-fn",
        metavar="COLUMN|NUMBER",
        help="What a missed positive costs: a column, or a number.",
        rich_help_panel=MODEL,
    ),
]
BenefitTPOption = Annotated[
    str | None,
    typer.Option(
        "--benefit-tp",
        metavar="COLUMN|NUMBER",
        help="What a true positive is worth: a column, or a number.",
        rich_help_panel=MODEL,
    ),
]
AuxiliariesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--auxiliaries",
        "-a",
        metavar="NAMES",
        show_default="auto",
        help="Classifiers to combine and adapt: auto, or a comma-separated list of boosting, shallow, quick, "
        "trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, rbfnet; repeatable.",
        rich_help_panel=MODEL,
    ),
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        show_default="balanced",
        help="Which built-in classifiers to combine: fast (about a fifth of the time), balanced, or best "
        "(some more time). Not together with --auxiliaries.",
        rich_help_panel=MODEL,
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Time for training, such as 60s, 5m or 1h: classifiers that would take longer are left out, as "
        "estimated from trainings on samples.",
        rich_help_panel=MODEL,
    ),
]
DeltaOption = Annotated[
    str,
    typer.Option(
        "--delta",
        metavar="NAME",
        help="Features of the delta function, which corrects the auxiliaries: linear, rbf or none.",
        rich_help_panel=MODEL,
    ),
]
CrossFitFoldsOption = Annotated[
    int,
    typer.Option(
        "--folds",
        metavar="NUMBER",
        min=2,
        help="Folds for cross-fitting the auxiliaries and choosing C.",
        rich_help_panel=MODEL,
    ),
]
HeldOutFoldsOption = Annotated[
    int,
    typer.Option(
        "--folds",
        metavar="NUMBER",
        min=2,
        help="Folds of the cross-validation; each is held out once.",
        rich_help_panel=MODEL,
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="NUMBER",
        help="Auxiliaries trained in parallel; -1 uses all cores.",
        rich_help_panel=MODEL,
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Train on a Dask cluster, or on a file larger than memory: local, local:4 (workers) or "
        "tcp://host:8786.",
        rich_help_panel=MODEL,
    ),
]
PartitionRowsOption = Annotated[
    int | None,
    typer.Option(
        "--partition-rows",
        metavar="NUMBER",
        min=20,
        help="Rows of a single file that a worker reads at once, with --cluster. By default 200,000, or "
        "fewer with more than 20 columns.",
        rich_help_panel=MODEL,
        show_default=False,
    ),
]
SampleSizeOption = Annotated[
    int,
    typer.Option(
        "--sample-size",
        metavar="NUMBER",
        min=20,
        help="Rows that the auxiliaries are trained on, with --cluster.",
        rich_help_panel=MODEL,
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", min=0, max=MAX_SEED, help="Random seed.")
]

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, parquet, jsonl, excel or svmlight; by default detected from the file.",
        rich_help_panel=READING,
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="Separator of values: , ; | or tab; by default detected from the header.",
        rich_help_panel=READING,
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of a text file that is not UTF-8, such as latin-1.",
        rich_help_panel=READING,
    ),
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="TYPE",
        help="Load this type although capo cannot verify that it is safe; repeatable.",
    ),
]

ModelOutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.", rich_help_panel=OUTPUT)
]
OptionalModelOutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Model file to write.", rich_help_panel=OUTPUT),
]
ConstraintOption = Annotated[
    str | None,
    typer.Option(
        "--constraint",
        metavar="LIMIT",
        help="Constraint such as 'precision >= 0.9', on precision, fdr, npv, recall, fnr, specificity, fpr "
        "or positive_rate; by default that of the model's measure.",
        rich_help_panel=MODEL,
    ),
]
ConfidenceOption = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        metavar="NUMBER",
        help="Probability with which the constraint must hold; by default that of the measure, or 0.95.",
        rich_help_panel=MODEL,
    ),
]
ObjectiveOption = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="MEASURE",
        help="Measure to maximize among the thresholds that pass; by default recall for a precision or fpr.",
        rich_help_panel=MODEL,
    ),
]
PageOutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.", rich_help_panel=OUTPUT)
]
TypesOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="TOML file to write, for 'capo fit --types'.",
        rich_help_panel=OUTPUT,
    ),
]
ComparisonOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="JSON file to write, for 'capo report --comparison'.",
        rich_help_panel=OUTPUT,
    ),
]
PredictionsOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="CSV, TSV or JSON lines file, also .gz, or Parquet file to write; by default CSV to standard "
        "output.",
        rich_help_panel=OUTPUT,
    ),
]
ExplanationOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="JSON file to write, besides the text on standard output.",
        rich_help_panel=OUTPUT,
    ),
]
ExplainedRowOption = Annotated[
    list[int] | None,
    typer.Option(
        "--row",
        metavar="NUMBER",
        help="Explain the prediction of this row, counted from 1; repeatable.",
        rich_help_panel=MODEL,
    ),
]
ExplainedColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="COLUMN",
        help="Explain this column only; repeatable. By default all columns.",
        rich_help_panel=COLUMNS,
    ),
]
ExplanationFoldsOption = Annotated[
    int | None,
    typer.Option(
        "--folds",
        metavar="NUMBER",
        min=2,
        help="Train the model again on this many folds of TABLE, and explain it on the held-out rows.",
        rich_help_panel=MODEL,
    ),
]
MaxRowsOption = Annotated[
    int,
    typer.Option(
        "--max-rows",
        metavar="NUMBER",
        min=2,
        help="Rows to use; of a larger table a random sample.",
        rich_help_panel=MODEL,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Suppress progress messages and notes.", rich_help_panel=OUTPUT)
]
