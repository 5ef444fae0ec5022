"""The application with its plain-text help, and the options that commands share."""
# ruff: noqa: D301

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..exceptions import InvalidInputError
from .console import Console, discard_standard_output

if TYPE_CHECKING:
    from ..io.formats import TableReader

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


@contextmanager
def _exit_on_broken_pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        discard_standard_output()
        raise typer.Exit from None


class GroupedHelpCommand(TyperCommand):
    """A command whose help lists its options by their `rich_help_panel`, without loading rich."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _exit_on_broken_pipe():
            return super().make_context(*args, **kwargs)

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
    """The commands. It is not an error if a reader of the help stops early, such as ``head``."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _exit_on_broken_pipe():
            return super().make_context(*args, **kwargs)


app = typer.Typer(
    name="capo",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_WIDTH},
)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add a function to the application: its parameters are the options, its docstring is the help.

    A parameter whose type is a dataclass stands for the options that are the fields of the dataclass.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(function, eval_str=True).parameters.values():
        group: Any = parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            groups[parameter.name] = group
            parameters += signature(group, eval_str=True).parameters.values()
        else:
            parameters.append(parameter)

    @wraps(function)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{option: values.pop(option) for option in signature(group).parameters})
        function(**values)

    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(run)["__signature__"] = Signature(parameters)
    app.command(cls=GroupedHelpCommand)(run)
    return function


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
    """Raise if a text is empty, such as an unset variable of a script."""
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

# Options shared by several commands; the others are in the signatures of their commands.
Text = str | None
Texts = list[str] | None

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'.")]
Trust = Annotated[
    Texts, other_option("--trust TYPE", "Allow this type in the model file, which may be unsafe; repeatable.")
]
ModelOutput = Annotated[Path, output_option("--output -o FILE", "Model file to write.")]

TABLE_HELP = (
    "CSV, TSV, Parquet, Feather, JSON, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a pattern of "
    "several, such as 'part-*.csv', or a folder; - for standard input."
)
Cluster = Annotated[
    Text,
    reading_option("--cluster ADDRESS", "Use a Dask cluster: local, local:4 (workers) or tcp://host:8786."),
]
PartitionRows = Annotated[
    int | None, reading_option("--partition-rows NUMBER", "Rows per part; by default up to 200,000.", min=20)
]
Jobs = Annotated[int, model_option("--jobs -j NUMBER", "Auxiliaries trained in parallel; -1 uses all cores.")]
Seed = Annotated[int, other_option("--seed NUMBER", "Random seed.", min=0, max=MAX_SEED)]
Json = Annotated[bool, output_option("--json", "Print the result as JSON.")]
Quiet = Annotated[bool, output_option("--quiet -q", "Suppress progress messages and notes.")]


@dataclass
class Output(Console):
    """The console of a command, with the options that choose what it writes."""

    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class Table:
    """The table that a command reads."""

    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)]
    format: Annotated[
        Text, reading_option("--format NAME", "csv, parquet, feather, json, jsonl, excel or svmlight.")
    ] = None
    delimiter: Annotated[
        Text, reading_option("--delimiter CHARACTER", "Separator of values: , ; | or tab.")
    ] = None
    encoding: Annotated[
        Text, reading_option("--encoding NAME", "Encoding if it is not UTF-8, such as cp1252.")
    ] = None
    sheet: Annotated[
        Text, reading_option("--sheet NAME", "Sheet of an Excel file; by default the first.")
    ] = None

    def open(self) -> "TableReader":
        """A reader of the table."""
        from ..io.formats import TableReader  # noqa: PLC0415 (slow to load)

        return TableReader(self.table, self.format, self.delimiter, self.encoding, self.sheet)


TARGET_HELP = (
    "Column with the class labels; for several labels per row, several columns of 0 and 1, by repeating the "
    "option or as a,b,c."
)
AUXILIARIES_HELP = (
    "Classifiers to combine and adapt: auto, fast (40% of the time), or a comma-separated list "
    "of boosting, quick, trees, full_trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, "
    "rbfnet; none to use --scores only; repeatable."
)


@dataclass(frozen=True)
class Training:
    """Options for the model and its columns."""

    targets: Annotated[Texts, column_option("--target -t COLUMN", TARGET_HELP)] = None
    label_separator: Annotated[
        Text,
        column_option(
            "--label-separator TEXT", "Separator of labels in a column with several labels per row."
        ),
    ] = None
    positive: Annotated[
        Text,
        column_option(
            "--positive LABEL", "Positive class; by default the label that means yes, or the larger one."
        ),
    ] = None
    drop_unlabeled: Annotated[bool, column_option("--drop-unlabeled", "Drop rows without a label.")] = False
    weight: Annotated[Text, column_option("--weight COLUMN", "Column with the sample weights.")] = None
    group: Annotated[
        Text,
        column_option(
            "--group COLUMN",
            "Column with the group of each row, such as a patient; rows of a group are held out together.",
        ),
    ] = None
    time: Annotated[
        Text,
        column_option(
            "--time COLUMN", "Column with dates or numbers; folds predict later rows from earlier ones."
        ),
    ] = None
    drop: Annotated[Texts, column_option("--drop COLUMN", "Ignore this column; repeatable.")] = None
    ids: Annotated[
        Texts, column_option("--id COLUMN", "Copy this column to the predictions; it is not a feature.")
    ] = None
    categories: Annotated[
        Texts,
        column_option("--category COLUMN", "Treat numbers as categories, a target as classes; repeatable."),
    ] = None
    types: Annotated[
        Path | None,
        column_option("--types FILE", "File with the kinds of columns, written by 'capo inspect -o FILE'."),
    ] = None
    strict: Annotated[bool, column_option("--strict", "Treat data warnings as errors.")] = False
    measure: Annotated[
        Text,
        model_option(
            "--measure -m MEASURE",
            "Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
            show_default="f1, or cost if prices are given",
            autocompletion=_complete_measure_names,
        ),
    ] = None
    measure_args: Annotated[
        Texts,
        model_option(
            "--measure-arg NAME=VALUE",
            "Parameter, such as beta=2, classes=a,b, order=low,mid,high or matrix=costs.csv; repeatable.",
        ),
    ] = None
    cost_fp: Annotated[
        Text,
        model_option(
            "--cost-fp COLUMN|NUMBER",
            "Cost of a false positive (a column or a number); sets the measure to 'cost'.",
        ),
    ] = None
    cost_fn: Annotated[Text, model_option("--cost-fn COLUMN|NUMBER", "Cost of a false negative.")] = None
    benefit_tp: Annotated[Text, model_option("--benefit-tp COLUMN|NUMBER", "Benefit of a true positive.")] = (
        None
    )
    cost_ask: Annotated[
        Text,
        model_option(
            "--cost-ask COLUMN|NUMBER", "Cost of asking for a label; predicts 'ask' where this costs least."
        ),
    ] = None
    auxiliaries: Annotated[
        Texts, model_option("--auxiliaries -a NAMES", AUXILIARIES_HELP, show_default="auto")
    ] = None
    scores: Annotated[
        Texts,
        model_option("--scores COLUMNS", "Columns of scores or answers to use as auxiliaries; repeatable."),
    ] = None
    delta: Annotated[
        str, model_option("--delta NAME", "Features that correct the auxiliaries: linear, rbf or none.")
    ] = "linear"
    jobs: Jobs = 1
    seed: Seed = 0
