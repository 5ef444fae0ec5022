"""Label matrices of a table: one column for each label, or one column with the labels of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...exceptions import TableError
from ...preprocessing.canonical_values import clean_columns, to_text
from ._batch import Batch
from ._inference import SchemaInference, infer_table_features
from ._labels import read_complete_texts
from ._roles import ColumnRoles, list_columns, require_column
from ._schema import TableSchema, parse_table_dict

#: The texts of a column of a label matrix, in lower case.
_INDICATORS = {"1": 1, "0": 0, "true": 1, "false": 0, "yes": 1, "no": 0}
#: Tables with more labels are refused.
MAX_LABELS = 5000


@dataclass(frozen=True)
class LabelMatrixSchema(TableSchema):
    """The schema of a table whose rows have several labels.

    Attributes
    ----------
    label_names : tuple of str
        The labels: columns of the table, or the values in the target column.
    separator : str
        The text between the labels in the target column; empty if each label has a column.
    """

    label_names: tuple[str, ...] = ()
    separator: str = ""

    def labels(self, batch: Batch) -> Any:
        """Read the label matrix of a batch: a data frame of zeros and ones, one column for each label."""
        read = self._read_separated if self.separator else self._read_columns
        return read(batch)

    def _read_columns(self, batch: Batch) -> pl.DataFrame:
        for name in self.label_names:
            require_column(name, batch.frame.columns, "target")
        return pl.DataFrame({name: _read_indicators(batch, name) for name in self.label_names})

    def _read_separated(self, batch: Batch) -> pl.DataFrame:
        require_column(self.target, batch.frame.columns, "target")
        positions = {name: position for position, name in enumerate(self.label_names)}
        matrix = np.zeros((len(batch), len(positions)), dtype=np.int8)
        for row, labels in enumerate(_split_labels(batch, self.target, self.separator)):
            for label in labels:
                if label not in positions:
                    raise TableError(
                        f"row {batch.first_row + row:,} has the label {label!r} in {self.target!r}, which "
                        "the model was not trained on: remove it there, or train on rows that have it."
                    )
                matrix[row, positions[label]] = 1
        return pl.DataFrame(matrix, schema=list(self.label_names))

    def to_dict(self) -> dict[str, Any]:
        return {
            **super().to_dict(),
            "kind": "label matrix",
            "label_names": list(self.label_names),
            "separator": self.separator,
        }


def infer_label_matrix_schema(batch: Batch, roles: ColumnRoles, separator: str = "") -> SchemaInference:
    """Infer the kinds of the columns, and the labels, of a training table with several labels per row."""
    columns, inference = infer_table_features(batch, roles)
    names = roles.label_columns
    if separator:
        names = tuple(sorted({each for row in _split_labels(batch, roles.target, separator) for each in row}))
    _check_label_names(names, roles.target, separator)
    schema = LabelMatrixSchema(
        columns, roles.target, "text", roles.weight, roles.ids, roles.group, names, separator
    )
    return SchemaInference(schema, *inference)


def label_matrix_schema_from_dict(values: dict[str, Any]) -> LabelMatrixSchema:
    """Restore a schema from the values of `LabelMatrixSchema.to_dict`."""
    match values:
        case {"label_names": list() as names, "separator": str() as separator} if len(names) > 1 and all(
            isinstance(name, str) for name in names
        ):
            table = parse_table_dict(values)
            return LabelMatrixSchema(*table, tuple(names), separator)
    raise ValueError("its schema is missing or not valid")


def _check_label_names(names: Sequence[str], target: str, separator: str) -> None:
    if len(names) < 2:
        found = f"has only the label {names[0]!r}" if names else "has no labels"
        raise TableError(
            f"the target {target!r} {found} when it is split at {separator!r}: two labels or more are "
            "needed. Check --label-separator."
        )
    if len(names) > MAX_LABELS:
        raise TableError(
            f"the target {target!r} has {len(names):,} different labels ({list_columns(names[:3])}, ...); at "
            f"most {MAX_LABELS:,} are supported."
        )


def _split_labels(batch: Batch, name: str, separator: str) -> list[list[str]]:
    """The labels of each row; none for a missing value."""
    texts = to_text(clean_columns(batch.frame, [name]))[name].fill_null("").to_list()
    return [[each.strip() for each in text.split(separator) if each.strip()] for text in texts]


def _read_indicators(batch: Batch, name: str) -> pl.Series:
    texts = read_complete_texts(batch, name, "target").str.to_lowercase()
    wrong = texts.is_in(list(_INDICATORS)).not_().arg_true()
    if len(wrong):
        position = int(wrong[0])
        raise TableError(
            f"the target {name!r} is one of several and must contain 1 and 0, true and false or yes and no: "
            f"row {batch.first_row + position:,} contains {texts[position]!r}. Train one model for each "
            "column with other classes."
        )
    return texts.replace_strict(_INDICATORS, return_dtype=pl.Int8).alias(name)
