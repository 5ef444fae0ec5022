"""The schema of a table: the inferred kinds of its columns, and the parsing of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from .._compat import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from . import kinds as column_kinds
from .dates import DateKind, DurationKind, is_time_name
from .kinds import MAX_ODD_SHARE, CategoryKind, CodeKind, ColumnKind, ColumnValues, ParsedKind, Recognition
from .numbers import MoneyKind, NumberKind, PercentageKind, QuantityKind, has_pointed_thousands
from .vectors import VectorKind, parse_vectors, recognize_vectors

#: All kinds by name; a column is of the first that recognizes it.
KINDS: dict[str, type[ColumnKind]] = {
    kind.name: kind
    for kind in (
        *(column_kinds.BooleanKind, CodeKind, DateKind, NumberKind, PercentageKind, MoneyKind),
        *(QuantityKind, DurationKind, VectorKind, column_kinds.TagsKind, column_kinds.TextKind),
        *(column_kinds.IdentifierKind, CategoryKind),
    )
}


def recognize(values: ColumnValues) -> Recognition:
    """Return the kind of a column of texts."""
    found = (kind.recognize(values) for kind in KINDS.values())
    return next(each for each in found if each is not None)


def kind_from_dict(values: Any) -> ColumnKind:
    """Restore a kind from the values of `ColumnKind.to_dict`; a ValueError if they are not valid."""
    state = dict(values) if isinstance(values, dict) else {"kind": values}
    name = state.pop("kind", None)
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"there is no column kind {name!r}")
    return KINDS[name].from_state(state)


#: Examples are cut to this length, and to this one where the schema is printed.
MAX_EXAMPLE, MAX_SHOWN_EXAMPLE = 100, 24
#: The reason for a kind set by the user, and the doubt about a column of distinct whole numbers.
GIVEN, MAY_BE_IDENTIFIER = "it was given", "it may be an identifier"
#: Columns that an error names.
MAX_NAMED_COLUMNS = 10
#: Number of rows to examine before all rows are examined.
N_HEAD_ROWS = 200
#: Digits that may be a code or a date rather than a number.
_LEADING_ZERO, _COMPACT_DATE = re.compile(r"0[0-9]"), re.compile(r"(19|20)[0-9]{6}([0-9]{4}|[0-9]{6})?")
#: Whole numbers, also if their points separate thousands; numbers whose comma could do so, too.
_WHOLE, _WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+"), re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})*")
_THOUSANDS_SEPARATOR = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
#: Numbers with a decimal comma, without doubt and in files whose delimiter is another character.
_CERTAIN_COMMA, DECIMAL_COMMA = r"^[+-]?[0-9.]*[0-9],[0-9]{1,2}$", r"^([+-]?[0-9]+),([0-9]+)$"
#: Numbers from here on may be counts of seconds or of their fractions since 1970.
MIN_TIME_COUNT = 5e8
#: A kind requested by the user: its name, or a mapping with its name as "kind" and values of its fields.
DemandedKind = str | Mapping[str, Any]


@dataclass(frozen=True)
class ColumnInfo:
    """A column and its inferred kind.

    Attributes
    ----------
    key : str or int
        The name of the column, or its position in a table whose names are not strings.
    kind : ColumnKind
        The meaning of the values.
    reason : str
        Why the column is of this kind.
    doubt : str
        What the user should check; empty if there is no doubt.
    example : str
        The first value as text.
    missing_share : float
        The share of missing values.
    n_different : int
        The number of different values; 0 if they were not counted.
    """

    key: Any
    kind: ColumnKind
    reason: str
    doubt: str = ""
    example: str = ""
    missing_share: float = 0.0
    n_different: int = 0

    @property
    def is_given(self) -> bool:
        """Whether the user set the kind."""
        return self.reason == GIVEN

    def select(self, X: Any) -> Any:
        """Return the column of a data frame as a narwhals series."""
        frame = nw.from_native(X, eager_only=True)
        return frame[:, frame.columns.index(self.key) if isinstance(self.key, str) else self.key]


@dataclass(frozen=True)
class FeatureSchema:
    """The columns of a table and their kinds; prints as a table.

    Attributes
    ----------
    columns : tuple of ColumnInfo
        The columns in their order.
    """

    columns: tuple[ColumnInfo, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns; empty if they have none."""
        return [column.key for column in self.columns if isinstance(column.key, str)]

    def of_role(self, *roles: column_kinds.Role) -> list[ColumnInfo]:
        """The columns whose kind has one of these roles."""
        return [column for column in self.columns if column.kind.role in roles]

    def count_columns(self, max_entries: int | None = None) -> int:
        """Count the columns; a vector counts as its entries, up to a limit."""
        lengths = [int(each.kind.length) for each in self.columns if isinstance(each.kind, VectorKind)]
        entries = lengths if max_entries is None else [min(each, max_entries) for each in lengths]
        return len(self.columns) - len(lengths) + sum(entries)

    @property
    def has_only_vectors(self) -> bool:
        """Whether all columns that are used hold vectors."""
        return {each.kind.role for each in self.columns} - {"none"} == {"vector"}

    def take(self, keys: Container[Any], *, others: bool = False) -> FeatureSchema:
        """The schema of some columns, or of all others."""
        return FeatureSchema(tuple(each for each in self.columns if (each.key in keys) != others))

    def with_features(self) -> FeatureSchema:
        """The schema, in which identifiers are used if there is nothing else to learn from."""
        if any(column.kind.role != "none" for column in self.columns):
            return self
        is_number = [column_kinds.PLAIN_NUMBER.fullmatch(column.example) for column in self.columns]
        kinds = [NumberKind() if each else CategoryKind() for each in is_number]
        pairs = zip(self.columns, kinds, strict=True)
        return FeatureSchema(tuple(replace(each, kind=kind, doubt=MAY_BE_IDENTIFIER) for each, kind in pairs))

    def with_vectors(self, lengths: Mapping[Any, int]) -> FeatureSchema:
        """The schema, in which some columns hold vectors of these lengths."""
        kinds = {key: VectorKind(str(length)) for key, length in lengths.items()}
        columns = (replace(each, kind=kinds.get(each.key, each.kind)) for each in self.columns)
        return FeatureSchema(tuple(columns))

    @property
    def parsed(self) -> FeatureSchema:
        """The schema of the tables that `parse` returns, whose numbers and dates have data types."""
        kinds: dict[str, ColumnKind] = {"numeric": NumberKind(), "date": DateKind()}
        columns = (replace(each, kind=kinds.get(each.kind.role, each.kind)) for each in self.columns)
        return FeatureSchema(tuple(columns))

    def select(self, X: Any) -> Any:
        """Return the columns of the schema; raise an error if the data frame lacks one of them."""
        frame, names = nw.from_native(X, eager_only=True), self.names
        if not names or frame.columns == names:
            return X
        missing = [name for name in names if name not in frame.columns]
        if missing:
            unused = [str(name) for name in frame.columns if name not in names]
            extra = f" It has {list_columns(unused)}, which the model does not use." if unused else ""
            raise InvalidInputError(
                f"the table lacks {len(missing)} column{'s' if len(missing) > 1 else ''} that the model "
                f"needs: {list_columns(missing)}.{extra}"
            )
        return frame.select(names).to_native()

    def parse(self, X: Any, *, first_row: int = 0) -> Any:
        """Parse a raw table: the same values come from texts, numbers and dates, from any file and library.

        Numbers, truth values and durations become numbers, dates become timestamps, categories become texts
        in one spelling, lists of texts one text, and vectors arrays in single precision. Columns that are in
        this form stay as they are.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            A table with the columns of the schema, in any order; others are left out. Arrays and sparse
            matrices are returned unchanged.
        first_row : int, default=0
            The number of the first row in messages.

        Returns
        -------
        data frame, array or sparse matrix
            The table, in the same library.

        Raises
        ------
        InvalidInputError
            If a column is missing, or a value is not of its column's kind.
        """
        if not column_kinds.is_dataframe(X):
            return X
        frame, columns = nw.from_native(self.select(X), eager_only=True), []
        for position, column in enumerate(self.columns):
            series = frame[:, position]
            parsed = parse_series(column.kind, series, first_row=first_row)
            if parsed is not series:
                columns.append(parsed)
        return (frame.with_columns(*columns) if columns else frame).to_native()

    def __str__(self) -> str:
        rows = [("column", "kind", "example", "missing", "why")]
        for column in self.columns:
            example = column.example.replace("\n", " ")
            if len(example) > MAX_SHOWN_EXAMPLE:
                example = example[: MAX_SHOWN_EXAMPLE - 3] + "..."
            why = f"{column.reason}; please check: {column.doubt}" if column.doubt else column.reason
            rows.append((str(column.key), column.kind.name, example, f"{column.missing_share:.1%}", why))
        widths = [*(max(len(row[position]) for row in rows) for position in range(4)), 0]
        lines = (zip(row, widths, strict=True) for row in rows)
        return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in line) for line in lines)

    __repr__ = __str__


