"""The application with its plain-text help, and the options that commands share."""
# ruff: noqa: D301

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from ..exceptions import InvalidInputError
from .console import Console, discard_standard_output

if TYPE_CHECKING:
    from ..io.formats import TableReader
    from .inputs import LoadedModel

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
    """Add a function to the application: its parameters are the options, its docstring is the help.

    An option is described in `OPTIONS` by the name of its parameter, or in the annotation. A parameter whose
    type is a dataclass stands for the options that are the fields of the class.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        groups: dict[str, tuple[Any, list[str]]] = {}
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            group, found = parameter.annotation, [parameter]
            if is_dataclass(group):
                found = list(inspect.signature(cast("type", group), eval_str=True).parameters.values())
                groups[parameter.name] = group, [each.name for each in found]
            parameters += map(_describe, found)

        def run(**values: Any) -> None:
            grouped = {
                name: group(**{field: values.pop(field) for field in fields})
                for name, (group, fields) in groups.items()
            }
            function(**values, **grouped)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__doc__ = function.__doc__
        app.command(function.__name__, cls=GroupedHelpCommand, short_help=short_help)(run)
        return function

    return add


def _describe(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter with its option in the annotation."""
    annotation = parameter.annotation
    if get_origin(annotation) is not Annotated:
        annotation = Annotated[annotation, OPTIONS[parameter.name]]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=annotation)


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


def _refuse_empty(parameter: typer.CallbackParam, value: Any) -> Any:
    """Raise if a name is empty, as an unset variable in a script is."""
    if value == "" or (isinstance(value, list) and "" in value):
        raise InvalidInputError(f"{parameter.opts[0]} needs the name of a column: got an empty one.")
    return value


column_option = partial(option, COLUMNS, callback=_refuse_empty)
model_option = partial(option, MODEL)
reading_option = partial(option, READING)
output_option = partial(option, OUTPUT)


