"""From a table and the options about its columns to training data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray
from ...exceptions import InvalidInputError
from ...io.tables import (
    Batch,
    ColumnRoles,
    LabelMatrixSchema,
    PriceColumns,
    Schema,
    SchemaInference,
    SparseRows,
    SparseSchema,
    TablePart,
    infer_label_matrix_schema,
    infer_table_schema,
    read_times,
)
from ...preprocessing import (
    MAX_POSITIVE_SHARE,
    check_data,
    encode_binary_labels,
    find_yes_label,
)
from .._console import Console
from .._options import ColumnOptions
from ._column_types import read_column_types
from ._targets import CheckedTarget, check_class_weights, check_classes, check_label_matrix

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
        [] if isinstance(schema, SparseSchema) else check_data(X, target.main_class, target=options.target)
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
        return infer_label_matrix_schema(
            batch, _column_roles(options, options.target), options.label_separator
        )
    if label_columns:
        return infer_label_matrix_schema(batch, _column_roles(options, "", label_columns))
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
