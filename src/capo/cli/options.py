"""The application with its plain-text help, and the options that commands share."""
# ruff: noqa: D301

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..exceptions import InvalidInputError
from .console import discard_standard_output

COLUMNS, MODEL, READING, OUTPUT = "Columns", "Model", "Reading the table", "Output"
ARGUMENTS, OTHER_OPTIONS = "Arguments", "Options"
#: In their order in the help.
PANELS = (ARGUMENTS, COLUMNS, MODEL, READING, OUTPUT, OTHER_OPTIONS)
#: In their order in the help.
COMMANDS = (
    *("fit", "predict", "evaluate", "guarantee", "adjust", "refit", "compare", "inspect", "explain"),
    *("report", "show", "measures", "export", "demo"),
)
MAX_HELP_WIDTH = 110
MAX_SEED = 2**32 - 1


class GroupedHelpCommand(TyperCommand):
    """A command whose help lists its options by their `rich_help_panel`, without loading rich."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        # Typer puts required arguments in braces, which usually mean a choice.
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in PANELS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                name = getattr(parameter, "metavar", None) or str(parameter.name).upper()
                groups[ARGUMENTS].append((name, record[1]))
            else:
                groups[getattr(parameter, "rich_help_panel", None) or OTHER_OPTIONS].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class CommandGroup(TyperGroup):
    """The commands; a reader of their help that stops early, such as ``head``, is not an error."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _exit_on_broken_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _exit_on_broken_pipe():
            return super().invoke(ctx)


@contextmanager
def _exit_on_broken_pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        discard_standard_output()
        raise typer.Exit from None


app = typer.Typer(
    name="capo",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_WIDTH},
)
#: Adds a function to the application: its parameters are the options, its docstring is the help.
command = partial(app.command, cls=GroupedHelpCommand)


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__  # noqa: PLC0415 (only here)

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


def _complete_measure_names() -> list[str]:
    from .. import measures  # noqa: PLC0415 (only for tab completion)
    from ..measures import multiclass, multilabel  # noqa: PLC0415

    return sorted({*measures.names(), *multiclass.names(), *multilabel.names()})


def _refuse_empty(parameter: typer.CallbackParam, value: Any) -> Any:
    """Raise if a text is empty, as an unset variable in a script is."""
    if value == "" or (isinstance(value, list) and "" in value):
        raise InvalidInputError(f"{parameter.opts[0]} is empty: give it a value, or leave it out.")
    return value


def option(panel: str, declaration: str, help: str, **settings: Any) -> Any:
    """An option in a panel of the help, declared by its flags and its metavar: ``--output -o FILE``."""
    words = declaration.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    settings = {"callback": _refuse_empty, **settings}
    return typer.Option(*words, metavar=metavar, help=help, rich_help_panel=panel, **settings)


column_option = partial(option, COLUMNS)
model_option = partial(option, MODEL)
reading_option = partial(option, READING)
output_option = partial(option, OUTPUT)
other_option = partial(option, OTHER_OPTIONS)

# The options that several commands have; those of one command are in its signature.
Text = str | None
Texts = list[str] | None

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'.")]
Trust = Annotated[Texts, other_option("--trust TYPE", "Load this type, which may be unsafe; repeatable.")]
ModelOutput = Annotated[Path, output_option("--output -o FILE", "Model file to write.")]

TABLE_HELP = (
    "CSV, TSV, Parquet, Feather, JSON, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a pattern of "
    "several, such as 'part-*.csv', or a folder; - for standard input."
)
Table = Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)]
Format = Annotated[
    Text, reading_option("--format NAME", "csv, parquet, feather, json, jsonl, excel or svmlight.")
]
Delimiter = Annotated[Text, reading_option("--delimiter CHARACTER", "Separator of values: , ; | or tab.")]
Encoding = Annotated[Text, reading_option("--encoding NAME", "Encoding if it is not UTF-8, such as cp1252.")]
Sheet = Annotated[Text, reading_option("--sheet NAME", "Sheet of an Excel file; by default the first.")]
Cluster = Annotated[
    Text,
    reading_option("--cluster ADDRESS", "Use a Dask cluster: local, local:4 (workers) or tcp://host:8786."),
]
PartitionRows = Annotated[
    int | None, reading_option("--partition-rows NUMBER", "Rows of a part; by default up to 200,000.", min=20)
]