def list_columns(names: Sequence[str]) -> str:
    """List the first names for a message."""
    shown = ", ".join(repr(name[:40]) for name in names[:MAX_NAMED_COLUMNS])
    n_more = len(names) - MAX_NAMED_COLUMNS
    return f"{shown} and {n_more:,} more" if n_more > 0 else shown


def infer_schema(
    X: Any,
    kinds: Mapping[str, DemandedKind] | None = None,
    *,
    decimal_comma: bool = False,
    first_row: int = 0,
) -> FeatureSchema:
    """Infer the kind of each column of a table.

    Data types decide where they can: numbers, Booleans, dates, categories, lists, vectors. The kind of a text
    column follows from its values: dates, numbers with separators, signs or units, yes and no, codes with
    leading zeros, vectors, lists of tags, free text, identifiers, or else categories.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The training rows.
    kinds : mapping of str to str or dict, optional
        Kinds of some columns, instead of the inferred ones: "number", "money",
        "percentage", "quantity", "duration", "boolean", "date", "category", "code", "text", "tags",
        "vector" or "identifier". A dict has the name as "kind" and further decisions, such as
        ``{"kind": "date", "layout": "day-month-year"}`` or
        ``{"kind": "number", "thousands": ".", "decimal": ","}``.
    decimal_comma : bool, default=False
        Whether a comma in a number is a decimal point, because the file has another delimiter.
    first_row : int, default=0
        The number of the first row in messages.

    Returns
    -------
    FeatureSchema
        The kind of each column, with its reason. It prints as a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.tables.schema import infer_schema
    >>> table = pd.DataFrame({"price": ["$12.50", "$7"], "day": ["31.12.2024", "1.1.2025"]})
    >>> print(schema := infer_schema(table))
    column  kind   example     missing  why
    price   money  $12.50      0.0%     all 2 different values are amounts of money ($)
    day     date   31.12.2024  0.0%     all 2 different values are dates: day-month-year
    >>> schema.parse(table)
       price        day
    0   12.5 2024-12-31
    1    7.0 2025-01-01
    """
    if issparse(X):
        return FeatureSchema(())
    if not column_kinds.is_dataframe(X):
        positions = range(X.shape[1])
        return FeatureSchema(tuple(ColumnInfo(k, NumberKind(), "it is a number") for k in positions))
    frame, kinds = nw.from_native(X, eager_only=True), kinds or {}
    if unknown := [name for name in kinds if name not in frame.columns]:
        raise InvalidInputError(f"kinds are set for the column {unknown[0]!r}, which does not exist.")
    has_names = all(isinstance(name, str) for name in frame.columns)
    has_commas = decimal_comma and any(
        column.str.contains(_CERTAIN_COMMA).any()
        for column in frame.iter_columns()
        if column.dtype == nw.String
    )
    options = {"decimal_comma": decimal_comma, "has_decimal_commas": has_commas}
    columns = [
        _infer_column(
            column, column.name if has_names else position, kinds.get(column.name), options, first_row
        )
        for position, column in enumerate(frame.iter_columns())
    ]
    return FeatureSchema(tuple(columns))


