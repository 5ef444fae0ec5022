"""The training table: targets, columns, prices, times."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._compat import BoolArray, FloatArray
from ...exceptions import InvalidInputError, list_labels
from ...io.parts import TablePart
from ...io.source import Batch, SparseRows
from ...io.table_schema import (
    ColumnRoles,
    LabelMatrixSchema,
    PriceColumns,
    Schema,
    SchemaInference,
    SparseSchema,
    infer_table_schema,
    read_times,
)
from ...tables.checks import check_data
from ...tables.dates import DateKind
from ...tables.kinds import BooleanKind, ColumnValues, ParsedKind, find_yes_label
from ...tables.schema import KINDS, ColumnInfo, DemandedKind, FeatureSchema, recognize
from ...tables.targets import MAX_POSITIVE_SHARE, encode_binary_labels
from ..console import Console
from ..options import ColumnOptions

TargetKind = Literal["binary", "multiclass", "multilabel"]
#: A target with fewer rows per class on average is taken for something else than classes.
MIN_MEAN_CLASS_ROWS = 3


@dataclass(frozen=True)
class CheckedTarget:
    """A target that a model can be trained on.

    Attributes
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        The kind of target.
    pos_label : object
        The positive label of two classes; otherwise None.
    main_class : ndarray of bool, shape (n_samples,)
        The rows of the positive class; of the most frequent class or label if there are more.
    notes : tuple of str
        What may mislead.
    description : str
        The target in a few words.
    """

    kind: TargetKind
    pos_label: Any
    main_class: BoolArray
    notes: tuple[str, ...]
    description: str


def check_classes(
    y: NDArray[np.generic],
    weight: FloatArray | None,
    *,
    target: str,
    positive: str | None,
    weight_column: str,
) -> CheckedTarget:
    """Check the labels of a target of many classes."""
    name = f"the target {target!r}" if target else "the target"
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    labels = classes.tolist()
    _check_is_categorical(labels, len(y), name)
    if positive is not None:
        raise InvalidInputError(
            f"--positive is for measures of two classes: {name} has {len(labels)}, which are treated alike."
        )
    if weight is not None:
        check_class_weights(weight, [codes == k for k in range(len(labels))], labels, weight_column)
    notes = _single_row_notes(labels, counts)
    largest = int(counts.argmax())
    description = (
        f"{len(labels)} classes of {counts.min():,} to {counts.max():,} rows, most often {labels[largest]!r}"
    )
    return CheckedTarget("multiclass", None, codes == largest, notes, description)


def check_label_matrix(
    matrix: NDArray[np.generic], names: Sequence[str], positive: str | None
) -> CheckedTarget:
    """Check a label matrix."""
    if positive is not None:
        raise InvalidInputError(
            "--positive is for targets of two classes: each label is positive where it is 1."
        )
    counts, n_rows = matrix.astype(np.int64).sum(axis=0), len(matrix)
    if not counts.any():
        raise InvalidInputError("no row has any of the labels: check the target columns.")
    constant = [names[k] for k in range(len(names)) if counts[k] in (0, n_rows)]
    per_row = f"{counts.sum() / n_rows:.2f} per row"
    description = f"{len(names)} labels of {counts.min():,} to {counts.max():,} rows, {per_row}"
    main = matrix[:, int(counts.argmax())].astype(bool)
    return CheckedTarget("multilabel", None, main, _constant_label_notes(constant), description)


def _constant_label_notes(labels: Sequence[str]) -> tuple[str, ...]:
    if not labels:
        return ()
    subject = "labels" if len(labels) > 1 else "label"
    verb = "are" if len(labels) > 1 else "is"
    return (
        f"The {subject} {list_labels(labels)} {verb} the same in every row, which cannot be learned from.",
    )


def check_class_weights(
    weight: FloatArray, rows_of_classes: Sequence[BoolArray], labels: list[Any], column: str
) -> None:
    """Raise if all rows of a class have the weight 0."""
    for label, rows in zip(labels, rows_of_classes, strict=True):
        if not weight[rows].any():
            raise InvalidInputError(
                f"the weights in {column!r} are 0 for all rows of {label!r}: each class needs some weight."
            )


def _single_row_notes(labels: list[Any], counts: NDArray[np.int64]) -> tuple[str, ...]:
    single = [labels[k] for k in np.flatnonzero(counts == 1)]
    if not single:
        return ()
    each = "Each of the classes" if len(single) > 1 else "The class"
    return (
        f"{each} {list_labels(single)} has 1 row, which cannot be predicted from other rows of its class.",
    )


def _check_is_categorical(labels: list[Any], n_rows: int, target: str) -> None:
    """Raise if the labels are one class only, or are numbers, dates or identifiers rather than classes."""
    if len(labels) == 1:
        raise InvalidInputError(f"{target} is {labels[0]!r} in every row: two classes are needed.")
    if len(labels) == 2:
        return
    reason = _explain_values(labels)
    if not reason and len(labels) * MIN_MEAN_CLASS_ROWS > n_rows:
        reason = f"That is {n_rows / len(labels):.1f} rows per class. Is this the right column?"
    if reason:
        raise InvalidInputError(
            f"{target} has {len(labels):,} different values ({list_labels(labels)}), too many or not of a "
            f"kind to be classes. {reason}"
        )


def _explain_values(labels: list[Any]) -> str:
    """What the values of a target are, if they are not classes; otherwise ""."""
    kind = recognize(ColumnValues.count("target", labels)).kind
    if isinstance(kind, DateKind):
        return "They are dates: is this the right column?"
    if isinstance(kind, BooleanKind):
        return "They are spellings of yes and no: write each of the two in one way."
    if isinstance(kind, ParsedKind):
        numbers = [kind.parse_or_missing(str(label)) or 0.0 for label in labels]
        if all(number == round(number) for number in numbers):
            return ""
        if all(0 <= number <= 1 for number in numbers):
            return "They are probabilities or shares: make labels from them, such as above 0.5 or not."
        return "They are measurements: make labels from them, such as above a limit or not."
    return ""


#: The table of the file that holds the kinds.
COLUMNS = "columns"


def format_column_types(features: FeatureSchema, table_name: str) -> str:
    """The kinds of a table's columns in TOML, with the reason of each as a comment."""
    kinds = ", ".join(KINDS)
    head = (
        f"# What the columns of {_one_line(table_name)} are taken for, written by 'capo inspect'.\n"
        "# Change a kind or delete a line, and train with: capo fit TABLE --types THIS_FILE ...\n"
        f"# Kinds: {kinds}. An identifier is not used as a feature.\n"
        "# How values are written can be given, too, as in\n"
        '#     "day" = {kind = "date", layout = "day-month-year"}\n'
        '#     "price" = {kind = "number", thousands = ".", decimal = ","}\n'
        f"\n[{COLUMNS}]\n"
    )
    return head + "".join(_format_column(column) for column in features.columns)


