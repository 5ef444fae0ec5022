"""The training table, and the model that the options describe."""

from __future__ import annotations

import ast
import csv
import os
import shlex
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from sklearn.base import clone

from .. import measures
from .._compat import BoolArray, FloatArray, NDArray
from ..decisions import ROW_PRICE_NAMES
from ..estimators import CAPOClassifier
from ..exceptions import CapoError, InvalidInputError, UnknownMeasureError, list_labels, suggest_names
from ..io import table_schema
from ..io.formats import TableReader
from ..io.parts import TablePart, estimate_size
from ..io.source import Batch, NoRowsError, SparseRows
from ..learning.auxiliaries import AUXILIARY_SETS, ScoreColumn, auxiliary_names, check_auxiliary_name
from ..learning.folds import DEFAULT_N_FOLDS, TimeFolds
from ..measures import multiclass, multilabel
from ..tables import targets
from ..tables.checks import check_data
from ..tables.dates import DateKind
from ..tables.kinds import BooleanKind, CodeKind, ColumnValues, ParsedKind, find_yes_label
from ..tables.schema import KINDS, DemandedKind, FeatureSchema, recognize
from .console import Console, count
from .inputs import connect, divide, read_parts
from .options import Training

TargetType = Literal["binary", "multiclass", "multilabel"]

#: The measures of each type of target, and the target in words.
MEASURES: dict[TargetType, Any] = {"binary": measures, "multiclass": multiclass, "multilabel": multilabel}
TARGETS: dict[TargetType, str] = {
    "binary": "two classes",
    "multiclass": "classes",
    "multilabel": "several labels per row",
}
#: A target with fewer rows per class on average is not accepted as classes.
MIN_MEAN_CLASS_ROWS = 3
#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10
#: Larger parameters of measures are rejected as typing errors.
MAX_MEASURE_ARG = 1e50
#: Parameters of measures that are lists of labels, such as classes=a,b.
LABEL_ARGS = ("classes", "order")
#: The parameter that is the name of a file, and the measures of classes that need it.
MATRIX_ARG = "matrix"
MATRIX_MEASURES = ("cost", "gain")
DELTAS = {"linear": "linear", "rbf": "rbf", "none": None}
#: The table of a file of column types.
TYPES_TABLE = "columns"
#: About this many parts are tried to infer the column types, until one has rows of both classes.
N_TRIED_PARTS = 8
#: Copies of the table that training makes: as read, as numbers, and as features of the auxiliaries.
N_TABLE_COPIES = 8
#: Bytes for each row that the forests of all folds take, if there are any.
FOREST_BYTES_PER_ROW = 15_000
FORESTS = frozenset({"trees", "full_trees", "rf", "auto"})
#: Smaller files are read at once.
MIN_CHECKED_BYTES = 2**25


class OneClassError(InvalidInputError):
    """All rows have the same label."""