#: The options of commands by the names of their parameters.
OPTIONS = {
    "trust": option(
        OTHER_OPTIONS,
        "--trust TYPE",
        "Load this type although capo cannot verify that it is safe; repeatable.",
    ),
    "table": typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, JSON lines, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a "
        "pattern of several, such as 'part-*.csv', or a folder; - for standard input.",
    ),
    "format": reading_option(
        "--format NAME", "csv, parquet, jsonl, excel or svmlight; by default detected from the file."
    ),
    "delimiter": reading_option(
        "--delimiter CHARACTER", "Separator of values: , ; | or tab; by default detected from the header."
    ),
    "encoding": reading_option(
        "--encoding NAME", "Encoding of a text file that is not UTF-8, such as cp1252."
    ),
    "targets": column_option(
        "--target -t COLUMN",
        "Column with the labels of two or more classes; several columns of 0 and 1, by repeating "
        "the option or as a,b,c, if a row may have several labels.",
    ),
    "label_separator": option(
        COLUMNS,
        "--label-separator TEXT",
        "The target column has several labels per row, with this text between them.",
    ),
    "positive": option(
        COLUMNS,
        "--positive LABEL",
        "Label of the positive class; by default the one that means yes, or the larger.",
    ),
    "weight": column_option("--weight COLUMN", "Column with the sample weights."),
    "group": column_option(
        "--group COLUMN",
        "Column of groups, such as patients: the rows of a group are held out together. Not a feature.",
    ),
    "time": column_option(
        "--time COLUMN", "Column with dates or numbers: folds predict later rows from earlier ones."
    ),
    "drop": column_option("--drop COLUMN", "Ignore this column; repeatable."),
    "ids": column_option(
        "--id COLUMN", "Identifier: copied to the predictions, not used as a feature; repeatable."
    ),
    "categories": column_option(
        "--category COLUMN", "Treat this column of numbers as categories; repeatable."
    ),
    "types": option(
        COLUMNS, "--types FILE", "Kinds of columns in TOML, as 'capo inspect -o FILE' writes them."
    ),
    "strict": option(COLUMNS, "--strict", "Treat notes about misleading data as errors."),
    "measure": model_option(
        "--measure -m MEASURE",
        "Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
        show_default="f1, or cost if prices are given",
        autocompletion=_complete_measure_names,
    ),
    "measure_args": model_option(
        "--measure-arg NAME=VALUE",
        "Parameter of the measure, such as beta=2, classes=a,b, order=low,mid,high or matrix=costs.csv; "
        "repeatable.",
    ),
    "cost_fp": model_option(
        "--cost-fp COLUMN|NUMBER",
        "What a false positive costs: a column with the amount of each row, or a number for all "
        "rows. Makes 'cost' the measure.",
    ),
    "cost_fn": model_option(
        "--cost-fn COLUMN|NUMBER", "What a missed positive costs: a column, or a number."
    ),
    "benefit_tp": model_option(
        "--benefit-tp COLUMN|NUMBER", "What a true positive is worth: a column, or a number."
    ),
    "auxiliaries": model_option(
        "--auxiliaries -a NAMES",
        "Classifiers to combine and adapt: auto, or a comma-separated list of boosting, quick, trees, "
        "full_trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, rbfnet; repeatable.",
        show_default="auto",
    ),
    "preset": model_option(
        "--preset NAME",
        "Which built-in classifiers to combine: fast (about a quarter of the time) or balanced. Not "
        "together with --auxiliaries.",
        show_default="balanced",
    ),
    "delta": model_option(
        "--delta NAME", "Features of the delta function, which corrects the auxiliaries: linear, rbf or none."
    ),
    "path": typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'."),
    "output": output_option("--output -o FILE", "Model file to write."),
    "jobs": model_option("--jobs -j NUMBER", "Auxiliaries trained in parallel; -1 uses all cores."),
    "seed": option(OTHER_OPTIONS, "--seed NUMBER", "Random seed.", min=0, max=MAX_SEED),
    "as_json": output_option("--json", "Print the result as JSON."),
    "quiet": output_option("--quiet -q", "Suppress progress messages and notes."),
    "cluster": reading_option(
        "--cluster ADDRESS",
        "Use a Dask cluster, whose workers read the rows: local, local:4 (workers) or tcp://host:8786.",
    ),
    "partition_rows": reading_option(
        "--partition-rows NUMBER",
        "Rows of a part, which are read at once. By default 200,000, or fewer with more than 20 columns.",
        min=20,
    ),
    "out_of_core": reading_option(
        "--out-of-core WHEN",
        "Read the table in parts, without a cluster: auto, if the training needs more memory than "
        "there is; yes or no.",
    ),
    "sample_size": reading_option(
        "--sample-size NUMBER",
        "Rows that the auxiliaries are trained on if the table is read in parts.",
        min=20,
    ),
    "prevalence": model_option(
        "--prevalence SHARE", "Share of positives in the new population, if it is known."
    ),
    "promise": model_option(
        "--promise LIMIT",
        "Promise such as 'precision >= 0.9', about precision, fdr, npv, recall, fnr, specificity, "
        "fpr or positive_rate; by default the constraint of the model's measure; repeatable.",
    ),
    "abstain_label": model_option(
        "--abstain-label LABEL",
        "Prediction for rows between two thresholds, one for each label; 'ask' if the promises are about "
        "precision or fdr and about npv.",
    ),
    "confidence": model_option(
        "--confidence NUMBER",
        "Probability with which all promises must hold; by default that of the measure, or 0.95.",
    ),
    "objective": model_option(
        "--objective MEASURE",
        "Measure to maximize among the thresholds that pass; by default recall for a precision or fpr.",
    ),
    "rows": model_option("--row NUMBER", "Explain the prediction of this row, counted from 1; repeatable."),
    "columns": column_option(
        "--column COLUMN", "Explain this column only; repeatable. By default all columns."
    ),
    "max_rows": model_option("--max-rows NUMBER", "Rows to use; of a larger table a random sample.", min=2),
    "comparison": option(
        OTHER_OPTIONS, "--comparison FILE", "Output of 'capo compare --json' to include in the report."
    ),
    "explain": output_option(
        "--explain/--no-explain",
        "Show which columns the measure depends on, which takes about as long as predicting 10,000 "
        "rows for each column.",
    ),
}


@dataclass(frozen=True)
class ModelOptions:
    """The model file of a command."""

    path: str
    trust: list[str] | None = None

    def load(self, console: Console) -> LoadedModel:
        """Load the model."""
        from .inputs import load_model  # noqa: PLC0415 (slow to load)

        return load_model(self.path, self.trust or (), console)


@dataclass(frozen=True)
class TableOptions:
    """The table of a command, and how to read it."""

    table: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None

    def open(self) -> TableReader:
        """The reader of the table."""
        from ..io.formats import open_table  # noqa: PLC0415 (slow to load)

        return open_table(self.table, format=self.format, delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True)
class UnlabeledTableOptions(TableOptions):
    """A table that may be left out."""

    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="Rows of the new population; labels are not needed.", show_default=False
        ),
    ] = ""


@dataclass(frozen=True)
class TrainingOptions:
    """What is trained, and from which columns."""

    targets: list[str] | None = None
    label_separator: str | None = None
    positive: str | None = None
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    drop: list[str] | None = None
    ids: list[str] | None = None
    categories: list[str] | None = None
    types: Path | None = None
    strict: bool = False
    measure: str | None = None
    measure_args: list[str] | None = None
    cost_fp: str | None = None
    cost_fn: str | None = None
    benefit_tp: str | None = None
    auxiliaries: list[str] | None = None
    preset: str | None = None
    delta: str = "linear"
    jobs: int = 1
    seed: int = 0
