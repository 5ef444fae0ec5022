"""Options, each declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import typer

from ..exceptions import InvalidInputError
from .console import Console

if TYPE_CHECKING:
    from ..io.formats import TableReader


COLUMNS, MODEL, READING, OUTPUT = "Columns", "Model", "Reading the table", "Output"
#: In their order in the help.
PANELS = (COLUMNS, MODEL, READING, OUTPUT)


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options of each group in place of the group, for Typer.

    A group is a parameter whose type is a dataclass. Each of its fields that is annotated with an option or
    an argument becomes a parameter; the other fields keep their defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = [
        parameter
        for each in inspect.signature(command).parameters.values()
        for parameter in _expand(each.replace(annotation=hints[each.name], kind=each.KEYWORD_ONLY), groups)
    ]

    @wraps(command)
    def run_with_options(**values: Any) -> None:
        for name, group in groups.items():
            given = {each.name: values.pop(_join(name, each)) for each in _option_fields(group)}
            values[name] = group(**given)
        command(**values)

    run_with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run_with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return run_with_options


def _expand(parameter: inspect.Parameter, groups: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """The parameter itself, or those of its group."""
    if parameter.name not in groups:
        yield parameter
        return
    group = groups[parameter.name]
    hints = get_type_hints(group, include_extras=True)
    for each in _option_fields(group):
        default = parameter.empty if each.default is MISSING else each.default
        name = _join(parameter.name, each)
        yield parameter.replace(name=name, annotation=hints[each.name], default=default)


def _option_fields(group: Any) -> list[Field[Any]]:
    hints = get_type_hints(group, include_extras=True)
    return [each for each in fields(group) if get_origin(hints[each.name]) is Annotated]


def _join(name: str, field: Field[Any]) -> str:
    """The name of a field's parameter; two groups may have fields of the same name."""
    return f"{name}_{field.name}"


_option = partial(typer.Option, rich_help_panel=OUTPUT)

output_option = partial(_option, "--output", "-o", metavar="FILE")

JsonOption = Annotated[bool, _option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, _option("--quiet", "-q", help="Suppress progress messages and notes.")]


@dataclass(frozen=True, kw_only=True)
class ConsoleOptions:
    """What is printed, and how."""

    json: JsonOption = False
    quiet: QuietOption = False
    strict: bool = False

    def open(self) -> Console:
        """The console of the command."""
        return Console(self.quiet, self.json, self.strict)


@dataclass(frozen=True, kw_only=True)
class TrainingConsoleOptions(ConsoleOptions):
    """Notes about training data can be errors."""

    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop with an error where a note would say that the data may mislead.",
            rich_help_panel=COLUMNS,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class DriftConsoleOptions(ConsoleOptions):
    """The predictions are the result, and JSON describes their rows."""

    json: Annotated[
        bool,
        _option("--json", help="Print how the rows differ from the training rows as JSON; needs --output."),
    ] = False


ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'.")]
ModelOutputOption = Annotated[Path, output_option(help="Model file to write.")]
OptionalModelOutputOption = Annotated[Path | None, output_option(help="Model file to write.")]


@dataclass(frozen=True, kw_only=True)
class ModelFileOptions:
    """A model file to load, and the types in it that the user trusts."""

    path: ModelArgument
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="TYPE",
            help="Load this type although capo cannot verify that it is safe; repeatable.",
        ),
    ] = None


_option_table = partial(typer.Option, rich_help_panel=READING)


@dataclass(frozen=True, kw_only=True)
class _ReadingOptions:
    format: Annotated[
        str | None,
        _option_table(
            "--format",
            metavar="NAME",
            help="csv, parquet, jsonl, excel or svmlight; by default detected from the file.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _option_table(
            "--delimiter",
            metavar="CHARACTER",
            help="Separator of values: , ; | or tab; by default detected from the header.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _option_table(
            "--encoding",
            metavar="NAME",
            help="Encoding of a text file that is not UTF-8, such as cp1252.",
        ),
    ] = None

    def _open(self, path: str) -> TableReader:
        from ..io.formats import open_table  # noqa: PLC0415 (slow to import)

        return open_table(path, format=self.format, delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True, kw_only=True)