def _infer_column(
    column: Any, key: Any, demanded: DemandedKind | None, options: Mapping[str, bool], first_row: int
) -> ColumnInfo:
    demanded_name = demanded.get("kind") if isinstance(demanded, Mapping) else demanded
    found = _recognize_type(column, first_row) if demanded_name in (None, VectorKind.name) else None
    if demanded is not None and found is not None:
        found = found._replace(reason=GIVEN) if isinstance(found.kind, VectorKind) else None
    is_missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    n_different, n_missing = 0, int(is_missing.sum())
    if found is None and demanded is None:
        found, n_missing = _recognize_plain(column, options)
    if found is None:
        values = ColumnValues.count(str(column.name), column.to_list(), **options)
        found = recognize(values) if demanded is None else impose_kind(values, demanded)
        if demanded is not None and isinstance(found.kind, ParsedKind):
            found = found._replace(doubt=_check_demanded(found.kind, column, values))
        if column.dtype.is_numeric() and isinstance(found.kind, CodeKind):
            found = found._replace(kind=CategoryKind())  # numbers have no other spelling
        n_missing, n_different = values.n_rows - values.n_values, len(values.counts)
    elif found.kind.role == "category":
        n_different = column.n_unique()
    example = next(filter(None, map(column_kinds.to_text, column.head(N_HEAD_ROWS).to_list())), "")
    return ColumnInfo(key, *found, example[:MAX_EXAMPLE], n_missing / max(len(column), 1), n_different)