TARGET_HELP = (
    "Column with the labels of two or more classes; several columns of 0 and 1, by repeating the option or "
    "as a,b,c, if a row may have several labels."
)
Targets = Annotated[Texts, column_option("--target -t COLUMN", TARGET_HELP)]
LabelSeparator = Annotated[
    Text, column_option("--label-separator TEXT", "Text between the labels of a row, if it may have several.")
]
DropUnlabeled = Annotated[bool, column_option("--drop-unlabeled", "Leave out rows whose label is missing.")]
Positive = Annotated[
    Text,
    column_option("--positive LABEL", "Positive class; by default the one that means yes, or is larger."),
]
Weight = Annotated[Text, column_option("--weight COLUMN", "Column with the sample weights.")]
Group = Annotated[
    Text, column_option("--group COLUMN", "Rows of a group, such as a patient, are held out together.")
]
Time = Annotated[
    Text, column_option("--time COLUMN", "Dates or numbers: folds predict later rows from earlier ones.")
]
Drop = Annotated[Texts, column_option("--drop COLUMN", "Ignore this column; repeatable.")]
Ids = Annotated[Texts, column_option("--id COLUMN", "Copy to the predictions, and do not learn from it.")]
Categories = Annotated[
    Texts, column_option("--category COLUMN", "Treat numbers as categories, a target as classes; repeatable.")
]
Types = Annotated[
    Path | None, column_option("--types FILE", "Kinds of columns, as 'capo inspect -o FILE' writes them.")
]
Strict = Annotated[bool, column_option("--strict", "Treat notes about misleading data as errors.")]

Measure = Annotated[
    Text,
    model_option(
        "--measure -m MEASURE",
        "Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
        show_default="f1, or cost if prices are given",
        autocompletion=_complete_measure_names,
    ),
]
MeasureArgs = Annotated[
    Texts,
    model_option(
        "--measure-arg NAME=VALUE",
        "Parameter, such as beta=2, classes=a,b, order=low,mid,high or matrix=costs.csv; repeatable.",
    ),
]
CostFP = Annotated[
    Text, model_option("--cost-fp COLUMN|NUMBER", "What a false positive costs; makes 'cost' the measure.")
]
CostFN = Annotated[Text, model_option("--cost-fn COLUMN|NUMBER", "What a missed positive costs.")]
BenefitTP = Annotated[Text, model_option("--benefit-tp COLUMN|NUMBER", "What a true positive is worth.")]
CostAsk = Annotated[
    Text, model_option("--cost-ask COLUMN|NUMBER", "What asking for a label costs: 'ask' is predicted.")
]
AUXILIARIES_HELP = (
    "Classifiers to combine and adapt: auto, fast (about a quarter of the time), or a comma-separated list "
    "of boosting, quick, trees, full_trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, "
    "rbfnet; none for nothing but --scores; repeatable."
)
Auxiliaries = Annotated[Texts, model_option("--auxiliaries -a NAMES", AUXILIARIES_HELP, show_default="auto")]
Scores = Annotated[
    Texts, model_option("--scores COLUMNS", "Columns of scores or answers, used as auxiliaries; repeatable.")
]
Delta = Annotated[
    str, model_option("--delta NAME", "Features that correct the auxiliaries: linear, rbf or none.")
]
Jobs = Annotated[int, model_option("--jobs -j NUMBER", "Auxiliaries trained in parallel; -1 uses all cores.")]

Seed = Annotated[int, other_option("--seed NUMBER", "Random seed.", min=0, max=MAX_SEED)]
Json = Annotated[bool, output_option("--json", "Print the result as JSON.")]
Quiet = Annotated[bool, output_option("--quiet -q", "Suppress progress messages and notes.")]
