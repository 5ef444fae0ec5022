"""What a model needs of a table: its columns and their kinds, learned once and kept with the model.

At prediction the order of the columns does not matter and further columns are ignored; one that is
missing, or holds text where numbers were, is refused. A number where text was is taken as text. A
category that was not there in training is a missing value, which is the model's own business.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...exceptions import InvalidInputError, TableError
from . import _values as values
from ._batch import Batch, SparseRows
from ._labels import NUMBER, TEXT, as_label, read_labels

#: Columns of text that can be used as categories.
MOST_TEXT_COLUMNS = 1000
#: From this many rows on, a column of text with a different value in each is taken for an identifier.
MANY_ROWS = 20


class Schema(ABC):
    """What is read from the batches of a file: features, labels, weights, identifiers."""

    @property
    @abstractmethod
    def names(self) -> list[str] | None:
        """The names of the features, if they have any."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features there are."""

    @abstractmethod
    def features(self, batch: Batch) -> Any:
        """The table that the model is given."""

    @abstractmethod
    def labels(self, batch: Batch) -> NDArray[np.generic]:
        """The target."""

    @abstractmethod
    def label(self, given: str) -> int | str | None:
        """A label that was typed, as `labels` gives it."""

    @abstractmethod
    def weights(self, batch: Batch) -> FloatArray | None:
        """The weight of each row, if there is a column for it."""

    @abstractmethod
    def kept(self, batch: Batch) -> pl.DataFrame:
        """The columns that go along with predictions, as far as they are there."""

    @abstractmethod
    def with_ids(self, ids: Sequence[str]) -> Schema:
        """The same with other columns to go along."""

    @abstractmethod
    def example(self) -> Any:
        """A row such as `features` gives."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a file."""


@dataclass(frozen=True)
class Roles:
    """What the columns of a training table are for; all others are features."""

    target: str
    weight: str = ""
    drop: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there, or have two roles."""
        single = {"target": (self.target,), "weight": (self.weight,) if self.weight else ()}
        roles = {**single, "drop": self.drop, "id": self.ids, "category": self.categories}
        taken: dict[str, str] = {}
        for role, names in roles.items():
            for name in names:
                require_column(name, columns)
                if taken.setdefault(name, role) != role:
                    raise InvalidInputError(
                        f"the column {name!r} is named both as --{taken[name]} and as --{role}: choose one."
                    )

    @property
    def apart(self) -> set[str]:
        """Columns that are no features."""
        return {self.target, self.weight, *self.drop, *self.ids}


@dataclass(frozen=True)
class SchemaInference:
    """A schema, and what a person should know of how it was learned."""

    schema: Schema
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSchema(Schema):
    """The schema of a table with named columns.

    Attributes
    ----------
    columns : dict of str to str
        The kind of each feature, "number" or "text", by its name and in order.
    target, label_kind : str
        The column of the labels, and whether they are a "number" or "text".
    weight : str
        The column of the rows' weights; none if empty.
    ids : tuple of str
        Columns that are kept beside predictions and not learned from.
    """

    columns: dict[str, str]
    target: str
    label_kind: str
    weight: str = ""
    ids: tuple[str, ...] = ()

    @classmethod
    def learn(cls, batch: Batch, roles: Roles) -> SchemaInference:
        """The schema of a training table."""
        names = frame_of(batch).columns
        roles.check(names)
        cleaned = values.clean(batch, [name for name in names if name not in roles.apart])
        found = values.numbers(cleaned, batch.decimal_comma)
        texts = list(dict.fromkeys([*values.with_text(cleaned, found), *roles.categories]))
        values.check_size(found.drop(texts), batch.first)
        _check_number_of_texts(texts)
        guessed = cleaned.select([name for name in texts if name not in roles.categories])
        left_out = values.all_different(guessed, MANY_ROWS)
        kinds = {name: TEXT if name in texts else NUMBER for name in cleaned.columns if name not in left_out}
        notes = (*_notes(guessed, left_out), *_notes_on_commas(cleaned.drop(texts)))
        if not kinds:
            raise TableError(" ".join(["no column is left to learn from.", *notes]))
        _, label_kind = read_labels(batch, roles.target)
        return SchemaInference(cls(kinds, roles.target, label_kind, roles.weight, roles.ids), notes)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def features(self, batch: Batch) -> pl.DataFrame:
        frame = frame_of(batch)
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            known = {*self.columns, self.target, self.weight, *self.ids}
            raise TableError(_what_is_missing(missing, [c for c in frame.columns if c not in known]))
        cleaned = values.clean(batch, list(self.columns))
        texts = [name for name, kind in self.columns.items() if kind == TEXT]
        parts = {
            NUMBER: self._numbers(cleaned.drop(texts), batch),
            TEXT: values.text(cleaned.select(texts)),
        }
        return pl.DataFrame([parts[kind][name] for name, kind in self.columns.items()])

    def _numbers(self, cleaned: pl.DataFrame, batch: Batch) -> pl.DataFrame:
        found = values.numbers(cleaned, batch.decimal_comma)
        for name in values.with_text(cleaned, found):
            row, shown = values.first_text(cleaned[name], found[name], batch.first)
            raise TableError(
                f"the column {name!r} held numbers in training, but {shown!r} is no number (row {row:,})."
            )
        values.check_size(found, batch.first)
        return found.fill_null(float("nan"))

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        require_column(self.target, frame_of(batch).columns, "target")
        return read_labels(batch, self.target, self.label_kind)[0]

    def label(self, given: str) -> int | str | None:
        return as_label(given, self.label_kind)

    def weights(self, batch: Batch) -> FloatArray | None:
        if not self.weight:
            return None
        require_column(self.weight, frame_of(batch).columns, "weight")
        cleaned = values.clean(batch, [self.weight])
        numbers = values.numbers(cleaned, batch.decimal_comma)
        found = numbers[self.weight]
        if values.with_text(cleaned, numbers) or found.null_count() or (found < 0).any():
            raise TableError(f"the weights in {self.weight!r} must be numbers of at least 0, none missing.")
        values.check_size(numbers, batch.first)
        return found.to_numpy()

    def kept(self, batch: Batch) -> pl.DataFrame:
        frame = frame_of(batch)
        kinds = {name: frame.schema[name] for name in self.ids if name in frame.columns}
        for name, kind in kinds.items():
            values.as_words(name, kind)  # refuses what no CSV file can hold
        return frame.select(list(kinds))

    def with_ids(self, ids: Sequence[str]) -> TableSchema:
        return TableSchema(self.columns, self.target, self.label_kind, self.weight, tuple(dict.fromkeys(ids)))

    def example(self) -> pl.DataFrame:
        kinds = {NUMBER: 0.0, TEXT: ""}
        return pl.DataFrame({name: [kinds[kind]] for name, kind in self.columns.items()})

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "table", **asdict(self), "ids": list(self.ids)}


@dataclass(frozen=True)
class SparseSchema(Schema):
    """The schema of a file in svmlight's format: so many features, by their index."""

    features_in_file: int

    @classmethod
    def learn(cls, batch: Batch) -> Self:
        """The schema of a training file."""
        return cls(batch.rows.X.shape[1])

    @property
    def names(self) -> None:
        return None

    @property
    def n_features(self) -> int:
        return self.features_in_file

    def features(self, batch: Batch) -> Any:
        return self._rows(batch).wide(self.n_features)

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        found = self._rows(batch).labels
        whole = (found == np.rint(found)) & (np.abs(found) < 2**53)
        if not whole.all():
            row = batch.first + int(np.argmin(whole))
            raise TableError(
                f"the labels must be whole numbers: row {row:,} has {found[row - batch.first]:g}."
            )
        return found.astype(np.int64)

    def label(self, given: str) -> int | str | None:
        return as_label(given, NUMBER)

    def weights(self, batch: Batch) -> None:
        return None

    def kept(self, batch: Batch) -> pl.DataFrame:
        return pl.DataFrame()

    def with_ids(self, ids: Sequence[str]) -> SparseSchema:
        if ids:
            raise InvalidInputError("a file in svmlight's format has no columns by name to keep.")
        return self

    def example(self) -> Any:
        return np.zeros((1, self.n_features))

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