def impose_kind(values: ColumnValues, demanded: DemandedKind) -> Recognition:
    """Return the kind that a user requests for a column, by its name or with values of its fields."""
    fields = {"kind": demanded} if isinstance(demanded, str) else dict(demanded)
    name = fields.pop("kind", None)
    if name not in KINDS:
        raise InvalidInputError(
            f"the column {values.name!r} has the unknown kind {name!r}: choose one of {', '.join(KINDS)}."
        )
    kind = KINDS[name].impose(values)
    try:
        kind = kind.with_fields(fields) if fields else kind
    except ValueError as error:
        raise InvalidInputError(
            f"the column {values.name!r} cannot be read as the requested kind: {error}."
        ) from error
    if fields and isinstance(kind, ParsedKind):
        kind = kind.with_missing(values)
    return Recognition(kind, GIVEN)


def _check_demanded(kind: ParsedKind, column: Any, values: ColumnValues) -> str:
    """The doubt if many values are lost in a requested kind; raise an error if all of them are."""
    n_lost = int(np.isnan(parse_column(kind, column)).sum()) - (values.n_rows - values.n_values)
    if n_lost <= MAX_ODD_SHARE * values.n_values:
        return ""
    example = next(text for text in values.counts if math.isnan(kind.parse_or_missing(text) or math.nan))
    if n_lost == values.n_values:
        raise InvalidInputError(
            f"the column {values.name!r} is declared as {kind.name!r}, but none of its values can be read "
            f"as {kind.description}: the first is {example!r}. Choose another kind, or omit it to infer the "
            "kind."
        )
    return f"{n_lost:,} of {values.n_values:,} values, such as {example!r}, count as missing"


_COLLECTIONS = (list, tuple, dict, set, bytes, np.ndarray)
#: The kinds of columns whose data type decides.
_KINDS_OF_TYPES: dict[tuple[Any, ...], ColumnKind] = {
    (nw.Boolean,): column_kinds.BooleanKind(),
    (nw.Duration,): DurationKind(),
    (nw.Datetime, nw.Date): DateKind(),
    (nw.Categorical, nw.Enum): CategoryKind(),
}


