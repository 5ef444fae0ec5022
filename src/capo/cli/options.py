"""The application with its plain-text help, and the options that commands share."""
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def command(short_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the application: its parameters are the options, its docstring is the help."""
    return app.command(cls=GroupedHelpCommand, short_help=short_help)


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


def option(panel: str, declaration: str, help: str, **settings: Any) -> Any:
    """An option in a panel of the help, declared by its flags and its metavar: ``--output -o FILE``."""
    words = declaration.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return typer.Option(*words, metavar=metavar, help=help, rich_help_panel=panel, **settings)


def column_option(flags: str, help: str) -> Any:
    """An option that names a column, or several."""
    return option(COLUMNS, f"{flags} COLUMN", help, callback=_refuse_empty)


def output_option(help: str) -> Any:
    """The file that a command writes."""
    return option(OUTPUT, "--output -o FILE", help)


def _refuse_empty(parameter: typer.CallbackParam, value: Any) -> Any:
    """Raise if a name is empty, as an unset variable in a script is."""
    if value == "" or (isinstance(value, list) and "" in value):
        raise InvalidInputError(f"{parameter.opts[0]} needs the name of a column: got an empty one.")
    return value


ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'.")]
Trust = Annotated[
    list[str] | None,
    option(
        OTHER_OPTIONS,
        "--trust TYPE",
        "Load this type although capo cannot verify that it is safe; repeatable.",
    ),
]
Seed = Annotated[int, option(OTHER_OPTIONS, "--seed NUMBER", "Random seed.", min=0, max=MAX_SEED)]

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, JSON lines, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a "
        "pattern of several, such as 'part-*.csv', or a folder; - for standard input.",
    ),
]
Format = Annotated[
    str | None,
    option(
        READING, "--format NAME", "csv, parquet, jsonl, excel or svmlight; by default detected from the file."
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        READING,
        "--delimiter CHARACTER",
        "Separator of values: , ; | or tab; by default detected from the header.",
    ),
]
Encoding = Annotated[
    str | None,
    option(READING, "--encoding NAME", "Encoding of a text file that is not UTF-8, such as cp1252."),
]
Cluster = Annotated[
    str | None,
    option(
        READING,
        "--cluster ADDRESS",
        "Use a Dask cluster, whose workers read the rows: local, local:4 (workers) or tcp://host:8786.",
    ),
]
PartitionRows = Annotated[
    int | None,
    option(
        READING,
        "--partition-rows NUMBER",
        "Rows of a part, which are read at once. By default 200,000, or fewer with more than 20 columns.",
        min=20,
    ),
]

Targets = Annotated[
    list[str] | None,
    column_option(
        "--target -t",
        "Column with the labels of two or more classes; several columns of 0 and 1, by repeating "
        "the option or as a,b,c, if a row may have several labels.",
    ),
]
LabelSeparator = Annotated[
    str | None,
    option(
        COLUMNS,
        "--label-separator TEXT",
        "The target column has several labels per row, with this text between them.",
    ),
]
Positive = Annotated[
    str | None,
    option(
        COLUMNS,
        "--positive LABEL",
        "Label of the positive class; by default the one that means yes, or the larger.",
    ),
]
Weight = Annotated[str | None, column_option("--weight", "Column with the sample weights.")]
Group = Annotated[
    str | None,
    column_option(
        "--group",
        "Column of groups, such as patients: the rows of a group are held out together. Not a feature.",
    ),
]
Time = Annotated[
    str | None,
    column_option("--time", "Column with dates or numbers: folds predict later rows from earlier ones."),
]
Drop = Annotated[list[str] | None, column_option("--drop", "Ignore this column; repeatable.")]
Categories = Annotated[
    list[str] | None, column_option("--category", "Treat this column of numbers as categories; repeatable.")
]
Types = Annotated[
    Path | None,
    option(COLUMNS, "--types FILE", "Kinds of columns in TOML, as 'capo inspect -o FILE' writes them."),
]
Strict = Annotated[bool, option(COLUMNS, "--strict", "Treat notes about misleading data as errors.")]

Measure = Annotated[
    str | None,
    option(
        MODEL,
        "--measure -m MEASURE",
        "Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
        show_default="f1, or cost if prices are given",
        autocompletion=_complete_measure_names,
    ),
]
MeasureArgs = Annotated[
    list[str] | None,
    option(
        MODEL,
        "--measure-arg NAME=VALUE",
        "Parameter of the measure, such as beta=2, classes=a,b, order=low,mid,high or matrix=costs.csv; "
        "repeatable.",
    ),
]
CostFP = Annotated[
    str | None,
    option(
        MODEL,
        "--cost-fp COLUMN|NUMBER",
        "What a false positive costs: a column with the amount of each row, or a number for all "
        "rows. Makes 'cost' the measure.",
    ),
]
CostFN = Annotated[
    str | None,
    option(MODEL, "--cost-fn COLUMN|NUMBER", "What a missed positive costs: a column, or a number."),
]
BenefitTP = Annotated[
    str | None,
    option(MODEL, "--benefit-tp COLUMN|NUMBER", "What a true positive is worth: a column, or a number."),
]
Auxiliaries = Annotated[
    list[str] | None,
    option(
        MODEL,
        "--auxiliaries -a NAMES",
        "Classifiers to combine and adapt: auto, or a comma-separated list of boosting, quick, trees, "
        "full_trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, rbfnet; repeatable.",
        show_default="auto",
    ),
]
Preset = Annotated[
    str | None,
    option(
        MODEL,
        "--preset NAME",
        "Which built-in classifiers to combine: fast (about a quarter of the time) or balanced. Not together "
        "with --auxiliaries.",
        show_default="balanced",
    ),
]
Delta = Annotated[
    str,
    option(
        MODEL,
        "--delta NAME",
        "Features of the delta function, which corrects the auxiliaries: linear, rbf or none.",
    ),
]
Jobs = Annotated[
    int, option(MODEL, "--jobs -j NUMBER", "Auxiliaries trained in parallel; -1 uses all cores.")
]

ModelOutput = Annotated[Path, output_option("Model file to write.")]
Json = Annotated[bool, option(OUTPUT, "--json", "Print the result as JSON.")]
Quiet = Annotated[bool, option(OUTPUT, "--quiet -q", "Suppress progress messages and notes.")]
