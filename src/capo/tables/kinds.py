"""Kinds of columns: how a kind recognizes itself and parses its texts.

A kind is a small frozen dataclass: its fields are what was decided from the training rows (a decimal comma,
the order of day and month). It recognizes itself in a column's values and parses texts. Model files and
graphs hold it as the name of the kind and its fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from .._compat import FloatArray, is_pandas_na, is_scalar_nan

#: Texts that mean a missing value, besides the empty text; all that ``pandas.read_csv`` takes for missing,
#: which a table that pandas has read no longer holds, are among them.
MISSING_TEXTS = (
    *("NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None", "?"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)


def is_dataframe(X: object) -> bool:
    """Whether X is a data frame of pandas, polars or any other library that narwhals supports."""
    return isinstance(nw.from_native(X, pass_through=True, eager_only=True), nw.DataFrame)


def iter_columns(X: Any) -> Iterator[list[Any]]:
    """Yield the values of each column."""
    if is_dataframe(X):
        return (column.to_list() for column in nw.from_native(X, eager_only=True).iter_columns())
    return (column.tolist() for column in np.asarray(X, dtype=object).T)


def is_number(value: object) -> bool:
    """Whether a value is a number and not missing; True and False are none."""
    if isinstance(value, bool) or is_missing(value):
        return False
    return isinstance(value, Real | Decimal)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, ``pandas.NA`` or ``NaT``."""
    return value is None or is_scalar_nan(value) or is_pandas_na(value) or str(value) == "NaT"