class TableOptions(_ReadingOptions):
    """A table."""

    path: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="CSV, TSV, Parquet, JSON lines, Excel or svmlight file, also .gz, .bz2, .xz or .zip; a "
            "pattern of several, such as 'part-*.csv', or a folder; - for standard input.",
        ),
    ]

    def open(self) -> TableReader:
        """A reader of the table."""
        return self._open(self.path)


@dataclass(frozen=True, kw_only=True)
class OptionalTableOptions(_ReadingOptions):
    """A table of new rows, or none."""

    path: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="Rows of the new population; labels are not needed."),
    ] = None

    def open(self) -> TableReader | None:
        """A reader of the table; None if no table was named."""
        return None if self.path is None else self._open(self.path)


_option_columns = partial(typer.Option, rich_help_panel=COLUMNS)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of a training table are used for."""

    targets: Annotated[
        list[str] | None,
        _option_columns(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column with the labels of two or more classes; several columns of 0 and 1, by repeating "
            "the option or as a,b,c, if a row may have several labels.",
        ),
    ] = None
    label_separator: Annotated[
        str | None,
        _option_columns(
            "--label-separator",
            metavar="TEXT",
            help="The target column has several labels per row, with this text between them.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        _option_columns(
            "--positive",
            metavar="LABEL",
            help="Label of the positive class; by default the one that means yes, or the larger.",
        ),
    ] = None
    weight: Annotated[
        str | None, _option_columns("--weight", metavar="COLUMN", help="Column with the sample weights.")
    ] = None
    group: Annotated[
        str | None,
        _option_columns(
            "--group",
            metavar="COLUMN",
            help="Column of groups, such as patients: the rows of a group are held out together. Not a "
            "feature.",
        ),
    ] = None
    time: Annotated[
        str | None,
        _option_columns(
            "--time",
            metavar="COLUMN",
            help="Column with dates or numbers: folds predict later rows from earlier ones.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None, _option_columns("--drop", metavar="COLUMN", help="Ignore this column; repeatable.")
    ] = None
    ids: list[str] | None = None
    categories: Annotated[
        list[str] | None,
        _option_columns(
            "--category",
            metavar="COLUMN",
            help="Treat this column of numbers as categories; repeatable.",
        ),
    ] = None
    types: Annotated[
        Path | None,
        _option_columns(
            "--types",
            metavar="FILE",
            help="Kinds of columns in TOML, as 'capo inspect -o FILE' writes them.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse empty names, which an unset variable in a script gives."""
        single = {"--weight": self.weight, "--group": self.group, "--time": self.time}
        several = {
            "--target": self.targets,
            "--drop": self.drop,
            "--id": self.ids,
            "--category": self.categories,
        }
        for option, names in {**{key: [name] for key, name in single.items()}, **several}.items():
            if "" in (names or ()):
                raise InvalidInputError(f"{option} needs the name of a column: got an empty one.")
        if self.group and self.time:
            raise InvalidInputError("--group and --time cannot be combined: choose one.")
        if self.label_separator == "":
            raise InvalidInputError("--label-separator needs a text such as ';': got an empty one.")

    @property
    def target(self) -> str:
        """The target as it was typed; empty if none was."""
        return ",".join(self.targets or ())

    def label_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The target columns if there are several, of which the table has `columns`; otherwise none."""
        names = tuple(dict.fromkeys(self.targets or ()))
        if len(names) == 1 and names[0] not in columns and "," in names[0]:
            names = tuple(dict.fromkeys(name.strip() for name in names[0].split(",") if name.strip()))
        return names if len(names) > 1 else ()

    @property
    def any_column_named(self) -> bool:
        """Whether an option names a column."""
        single = (self.target, self.label_separator, self.weight, self.group, self.time, self.types)
        return any((*single, self.drop, self.ids, self.categories))


@dataclass(frozen=True, kw_only=True)
class FitColumnOptions(ColumnOptions):
    """What the columns are used for in a model that is kept: its predictions can have identifiers."""

    ids: Annotated[
        list[str] | None,
        _option_columns(
            "--id",
            metavar="COLUMN",
            help="Identifier: copied to the predictions, not used as a feature; repeatable.",
        ),
    ] = None


MAX_SEED = 2**32 - 1

_option_model = partial(typer.Option, rich_help_panel=MODEL)


def _complete_measure_names() -> list[str]:
    from .. import measures  # noqa: PLC0415 (only for tab completion)
    from ..measures import multiclass, multilabel  # noqa: PLC0415

    return sorted({*measures.names(), *multiclass.names(), *multilabel.names()})


_folds_option = partial(_option_model, "--folds", metavar="NUMBER", min=2)

JobsOption = Annotated[
    int,
    _option_model(
        "--jobs",
        "-j",
        metavar="NUMBER",
        help="Auxiliaries trained in parallel; -1 uses all cores.",
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", min=0, max=MAX_SEED, help="Random seed.")
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The measure, what is trained for it, and how."""

    measure: Annotated[
        str | None,
        _option_model(
            "--measure",
            "-m",
            metavar="MEASURE",
            show_default="f1, or cost if prices are given",
            help="Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
            autocompletion=_complete_measure_names,
        ),
    ] = None
    measure_args: Annotated[
        list[str] | None,
        _option_model(
            "--measure-arg",
            metavar="NAME=VALUE",
            help="Parameter of the measure, such as beta=2, classes=a,b, order=low,mid,high or "
            "matrix=costs.csv; repeatable.",
        ),
    ] = None
    cost_fp: Annotated[
        str | None,
        _option_model(
            "--cost-fp",
            metavar="COLUMN|NUMBER",
            help="What a false positive costs: a column with the amount of each row, or a number for all "
            "rows. Makes 'cost' the measure.",
        ),
    ] = None
    cost_fn: Annotated[
        str | None,
        _option_model(
            "--cost-fn",
            metavar="COLUMN|NUMBER",
            help="What a missed positive costs: a column, or a number.",
        ),
    ] = None
    benefit_tp: Annotated[
        str | None,
        _option_model(
            "--benefit-tp",
            metavar="COLUMN|NUMBER",
            help="What a true positive is worth: a column, or a number.",
        ),
    ] = None
    auxiliaries: Annotated[
        list[str] | None,
        _option_model(
            "--auxiliaries",
            "-a",
            metavar="NAMES",
            show_default="auto",
            help="Classifiers to combine and adapt: auto, or a comma-separated list of boosting, quick, "
            "trees, full_trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, rbfnet; "
            "repeatable.",
        ),
    ] = None
    preset: Annotated[
        str | None,
        _option_model(
            "--preset",
            metavar="NAME",
            show_default="balanced",
            help="Which built-in classifiers to combine: fast (about a quarter of the time) or "
            "balanced. Not together with --auxiliaries.",
        ),
    ] = None
    delta: Annotated[
        str,
        _option_model(
            "--delta",
            metavar="NAME",
            help="Features of the delta function, which corrects the auxiliaries: linear, rbf or none.",
        ),
    ] = "linear"
    folds: Annotated[
        int | None,
        _folds_option(help="Folds for cross-fitting the auxiliaries and choosing C; 5 by default."),
    ] = None
    jobs: JobsOption = 1
    seed: SeedOption = 0

    @property
    def prices(self) -> dict[str, str]:
        """The prices of rows: columns or numbers by the names of the parameters of `fit`."""
        given = {"cost_fp": self.cost_fp, "cost_fn": self.cost_fn, "benefit_tp": self.benefit_tp}
        return {name: text for name, text in given.items() if text is not None}

    @property
    def measure_name(self) -> str:
        """The measure that was named, or the default: prices make it the cost."""
        return self.measure or ("cost" if self.prices else "f1")