def _format_column(column: ColumnInfo) -> str:
    doubt = f"; please check: {column.doubt}" if column.doubt else ""
    comment = _one_line(f"{column.reason}{doubt}; for example {column.example!r}")
    return f"{json.dumps(str(column.key))} = {json.dumps(column.kind.name)}  # {comment}\n"


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def read_column_types(path: Path) -> dict[str, DemandedKind]:
    """The kinds that a file gives to columns."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is not a file of column types: {error}.") from error
    columns = document.get(COLUMNS)
    if not isinstance(columns, dict) or set(document) != {COLUMNS}:
        raise InvalidInputError(f"{path} is not a file of column types: it must have one table, [{COLUMNS}].")
    for name, demanded in columns.items():
        kind = demanded.get("kind") if isinstance(demanded, dict) else demanded
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidInputError(
                f"{path} gives the column {name!r} the unknown kind {kind!r}: choose one of "
                f"{', '.join(KINDS)}."
            )
    return columns


#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10


class OneClassError(InvalidInputError):
    """All rows have the same label."""


@dataclass(frozen=True)
class TableTrainingData:
    """A table that was read for training."""

    schema: Schema
    X: Any
    y: Any
    sample_weight: FloatArray | None
    groups: NDArray[np.generic] | None
    target: CheckedTarget
    price_columns: PriceColumns
    prices: dict[str, Any]


def read_training_data(
    table: TablePart,
    options: ColumnOptions,
    prices: Mapping[str, str],
    console: Console,
    *,
    many_classes: bool = False,
) -> TableTrainingData:
    """Read a table, infer its schema, check labels and weights, and log its size.

    `prices` are columns or numbers; `many_classes` is set if the measure is one of many classes, of which
    two are a case.
    """
    with console.step(f"reading {table.name}"):
        batch = table.read()
        inference = _infer_schema(batch, options)
        schema = inference.schema
        X, y = schema.features(batch), schema.labels(batch)
        weight = schema.weights(batch)
        groups = read_times(batch, options.time) if options.time else schema.groups(batch)
        price_columns = PriceColumns.parse(prices, batch)
        if options.target in price_columns.columns:
            raise InvalidInputError(f"the target {options.target!r} cannot be a price: name another column.")
        row_prices = price_columns.read(batch, schema)
    if options.time and (isinstance(schema, LabelMatrixSchema) or many_classes or len(np.unique(y)) > 2):
        raise InvalidInputError("--time is for targets of two classes: leave it out, or use --group.")
    if row_prices and (isinstance(schema, LabelMatrixSchema) or many_classes or len(np.unique(y)) > 2):
        raise InvalidInputError(
            "--cost-fp, --cost-fn and --benefit-tp are for targets of two classes: for more classes, use "
            "--measure cost with --measure-arg matrix=FILE."
        )
    if isinstance(schema, LabelMatrixSchema):
        target = check_label_matrix(np.asarray(y), schema.label_names, options.positive)
    elif many_classes or len(np.unique(y)) > 2:
        target = check_classes(
            y,
            weight,
            target=options.target,
            positive=options.positive,
            weight_column=str(options.weight),
        )
    else:
        target = _check_binary_target(y, weight, options, schema)
    findings = (
        []
        if isinstance(schema, SparseSchema)
        else check_data(X, target.main_class, inference.features, target=options.target)
    )
    if options.time:
        findings = [finding for finding in findings if finding.topic != "sorted"]
    for remark in inference.remarks:
        console.note(remark)
    console.data_notes([*inference.notes, *target.notes, *(finding.message for finding in findings)])
    size = _describe_size(schema, len(target.main_class), None if options.time else groups)
    console.log(f"{size}; {target.description}")
    return TableTrainingData(schema, X, y, weight, groups, target, price_columns, row_prices)


def _infer_schema(batch: Batch, options: ColumnOptions) -> SchemaInference:
    if isinstance(batch.rows, SparseRows):
        if options.any_column_named:
            raise InvalidInputError(
                "an svmlight file starts each row with its label and has no named columns: remove --target, "
                "--label-separator, --weight, --group, --time, --drop, --id, --category and --types."
            )
        return SchemaInference(SparseSchema.infer(batch))
    columns = batch.frame.columns
    if not options.target:
        shown = ", ".join(map(repr, columns[:MAX_LISTED_COLUMNS]))
        raise InvalidInputError(f"name the label column with --target: the table has {shown}.")
    label_columns = options.label_columns(columns)
    if options.label_separator is not None:
        if label_columns:
            raise InvalidInputError(
                "--label-separator is for one target column with all labels of a row: got "
                f"{len(label_columns)} target columns."
            )
        return infer_table_schema(batch, _column_roles(options, options.target), options.label_separator)
    if label_columns:
        return infer_table_schema(batch, _column_roles(options, "", label_columns))
    return infer_table_schema(batch, _column_roles(options, options.target))


def _column_roles(options: ColumnOptions, target: str, label_columns: tuple[str, ...] = ()) -> ColumnRoles:
    """The role of each column that is named, without repetitions."""
    drop, ids, categories = (
        tuple(dict.fromkeys(names or ())) for names in (options.drop, options.ids, options.categories)
    )
    kinds = {} if options.types is None else read_column_types(options.types)
    weight, group, time = options.weight or "", options.group or "", options.time or ""
    return ColumnRoles(target, weight, group, time, drop, ids, categories, kinds, label_columns)


def _check_binary_target(
    y: NDArray[np.generic], weight: FloatArray | None, options: ColumnOptions, schema: Schema
) -> CheckedTarget:
    classes, positive = _encode_labels(y, options, schema)
    if weight is not None:
        check_class_weights(weight, [~positive, positive], classes.tolist(), str(options.weight))
    counted = positive if weight is None else positive[weight > 0]
    notes = [] if options.positive else _majority_notes(classes, counted)
    n_rows, n_pos, label = len(counted), int(counted.sum()), classes.tolist()[1]
    n_positive = f"{n_pos:,} row{'s' if n_pos > 1 else ''} ({n_pos / n_rows:.1%})"
    description = f"{label!r} is positive, {n_positive}"
    return CheckedTarget("binary", label, positive, tuple(notes), description)


def _encode_labels(
    y: NDArray[np.generic], options: ColumnOptions, schema: Schema
) -> tuple[NDArray[np.generic], BoolArray]:
    """The two labels, the positive one last, and the positive rows; errors name the column."""
    labels = np.unique(y).tolist()
    target = f"the target {options.target!r}" if options.target else "the target"
    if len(labels) == 1:
        raise OneClassError(f"{target} is {labels[0]!r} in every row: two classes are needed.")
    if options.positive is None:
        return encode_binary_labels(y, find_yes_label(labels))
    pos_label = schema.parse_label(options.positive)
    if pos_label not in labels:
        raise InvalidInputError(
            f"{target} has no label {options.positive!r}: its labels are {labels[0]!r} and {labels[1]!r}."
        )
    return encode_binary_labels(y, pos_label)


def _majority_notes(classes: NDArray[np.generic], positive: BoolArray) -> list[str]:
    """A note if the positive class was chosen by default and has most of the rows."""
    share, (other, label) = float(positive.mean()), classes.tolist()
    if share <= MAX_POSITIVE_SHARE:
        return []
    reason = "the larger of the two labels" if label == max(other, label) else "the label that means yes"
    return [
        f"The positive class is {label!r}, {reason}, which {share:.0%} of the rows have. "
        f"Use --positive {shlex.quote(str(other))} if that is the class to find, or --positive "
        f"{shlex.quote(str(label))} to keep it."
    ]


def _describe_size(schema: Schema, n_rows: int, groups: NDArray[np.generic] | None) -> str:
    columns = f"{schema.n_features:,} column{'s' if schema.n_features > 1 else ''}"
    if groups is not None:
        columns += f", {len(np.unique(groups)):,} groups"
    return f"{n_rows:,} rows, {columns}"
