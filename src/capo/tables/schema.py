"""What a model needs of a table: its columns and their kinds, learned once and kept with the model.

At prediction the order of the columns does not matter and further columns are ignored; one that is
missing, or holds text where numbers were, is refused. A number where text was is taken as text. A
category that was not there in training is a missing value, which is the model's own business.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..exceptions import InvalidInputError, TableError
from . import values
from .batch import Batch, SparseRows

FloatArray = NDArray[np.float64]

NUMBER, TEXT = "number", "text"
#: Columns of text that can be used as categories.
MOST_TEXT_COLUMNS = 1000
#: From this many rows on, a column of text with a different value in each is taken for an identifier.
MANY_ROWS = 20


class Schema(ABC):
    """What is read from the batches of a file: features, labels, weights, identifiers."""

    n_features: int

    @abstractmethod
    def features(self, batch: Batch) -> Any:
        """The table that the model is given."""

    @abstractmethod
    def labels(self, batch: Batch) -> NDArray[np.generic]:
        """The target."""

    @abstractmethod
    def weights(self, batch: Batch) -> FloatArray | None:
        """The weight of each row, if there is a column for it."""

    @abstractmethod
    def kept(self, batch: Batch) -> pl.DataFrame:
        """The columns that go along with predictions."""

    @abstractmethod
    def example(self) -> Any:
        """A row such as `features` gives."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a file."""


@dataclass(frozen=True)
class TableSchema(Schema):
    """The schema of a table with named columns.

    Attributes
    ----------
    columns : dict of str to str
        The kind of each feature, "number" or "text", by its name and in order.
    target, weight : str
        The columns of the labels and of the rows' weights; no weight if empty.
    ids : tuple of str
        Columns that are kept beside predictions and not learned from.
    left_out : tuple of str
        Columns of text with a different value in each row, which nothing can be learned from.
    """

    columns: dict[str, str]
    target: str
    weight: str = ""
    ids: tuple[str, ...] = ()
    left_out: tuple[str, ...] = field(default=(), compare=False)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns that are learned from."""
        return len(self.columns)

    @classmethod
    def learn(
        cls,
        batch: Batch,
        target: str,
        *,
        weight: str = "",
        drop: Collection[str] = (),
        ids: Sequence[str] = (),
        categories: Collection[str] = (),
    ) -> Self:
        """The schema of a training table."""
        if isinstance(batch.rows, SparseRows):
            raise InvalidInputError("a file in svmlight's format has no columns by name.")
        names = batch.rows.columns
        for wanted in (target, *filter(None, [weight]), *ids, *drop, *categories):
            _find(wanted, names)
        apart = {target, weight, *ids, *drop}
        cleaned = values.clean(batch, [name for name in names if name not in apart])
        found = values.numbers(cleaned)
        texts = list(dict.fromkeys([*values.with_text(cleaned, found), *categories]))
        values.check_finite(found.drop(texts), batch.first)
        _check_number_of_texts(texts)
        left_out = values.all_different(cleaned.select(texts), MANY_ROWS)
        columns = {
            name: TEXT if name in texts else NUMBER for name in cleaned.columns if name not in left_out
        }
        if not columns:
            raise TableError("no column is left to learn from, besides the target and those left out.")
        return cls(columns, target, weight, tuple(ids), tuple(left_out))

    def features(self, batch: Batch) -> pl.DataFrame:
        frame = _frame_of(batch)
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            known = {*self.columns, self.target, self.weight, *self.ids}
            raise TableError(_what_is_missing(missing, [c for c in frame.columns if c not in known]))
        cleaned = values.clean(batch, list(self.columns))
        numbers = self._numbers(cleaned, batch.first)
        columns = [
            numbers[name] if kind == NUMBER else values.text(cleaned[name])
            for name, kind in self.columns.items()
        ]
        return pl.DataFrame(columns)

    def _numbers(self, cleaned: pl.DataFrame, first: int) -> pl.DataFrame:
        cleaned = cleaned.select(name for name, kind in self.columns.items() if kind == NUMBER)
        found = values.numbers(cleaned)
        for name in values.with_text(cleaned, found):
            row, shown = values.first_text(cleaned[name], found[name], first)
            raise TableError(
                f"the column {name!r} held numbers in training, but {shown!r} is no number (row {row:,})."
            )
        values.check_finite(found, first)
        return found.fill_null(float("nan"))

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        _find(self.target, _frame_of(batch).columns, "target")
        return values.labels(batch, self.target)

    def weights(self, batch: Batch) -> FloatArray | None:
        if not self.weight:
            return None
        _find(self.weight, _frame_of(batch).columns, "weight")
        cleaned = values.clean(batch, [self.weight])
        numbers = values.numbers(cleaned)
        found = numbers[self.weight]
        if values.with_text(cleaned, numbers) or found.null_count() or (found < 0).any():
            raise TableError(f"the weights in {self.weight!r} must be numbers of at least 0, none missing.")
        values.check_finite(numbers, batch.first)
        return found.to_numpy()

    def kept(self, batch: Batch) -> pl.DataFrame:
        frame = _frame_of(batch)
        for name in self.ids:
            _find(name, frame.columns, "identifier")
        return frame.select(self.ids)

    def example(self) -> pl.DataFrame:
        kinds = {NUMBER: 0.0, TEXT: ""}
        return pl.DataFrame({name: [kinds[kind]] for name, kind in self.columns.items()})

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "table", **asdict(self)}


@dataclass(frozen=True)
class SparseSchema(Schema):
    """The schema of a file in svmlight's format: so many features, by their index."""

    n_features: int

    @classmethod
    def learn(cls, batch: Batch) -> Self:
        """The schema of a training file."""
        return cls(batch.rows.X.shape[1])

    def features(self, batch: Batch) -> Any:
        return self._rows(batch).wide(self.n_features)

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        return values.whole_if_so(self._rows(batch).labels)

    def weights(self, batch: Batch) -> None:
        return None

    def kept(self, batch: Batch) -> pl.DataFrame:
        return pl.DataFrame()

    def example(self) -> Any:
        raise InvalidInputError("a model of sparse rows has no table to show.")

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "svmlight", "n_features": self.n_features}

    @staticmethod
    def _rows(batch: Batch) -> SparseRows:
        if not isinstance(batch.rows, SparseRows):
            raise TableError(
                "the model was trained on a file in svmlight's format and needs one: this is a table with "
                "named columns."
            )
        return batch.rows