@dataclass(frozen=True, kw_only=True)
class ComparisonModelOptions(ModelOptions):
    """The models of ``capo compare``: the folds are those of the comparison."""

    folds: Annotated[int, _folds_option(help="Folds of the cross-validation; each is held out once.")] = 5


#: The prefix of clusters that are started for the command.
LOCAL = "local"

_option_cluster = partial(typer.Option, rich_help_panel=READING)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The Dask cluster whose workers read the rows."""

    address: Annotated[
        str | None,
        _option_cluster(
            "--cluster",
            metavar="ADDRESS",
            help="Use a Dask cluster, whose workers read the rows: local, local:4 (workers) or "
            "tcp://host:8786.",
        ),
    ] = None
    partition_rows: Annotated[
        int | None,
        _option_cluster(
            "--partition-rows",
            metavar="NUMBER",
            min=20,
            help="Rows of a part, which are read at once. By default 200,000, or fewer with more than 20 "
            "columns.",
            show_default=False,
        ),
    ] = None

    @property
    def n_local_workers(self) -> int | None:
        """Number of workers to start on this machine; None if there is a cluster to connect to."""
        name, _, count = (self.address or "").partition(":")
        if name != LOCAL:
            return None
        if count and not (count.isdecimal() and int(count) > 0):
            raise InvalidInputError(
                f"--cluster takes local, local:4 or the address of a scheduler: got {self.address!r}."
            )
        return int(count or 1)


@dataclass(frozen=True, kw_only=True)
class FitClusterOptions(ClusterOptions):
    """The Dask cluster to train on, or whether to read the table in parts without one."""

    out_of_core: Annotated[
        str,
        _option_cluster(
            "--out-of-core",
            metavar="WHEN",
            help="Read the table in parts, without a cluster: auto, if the training needs more memory than "
            "there is; yes or no.",
        ),
    ] = "auto"

    sample_size: Annotated[
        int,
        _option_cluster(
            "--sample-size",
            metavar="NUMBER",
            min=20,
            help="Rows that the auxiliaries are trained on if the table is read in parts.",
        ),
    ] = 100_000


_option_explanation = partial(typer.Option, rich_help_panel=MODEL)


@dataclass(frozen=True, kw_only=True)
class ExplanationOptions:
    """What is explained, and on which rows."""

    rows: Annotated[
        list[int] | None,
        _option_explanation(
            "--row",
            metavar="NUMBER",
            help="Explain the prediction of this row, counted from 1; repeatable.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="Explain this column only; repeatable. By default all columns.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    folds: Annotated[
        int | None,
        _option_explanation(
            "--folds",
            metavar="NUMBER",
            min=2,
            help="Train the model again on this many folds of TABLE, and explain it on the held-out rows.",
        ),
    ] = None
    max_rows: Annotated[
        int,
        _option_explanation(
            "--max-rows", metavar="NUMBER", min=2, help="Rows to use; of a larger table a random sample."
        ),
    ] = 2000


_option_guarantee = partial(typer.Option, rich_help_panel=MODEL)


@dataclass(frozen=True, kw_only=True)
class GuaranteeOptions:
    """What is guaranteed; parameters of `CAPOClassifier.guarantee`."""

    constraint: Annotated[
        str | None,
        _option_guarantee(
            "--constraint",
            metavar="LIMIT",
            help="Constraint such as 'precision >= 0.9', on precision, fdr, npv, recall, fnr, specificity, "
            "fpr or positive_rate; by default that of the model's measure.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        _option_guarantee(
            "--confidence",
            metavar="NUMBER",
            help="Probability with which the constraint must hold; by default that of the measure, or 0.95.",
        ),
    ] = None
    objective: Annotated[
        str | None,
        _option_guarantee(
            "--objective",
            metavar="MEASURE",
            help="Measure to maximize among the thresholds that pass; by default recall for a precision or "
            "fpr.",
        ),
    ] = None
