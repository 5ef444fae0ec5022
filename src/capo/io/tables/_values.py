"""Values as they are written: what is missing, what is a number, what is text; all columns at once.

What a value becomes depends on the value and on the kind of its column, never on the rows around it or on the
file it came from: 1.0 of a Parquet file is "1" and so is 1.0 of a CSV file; True is "true" in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ...exceptions import TableError
from ._batch import Batch

#: What is written where a value is missing, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "<NA>", "NULL", "null", "None", "?")
#: Numbers beyond this are as good as infinite: their squares are.
LARGEST = 1e100
#: A number with a decimal comma; one of those that look like thousands; a whole number with a sign or point.
DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
WHOLE_WITH_POINT = r"^[+]?(-?[0-9]+)(?:\.0*)?$"
#: Numbers as people write them, with signs that no program reads.
_LIKE_NUMBERS = r"^[$€£+-]*\s*[0-9][0-9.,\s]*\s*[%$€£]?$"


def clean(batch: Batch, names: Sequence[str]) -> pl.DataFrame:
    """Columns as numbers or as text without blanks around it, null where a value is missing."""
    kinds = batch.rows.select(names).schema
    return batch.rows.select(_clean(name, kind) for name, kind in kinds.items())


def _clean(name: str, kind: pl.DataType) -> pl.Expr:
    if kind.is_integer():
        return pl.col(name)
    if kind.is_float():
        return pl.col(name).fill_nan(None)
    if kind.is_numeric():
        return pl.col(name).cast(pl.Float64)
    if kind == pl.Duration:
        return pl.col(name).dt.total_microseconds().cast(pl.Float64)
    words = as_words(name, kind).str.strip_chars()
    return pl.when(words.is_in(["", *MISSING]).not_()).then(words).alias(name)


def as_words(name: str, kind: pl.DataType) -> pl.Expr:
    """A column as text, if its values are single ones."""
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        raise TableError(
            f"the column {name!r} holds values of type {kind}, where a number or text is needed: turn it "
            "into one of them, or leave it out."
        )
    return pl.col(name).cast(pl.String)


def numbers(cleaned: pl.DataFrame, decimal_comma: bool) -> pl.DataFrame:
    """All columns as numbers, null where a value is missing or none."""
    if decimal_comma:
        cleaned = cleaned.with_columns(pl.col(pl.String).str.replace(DECIMAL_COMMA, "${1}.${2}"))
    return cleaned.select(pl.all().cast(pl.Float64, strict=False).fill_nan(None))


def text(cleaned: pl.DataFrame) -> pl.DataFrame:
    """All columns as text: whole numbers without a point, truth values in small letters."""
    return cleaned.select(_text(name, kind) for name, kind in cleaned.schema.items())


def _text(name: str, kind: pl.DataType) -> pl.Expr:
    words = pl.col(name).cast(pl.String)
    if kind == pl.String:
        words = words.str.replace(WHOLE_WITH_POINT, "${1}")
    elif kind.is_float():
        whole = (pl.col(name) == pl.col(name).round()) & (pl.col(name).abs() < 2.0**63)
        words = (
            pl.when(whole).then(pl.col(name).cast(pl.Int64, strict=False).cast(pl.String)).otherwise(words)
        )
    small = words.str.to_lowercase()
    return pl.when(small.is_in(["true", "false"])).then(small).otherwise(words).alias(name)


def with_text(cleaned: pl.DataFrame, found: pl.DataFrame) -> list[str]:
    """Which columns hold something that is no number."""
    before, after = cleaned.null_count().row(0), found.null_count().row(0)
    return [name for name, old, new in zip(cleaned.columns, before, after, strict=True) if new > old]


def check_size(found: pl.DataFrame, first: int) -> None:
    """Refuse numbers that are infinite or nearly so, with the row; `first` is the number of the first one."""
    if not found.width:
        return
    large = found.select((pl.all().abs() > LARGEST).any()).row(0)
    for name, any_of_them in zip(found.columns, large, strict=True):
        if any_of_them:
            row = first + int((found[name].abs() > LARGEST).fill_null(False).arg_true()[0])
            raise TableError(
                f"the column {name!r} holds a number in row {row:,} that is infinite or beyond {LARGEST:g}: "
                "correct it, or leave the column out."
            )


def first_text(cleaned: pl.Series, found: pl.Series, first: int) -> tuple[int, str]:
    """The first row of a column that holds no number, and what it holds."""
    place = int((cleaned.is_not_null() & found.is_null()).arg_true()[0])
    return first + place, str(cleaned[place])


def all_different(cleaned: pl.DataFrame, least: int) -> list[str]:
    """Columns with at least so many values, no two of them the same."""
    if not cleaned.width:
        return []
    counts = cleaned.select(pl.all().count()).row(0)
    kinds = cleaned.select(pl.all().drop_nulls().n_unique()).row(0)
    named = zip(cleaned.columns, counts, kinds, strict=True)
    return [name for name, count, kind in named if count >= least and kind == count]


def like_numbers(cleaned: pl.DataFrame) -> list[str]:
    """Columns of text that a person would read as numbers: 12%, $5, 1,5."""
    if not cleaned.width:
        return []
    alike = cleaned.select(pl.all().cast(pl.String).str.contains(_LIKE_NUMBERS).all()).row(0)
    return [name for name, all_of_them in zip(cleaned.columns, alike, strict=True) if all_of_them]


def like_thousands(cleaned: pl.DataFrame) -> list[str]:
    """Columns of numbers with commas that all look as if they parted thousands."""
    texts = cleaned.select(pl.col(pl.String))
    if not texts.width:
        return []
    commas = texts.select(pl.all().str.contains(",", literal=True).any()).row(0)
    alike = texts.select(
        (pl.all().str.contains(",", literal=True).not_() | pl.all().str.contains(_THOUSANDS)).all()
    )
    named = zip(texts.columns, commas, alike.row(0), strict=True)
    return [name for name, with_comma, all_of_them in named if with_comma and all_of_them]
