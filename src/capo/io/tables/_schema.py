"""Schemas: the columns that a model needs, and how batches become features, labels and weights.

A schema is inferred from the training table and kept with the model. At prediction the order of the columns
does not matter and further columns are ignored. A column that is missing, or that contains a value that is
not of the column's kind, is an error; numbers in a column of categories are converted to text. A category
that was not in the training table is passed on, and the model treats it as missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...exceptions import InvalidInputError, TableError
from ...preprocessing import CategoryKind, ColumnKind, NumberKind, kind_from_dict
from ...preprocessing.canonical_values import (
    canonical_features,
    check_magnitude,
    check_scalar_dtype,
    clean_columns,
    to_numeric,
)
from ._batch import Batch
from ._labels import LabelKind, parse_label, read_complete_texts, read_labels
from ._roles import list_columns, require_column


class Schema(ABC):
    """The columns that a model needs, and their conversion from the batches of a file."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they have none."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features."""

    @abstractmethod
    def features(self, batch: Batch) -> Any:
        """Convert a batch to the table that the model takes."""

    @abstractmethod
    def labels(self, batch: Batch) -> NDArray[np.generic]:
        """Read the labels of a batch."""

    @abstractmethod
    def parse_label(self, text: str) -> int | str | None:
        """Parse a label that the user typed; None if it cannot be a label."""

    @abstractmethod
    def weights(self, batch: Batch) -> FloatArray | None:
        """Read the sample weights of a batch; None if there is no column for them."""

    @abstractmethod
    def groups(self, batch: Batch) -> NDArray[np.generic] | None:
        """Read the groups of a training table; None if there is no column for them."""

    def known_groups(self, batch: Batch) -> NDArray[np.generic] | None:
        """Read the groups of rows to evaluate; None if the model has none or the table lacks the column."""
        return None

    @abstractmethod
    def id_columns(self, batch: Batch) -> pl.DataFrame:
        """Select the identifier columns that the batch has."""

    @abstractmethod
    def with_ids(self, ids: Sequence[str]) -> Schema:
        """Return the schema with other identifier columns."""

    @abstractmethod
    def example_row(self) -> Any:
        """Return one row with the columns and data types of `features`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Convert the schema to JSON values."""


@dataclass(frozen=True)
class TableSchema(Schema):
    """The schema of a table with named columns.

    Attributes
    ----------
    columns : dict of str to ColumnKind
        The names of the features, in order, and their kinds.
    target : str
        The column of the labels.
    label_kind : {"integer", "text"}
        The kind of the labels.
    weight : str
        The column of the sample weights; empty if there is none.
    ids : tuple of str
        Columns that are copied to predictions and are not features.
    group : str
        The column of the groups, which training and evaluation read; empty if there is none.
    """

    columns: dict[str, ColumnKind]
    target: str
    label_kind: LabelKind
    weight: str = ""
    ids: tuple[str, ...] = ()
    group: str = ""

    @property
    def feature_names(self) -> list[str]:
        return list(self.columns)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def features(self, batch: Batch) -> pl.DataFrame:
        self._check_columns(batch.frame.columns)
        return canonical_features(
            batch.frame, self.columns, decimal_comma=batch.decimal_comma, first_row=batch.first_row
        )

    def _check_columns(self, columns: Sequence[str]) -> None:
        missing = [name for name in self.columns if name not in columns]
        if not missing:
            return
        used = {*self.columns, self.target, self.weight, self.group, *self.ids}
        unused = [name for name in columns if name not in used]
        plural = "s" if len(missing) > 1 else ""
        extra = f" It has {list_columns(unused)}, which the model does not use." if unused else ""
        raise TableError(
            f"the table lacks {len(missing)} column{plural} that the model needs: "
            f"{list_columns(missing)}.{extra}"
        )

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        require_column(self.target, batch.frame.columns, "target")
        return read_labels(batch, self.target, self.label_kind)

    def parse_label(self, text: str) -> int | str | None:
        return parse_label(text, self.label_kind)

    def weights(self, batch: Batch) -> FloatArray | None:
        if not self.weight:
            return None
        require_column(self.weight, batch.frame.columns, "weight")
        cleaned = clean_columns(batch.frame, [self.weight])
        numeric = to_numeric(cleaned, batch.decimal_comma)
        weights = numeric[self.weight]
        if weights.null_count() or (weights < 0).any():
            raise TableError(
                f"the weights in {self.weight!r} must be non-negative numbers without missing values."
            )
        check_magnitude(numeric, batch.first_row)
        return weights.to_numpy()

    def groups(self, batch: Batch) -> NDArray[np.generic] | None:
        return read_complete_texts(batch, self.group, "group").to_numpy() if self.group else None

    def known_groups(self, batch: Batch) -> NDArray[np.generic] | None:
        return self.groups(batch) if self.group in batch.frame.columns else None

    def id_columns(self, batch: Batch) -> pl.DataFrame:
        frame = batch.frame
        names = [name for name in self.ids if name in frame.columns]
        for name in names:
            check_scalar_dtype(name, frame.schema[name])
        return frame.select(names)

    def with_ids(self, ids: Sequence[str]) -> TableSchema:
        return replace(self, ids=tuple(dict.fromkeys(ids)))

    def example_row(self) -> pl.DataFrame:
        missing = pl.DataFrame({name: pl.Series([None], dtype=pl.String) for name in self.columns})
        return canonical_features(missing, self.columns)

    def to_dict(self) -> dict[str, Any]:
        columns = {name: _kind_to_json(kind) for name, kind in self.columns.items()}
        return {
            "kind": "table",
            "columns": columns,
            "target": self.target,
            "label_kind": self.label_kind,
            "weight": self.weight,
            "ids": list(self.ids),
            "group": self.group,
        }


@dataclass(frozen=True)
class SparseSchema(Schema):
    """The schema of a file in svmlight format: the number of features."""

    n_columns: int

    @classmethod
    def infer(cls, batch: Batch) -> Self:
        """Infer the schema of a training file."""
        return cls(batch.sparse_rows.X.shape[1])

    @property
    def feature_names(self) -> None:
        return None

    @property
    def n_features(self) -> int:
        return self.n_columns

    def features(self, batch: Batch) -> Any:
        return batch.sparse_rows.resize_features(self.n_features)

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        labels = batch.sparse_rows.labels
        is_integer = (labels == np.rint(labels)) & (np.abs(labels) < 2**53)
        if not is_integer.all():
            position = int(np.argmin(is_integer))
            raise TableError(
                f"the labels must be integers: row {batch.first_row + position:,} has {labels[position]:g}."
            )
        return labels.astype(np.int64)

    def parse_label(self, text: str) -> int | str | None:
        return parse_label(text, "integer")

    def weights(self, batch: Batch) -> None:
        return None

    def groups(self, batch: Batch) -> None:
        return None

    def id_columns(self, batch: Batch) -> pl.DataFrame:
        return pl.DataFrame()

    def with_ids(self, ids: Sequence[str]) -> SparseSchema:
        if ids:
            raise InvalidInputError(
                "a file in svmlight format has no named columns that could be identifiers."
            )
        return self

    def example_row(self) -> FloatArray:
        return np.zeros((1, self.n_features))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "svmlight", "n_features": self.n_features}


def parse_table_dict(
    values: dict[str, Any],
) -> tuple[dict[str, ColumnKind], str, LabelKind, str, tuple[str, ...], str]:
    """The fields of a `TableSchema` from the values of its `to_dict`."""
    match values:
        case {
            "columns": dict() as columns,
            "target": str() as target,
            "label_kind": "integer" | "text" as label_kind,
            "weight": str() as weight,
            "ids": list() as ids,
        } if (
            columns
            and all(isinstance(name, str) for name in ids)
            and isinstance(group := values.get("group", ""), str)
        ):
            kinds = {name: _kind_from_json(kind) for name, kind in columns.items()}
            return kinds, target, label_kind, weight, tuple(ids), group
    raise ValueError("its schema is missing or not valid")


#: The names in files of the kinds that have no fields to store.
_PLAIN_KINDS: dict[str, ColumnKind] = {"numeric": NumberKind(), "text": CategoryKind()}


def _kind_to_json(kind: ColumnKind) -> Any:
    return next((name for name, plain in _PLAIN_KINDS.items() if plain == kind), kind.to_dict())


def _kind_from_json(value: Any) -> ColumnKind:
    if isinstance(value, dict):
        return kind_from_dict(value)
    if not isinstance(value, str) or value not in _PLAIN_KINDS:
        raise ValueError("its schema is missing or not valid")
    return _PLAIN_KINDS[value]