@dataclass(frozen=True)
class RequestedMeasure:
    """A measure by its name and parameters, before the type of the target is known; labels are text."""

    name: str
    params: dict[str, Any]
    #: The measure for each type of target that has it.
    found: dict[TargetType, Any]
    #: Files that parameters name.
    files: tuple[str, ...] = ()

    @classmethod
    def parse(cls, name: str | None, args: Sequence[str] | None, default: str = "f1") -> RequestedMeasure:
        """Parse parameters such as ``beta=2``; raise if no type of target has such a measure."""
        name, params = default if name is None else name.strip(), parse_measure_args(args or ())
        found: dict[TargetType, Any] = {}
        errors: list[CapoError] = []
        for target_type, registry in MEASURES.items():
            try:
                found[target_type] = registry.get(name, **params)
            except CapoError as error:
                errors.append(error)
        if found:
            pairs = [text.split("=", 1) for text in args or ()]
            files = tuple(value.strip() for key, value in pairs if key.strip() == MATRIX_ARG)
            return cls(name, params, found, files)
        if known := [error for error in errors if not isinstance(error, UnknownMeasureError)]:
            raise known[0]
        names = dict.fromkeys(each for registry in MEASURES.values() for each in registry.names())
        hint = suggest_names(name, list(names), "See 'capo measures'.")
        raise UnknownMeasureError(f"there is no measure {name!r}. {hint}")

    @property
    def is_for_classes(self) -> bool:
        """Whether the measure is for many classes and not for two."""
        return "binary" not in self.found and "multiclass" in self.found

    def for_target(self, target_type: TargetType, y: NDArray[Any]) -> Any:
        """The measure of a type of target and its labels, which may be numbers."""
        if target_type == "multiclass" and self.name in MATRIX_MEASURES and MATRIX_ARG not in self.params:
            raise InvalidInputError(
                f"the measure {self.name!r} of classes needs a CSV file with the {self.name} of each pair of "
                "classes, the true ones in its first column and the predicted ones in its header: "
                "--measure-arg matrix=FILE."
            )
        if target_type in self.found and not any(name in self.params for name in LABEL_ARGS):
            return self.found[target_type]
        registry, labels = MEASURES[target_type], {str(label): label for label in np.unique(y).tolist()}
        params = {
            name: [labels.get(label, label) for label in value] if name in LABEL_ARGS else value
            for name, value in self.params.items()
        }
        try:
            return registry.get(self.name, **params)
        except UnknownMeasureError as error:
            if self.name in registry.names():
                raise
            raise UnknownMeasureError(
                f"the measure {self.name!r} does not fit the target, which has {TARGETS[target_type]}: "
                "choose another measure (see 'capo measures')."
            ) from error


def parse_measure_args(args: Sequence[str]) -> dict[str, Any]:
    """The parameters of a measure from texts such as ``beta=2``; a matrix comes with its classes."""
    params: dict[str, Any] = {}
    for text in args:
        name, _, value = (part.strip() for part in text.partition("="))
        if name in LABEL_ARGS and value:
            # A label that contains a comma is in quotation marks, as in a CSV file.
            found: dict[str, Any] = {
                name: [each.strip() for each in next(csv.reader([value], skipinitialspace=True))]
            }
        elif name == MATRIX_ARG and value:
            found = _read_matrix(Path(value))
        else:
            found = {name: value if name == "weights" and value else _parse_number(text, value)}
        for repeated in found.keys() & params.keys():
            raise InvalidInputError(f"--measure-arg gives {repeated!r} more than once: choose one value.")
        params |= found
    return params


def _parse_number(text: str, value: str) -> int | float:
    try:
        number = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        number = None
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not abs(number) < MAX_MEASURE_ARG:
        raise InvalidInputError(f"--measure-arg must be a name and a number, such as beta=2: got {text!r}.")
    return number


def _read_matrix(path: Path) -> dict[str, Any]:
    """Read a CSV file with the true classes in the first column and the predicted classes in the header."""
    try:
        table = pl.read_csv(path, infer_schema=False)
        rows = [str(label).strip() for label in table[:, 0].to_list()]
        columns = [name.strip() for name in table.columns[1:]]
        values = table[:, 1:].cast(pl.Float64).to_numpy()
    except (OSError, pl.exceptions.PolarsError, IndexError) as error:
        raise InvalidInputError(f"cannot read the matrix in {path}: {str(error).splitlines()[0]}.") from error
    if len(set(rows)) != len(rows) or sorted(rows) != sorted(columns) or np.isnan(values).any():
        raise InvalidInputError(
            f"the matrix in {path} must have a number for each pair of classes: the true classes in the "
            "first column, and the same classes, as predicted, in the header."
        )
    return {MATRIX_ARG: values[[rows.index(name) for name in columns]], "classes": columns}


def parse_auxiliaries(auxiliaries: Sequence[str] | None) -> str | list[str]:
    """The value of `CAPOClassifier.auxiliaries`; an empty list for "none"."""
    if auxiliaries is None:
        return "auto"
    lists = [[name.strip() for name in each.split(",") if name.strip()] for each in auxiliaries]
    if not all(lists):
        raise InvalidInputError(f"--auxiliaries needs at least one of {', '.join(auxiliary_names())}.")
    names = [name for each in lists for name in each]
    if "none" in names:
        if len(names) > 1:
            raise InvalidInputError("--auxiliaries none cannot be combined with other names: choose one.")
        return []
    for name in names:
        check_auxiliary_name(name)
    return names[0] if len(names) == 1 and names[0] in AUXILIARY_SETS else names


