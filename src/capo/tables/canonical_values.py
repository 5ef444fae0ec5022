"""Canonical values: the one conversion of raw values to numbers and text, wherever a table comes from.

`canonical_features` is applied by the reader of files in training and prediction, and by
`capo.export.onnx.onnx_inputs` to the rows for a graph of such a model. The result for a value depends on the
value and on the kind of its column only, never on other rows or on the source: 1.0 in a Parquet file and 1.0
in a CSV file both become "1" as text, and True becomes "true" in both.

This module needs polars, which is an extra; the package does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import narwhals.stable.v2 as nw
import polars as pl

from ..exceptions import TableError
from .checks import check_columns
from .dates import DateKind
from .kinds import MISSING_TEXTS, CategoryKind, ColumnKind, ParsedKind
from .numbers import NumberKind
from .schema import parse_column

#: Joins the tags of a column of lists to one text.
TAG_SEPARATOR = "\x1f"
#: An integer with an optional plus sign or decimal point; group 1 is the integer without them.
INTEGER_PATTERN = r"^[+]?(-?[0-9]+)(?:\.0*)?$"
#: A number with a decimal comma.
_DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"


def canonical_features(
    frame: pl.DataFrame, columns: Mapping[str, ColumnKind], *, decimal_comma: bool = False, first_row: int = 1
) -> pl.DataFrame:
    """Convert columns to the features that a model takes.

    Parameters
    ----------
    frame : polars.DataFrame
        A table that has all the columns.
    columns : mapping of str to ColumnKind
        The columns, in order, and their kinds.
    decimal_comma : bool, default=False
        Whether a text such as "1,5" is a number.
    first_row : int, default=1
        The number of the first row in messages.

    Returns
    -------
    polars.DataFrame
        Numbers as doubles with NaN for a missing value, dates as timestamps, categories as categories, and
        other text as text, with null for a missing value.

    Raises
    ------
    TableError
        If a value is not of its column's kind, or a number is infinite or too large.

    Examples
    --------
    >>> import polars as pl
    >>> from capo.tables.kinds import CategoryKind
    >>> from capo.tables.numbers import MoneyKind, NumberKind
    >>> from capo.tables.canonical_values import canonical_features
    >>> raw = pl.DataFrame({"age": ["31", "NA"], "price": ["$5", "$1.50"], "code": ["07", "7.0"]})
    >>> kinds = {"age": NumberKind(), "price": MoneyKind(currencies=("$",)), "code": CategoryKind()}
    >>> canonical_features(raw, kinds).rows()
    [(31.0, 5.0, '07'), (nan, 1.5, '7')]
    """
    cleaned = clean_columns(frame, list(columns))
    plain = [name for name, kind in columns.items() if isinstance(kind, NumberKind) and kind.is_plain]
    numeric = to_numeric(cleaned.select(plain), decimal_comma)
    texts = canonical_texts(
        cleaned.select(name for name, kind in columns.items() if not isinstance(kind, ParsedKind))
    )
    converted = {series.name: series for series in (*numeric, *texts)}
    for name, kind in columns.items():
        if isinstance(kind, CategoryKind):  # a model takes other texts for what they look like
            converted[name] = converted[name].cast(pl.Categorical)
        elif isinstance(kind, ParsedKind):
            converted[name] = _parse_series(cleaned[name], kind, converted.get(name), first_row)
    result = pl.DataFrame([converted[name] for name in columns])
    check_columns(result, first_row=first_row, error=TableError)
    return result


def _parse_series(
    cleaned: pl.Series, kind: ParsedKind, numeric: pl.Series | None, first_row: int
) -> pl.Series:
    """Parse a column; of plain numbers only those that polars could not convert, such as (1.5) and <3."""
    if numeric is not None and numeric.null_count() == cleaned.null_count():
        return numeric.fill_null(float("nan"))
    unparsed = cleaned if numeric is None else cleaned.set(numeric.is_not_null(), None)
    column = nw.from_native(unparsed, series_only=True)
    numbers = pl.Series(cleaned.name, parse_column(kind, column, first_row=first_row, error=TableError))
    if isinstance(kind, DateKind):
        return (numbers.fill_nan(None) * 1e6).cast(pl.Int64).cast(pl.Datetime("us"))
    return numbers if numeric is None else numeric.fill_null(numbers)


def clean_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return columns as numbers or as stripped text, with null for a missing value."""
    schema = frame.select(names).schema
    return frame.select(_clean_column(name, dtype) for name, dtype in schema.items())


def _clean_column(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / 1e6
    if dtype.is_numeric():
        if dtype.is_float():
            return column.fill_nan(None)
        return column if dtype.is_integer() else column.cast(pl.Float64)
    if dtype == pl.List(pl.String):
        column = column.list.join(TAG_SEPARATOR, ignore_nulls=True)
    else:
        check_scalar_dtype(name, dtype)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    text = column.cast(pl.String).str.strip_chars()
    return pl.when(text.is_in(["", *MISSING_TEXTS]).not_()).then(text).alias(name)


def check_scalar_dtype(name: str, dtype: pl.DataType) -> None:
    """Raise if the values of a column are not single values that can be written as text."""
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise TableError(
            f"the column {name!r} has the type {dtype}, which is neither numeric nor text: convert it, or "
            "leave it out."
        )


def to_numeric(cleaned: pl.DataFrame, decimal_comma: bool) -> pl.DataFrame:
    """Convert cleaned columns to numbers, with null for a value that is missing or not a number."""
    if decimal_comma:
        cleaned = cleaned.with_columns(pl.col(pl.String).str.replace(_DECIMAL_COMMA, "${1}.${2}"))
    return cleaned.select(pl.all().cast(pl.Float64, strict=False).fill_nan(None))


def canonical_texts(cleaned: pl.DataFrame) -> pl.DataFrame:
    """Convert cleaned columns to text, with integers without a decimal point and Booleans in lower case."""
    return cleaned.select(_text_column(name, dtype) for name, dtype in cleaned.schema.items())


def _text_column(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    text = column.cast(pl.String)
    if dtype == pl.String:
        text = text.str.replace(INTEGER_PATTERN, "${1}")
    elif dtype.is_float():
        is_integer = (column == column.round()) & (column.abs() < 2.0**63)
        integer_text = column.cast(pl.Int64, strict=False).cast(pl.String)
        text = pl.when(is_integer).then(integer_text).otherwise(text)
    lower = text.str.to_lowercase()
    return pl.when(lower.is_in(["true", "false"])).then(lower).otherwise(text).alias(name)


def non_numeric_columns(cleaned: pl.DataFrame, numeric: pl.DataFrame) -> list[str]:
    """The columns with at least one value that is not a number."""
    before, after = cleaned.null_count().row(0), numeric.null_count().row(0)
    return [name for name, old, new in zip(cleaned.columns, before, after, strict=True) if new > old]
