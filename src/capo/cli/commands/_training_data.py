"""From a table and the options about its columns to training data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray
from ...exceptions import InvalidInputError
from ...io.tables import (
    Batch,
    ColumnRoles,
    Schema,
    SchemaInference,
    SparseRows,
    SparseSchema,
    TableReader,
    infer_table_schema,
    read_times,
)
from ...preprocessing import (
    MAX_POSITIVE_SHARE,
    BooleanKind,
    ColumnValues,
    DateKind,
    ParsedKind,
    check_data,
    encode_binary_labels,
    recognize_column,
)
from .._console import Console
from ._column_types import read_column_types

#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10
#: Labels that an error message lists at most.
MAX_LISTED_LABELS = 5


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The options about the columns of a training table, as given on the command line."""

    target: str | None = None
    positive: str | None = None
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    drop: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    categories: Sequence[str] | None = None
    types: Path | None = None

    def __post_init__(self) -> None:
        """Refuse empty names, which an unset variable in a script gives."""
        single = {"--weight": self.weight, "--group": self.group, "--time": self.time}
        several = {"--drop": self.drop, "--id": self.ids, "--category": self.categories}
        for option, names in {**{key: [name] for key, name in single.items()}, **several}.items():
            if "" in (names or ()):
                raise InvalidInputError(f"{option} needs the name of a column: got an empty one.")
        if self.group and self.time:
            raise InvalidInputError("--group and --time cannot be combined: choose one.")

    @property
    def any_column_named(self) -> bool:
        """Whether an option names a column."""
        single = (self.target, self.weight, self.group, self.time, self.types)
        return any((*single, self.drop, self.ids, self.categories))

    def roles(self, target: str) -> ColumnRoles:
        """The role of each column that is named, without repetitions."""
        drop, ids, categories = (
            tuple(dict.fromkeys(names or ())) for names in (self.drop, self.ids, self.categories)
        )
        kinds = {} if self.types is None else read_column_types(self.types)
        return ColumnRoles(
            target, self.weight or "", self.group or "", self.time or "", drop, ids, categories, kinds
        )


@dataclass(frozen=True)
class TableTrainingData:
    """A table that was read for training."""

    schema: Schema
    X: Any
    y: NDArray[np.generic]
    sample_weight: FloatArray | None
    groups: NDArray[np.generic] | None
    pos_label: Any


def read_training_data(table: TableReader, options: ColumnOptions, console: Console) -> TableTrainingData:
    """Read a table, infer its schema, check labels and weights, and log its size."""
    with console.step(f"reading {table.name}"):
        batch = table.read()
        inference = _infer_schema(batch, options)
        schema = inference.schema
        X, y = schema.features(batch), schema.labels(batch)
        weight = schema.weights(batch)
        groups = read_times(batch, options.time) if options.time else schema.groups(batch)
    classes, positive = _encode_labels(y, options, schema)
    if weight is not None:
        _check_class_weights(weight, positive, classes, str(options.weight))
    majority = [] if options.positive else _majority_notes(classes, positive)
    findings = [] if isinstance(schema, SparseSchema) else check_data(X, positive, target=str(options.target))
    if options.time:
        findings = [finding for finding in findings if finding.topic != "sorted"]
    for remark in inference.remarks:
        console.note(remark)
    console.data_notes([*inference.notes, *majority, *(finding.message for finding in findings)])
    console.log(_describe_size(schema, classes, positive, None if options.time else groups))
    return TableTrainingData(schema, X, y, weight, groups, classes.tolist()[1])


def _infer_schema(batch: Batch, options: ColumnOptions) -> SchemaInference:
    if isinstance(batch.rows, SparseRows):
        if options.any_column_named:
            raise InvalidInputError(
                "an svmlight file starts each row with its label and has no named columns: remove --target, "
                "--weight, --group, --time, --drop, --id, --category and --types."
            )
        return SchemaInference(SparseSchema.infer(batch))
    if not options.target:
        shown = ", ".join(map(repr, batch.frame.columns[:MAX_LISTED_COLUMNS]))
        raise InvalidInputError(f"name the label column with --target: the table has {shown}.")
    return infer_table_schema(batch, options.roles(options.target))


def _encode_labels(
    y: NDArray[np.generic], options: ColumnOptions, schema: Schema
) -> tuple[NDArray[np.generic], BoolArray]:
    """The two labels, the positive one last, and the positive rows; errors name the column."""
    labels = np.unique(y).tolist()
    target = f"the target {options.target!r}" if options.target else "the target"
    _check_two_labels(labels, target)
    if options.positive is None:
        return encode_binary_labels(y)
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
    return [
        f"The positive class is {label!r}, the larger of the two labels, which {share:.0%} of the rows have. "
        f"Use --positive {shlex.quote(str(other))} if that is the class to find, or --positive "
        f"{shlex.quote(str(label))} to keep it."
    ]


def _check_two_labels(labels: list[Any], target: str) -> None:
    if len(labels) == 1:
        raise InvalidInputError(f"{target} is {labels[0]!r} in every row: two classes are needed.")
    if len(labels) > 2:
        more = ", ..." if len(labels) > MAX_LISTED_LABELS else ""
        shown = ", ".join(repr(label) for label in labels[:MAX_LISTED_LABELS]) + more
        raise InvalidInputError(
            f"{target} has {len(labels):,} different values ({shown}): two are needed. "
            f"{_explain_labels(labels)}"
        )


def _explain_labels(labels: list[Any]) -> str:
    """What the values of a target with more than two labels may be."""
    kind = recognize_column(ColumnValues.count("target", labels), "target").kind
    if isinstance(kind, DateKind):
        return "They are dates: is this the right column?"
    if isinstance(kind, BooleanKind):
        return "They are spellings of yes and no: write each of the two in one way."
    if isinstance(kind, ParsedKind):
        numbers = [kind.parse_or_missing(str(label)) or 0.0 for label in labels]
        if all(0 <= number <= 1 for number in numbers):
            return "They are probabilities or shares: make two labels from them, such as above 0.5 or not."
        if any(number != round(number) for number in numbers):
            return "They are measurements: make two labels from them, such as above a limit or not."
    return "Is this the right column?"


def _check_class_weights(
    weight: FloatArray, positive: BoolArray, classes: NDArray[np.generic], column: str
) -> None:
    for label, rows in zip(classes.tolist(), (~positive, positive), strict=True):
        if not weight[rows].any():
            raise InvalidInputError(
                f"the weights in {column!r} are 0 for all rows of {label!r}: each class needs some weight."
            )


def _describe_size(
    schema: Schema, classes: NDArray[np.generic], positive: BoolArray, groups: NDArray[np.generic] | None
) -> str:
    n_rows, n_pos, label = len(positive), int(positive.sum()), classes.tolist()[1]
    columns = f"{schema.n_features:,} column{'s' if schema.n_features > 1 else ''}"
    if groups is not None:
        columns += f", {len(np.unique(groups)):,} groups"
    n_positive = f"{n_pos:,} row{'s' if n_pos > 1 else ''} ({n_pos / n_rows:.1%})"
    return f"{n_rows:,} rows, {columns}; {label!r} is positive, {n_positive}"