def read_column_types(path: Path) -> dict[str, DemandedKind]:
    """The kinds that a file gives to columns."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is not a file of column types: {error}.") from error
    columns = document.get(TYPES_TABLE)
    if not isinstance(columns, dict) or set(document) != {TYPES_TABLE}:
        raise InvalidInputError(
            f"{path} is not a file of column types: it must have one table, [{TYPES_TABLE}]."
        )
    for name, demanded in columns.items():
        kind = demanded.get("kind") if isinstance(demanded, dict) else demanded
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidInputError(
                f"{path} gives the column {name!r} the unknown kind {kind!r}: choose one of "
                f"{', '.join(KINDS)}."
            )
    return columns


def _make_roles(options: Training) -> table_schema.ColumnRoles:
    """The roles of the columns that options name."""
    if options.group and options.time:
        raise InvalidInputError("--group and --time cannot be combined: choose one.")
    target, *others = dict.fromkeys(options.targets or [""])
    return table_schema.ColumnRoles(
        "" if others else target,
        weight=options.weight or "",
        group=options.group or "",
        time=options.time or "",
        drop=tuple(dict.fromkeys(options.drop or ())),
        ids=tuple(dict.fromkeys(options.ids or ())),
        categories=tuple(dict.fromkeys(options.categories or ())),
        kinds={} if options.types is None else read_column_types(options.types),
        label_columns=(target, *others) if others else (),
        scores=tuple(options.scores or ()),
    )


class _Target(NamedTuple):
    """A target that a model can be trained on.

    `main_class` are the rows of the positive class; of the most frequent class or label if there are more.
    """

    type: TargetType
    pos_label: Any
    main_class: BoolArray
    notes: list[str]
    description: str


class TrainingTable(NamedTuple):
    """A table that was read for training, and the unfitted model for it."""

    model: CAPOClassifier
    schema: table_schema.TableSchema
    X: Any
    y: Any
    sample_weight: FloatArray | None
    groups: NDArray[np.generic] | None
    target_type: TargetType
    price_sources: table_schema.PriceSources
    prices: dict[str, Any]


class TrainingPlan:
    """The options of a command about training.

    Parameters
    ----------
    options : Training
        The options.
    folds : int, optional
        Folds for cross-fitting.

    Attributes
    ----------
    roles : ColumnRoles
        The columns that options name.
    measure : RequestedMeasure
        The measure to optimize.
    model : CAPOClassifier
        The model without what depends on the table.
    prices : dict of str to str
        Columns or numbers by the names of the parameters of `fit`.
    """

    def __init__(self, options: Training, folds: int | None) -> None:
        self.options = options
        self.prices = {name: text for name in ROW_PRICE_NAMES if (text := getattr(options, name)) is not None}
        self.roles = _make_roles(options)
        default = "cost" if self.prices else "f1"
        self.measure = RequestedMeasure.parse(options.measure, options.measure_args, default)
        if options.delta.lower() not in DELTAS:
            raise InvalidInputError(f"--delta must be linear, rbf or none: got {options.delta!r}.")
        self.model = CAPOClassifier(
            auxiliaries=parse_auxiliaries(options.auxiliaries),
            cv=TimeFolds(folds or DEFAULT_N_FOLDS) if options.time else folds,
            delta=DELTAS[options.delta.lower()],
            n_jobs=options.jobs or None,
            random_state=options.seed,
            verbose=2,  # the console decides how much of it is shown
        )

    @property
    def target(self) -> str:
        """The target as typed; empty if there is none."""
        return self.roles.target or ",".join(self.roles.label_columns)

    def read(self, table: TablePart, console: Console) -> TrainingTable:
        """Read a table, infer its schema, check labels and weights, and log its size."""
        with console.step(f"reading {table.name}"):
            batch = table.read()
            roles = self._roles_in(batch)
            if self.options.drop_unlabeled:
                names = roles.label_columns or (roles.target,)
                texts = [table_schema.read_texts(batch, name, "target") for name in names]
                kept = np.all([each.is_not_null() for each in texts], axis=0)
                if n_dropped := len(batch) - int(kept.sum()):
                    console.note(
                        f"dropped {count(n_dropped, 'row')} of {len(batch):,} without a label; row numbers "
                        "refer to the remaining rows."
                    )
                batch = replace(batch, rows=batch.frame.filter(kept))
            schema, remarks, notes = self._infer_schema(batch, roles)
            time = roles.time
            X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
            groups = table_schema.read_times(batch, time) if time else schema.groups(batch)
            sources = table_schema.parse_prices(self.prices, batch)
            if self.target in sources.values():
                raise InvalidInputError(f"the target {self.target!r} cannot be a price: name another column.")
            prices = table_schema.read_prices(sources, batch, schema.table)
        target = self._check_target(y, weight, schema)
        for remark in remarks:
            console.note(remark)
        findings = check_data(X, target.main_class, schema.table.parsed, target=self.target)
        notes += [*target.notes, *(each.message for each in findings if not time or each.topic != "sorted")]
        console.data_notes(notes)
        size = f"{count(len(y), 'row')}, {count(schema.n_features, 'column')}"
        if groups is not None and not time:
            size += f", {count(len(np.unique(groups)), 'group')}"
        console.log(f"{size}; {target.description}")
        auxiliaries = self.model.auxiliaries
        if roles.scores:
            others = [auxiliaries] if isinstance(auxiliaries, str) else auxiliaries
            auxiliaries = [*map(ScoreColumn, roles.scores), *others]
        model = clone(self.model).set_params(
            auxiliaries=auxiliaries,
            measure=self.measure.for_target(target.type, y),
            pos_label=target.pos_label,
            column_kinds=schema.table.parsed,
        )
        if target.type == "multiclass" and roles.target_is_category:
            y = pl.Series(y, dtype=pl.Categorical)  # so that the model accepts the classes
        if target.type == "multiclass" and model.delta is None:
            model.set_params(delta="linear")  # many classes have no delta function that could be left out
        return TrainingTable(model, schema, X, y, weight, groups, target.type, sources, prices)

    def _infer_schema(
        self, batch: Batch, roles: table_schema.ColumnRoles
    ) -> tuple[table_schema.TableSchema, list[str], list[str]]:
        """The schema, notes about the columns, and warnings of what may mislead."""
        separator = self.options.label_separator or ""
        if isinstance(batch.rows, SparseRows):
            if roles != table_schema.ColumnRoles("") or separator or self.options.drop_unlabeled:
                raise InvalidInputError(
                    "an svmlight file starts each row with its label and has no named columns: remove "
                    "--target, --label-separator, --drop-unlabeled, --weight, --group, --time, --drop, --id, "
                    "--category, --scores and --types."
                )
            return table_schema.TableSchema(FeatureSchema(()), batch.rows.X.shape[1]), [], []
        if separator and roles.label_columns:
            raise InvalidInputError(
                "--label-separator is for one target column with all labels of a row: got "
                f"{len(roles.label_columns)} target columns."
            )
        features = table_schema.infer_features(batch, roles)
        remarks = [
            f"The column {column.key!r} is used as categories: {column.reason}."
            for column in features.columns
            if isinstance(column.kind, CodeKind)
        ]
        schema = table_schema.infer_table_schema(batch, roles, features, separator)
        return schema, remarks, table_schema.column_notes(features)

    def _roles_in(self, batch: Batch) -> table_schema.ColumnRoles:
        """The roles in a table: a target or score with commas that is not a column is a list of columns."""
        roles, columns = self.roles, [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
        scores = [
            name.strip()
            for text in roles.scores
            for name in ([text] if text in columns else text.split(","))
            if name.strip()
        ]
        if repeated := [name for position, name in enumerate(scores) if name in scores[:position]]:
            raise InvalidInputError(f"the column {repeated[0]!r} appears twice in --scores: name it once.")
        if not scores and (roles.scores or self.model.auxiliaries == []):
            option = "--scores" if roles.scores else "--auxiliaries none"
            raise InvalidInputError(f"{option} needs a column of scores or answers, such as --scores vendor.")
        roles = replace(roles, scores=tuple(scores))
        if not self.target and columns:
            shown = ", ".join(map(repr, columns[:MAX_LISTED_COLUMNS]))
            raise InvalidInputError(f"name the label column with --target: the table has {shown}.")
        names = tuple(dict.fromkeys(name.strip() for name in roles.target.split(",") if name.strip()))
        if roles.target in columns or len(names) < 2:
            return roles
        return replace(roles, target="", label_columns=names)

    def _check_target(
        self, y: NDArray[Any], weight: FloatArray | None, schema: table_schema.TableSchema
    ) -> _Target:
        """Check the labels, and their sample weights."""
        if schema.label_names:
            self._refuse_binary_options()
            return _check_label_matrix(y, schema.label_names)
        classes, codes = np.unique(y, return_inverse=True)
        name = f"the target {self.target!r}" if self.target else "the target"
        if len(classes) == 1:
            raise OneClassError(f"{name} is {classes.tolist()[0]!r} in every row: two classes are needed.")
        if weight is not None:
            targets.check_class_weights(weight, codes, classes)
        if len(classes) == 2 and not self.measure.is_for_classes:
            return self._check_two_classes(y, classes.tolist(), weight, schema, name)
        self._refuse_binary_options()
        return _check_classes(y, self.roles, name)

    def _refuse_binary_options(self) -> None:
        for option, value, remedy in (
            ("--time is", self.roles.time, "leave it out, or use --group"),
            ("--cost-fp, --cost-fn and --benefit-tp are", self.prices, "use --measure-arg matrix=FILE"),
            ("--positive is", self.options.positive, "leave it out"),
        ):
            if value:
                raise InvalidInputError(f"{option} for targets and measures of two classes: {remedy}.")

    def _check_two_classes(
        self,
        y: NDArray[Any],
        labels: list[Any],
        weight: FloatArray | None,
        schema: table_schema.TableSchema,
        name: str,
    ) -> _Target:
        pos_label = find_yes_label(labels)
        if self.options.positive is not None:
            pos_label = table_schema.parse_label(self.options.positive, schema.label_kind)
            if pos_label not in labels:
                raise InvalidInputError(
                    f"{name} has no label {self.options.positive!r}: its labels are {labels[0]!r} and "
                    f"{labels[1]!r}."
                )
        classes, positive = targets.encode_binary_labels(y, pos_label)
        counted = positive if weight is None else positive[weight > 0]
        other, label = classes.tolist()
        share, n_positive, notes = float(counted.mean()), int(counted.sum()), []
        if share > targets.MAX_POSITIVE_SHARE and not self.options.positive:
            reason = "the larger of the two labels" if label == max(labels) else "the label that means yes"
            notes = [
                f"The positive class is {label!r}, {reason}, which {share:.0%} of the rows have. "
                f"Use --positive {shlex.quote(str(other))} if that is the class to find, or --positive "
                f"{shlex.quote(str(label))} to keep it."
            ]
        rows = f"{count(n_positive, 'row')} ({n_positive / len(counted):.1%})"
        return _Target("binary", label, positive, notes, f"{label!r} is positive, {rows}")


def _check_classes(y: NDArray[Any], roles: table_schema.ColumnRoles, target_name: str) -> _Target:
    """Check the labels of a target with many classes."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    labels, notes, largest = classes.tolist(), [], int(counts.argmax())
    problem = "" if len(labels) == 2 or roles.target_is_category else _explain_values(classes, counts, roles)
    if problem:
        raise InvalidInputError(
            f"{target_name} has {len(labels):,} different values ({list_labels(labels)}), too many or not of "
            f"a kind to be classes. {problem}"
        )
    if single := [labels[k] for k in np.flatnonzero(counts == 1)]:
        each = "Each of the classes" if len(single) > 1 else "The class"
        notes = [
            f"{each} {list_labels(single)} has 1 row, which cannot be predicted from other rows of its class."
        ]
    size = f"{len(labels)} classes of {counts.min():,} to {count(counts.max(), 'row')}"
    return _Target("multiclass", None, codes == largest, notes, f"{size}, most often {labels[largest]!r}")