def _recognize_type(column: Any, first_row: int) -> Recognition | None:
    """The kind of a column that follows from its data type; None for text."""
    dtype = column.dtype
    if dtype.is_numeric():
        is_integer = dtype.is_integer() and not column.null_count()
        return _recognize_numbers(column, to_floats(column), is_integer)
    for types, kind in _KINDS_OF_TYPES.items():
        if dtype in types:
            return Recognition(kind, f"its data type is {dtype}")
    if dtype.is_nested() or dtype in (nw.Object, nw.Binary):
        if (vectors := recognize_vectors(column, first_row=first_row)) is not None:
            return vectors
        values = [value for value in column.to_list() if isinstance(value, _COLLECTIONS)]
        if not all(_is_list_of_texts(value) for value in values):
            raise InvalidInputError(
                f"the column {column.name!r} contains collections that are neither vectors of numbers nor "
                "lists of texts: convert it to columns of numbers or text, or leave it out."
            )
        return (
            Recognition(column_kinds.TagsKind(column_kinds.LIST_SEPARATOR), "its values are lists of texts")
            if values
            else None
        )
    return None


def _is_list_of_texts(value: Any) -> bool:
    is_list = isinstance(value, list | tuple | np.ndarray)
    return is_list and all(each is None or isinstance(each, str) for each in value)


def _recognize_plain(column: Any, options: Mapping[str, bool]) -> tuple[Recognition | None, int]:
    """The kind of a column of texts that are all plain numbers, and how many are missing.

    None if they are not, or mean something else: codes, dates, or numbers with points between thousands.
    """
    if read_plain_numbers(column.head(N_HEAD_ROWS), options["decimal_comma"])[1].any():
        return None, 0
    values, is_other = read_plain_numbers(column, options["decimal_comma"])
    n_missing = int(np.isnan(values).sum())
    if is_other.any():
        return None, 0
    texts = list(filter(None, map(column_kinds.to_text, column.unique().to_list())))
    if all(map(_WHOLE_NUMBER.fullmatch, texts[:N_HEAD_ROWS])) and has_pointed_thousands(
        texts, options["has_decimal_commas"]
    ):
        return None, 0
    if texts and (any(map(_LEADING_ZERO.match, texts)) or all(map(_COMPACT_DATE.fullmatch, texts))):
        spelled = recognize(ColumnValues.count(str(column.name), column.to_list(), **options))
        if isinstance(spelled.kind, CodeKind | DateKind):
            return spelled, n_missing
    is_integer = not n_missing and all(map(_WHOLE.fullmatch, texts))
    found = _recognize_numbers(column, values, is_integer)
    commas = [text for text in texts if "," in text]
    if commas and isinstance(found.kind, NumberKind):
        found = found._replace(kind=NumberKind(decimal=","))
        if all(map(_THOUSANDS_SEPARATOR.fullmatch, commas)):
            found = found._replace(doubt="',' is read as a decimal point, not as a separator of thousands")
    return found, n_missing


def _recognize_numbers(column: Any, values: FloatArray, is_integer: bool) -> Recognition:
    """The kind of a column of numbers, which may count the seconds since 1970, or number the rows."""
    name, is_known = str(column.name), ~np.isnan(values)
    if is_time_name(name) and is_known.any() and (values[is_known] >= MIN_TIME_COUNT).all():
        time = DateKind.recognize(ColumnValues.count(name, column.to_list()))
        if time is not None:
            return time
    reason = "it has a different whole number in each row"
    is_candidate = is_integer and isinstance(column.name, str)
    why = column_kinds.find_index_reason(name, values) if is_candidate else None
    if why:
        return Recognition(column_kinds.IdentifierKind(), f"{reason}, and {why}")
    if why is not None:
        return Recognition(NumberKind(), reason, MAY_BE_IDENTIFIER)
    reason = "all its values are numbers" if is_known.any() else "it is empty in all rows"
    return Recognition(NumberKind(), reason)


def to_floats(column: Any) -> FloatArray:
    """The numbers of a narwhals series, with NaN for a missing value."""
    values = column.cast(nw.Float64).to_numpy()
    if values.dtype == object:  # pandas.NA among numbers
        values = [np.nan if column_kinds.is_missing(value) else value for value in values]
    return np.asarray(values, dtype=np.float64)


