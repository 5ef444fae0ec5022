"""Conversion of raw values: which are missing, numeric or text, for all columns at once.

The result for a value depends on the value and on the kind of its column only, never on other rows or on the
format of the file: 1.0 in a Parquet file and 1.0 in a CSV file both become "1" as text, and True becomes
"true" in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ...exceptions import TableError

#: Texts that mean a missing value, besides the empty text.
MISSING_TEXTS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "<NA>", "NULL", "null", "None", "?")
#: Larger numbers are rejected like infinite ones: sums of their squares could overflow.
MAX_MAGNITUDE = 1e100
#: An integer with an optional plus sign or decimal point; group 1 is the integer without them.
INTEGER_PATTERN = r"^[+]?(-?[0-9]+)(?:\.0*)?$"
#: A number with a decimal comma.
_DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"
#: A number whose comma could also be a thousands separator.
_THOUSANDS_SEPARATOR = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
#: A number with a currency or percent sign, or with thousands separators.
_FORMATTED_NUMBER = r"^[$€£+-]*\s*[0-9][0-9.,\s]*\s*[%$€£]?$"


def clean_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return columns as numbers or as stripped text, with null for a missing value."""
    schema = frame.select(names).schema
    return frame.select(_clean_column(name, dtype) for name, dtype in schema.items())


def _clean_column(name: str, dtype: pl.DataType) -> pl.Expr:
    if dtype.is_integer():
        return pl.col(name)
    if dtype.is_float():
        return pl.col(name).fill_nan(None)
    if dtype.is_numeric():
        return pl.col(name).cast(pl.Float64)
    if dtype == pl.Duration:
        return pl.col(name).dt.total_microseconds().cast(pl.Float64)
    check_scalar_dtype(name, dtype)
    text = pl.col(name).cast(pl.String).str.strip_chars()
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


def to_text(cleaned: pl.DataFrame) -> pl.DataFrame:
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


def first_non_numeric(cleaned: pl.Series, numeric: pl.Series, first_row: int) -> tuple[int, str]:
    """The row number and the text of the first value of a column that is not a number."""
    position = int((cleaned.is_not_null() & numeric.is_null()).arg_true()[0])
    return first_row + position, str(cleaned[position])


def check_magnitude(numeric: pl.DataFrame, first_row: int) -> None:
    """Raise if a number is infinite or too large."""
    if not numeric.width:
        return
    too_large = numeric.select((pl.all().abs() > MAX_MAGNITUDE).any()).row(0)
    for name, has_large in zip(numeric.columns, too_large, strict=True):
        if has_large:
            position = int((numeric[name].abs() > MAX_MAGNITUDE).fill_null(False).arg_true()[0])
            raise TableError(
                f"the column {name!r} contains a number in row {first_row + position:,} that is infinite or "
                f"beyond {MAX_MAGNITUDE:g}: correct it, or leave the column out."
            )


def all_unique_columns(cleaned: pl.DataFrame, min_values: int) -> list[str]:
    """The columns with at least so many values of which no two are equal."""
    if not cleaned.width:
        return []
    counts = cleaned.select(pl.all().count()).row(0)
    n_unique = cleaned.select(pl.all().drop_nulls().n_unique()).row(0)
    columns = zip(cleaned.columns, counts, n_unique, strict=True)
    return [name for name, count, unique in columns if count >= min_values and unique == count]


def formatted_number_columns(cleaned: pl.DataFrame) -> list[str]:
    """The text columns whose values are all numbers in a format that is not read: 12%, $5, 1,5."""
    if not cleaned.width:
        return []
    matches = cleaned.select(pl.all().cast(pl.String).str.contains(_FORMATTED_NUMBER).all()).row(0)
    return [name for name, all_match in zip(cleaned.columns, matches, strict=True) if all_match]


def ambiguous_comma_columns(cleaned: pl.DataFrame) -> list[str]:
    """The columns with commas that could all be thousands separators."""
    texts = cleaned.select(pl.col(pl.String))
    if not texts.width:
        return []
    has_comma = pl.all().str.contains(",", literal=True)
    any_comma = texts.select(has_comma.any()).row(0)
    could_be_thousands = has_comma.not_() | pl.all().str.contains(_THOUSANDS_SEPARATOR)
    all_ambiguous = texts.select(could_be_thousands.all()).row(0)
    columns = zip(texts.columns, any_comma, all_ambiguous, strict=True)
    return [name for name, comma, ambiguous in columns if comma and ambiguous]