def schema_from_dict(found: dict[str, Any]) -> Schema:
    """The schema from its plain values; a ValueError if they are none."""
    match found:
        case {"kind": "svmlight", "n_features": int() as count} if count > 0:
            return SparseSchema(count)
        case {
            "kind": "table",
            "columns": dict() as columns,
            "target": str() as target,
            "label_kind": "number" | "text" as label_kind,
            "weight": str() as weight,
            "ids": list() as ids,
        } if (
            columns
            and all(each in (NUMBER, TEXT) for each in columns.values())
            and all(isinstance(each, str) for each in ids)
        ):
            return TableSchema(columns, target, label_kind, weight, tuple(ids))
    raise ValueError("it does not say which columns the model needs")


def frame_of(batch: Batch) -> pl.DataFrame:
    """The rows as a data frame, which those of a file in svmlight's format are not."""
    if isinstance(batch.rows, SparseRows):
        raise TableError(
            "the model was trained on a table with named columns: this is a file in svmlight's format."
        )
    return batch.rows


def _notes(texts: pl.DataFrame, left_out: Sequence[str]) -> tuple[str, ...]:
    told = [
        f"The column {name!r} looks like numbers, but its values, such as {texts[name].drop_nulls()[0]!r}, "
        "cannot be read as such: it is taken as text."
        for name in values.like_numbers(texts)
    ]
    told += [
        f"The column {name!r} has a different text in each row and is left out; --id keeps it in predictions."
        for name in left_out
    ]
    return tuple(told)


def _notes_on_commas(numbers: pl.DataFrame) -> tuple[str, ...]:
    return tuple(
        f"The commas in the column {name!r} are read as decimal points and not as parting thousands."
        for name in values.like_thousands(numbers)
    )


def _check_number_of_texts(texts: Sequence[str]) -> None:
    if len(texts) > MOST_TEXT_COLUMNS:
        raise TableError(
            f"{len(texts):,} columns hold text ({texts[0]!r}, {texts[1]!r}, ...); at most "
            f"{MOST_TEXT_COLUMNS:,} can be used as categories. Leave columns out with --drop, or turn them "
            "into numbers."
        )


def require_column(name: str, columns: Sequence[str], what: str = "") -> None:
    """Refuse a column that is not there, and say which it may be."""
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
