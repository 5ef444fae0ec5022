"""Kinds of columns: how a kind recognizes itself and parses its texts.

A kind is a small frozen dataclass: its fields are what was decided from the training rows (a decimal comma,
the order of day and month). It recognizes itself in a column's values and parses texts. Model files and
graphs hold it as the name of the kind and its fields.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
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
MISSING_TEXTS = {
    *("NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None", "?"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
}
_MARKERS = (
    "-|--|---|.|..|...|\u2013|\u2014|n.a.|na|n/a|n.d.|nd|nil|none|null|nan|missing|unknown|unk|unbekannt|tbd|"
    "blank|(blank)|(null)|[null]|no data|\\n|not available|not applicable|not specified|k.a.|k. a.|"
    "keine angabe|s/d|#missing|#value!|#ref!|#div/0!|#name?|#num!|#null!|#error!|#n/a"
)
#: Texts that mean a missing value in a column of numbers or dates, besides `MISSING_TEXTS`; in lower case.
MISSING_MARKERS = frozenset(_MARKERS.split("|"))
#: The roles of a kind in the encoders of a model; "none" is left out.
Role = Literal["numeric", "date", "category", "text", "tags", "vector", "none"]
#: Largest number of other texts in a column of numbers or dates, and largest share of the rows with them.
MAX_ODD_TEXTS = 3
MAX_ODD_SHARE = 0.05


def is_dataframe(X: object) -> bool:
    """Whether X is a data frame of pandas, polars or any other library that narwhals supports."""
    return isinstance(nw.from_native(X, pass_through=True, eager_only=True), nw.DataFrame)


def iter_columns(X: Any) -> Iterator[list[Any]]:
    """Yield the values of each column."""
    if is_dataframe(X):
        return (column.to_list() for column in nw.from_native(X, eager_only=True).iter_columns())
    return (column.tolist() for column in np.asarray(X, dtype=object).T)


def is_number(value: object) -> bool:
    """Whether a value is a number and not missing; True and False are not numbers."""
    return not isinstance(value, bool) and isinstance(value, Real | Decimal) and not is_missing(value)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, ``pandas.NA`` or ``NaT``."""
    return value is None or is_scalar_nan(value) or is_pandas_na(value) or str(value) == "NaT"


def to_text(value: Any) -> str | None:
    """A value as stripped text; None if it is missing."""
    if not isinstance(value, str):
        if is_missing(value):
            return None
        value = str(value)
    text = value.strip()
    return None if not text or text in MISSING_TEXTS else text


#: Joins the texts of a list.
LIST_SEPARATOR = "\x1f"
#: An integer with an optional plus sign or decimal point; group 1 is the integer without them.
_INTEGER = re.compile(r"[+]?(-?[0-9]+)(?:\.0*)?")
PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def canonical_text(value: Any, *, keep_spelling: bool = False) -> str | None:
    """The text of a category, which does not depend on the file or data type that the value comes from.

    Numbers are written as Python does, whole numbers without a decimal point; with `keep_spelling`, a text
    such as "007" or "1.50" stays as it is. Truth values are in lower case.

    Examples
    --------
    >>> from capo.tables.kinds import canonical_text
    >>> [canonical_text(value) for value in (1.0, "1", "+1.0", "1.50", True, " TRUE ", "NA")]
    ['1', '1', '1', '1.5', 'true', 'true', None]
    """
    text = to_text(value)
    if text is None:
        return None
    if text.lower() in ("true", "false"):
        return text.lower()
    if found := _INTEGER.fullmatch(text):
        digits = found[1].lstrip("-").lstrip("0") or "0"
        sign = "-" if found[1][0] == "-" and digits != "0" else ""
        return found[1] if keep_spelling else sign + digits
    if not is_number(value) and (keep_spelling or not PLAIN_NUMBER.fullmatch(text)):
        return text
    number = float(value if is_number(value) else text)
    return str(int(number)) if number.is_integer() else str(float(text))


def read_fields(state: dict[str, Any], like: dict[str, Any], what: str) -> dict[str, Any]:
    """Read texts and lists of texts from JSON values; a ValueError unless they are the fields of `like`."""
    if set(state) != set(like) - {"kind"} or not all(
        isinstance(value, type(like[name])) and all(isinstance(each, str) for each in value)
        for name, value in state.items()
    ):
        raise ValueError(f"{what} are not valid")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}


def read_values(text: str) -> dict[str, float]:
    """Read a table of names and their values, such as "km=1e3 m=1"."""
    return {name: float(value) for name, value in (each.split("=") for each in text.split())}