def _explain_values(labels: NDArray[Any], counts: NDArray[Any], roles: table_schema.ColumnRoles) -> str:
    """A description of the values of a target if they are not classes, and what to do; otherwise ""."""
    kind = recognize(ColumnValues.count("target", labels.tolist())).kind
    override = f"If they are classes, use --category {shlex.quote(roles.target)}."
    explanation = ""
    if isinstance(kind, DateKind):
        explanation = "They are dates: is this the right column?"
    elif isinstance(kind, BooleanKind):
        explanation = "They are spellings of yes and no: write each of the two in one way."
    elif isinstance(kind, ParsedKind):
        explanation = _explain_numbers(np.array([kind.parse_or_missing(str(each)) or 0.0 for each in labels]))
    elif separator := targets.find_label_separator(labels, counts):
        explanation = f"They look like several labels per row: use --label-separator {separator!r}."
    if not explanation and len(labels) * MIN_MEAN_CLASS_ROWS > counts.sum():
        explanation = f"That is {counts.sum() / len(labels):.1f} rows per class. Is this the right column?"
    return explanation and f"{explanation} {override}"


def _explain_numbers(numbers: FloatArray) -> str:
    if (numbers == np.round(numbers)).all():
        limit = "They look like a quantity: make labels from them, such as above a limit or not."
        return limit if targets.is_quantity(np.unique(numbers)) else ""
    if ((numbers >= 0) & (numbers <= 1)).all():
        return "They are probabilities or shares: make labels from them, such as above 0.5 or not."
    return "They are measurements: make labels from them, such as above a limit or not."