def read_schema(found: dict[str, Any]) -> Schema:
    """The schema from its plain values."""
    fields = {key: value for key, value in found.items() if key != "kind"}
    if found["kind"] == "svmlight":
        return SparseSchema(**fields)
    tuples = {key: tuple(fields[key]) for key in ("ids", "left_out")}
    return TableSchema(**{**fields, **tuples})


def _frame_of(batch: Batch) -> pl.DataFrame:
    if isinstance(batch.rows, SparseRows):
        raise TableError(
            "the model was trained on a table with named columns: this is a file in svmlight's format."
        )
    return batch.rows


def _check_number_of_texts(texts: Sequence[str]) -> None:
    if len(texts) > MOST_TEXT_COLUMNS:
        raise TableError(
            f"{len(texts):,} columns hold text ({texts[0]!r}, {texts[1]!r}, ...); at most "
            f"{MOST_TEXT_COLUMNS:,} can be used as categories. Leave columns out with --drop, or turn them "
            "into numbers."
        )


def _find(name: str, columns: Sequence[str], what: str = "") -> None:
    if name in columns:
        return
    called = f" for the {what}" if what else ""
    near = difflib.get_close_matches(name, columns, n=1, cutoff=0.6)
    near = near or [each for each in columns if each.lower() == name.lower()]
    hint = f"Did you mean {near[0]!r}?" if near else f"The columns are {_some(columns)}."
    if all(_is_number(each) for each in columns):
        hint += " The first line must hold the columns' names, and seems to hold data."
    raise TableError(f"there is no column {name!r}{called}. {hint}")


def _what_is_missing(missing: Sequence[str], others: Sequence[str]) -> str:
    plural = "s" if len(missing) > 1 else ""
    sentence = f"the table lacks {len(missing)} column{plural} that the model needs: {_some(missing)}."
    return f"{sentence} It has {_some(others)}, which the model does not know." if others else sentence


def _some(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