def read_plain_numbers(column: Any, decimal_comma: bool = False) -> tuple[FloatArray, BoolArray]:
    """Read the texts of a narwhals series that are plain numbers.

    The result has NaN for a value that is missing or not a plain number, and which rows hold such texts.
    """
    if column.implementation.is_polars() and column.dtype == nw.String:
        import polars as pl  # noqa: PLC0415 (an extra)

        texts = column.to_native().str.strip_chars()
        texts = texts.set(texts.is_in(["", *column_kinds.MISSING_TEXTS]), None)
        if decimal_comma:
            texts = texts.str.replace(DECIMAL_COMMA, "${1}.${2}")
        found = texts.cast(pl.Float64, strict=False).fill_nan(None)
        is_other = (found.is_null() & texts.is_not_null()).to_numpy()
        return found.fill_null(float("nan")).to_numpy(writable=True), is_other
    known = {None: np.nan}
    texts = list(map(column_kinds.to_text, column.to_list()))
    for text in set(texts):
        if text is not None:
            plain = re.sub(DECIMAL_COMMA, r"\1.\2", text) if decimal_comma else text
            known[text] = float(plain) if column_kinds.PLAIN_NUMBER.fullmatch(plain) else np.inf
    numbers = np.array([known[text] for text in texts], dtype=np.float64)
    is_other = np.isinf(numbers)
    return np.where(is_other, np.nan, numbers), is_other


def parse_series(kind: ColumnKind, column: Any, *, first_row: int = 0) -> Any:
    """Parse a narwhals series as `FeatureSchema.parse` does; if there is nothing to do, return it."""
    if isinstance(kind, VectorKind):
        return parse_vectors(kind, column, first_row=first_row)
    if not isinstance(kind, ParsedKind):
        return column if kind.role == "none" else _parse_texts(kind, column, first_row)
    if kind.role == "date" and column.dtype in (nw.Datetime, nw.Date):
        return column
    numbers = parse_column(kind, column, first_row=first_row)
    if kind.role == "date":
        moments = np.rint(np.nan_to_num(numbers) * 1e6).astype(np.int64).astype("M8[us]")
        moments[np.isnan(numbers)] = np.datetime64("NaT")
        return nw.new_series(column.name, moments, nw.Datetime("us"), backend=column.implementation)
    # Types with a missing value of their own are not known to all estimators.
    native_type = getattr(column.to_native(), "dtype", None)
    is_plain = column.implementation.is_polars() or isinstance(native_type, np.dtype)
    if is_plain and column.dtype.is_float() and not isinstance(kind, column_kinds.BooleanKind):
        return column
    return nw.new_series(column.name, numbers, nw.Float64, backend=column.implementation)


def _parse_texts(kind: ColumnKind, column: Any, first_row: int) -> Any:
    """Texts in one spelling, in the type of the column where it is text."""
    values, is_text = column.to_list(), column.dtype in (nw.String, nw.Categorical, nw.Enum)
    if column.dtype == nw.Float32:  # the text of a number is shorter than that of the same double
        values = [np.float32(np.nan if value is None else value) for value in values]
    elif isinstance(kind, column_kinds.TagsKind):
        values = [
            column_kinds.LIST_SEPARATOR.join(filter(None, v)) if _is_list_of_texts(v) else v for v in values
        ]
    elif any(isinstance(value, _COLLECTIONS) for value in ([] if is_text else values)):
        raise InvalidInputError(
            f"the column {column.name!r} held {kind.description} in training, but now contains lists."
        )
    has_lost_spelling = isinstance(kind, CodeKind) and not kind.width and not is_text
    numbers = list(map(column_kinds.is_number, values)) if has_lost_spelling else []
    if any(numbers):
        row = numbers.index(True)
        raise InvalidInputError(
            f"the column {column.name!r} held texts such as 007 in training, but row {first_row + row:,} "
            f"contains the number {values[row]!r}, whose spelling in its file is lost: read this column as "
            "text."
        )
    spell = kind.spell if isinstance(kind, CategoryKind) else column_kinds.to_text
    known: dict[Any, str | None] = {}
    for value in column.unique().to_list() if is_text else values:
        key = value if isinstance(value, str) else (type(value), str(value))  # 1 and True are equal
        if key not in known:
            known[key] = spell(value)
    if is_text and all(
        text == value or not (text or isinstance(value, str)) for value, text in known.items()
    ):
        return column
    texts = [known[v if isinstance(v, str) else (type(v), str(v))] for v in values]
    if not column.implementation.is_pandas_like():
        return nw.new_series(column.name, texts, nw.String, backend=column.implementation)
    native = column.to_native()  # keeps its kind of missing value
    dtype = native.dtype if column.dtype == nw.String else object
    objects = [np.nan if text is None else text for text in texts]
    series = type(native)(objects, index=native.index, name=native.name, dtype=dtype)
    return nw.from_native(series, series_only=True)