def _check_label_matrix(y: Any, names: Sequence[str]) -> _Target:
    """Check a label matrix."""
    matrix = np.asarray(y)
    counts, n_rows, notes = matrix.astype(np.int64).sum(axis=0), len(matrix), []
    if not counts.any():
        raise InvalidInputError("no row has any of the labels: check the target columns.")
    if constant := [name for name, count in zip(names, counts, strict=True) if count in (0, n_rows)]:
        subject, verb = ("labels", "are") if len(constant) > 1 else ("label", "is")
        notes = [
            f"The {subject} {list_labels(constant)} {verb} the same in every row: a model cannot learn from "
            "it."
        ]
    size = f"{len(names)} labels of {counts.min():,} to {count(counts.max(), 'row')}"
    main_class = matrix[:, int(counts.argmax())].astype(bool)
    return _Target("multilabel", None, main_class, notes, f"{size}, {counts.sum() / n_rows:.2f} per row")


def needs_parts(
    table: TableReader,
    plan: TrainingPlan,
    cluster: str | None,
    out_of_core: str,
    sample_size: int,
    console: Console,
) -> bool:
    """Whether the table is read in parts: on a cluster, on demand, or because of its size, with a note."""
    options = {
        "--weight": plan.roles.weight,
        "--group": plan.roles.group,
        "--time": plan.roles.time,
        "--label-separator": plan.options.label_separator,
        "--drop-unlabeled": plan.options.drop_unlabeled,
        "--cost-fp, --cost-fn and --benefit-tp": plan.prices,
    }
    conflict = next((name for name, value in options.items() if value), "")
    if out_of_core not in ("auto", "yes", "no"):
        raise InvalidInputError(f"--out-of-core must be auto, yes or no: got {out_of_core!r}.")
    if cluster is not None or out_of_core == "yes":
        if conflict:
            requested = "--out-of-core" if cluster is None else "--cluster"
            raise InvalidInputError(f"{requested} cannot be combined with {conflict}.")
        return True
    shortage = "" if out_of_core == "no" else _describe_shortage(table, plan.model.auxiliaries)
    if shortage and conflict:
        console.note(f"{shortage} It cannot be read in parts because of {conflict}.")
    elif shortage:
        console.note(
            f"{shortage} It is read in parts, and the auxiliaries are trained on a sample of {sample_size:,} "
            "rows. Use --out-of-core no to read it at once."
        )
    return bool(shortage) and not conflict


