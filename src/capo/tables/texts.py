"""Columns of text: categories, codes, tags, identifiers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np

from .._compat import FloatArray
from .kinds import MISSING_MARKERS, ColumnKind, ColumnValues, Recognition, is_dataframe

#: With fewer rows, values that all differ are no evidence of an identifier.
MIN_IDENTIFIER_ROWS = 20
#: Different whole numbers that fill at least this share of their range are a count of the rows.
MIN_INDEX_DENSITY = 0.5
#: Names that readers of CSV files give to a column without a name, as the index of ``to_csv`` is.
_NO_NAME = re.compile(r"(unnamed: \d+|column_\d+)?", re.IGNORECASE)
#: Names of identifiers, as a word or as the end of a name in camel case.
_IDENTIFIER_NAME = re.compile(
    r"(^|[^a-z])(id|idx|index|key|uid|uuid|guid|pk|rowid|rownum|row|serial)($|[^a-z])", re.IGNORECASE
)
_CAMEL_CASE_IDENTIFIER = re.compile(r"[a-z](Id|ID)$")


class NumberedColumn(NamedTuple):
    """A column of whole numbers that differ in every row.

    Attributes
    ----------
    name : str
        The name of the column.
    reason : str
        Why it is taken for an index; empty if only its values differ.
    """

    name: str
    reason: str

    @property
    def is_index(self) -> bool:
        """Whether the column looks like an index or an identifier and is left out."""
        return bool(self.reason)


def describe_numbered_column(name: str, values: FloatArray) -> NumberedColumn | None:
    """Return the column if its values are whole numbers that all differ, else None.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.texts import describe_numbered_column
    >>> describe_numbered_column("Unnamed: 0", np.arange(50.0)).reason
    'it has no name'
    >>> describe_numbered_column("income", np.arange(50.0) ** 2).is_index
    False
    >>> describe_numbered_column("rooms", np.arange(50.0) // 2) is None
    True
    """
    if len(values) < MIN_IDENTIFIER_ROWS or not np.isfinite(values).all():
        return None
    if (values != np.rint(values)).any() or len(np.unique(values)) < len(values):
        return None
    return NumberedColumn(name, _index_reason(name, float(values.max() - values.min()) + 1, len(values)))


def _index_reason(name: str, value_range: float, n_rows: int) -> str:
    if _NO_NAME.fullmatch(name.strip()):
        return "it has no name"
    if _IDENTIFIER_NAME.search(name) or _CAMEL_CASE_IDENTIFIER.search(name):
        return "its name is that of an identifier"
    return "its values count the rows" if n_rows >= MIN_INDEX_DENSITY * value_range else ""


def numbered_columns(X: Any) -> list[NumberedColumn]:
    """List the columns of a data frame with an integer type whose values differ in every row."""
    if not is_dataframe(X):
        return []
    columns = nw.from_native(X, eager_only=True).iter_columns()
    integers = (column for column in columns if isinstance(column.name, str) and _is_integer(column))
    found = (describe_numbered_column(each.name, _as_float(each)) for each in integers)
    return [column for column in found if column is not None]


def _is_integer(column: Any) -> bool:
    return bool(column.dtype.is_integer() and not column.null_count())


def _as_float(column: Any) -> FloatArray:
    return np.asarray(column.to_numpy(), dtype=np.float64)


#: Free text has at least this many words per value, on average.
MIN_WORDS = 3.0
#: Free text repeats itself less often than this: different values per value.
MIN_DIFFERENT_SHARE = 0.5
#: Separators of lists of tags.
TAG_SEPARATORS = ("\x1f", "|", ";", ",")
#: In lists of tags this share of the values has several, and each tag occurs so often on average.
MIN_TAGGED_SHARE = 0.2
MIN_TAG_COUNT = 5.0
#: What a list is written in, with quotes around its tags.
_OPENING = {"[": "]", "{": "}", "(": ")"}
#: Longer texts between separators are no tags.
MAX_TAG_LENGTH = 40
#: Different tags of a column.
MAX_TAGS = 2000
#: Categories are in doubt if so many values begin with a digit, or so many are numbers and most differ.
MIN_DIGIT_SHARE, MIN_NUMBER_SHARE, MIN_NUMBERS = 0.8, 0.3, 10
_BEGINS_WITH_DIGIT, _PLAIN_NUMBER = re.compile(r"[^\w\s#]{0,2}\s*\d"), re.compile(r"[+-]?\d+(?:[.,]\d*)?")
_LEADING_ZERO = re.compile(r"0\d+")


@dataclass(frozen=True)
class CategoryKind(ColumnKind):
    """Texts as categories."""

    name: ClassVar[str] = "category"
    role: ClassVar = "category"
    description: ClassVar[str] = "categories"

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        n_texts = len(values.counts)
        reason = "it has a single text" if n_texts == 1 else f"it has {n_texts:,} different texts"
        return Recognition(cls(), reason, cls._doubt(values))

    @classmethod
    def _doubt(cls, values: ColumnValues) -> str:
        """A doubt if most values begin with a digit and still are no numbers or dates."""
        odd = next((text for text in values.counts if not _PLAIN_NUMBER.fullmatch(text)), "")
        n_digits = sum(count for text, count in values.counts.items() if _BEGINS_WITH_DIGIT.match(text))
        if odd and n_digits >= MIN_DIGIT_SHARE * max(values.n_values, 1):
            return f"most values begin with a digit, but some, such as {odd!r}, are not numbers"
        numbers = {text: count for text, count in values.counts.items() if _PLAIN_NUMBER.fullmatch(text)}
        share = sum(numbers.values()) / max(values.n_values, 1)
        if share < MIN_NUMBER_SHARE or 2 * len(numbers) < max(len(values.counts), MIN_NUMBERS):
            return ""
        return f"{share:.0%} of the values are numbers, but others, such as {odd!r}, are not" if odd else ""


@dataclass(frozen=True)
class CodeKind(CategoryKind):
    """Digits with leading zeros, such as postal codes: categories, not numbers."""

    name: ClassVar[str] = "code"
    description: ClassVar[str] = "codes"

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        texts = [text for text in values.counts if text.lower() not in MISSING_MARKERS]
        zero = next((text for text in texts if _LEADING_ZERO.fullmatch(text)), None)
        if zero is None or not all(text.isascii() and text.isdigit() for text in texts):
            return None
        return Recognition(cls(), f"digits with leading zeros, such as {zero!r}, are codes")


@dataclass(frozen=True)
class IdentifierKind(ColumnKind):
    """Texts that differ in every row: left out."""

    name: ClassVar[str] = "identifier"
    role: ClassVar = "none"
    description: ClassVar[str] = "identifiers, which are left out"

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        if not values.all_different(MIN_IDENTIFIER_ROWS):
            return None
        return Recognition(cls(), "it has a different text in each row")


@dataclass(frozen=True)
class TextKind(ColumnKind):
    """Free text: its words are used."""

    name: ClassVar[str] = "text"
    role: ClassVar = "text"
    description: ClassVar[str] = "free text"

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        n_values = max(values.n_values, 1)
        n_words = sum(len(text.split()) * count for text, count in values.counts.items()) / n_values
        is_varied = len(values.counts) >= max(MIN_IDENTIFIER_ROWS, MIN_DIFFERENT_SHARE * n_values)
        if not is_varied or n_words < MIN_WORDS:
            return None
        n_digits = sum(_is_mostly_digits(text) * count for text, count in values.counts.items())
        doubt = "most of its characters are digits" if n_digits >= MIN_DIGIT_SHARE * n_values else ""
        return Recognition(cls(), f"its values have {n_words:.0f} words on average and most differ", doubt)


def _is_mostly_digits(text: str) -> bool:
    letters = [each for each in text if each.isalnum()]
    return 2 * sum(map(str.isdigit, letters)) >= len(letters)


@dataclass(frozen=True)
class TagsKind(ColumnKind):
    """Lists of tags in one text: each tag is a feature.

    Attributes
    ----------
    separator : str
        What separates the tags.
    """

    name: ClassVar[str] = "tags"
    role: ClassVar = "tags"
    description: ClassVar[str] = "lists of tags"
    separator: str = "|"

    def split(self, text: str) -> list[str]:
        """The tags of a text."""
        if text[:1] in _OPENING and text[-1:] == _OPENING[text[0]]:
            text = text[1:-1]
        return [tag for tag in (part.strip().strip("'\"") for part in text.split(self.separator)) if tag]

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        return next(filter(None, (cls(separator)._fit(values) for separator in TAG_SEPARATORS)), None)

    def _fit(self, values: ColumnValues) -> Recognition | None:
        n_tagged = sum(count for text, count in values.counts.items() if self.separator in text)
        if n_tagged < MIN_TAGGED_SHARE * max(values.n_values, 1) or n_tagged < MIN_IDENTIFIER_ROWS:
            return None
        tags = Counter[str]()
        for text, count in values.counts.items():
            tags.update(dict.fromkeys(self.split(text), count))
        is_reused = len(tags) < len(values.counts) and tags.total() >= MIN_TAG_COUNT * len(tags)
        if not is_reused or len(tags) > MAX_TAGS or max(map(len, tags)) > MAX_TAG_LENGTH:
            return None
        return Recognition(
            self, f"its values are lists of {len(tags):,} different tags, separated by {self.separator!r}"
        )

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        n_rows = {each: sum(each in text for text in values.counts) for each in TAG_SEPARATORS}
        return cls(max(TAG_SEPARATORS, key=n_rows.__getitem__))