class TableTransformer(TransformerMixin, BaseEstimator):
    """A transformer that takes text and missing values."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


#: What the encoders of a model make of a kind; "none" is left out.
Role = Literal["numeric", "date", "category", "text", "tags", "none"]
#: Texts that mean a missing value in a column of numbers or dates, besides `MISSING_TEXTS`; in lower case.
MISSING_MARKERS = frozenset(
    {
        "-",
        "--",
        "---",
        ".",
        "..",
        "...",
        "n.a.",
        "na",
        "n/a",
        "n.d.",
        "nd",
        "nil",
        "none",
        "null",
        "nan",
        "missing",
    }
    | {
        "unknown",
        "unk",
        "unbekannt",
        "tbd",
        "\u2013",
        "—",
        "(blank)",
        "blank",
        "(null)",
        "[null]",
        "no data",
        "\\n",
    }
    | {"not available", "not applicable", "not specified", "k.a.", "k. a.", "keine angabe", "s/d", "#missing"}
    | {"#value!", "#ref!", "#div/0!", "#name?", "#num!", "#null!", "#error!", "#n/a"}
)
#: Different texts that may be no number or date in a column of them, and the share of the rows with them.
MAX_ODD_TEXTS = 3
MAX_ODD_SHARE = 0.05


@dataclass(frozen=True)
class ColumnValues:
    """The values of a training column that are not missing, as stripped texts.

    Attributes
    ----------
    name : str
        The name of the column.
    n_rows : int
        The number of rows.
    counts : dict of str to int
        The different texts in the order of their first occurrence, and in how many rows each occurs.
    decimal_comma : bool
        Whether a comma is a decimal point, because the file has another delimiter.
    """

    name: str
    n_rows: int
    counts: dict[str, int]
    decimal_comma: bool = False

    @classmethod
    def count(cls, name: str, values: Iterable[Any], decimal_comma: bool = False) -> Self:
        """Count the values of a column."""
        counts: dict[str, int] = {}
        n_rows = 0
        for value in values:
            n_rows += 1
            text = to_text(value)
            if text is not None:
                counts[text] = counts.get(text, 0) + 1
        return cls(name, n_rows, counts, decimal_comma)

    @property
    def n_values(self) -> int:
        """The number of rows with a value."""
        return sum(self.counts.values())

    @property
    def missing_share(self) -> float:
        """The share of the rows without a value."""
        return 1.0 - self.n_values / self.n_rows if self.n_rows else 0.0

    @property
    def example(self) -> str:
        """The first value."""
        return next(iter(self.counts), "")

    def all_different(self, min_rows: int) -> bool:
        """Whether there are at least so many values and no two are equal."""
        return min_rows <= self.n_values == len(self.counts)


def to_text(value: Any) -> str | None:
    """A value as stripped text; None if it is missing."""
    if not isinstance(value, str):
        if is_missing(value):
            return None
        value = str(value)
    text = value.strip()
    return None if not text or text in MISSING_TEXTS else text


class Recognition(NamedTuple):
    """A kind that fits a column, why, and a doubt that the user should resolve (empty if there is none)."""

    kind: ColumnKind
    reason: str
    doubt: str = ""


@dataclass(frozen=True)
class ColumnKind(ABC):
    """A kind of column."""

    name: ClassVar[str]
    role: ClassVar[Role]
    description: ClassVar[str]

    @classmethod
    @abstractmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        """Return the kind if it fits the values of a training column."""

    @classmethod
    def impose(cls, values: ColumnValues) -> ColumnKind:
        """Return the kind that a user demands for a column; what it cannot parse counts as missing.

        If the values are recognized as of this kind, they are read in the same way as without the demand.
        """
        found = cls.recognize(values)
        return cls._impose_unrecognized(values) if found is None else found.kind

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        """Return the kind for values that are not recognized as of this kind."""
        return cls()

    def with_fields(self, values: Mapping[str, Any], column: ColumnValues) -> Self:
        """Return the kind with other values of some fields; a ValueError if they are not valid."""
        if not values:
            return self
        unknown = sorted(set(values) - {field.name for field in fields(self)})
        if unknown:
            known = ", ".join(field.name for field in fields(self)) or "none"
            raise ValueError(f"the kind {self.name!r} has no field {unknown[0]!r}, its fields are: {known}")
        return type(self).from_state(self.to_state() | dict(values))

    def to_state(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Convert the kind to JSON values."""
        return {"kind": self.name, **self.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Restore a kind from its fields as JSON values; a ValueError if they are not valid."""
        plain = cls()
        is_valid = set(state) == {field.name for field in fields(cls)} and all(
            isinstance(value, str)
            if isinstance(getattr(plain, name), str)
            else isinstance(value, list) and all(isinstance(each, str) for each in value)
            for name, value in state.items()
        )
        if not is_valid:
            raise ValueError(f"the fields of the column kind {cls.name!r} are not valid")
        return cls(**{key: tuple(each) if isinstance(each, list) else each for key, each in state.items()})


@dataclass(frozen=True)
class ParsedKind(ColumnKind):
    """A kind whose texts are parsed to numbers.

    Attributes
    ----------
    missing : tuple of str
        Texts of the training rows that could not be parsed and count as missing.
    """

    missing: tuple[str, ...] = ()

    def with_fields(self, values: Mapping[str, Any], column: ColumnValues) -> Self:
        if not values:
            return self
        kind = super().with_fields(values, column)
        return replace(kind, missing=odd_texts(replace(kind, missing=()), column))

    @abstractmethod
    def parse(self, text: str) -> float | None:
        """Parse a text; None if it is not of this kind."""

    def convert_numbers(self, values: FloatArray) -> FloatArray:
        """Return what values that are numbers already stand for, with NaN for a missing value."""
        return values

    def parse_or_missing(self, text: str | None) -> float | None:
        """Parse a text, with NaN for a missing value; None if it is not of this kind."""
        if text is None:
            return float("nan")
        number = self.parse(text)
        if number is None and (text in self.missing or text.lower() in MISSING_MARKERS):
            return float("nan")
        return number


def odd_texts(kind: ParsedKind, values: ColumnValues) -> tuple[str, ...]:
    """The texts that a kind cannot parse and that are no known marker of a missing value."""
    return tuple(text for text in values.counts if kind.parse_or_missing(text) is None)


def describe_parsed(kind: ParsedKind, values: ColumnValues, what: str) -> str:
    """How many of the different values a kind can parse, such as "all 9 different values are dates"."""
    texts = [text for text in values.counts if text.lower() not in MISSING_MARKERS]
    n_parsed = sum(kind.parse(text) is not None for text in texts)
    share = f"all {n_parsed:,}" if n_parsed == len(texts) else f"{n_parsed:,} of {len(texts):,}"
    return f"{share} different values are {what}"


def are_few(texts: tuple[str, ...], values: ColumnValues) -> bool:
    """Whether texts are so few and so rare that they can count as missing."""
    n_rows = sum(values.counts[text] for text in texts)
    return len(texts) <= MAX_ODD_TEXTS and n_rows <= MAX_ODD_SHARE * values.n_values


def doubt_of_missing(texts: tuple[str, ...]) -> str:
    """The doubt about texts that count as missing."""
    return (
        f"{', '.join(map(repr, texts))} {'counts' if len(texts) == 1 else 'count'} as missing"
        if texts
        else ""
    )


_PAIRS = (
    ("true", "false"),
    ("t", "f"),
    ("yes", "no"),
    ("y", "n"),
    ("on", "off"),
    ("1", "0"),
    ("1.0", "0.0"),
    ("wahr", "falsch"),
    ("ja", "nein"),
    ("j", "n"),
    ("oui", "non"),
    ("vrai", "faux"),
    ("sí", "no"),
    ("si", "no"),
    ("sim", "não"),
    ("tak", "nie"),
    ("ja", "nej"),
    ("ja", "nee"),
)
_VALUES = {text: float(index == 0) for pair in _PAIRS for index, text in enumerate(pair)}


def find_yes_label(labels: list[Any]) -> Any | None:
    """Return the one of two labels that means yes if the other means no, in any language; otherwise None."""
    meanings = [_VALUES.get(label.lower()) if isinstance(label, str) else None for label in labels]
    return labels[meanings.index(1.0)] if sorted(map(str, meanings)) == ["0.0", "1.0"] else None


def _zero_or_one(text: str) -> float:
    """Return the number 0 or 1 in any spelling, such as 01; NaN for another text."""
    try:
        number = float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")
    return number if number in (0.0, 1.0) else float("nan")


@dataclass(frozen=True)
class BooleanKind(ParsedKind):
    """Yes and no, true and false, on and off, and other pairs, in upper or lower case."""

    name: ClassVar[str] = "boolean"
    role: ClassVar = "numeric"
    description: ClassVar[str] = "yes or no"

    def parse(self, text: str) -> float | None:
        # Any other text is like a category that was not in training: missing.
        return _VALUES.get(text.lower(), _zero_or_one(text))

    def convert_numbers(self, values: FloatArray) -> FloatArray:
        return np.where(np.isin(values, (0.0, 1.0)), values, np.nan)

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        texts = {text.lower() for text in values.counts} - MISSING_MARKERS
        if texts <= {"0", "1", "0.0", "1.0"} or any(text not in _VALUES for text in texts):
            return None
        if len({_VALUES[text] for text in texts}) < 2:
            return None
        return Recognition(cls(), f"its values are {', '.join(map(repr, list(values.counts)[:6]))}")