def parse_column(kind: ParsedKind, column: Any, *, first_row: int = 0) -> FloatArray:
    """Parse a narwhals series to numbers, with NaN for a missing value; dates become seconds since 1970.

    A value that is not of this kind is an error; its message counts rows from `first_row`.
    """
    is_written_date = isinstance(kind, DateKind) and kind.layout != DateKind().layout
    typed = _read_typed(kind, column, is_written_date)
    if typed is not None:
        return typed
    if isinstance(kind, NumberKind) and kind.is_plain:
        numbers, is_other = read_plain_numbers(column, kind.decimal == ",")
    else:
        numbers, is_other = np.empty(len(column)), np.ones(len(column), dtype=bool)
    known: dict[Any, float | None] = {}
    for row, value in enumerate(column.to_list() if is_other.any() else ()):
        if not is_other[row]:
            continue
        key = value if isinstance(value, str) else (type(value), str(value))  # 1 and True are equal
        if key not in known:
            known[key] = _parse_value(kind, value, is_written_date)
        number = known[key]
        if number is None:
            raise InvalidInputError(
                f"the column {column.name!r} held {kind.description} in training, but row "
                f"{first_row + row:,} contains {column_kinds.to_text(value)!r}. Correct such values, or "
                "leave them missing."
            )
        numbers[row] = number
    return numbers


def _read_typed(kind: ParsedKind, column: Any, is_written_date: bool) -> FloatArray | None:
    """The numbers of a column with a data type of numbers, dates or durations; None for others."""
    dtype = column.dtype
    if (dtype.is_numeric() and not is_written_date) or dtype == nw.Boolean:
        values = to_floats(column)
        if dtype.is_float():
            _check_not_misread(kind, values, str(column.name))
        return kind.convert_numbers(values)
    if dtype == nw.Duration:
        return to_floats(column.dt.total_microseconds()) / 1e6
    if dtype not in (nw.Date, nw.Datetime):
        return None
    if dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    elif dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return to_floats(column.dt.timestamp("us")) / 1e6


def _parse_value(kind: ParsedKind, value: Any, is_written_date: bool) -> float | None:
    """Parse a text; a number is not written as text, which has another spelling, but for dates in digits."""
    if not column_kinds.is_number(value):
        return kind.parse_or_missing(column_kinds.to_text(value))
    if is_written_date:  # without the decimal point that a missing value in its column adds
        return kind.parse_or_missing(str(int(value) if float(value).is_integer() else value))
    return float(kind.convert_numbers(np.array([float(value)]))[0])


def _check_not_misread(kind: ParsedKind, values: FloatArray, name: str) -> None:
    """Raise if numbers may be misread texts, such as 1.234 for 1234, where points separate thousands.

    A reader that does not know this style takes 1.234 for a fraction. Other fractions show that the values
    were numbers before. With a currency or a unit, no reader takes a text for a number.
    """
    if type(kind) is not NumberKind or kind.thousands != ".":
        return
    known = values[np.isfinite(values)]
    thousandths = known * 1000.0
    is_grouped = (np.abs(known) < 1000) & (np.abs(thousandths - np.rint(thousandths)) < 1e-6)
    if is_grouped.any() and not (~is_grouped & (known != np.rint(known))).any():
        raise InvalidInputError(
            f"the column {name!r} held numbers such as 1.234.567 in training, with points between thousands, "
            f"and now holds {float(known[is_grouped][0])!r}, in which a point may have been taken for a "
            "decimal point: read this column as text, or with the separator of its file."
        )