def _describe_shortage(table: TableReader, auxiliaries: str | list[str]) -> str:
    """A sentence if training on the whole table needs more memory than is available; otherwise ""."""
    files = [Path(path) for path in table.paths]
    if find_spec("distributed") is None or not all(file.is_file() for file in files):
        return ""
    is_large = sum(file.stat().st_size for file in files) >= MIN_CHECKED_BYTES
    size = estimate_size(table) if is_large else None
    if size is None:
        return ""
    names = {auxiliaries} if isinstance(auxiliaries, str) else set(auxiliaries)
    per_row = FOREST_BYTES_PER_ROW if names & FORESTS else 0
    (n_rows, n_bytes), available = size, available_memory()
    needed = N_TABLE_COPIES * n_bytes + per_row * n_rows
    if needed <= available:
        return ""
    return (
        f"Training on the whole table needs about {needed / 1e9:.1f} GB of memory, and {available / 1e9:.1f} "
        "GB are available."
    )


def available_memory() -> int:
    """Bytes of memory that this process can get without swapping."""
    import psutil  # noqa: PLC0415 (comes with distributed)
    from distributed.system import MEMORY_LIMIT  # noqa: PLC0415

    return int(min(psutil.virtual_memory().available, MEMORY_LIMIT))


def fit_in_parts(
    table: TableReader,
    plan: TrainingPlan,
    cluster: str | None,
    partition_rows: int | None,
    sample_size: int,
    console: Console,
) -> tuple[CAPOClassifier, int, Any, TrainingTable]:
    """The model of all rows, their number, its summary, and the rows that the types of columns are from."""
    from ..dask import DaskCAPOClassifier  # noqa: PLC0415 (an optional package)

    parts = divide(table, partition_rows, console)
    data = _read_first_part(parts, plan, console)
    if data.target_type != "binary":
        raise InvalidInputError(
            "a table that is read in parts must have a target of two classes: leave out --cluster, or use "
            "--out-of-core no."
        )
    params = data.model.get_params(deep=False)
    del params["memory"], params["text_encoder"]
    model = DaskCAPOClassifier(**{**params, "verbose": 0}, sample_size=sample_size)
    place = "training in parts" if cluster is None else f"training on {cluster}"
    with ExitStack() as stack:
        if cluster is None:  # Dask's scheduler in this process
            import dask  # noqa: PLC0415

            n_threads = data.model.n_jobs or 1
            n_threads = n_threads if n_threads > 0 else os.cpu_count() or 1
            scheduler = "synchronous" if n_threads == 1 else "threads"
            stack.enter_context(dask.config.set(scheduler=scheduler, num_workers=n_threads))
        else:
            model.client = stack.enter_context(connect(cluster, console))
        stack.enter_context(console.step(place))
        model.fit(*read_parts(parts, data.schema))
    model.client = None
    return model.to_local(), model.n_rows_, model.summary(), data


def _read_first_part(parts: Sequence[TablePart], plan: TrainingPlan, console: Console) -> TrainingTable:
    """The rows of the first part that has rows of both classes, of some from all over the table."""
    error: InvalidInputError = NoRowsError("none of the files has rows.")
    for part in parts[:: max(1, len(parts) // N_TRIED_PARTS)]:
        if len(parts) > 1:
            console.log(f"learning the columns from {part.name}, one of {len(parts):,} parts")
        try:
            return plan.read(part, console)
        except (NoRowsError, OneClassError) as found:
            error = found
    raise error