class TableTransformer(TransformerMixin, BaseEstimator):
    """A transformer that takes text and missing values."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


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
    has_decimal_commas : bool
        Whether the file has numbers with a decimal comma, so that a point may separate thousands.
    """

    name: str
    n_rows: int
    counts: dict[str, int]
    decimal_comma: bool = False
    has_decimal_commas: bool = False

    @classmethod
    def count(cls, name: str, values: Iterable[Any], **options: bool) -> Self:
        """Count the values of a column."""
        counts = Counter(map(to_text, values))
        texts = {text: count for text, count in counts.items() if text is not None}
        return cls(name, counts.total(), texts, **options)

    @property
    def n_values(self) -> int:
        """The number of rows with a value."""
        return sum(self.counts.values())


class Recognition(NamedTuple):
    """A kind that fits a column, the reason, and a doubt for the user to resolve (empty if there is none)."""

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
        """Return the kind requested for a column; values that it cannot parse count as missing.

        Values that are recognized as this kind are read as they would be without the request.
        """
        found = cls.recognize(values)
        return cls._impose_unrecognized(values) if found is None else found.kind

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        """Return the kind for values that are not recognized as of this kind."""
        return cls()

    def to_dict(self) -> dict[str, Any]:
        """Convert the kind to JSON values."""
        state = {key: list(each) if isinstance(each, tuple) else each for key, each in asdict(self).items()}
        return {"kind": self.name, **state}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Restore a kind from its fields as JSON values; a ValueError if they are not valid."""
        return cls(**read_fields(state, cls().to_dict(), f"the fields of the column kind {cls.name!r}"))

    def with_fields(self, values: dict[str, Any]) -> Self:
        """Return the kind with other values of some fields; a ValueError if they are not valid."""
        known = [field.name for field in fields(self)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(
                f"the kind {self.name!r} has no field {unknown[0]!r}, its fields are: "
                f"{', '.join(known) or 'none'}"
            )
        return self.from_state({name: (self.to_dict() | values)[name] for name in known})


@dataclass(frozen=True)
class ParsedKind(ColumnKind):
    """A kind whose texts are parsed to numbers.

    Attributes
    ----------
    missing : tuple of str
        Texts of the training rows that could not be parsed and count as missing.
    """

    missing: tuple[str, ...] = ()

    @abstractmethod
    def parse(self, text: str) -> float | None:
        """Parse a text; None if it is not of this kind."""

    def convert_numbers(self, values: FloatArray) -> FloatArray:
        """Convert values that are already numbers, with NaN for a missing value."""
        return values

    def parse_or_missing(self, text: str | None) -> float | None:
        """Parse a text, with NaN for a missing value; None if it is not of this kind."""
        if text is None:
            return math.nan
        number = self.parse(text)
        if number is None and (text in self.missing or text.lower() in MISSING_MARKERS):
            return math.nan
        return number

    def with_missing(self, values: ColumnValues) -> Self:
        """Return the kind for which the texts of a column that it cannot parse count as missing."""
        plain = replace(self, missing=())
        missing = (text for text in values.counts if plain.parse_or_missing(text) is None)
        return replace(self, missing=tuple(missing))

    def accept(self, values: ColumnValues, what: str, *doubts: str) -> Recognition | None:
        """Recognize the kind in a column if it can parse all texts but a few, which count as missing."""
        parsed = {text: self.parse_or_missing(text) for text in values.counts}
        missing = tuple(text for text, number in parsed.items() if number is None)
        n_odd_rows = sum(values.counts[text] for text in missing)
        if len(missing) > MAX_ODD_TEXTS or n_odd_rows > MAX_ODD_SHARE * values.n_values:
            return None
        texts = [text for text in parsed if text.lower() not in MISSING_MARKERS]
        n_parsed = len(texts) - len(missing)
        share = f"{n_parsed:,} of {len(texts):,}" if missing else f"all {n_parsed:,}"
        lost = [text for text in texts if text in missing or math.isnan(parsed[text] or 0.0)]
        verb = "counts" if len(lost) == 1 else "count"
        doubt = f"{', '.join(map(repr, lost))} {verb} as missing" if lost else ""
        reason = f"{share} different values are {what}"
        return Recognition(replace(self, missing=missing), reason, "; ".join(filter(None, (*doubts, doubt))))

    @classmethod
    def _candidates(cls, values: ColumnValues) -> Iterable[Self]:
        """Other formats to try for values that are not recognized."""
        return (cls(),)

    @classmethod
    def _impose_unrecognized(cls, values: ColumnValues) -> Self:
        found = (kind.with_missing(values) for kind in cls._candidates(values))
        return min(found, key=lambda kind: len(kind.missing))


_YES = "true t yes y on 1 1.0 wahr ja j oui vrai sí si sim tak"
_NO = "false f no n off 0 0.0 falsch nein non faux não nie nej nee"
_YES_OR_NO = {**dict.fromkeys(_YES.split(), 1.0), **dict.fromkeys(_NO.split(), 0.0)}


def find_yes_label(labels: list[Any]) -> Any | None:
    """Return the one of two labels that means yes if the other means no, in any language; otherwise None."""
    meanings = [_YES_OR_NO.get(label.lower()) if isinstance(label, str) else None for label in labels]
    return labels[meanings.index(1.0)] if sorted(map(str, meanings)) == ["0.0", "1.0"] else None


@dataclass(frozen=True)
class BooleanKind(ParsedKind):
    """Yes and no, true and false, on and off, and other pairs, in upper or lower case."""

    name: ClassVar[str] = "boolean"
    role: ClassVar = "numeric"
    description: ClassVar[str] = "yes or no"

    def parse(self, text: str) -> float | None:
        # Any other text is like a category that was not in training: missing.
        if text.lower() in _YES_OR_NO:
            return _YES_OR_NO[text.lower()]
        try:
            number = float(text)  # 0 and 1 may have other spellings, such as 01
        except ValueError:
            return math.nan
        return number if number in (0.0, 1.0) and "_" not in text else math.nan

    def convert_numbers(self, values: FloatArray) -> FloatArray:
        return np.where(np.isin(values, (0.0, 1.0)), values, np.nan)

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        texts = {text.lower() for text in values.counts} - MISSING_MARKERS
        meanings = {_YES_OR_NO.get(text) for text in texts}
        if texts <= {"0", "1", "0.0", "1.0"} or meanings != {0.0, 1.0}:
            return None
        return Recognition(cls(), f"its values are {', '.join(map(repr, list(values.counts)[:6]))}")


#: With fewer rows, distinct values are not evidence of an identifier.
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


def find_index_reason(name: str, values: FloatArray) -> str | None:
    """Return why a column of distinct whole numbers looks like an index or an identifier.

    The result is empty if only the values suggest it, and None if the column is not such a column.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.kinds import find_index_reason
    >>> find_index_reason("Unnamed: 0", np.arange(50.0))
    'it has no name'
    >>> find_index_reason("income", np.arange(50.0) ** 2)
    ''
    >>> find_index_reason("rooms", np.arange(50.0) // 2) is None
    True
    """
    if len(values) < MIN_IDENTIFIER_ROWS or not np.isfinite(values).all():
        return None
    if (values != np.rint(values)).any() or len(np.unique(values)) < len(values):
        return None
    if _NO_NAME.fullmatch(name.strip()):
        return "it has no name"
    if _IDENTIFIER_NAME.search(name) or _CAMEL_CASE_IDENTIFIER.search(name):
        return "it is named like an identifier"
    n_possible = float(values.max() - values.min()) + 1
    return "its values count the rows" if len(values) >= MIN_INDEX_DENSITY * n_possible else ""


def find_numbered_columns(X: Any) -> dict[str, str]:
    """The columns of a data frame with whole numbers that differ in every row, with the reasons.

    Only columns with an integer type are examined; see `find_index_reason`.
    """
    columns = nw.from_native(X, eager_only=True).iter_columns() if is_dataframe(X) else ()
    found = {
        column.name: find_index_reason(column.name, np.asarray(column.to_numpy(), dtype=np.float64))
        for column in columns
        if column.dtype.is_integer() and isinstance(column.name, str) and not column.null_count()
    }
    return {name: reason for name, reason in found.items() if reason is not None}


#: Free text has at least this many words per value, on average.
MIN_WORDS = 3.0
#: Free text repeats itself less often than this: different values per value.
MIN_DIFFERENT_SHARE = 0.5
#: Separators of lists of tags.
TAG_SEPARATORS = (LIST_SEPARATOR, "|", ";", ",")
#: In lists of tags this share of the values has several, and each tag occurs so often on average.
MIN_TAGGED_SHARE = 0.2
MIN_TAG_COUNT = 5.0
#: The brackets of a list that has quotes around its tags.
_OPENING = {"[": "]", "{": "}", "(": ")"}
#: Longer texts between separators are not tags.
MAX_TAG_LENGTH = 40
#: Largest number of different tags of a column.
MAX_TAGS = 2000
#: Categories are doubtful if this share of the values begins with a digit, or is numeric and most differ.
MIN_DIGIT_SHARE, MIN_NUMBER_SHARE, MIN_NUMBERS = 0.8, 0.3, 10
_BEGINS_WITH_DIGIT, _DECIMAL = re.compile(r"[^\w\s#]{0,2}\s*\d"), re.compile(r"[+-]?\d+(?:[.,]\d*)?")
_LEADING_ZERO = re.compile(r"0\d+")


@dataclass(frozen=True)
class CategoryKind(ColumnKind):
    """Texts as categories."""

    name: ClassVar[str] = "category"
    role: ClassVar = "category"
    description: ClassVar[str] = "categories"

    def spell(self, value: Any) -> str | None:
        """Return the text of a category, the same for every file and data type; None if it is missing."""
        return canonical_text(value)

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        n_texts = len(values.counts)
        reason = "it has a single text" if n_texts == 1 else f"it has {n_texts:,} different texts"
        for text in values.counts:
            if canonical_text(text) != canonical_text(text, keep_spelling=True):
                return Recognition(
                    CodeKind(), f"{reason}; the spelling of {text!r} is kept", cls._doubt(values)
                )
        return Recognition(CategoryKind(), reason, cls._doubt(values))

    @classmethod
    def _doubt(cls, values: ColumnValues) -> str:
        """A doubt if most values begin with a digit but are not numbers or dates."""
        odd = next((text for text in values.counts if not _DECIMAL.fullmatch(text)), "")
        n_digits = sum(count for text, count in values.counts.items() if _BEGINS_WITH_DIGIT.match(text))
        if odd and n_digits >= MIN_DIGIT_SHARE * max(values.n_values, 1):
            return f"most values begin with a digit, but some, such as {odd!r}, are not numbers"
        numbers = list(filter(_DECIMAL.fullmatch, values.counts))
        share = sum(map(values.counts.__getitem__, numbers)) / max(values.n_values, 1)
        if share < MIN_NUMBER_SHARE or 2 * len(numbers) < max(len(values.counts), MIN_NUMBERS):
            return ""
        return f"{share:.0%} of the values are numbers, but others, such as {odd!r}, are not" if odd else ""


@dataclass(frozen=True)
class CodeKind(CategoryKind):
    """Categories among which are numbers whose spelling matters, such as 007 or 1.10.

    Attributes
    ----------
    width : str
        The number of digits that all codes have, to which others are filled up with zeros. If it is empty,
        numbers are an error, since a reader that converted the codes to numbers has lost their spelling.
    """

    name: ClassVar[str] = "code"
    description: ClassVar[str] = "codes"
    width: str = ""

    def __post_init__(self) -> None:
        if self.width and not self.width.isdecimal():
            raise ValueError(f"the width of codes must be a number of digits, not {self.width!r}")

    def spell(self, value: Any) -> str | None:
        text = canonical_text(value, keep_spelling=True)
        return text.zfill(int(self.width)) if self.width and text and text.isdecimal() else text

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        texts = [text for text in values.counts if text.lower() not in MISSING_MARKERS]
        zero = next((text for text in texts if _LEADING_ZERO.fullmatch(text)), None)
        if zero is None or not all(text.isascii() and text.isdigit() for text in texts):
            return None
        width = str(len(zero)) if {len(text) for text in texts} == {len(zero)} else ""
        return Recognition(cls(width), f"digits with leading zeros, such as {zero!r}, are codes")


@dataclass(frozen=True)
class IdentifierKind(ColumnKind):
    """Texts that differ in every row: left out."""

    name: ClassVar[str] = "identifier"
    role: ClassVar = "none"
    description: ClassVar[str] = "identifiers, which are left out"

    @classmethod
    def recognize(cls, values: ColumnValues) -> Recognition | None:
        is_unique = MIN_IDENTIFIER_ROWS <= values.n_values == len(values.counts)
        return Recognition(cls(), "it has a different text in each row") if is_unique else None


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
        n_digits = sum(
            count
            for text, count in values.counts.items()
            if 2 * sum(map(str.isdigit, text)) >= sum(map(str.isalnum, text))
        )
        doubt = "most of its characters are digits" if n_digits >= MIN_DIGIT_SHARE * n_values else ""
        return Recognition(cls(), f"its values have {n_words:.0f} words on average and most differ", doubt)


@dataclass(frozen=True)
class TagsKind(ColumnKind):
    """Lists of tags in one text: each tag is a feature.

    Attributes
    ----------
    separator : str
        The separator of the tags.
    """

    name: ClassVar[str] = "tags"
    role: ClassVar = "tags"
    description: ClassVar[str] = "lists of tags"
    separator: str = "|"

    def split(self, text: str) -> list[str]:
        """The tags of a text."""
        separator = self.separator
        if text[:1] in _OPENING and text[-1:] == _OPENING[text[0]]:
            text = text[1:-1]
            separator = "," if separator == LIST_SEPARATOR else separator  # a list in a text file
        return [tag for tag in (part.strip().strip("'\"") for part in text.split(separator)) if tag]

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
