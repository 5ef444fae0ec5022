"""Canonical values: the one conversion of raw values to numbers and text, wherever a table comes from.

`canonical_features` is applied by the reader of files in training and prediction, and by
`capo.export.onnx.onnx_inputs` to the rows for a graph of such a model. The result for a value depends on the
value and on the kind of its column only, never on other rows or on the source: 1.0 in a Parquet file and 1.0
in a CSV file both become "1" as text, and True becomes "true" in both.

This module needs polars, which is an extra; the package does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from ..exceptions import TableError
from .dates import DateKind
from .kinds import MISSING_MARKERS, MISSING_TEXTS, ColumnKind, ParsedKind
from .numbers import NumberKind
from .parsing import MAX_MAGNITUDE, parse_texts
from .texts import CategoryKind

#: Joins the tags of a column of lists to one text.
TAG_SEPARATOR = "\x1f"
#: An integer with an optional plus sign or decimal point; group 1 is the integer without them.
INTEGER_PATTERN = r"^[+]?(-?[0-9]+)(?:\.0*)?$"
#: A number with a decimal comma.
_DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"


def canonical_features(
    frame: pl.DataFrame,
    columns: Mapping[str, ColumnKind],
    *,
    decimal_comma: bool = False,
    first_row: int = 1,
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
    >>> from capo.tables.texts import CategoryKind
    >>> from capo.tables.numbers import MoneyKind, NumberKind
    >>> from capo.tables.canonical_values import canonical_features
    >>> raw = pl.DataFrame({"age": ["31", "NA"], "price": ["$5", "$1.50"], "code": ["07", "7.0"]})
    >>> kinds = {"age": NumberKind(), "price": MoneyKind(currencies=("$",)), "code": CategoryKind()}
    >>> canonical_features(raw, kinds).rows()
    [(31.0, 5.0, '07'), (nan, 1.5, '7')]
    """
    cleaned = clean_columns(frame, list(columns))
    plain = [name for name, kind in columns.items() if is_plain_number(kind)]
    numeric = _checked_numbers(cleaned.select(plain), columns, decimal_comma, first_row)
    text = to_text(cleaned.select(name for name, kind in columns.items() if not isinstance(kind, ParsedKind)))
    converted = {series.name: series for series in numeric.get_columns()}
    converted |= {series.name: _typed_text(series, columns[series.name]) for series in text.get_columns()}
    for name in columns.keys() - converted.keys():
        converted[name] = _parse_series(cleaned[name], columns[name], first_row)
    return pl.DataFrame([converted[name] for name in columns])


def is_plain_number(kind: ColumnKind) -> bool:
    """Whether a kind is that of numbers without separators, signs or units, which are converted at once."""
    return type(kind) is NumberKind and (kind.thousands, kind.decimal) == ("", ".")


def _typed_text(texts: pl.Series, kind: ColumnKind) -> pl.Series:
    """Categories with a data type that says so: a model takes other texts for what they look like."""
    return texts.cast(pl.Categorical) if isinstance(kind, CategoryKind) else texts


def _parse_series(cleaned: pl.Series, kind: ColumnKind, first_row: int) -> pl.Series:
    """A column of dates, or of numbers with separators, signs or units."""
    assert isinstance(kind, ParsedKind)
    if cleaned.dtype.is_numeric() and not isinstance(kind, DateKind):
        values = cleaned.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return pl.Series(cleaned.name, kind.convert_numbers(values))

    def on_error(position: int, text: str) -> None:
        raise TableError(
            f"the column {cleaned.name!r} held {kind.description} in training, but row "
            f"{first_row + position:,} contains {text!r}."
        )

    # Dates in digits may be numbers, which have a decimal point where others of the column are missing.
    texts = to_text(cleaned.to_frame()).to_series() if cleaned.dtype.is_numeric() else cleaned
    numbers = pl.Series(cleaned.name, parse_texts(kind, texts, on_error))
    if isinstance(kind, DateKind):
        return (numbers.fill_nan(None) * 1e6).cast(pl.Int64).cast(pl.Datetime("us"))
    check_magnitude(numbers.fill_nan(None).to_frame(), first_row)
    return numbers


def _checked_numbers(
    cleaned: pl.DataFrame, columns: Mapping[str, ColumnKind], decimal_comma: bool, first_row: int
) -> pl.DataFrame:
    cleaned = cleaned.with_columns(_without_markers(cleaned, columns))
    numeric = to_numeric(cleaned, decimal_comma)
    spelled = non_numeric_columns(cleaned, numeric)
    numeric = numeric.with_columns(
        _parse_spelled(cleaned[name], numeric[name], columns[name], first_row) for name in spelled
    )
    check_magnitude(numeric, first_row)
    return numeric.fill_null(float("nan"))


def _parse_spelled(cleaned: pl.Series, numeric: pl.Series, kind: ColumnKind, first_row: int) -> pl.Series:
    """A column of numbers with those that only the parser of its kind converts, such as (1.5) and <3."""
    assert isinstance(kind, ParsedKind)
    rows = (cleaned.is_not_null() & numeric.is_null()).arg_true()

    def on_error(position: int, text: str) -> None:
        raise TableError(
            f"the column {cleaned.name!r} was numeric in training, but row {first_row + rows[position]:,} "
            f"contains {text!r}."
        )

    parsed = pl.Series(parse_texts(kind, cleaned[rows], on_error)).fill_nan(None)
    return numeric.scatter(rows, parsed)


def _without_markers(cleaned: pl.DataFrame, columns: Mapping[str, ColumnKind]) -> list[pl.Expr]:
    """Columns of texts with null for those that mean a missing value in a column of numbers."""
    texts = [name for name, dtype in cleaned.schema.items() if dtype == pl.String]
    return [pl.when(_is_marker(pl.col(name), columns[name]).not_()).then(pl.col(name)) for name in texts]


def _is_marker(texts: pl.Expr, kind: ColumnKind) -> pl.Expr:
    odd = kind.missing if isinstance(kind, ParsedKind) else ()
    return texts.str.to_lowercase().is_in(list(MISSING_MARKERS)) | texts.is_in(list(odd))


def clean_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return columns as numbers or as stripped text, with null for a missing value."""
    schema = frame.select(names).schema
    return frame.select(_clean_column(name, dtype) for name, dtype in schema.items())


def _clean_column(name: str, dtype: pl.DataType) -> pl.Expr:
    if dtype.is_numeric() or dtype == pl.Duration:
        return _clean_numbers(name, dtype)
    text = _column_as_text(name, dtype).str.strip_chars()
    return pl.when(text.is_in(["", *MISSING_TEXTS]).not_()).then(text).alias(name)


def _clean_numbers(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / 1e6
    if dtype.is_float():
        return column.fill_nan(None)
    return column if dtype.is_integer() else column.cast(pl.Float64)


def _column_as_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Lists of texts are joined, and time zones are converted to UTC."""
    column = pl.col(name)
    if dtype == pl.List(pl.String):
        return column.list.join(TAG_SEPARATOR, ignore_nulls=True)
    check_scalar_dtype(name, dtype)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.cast(pl.String)


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
