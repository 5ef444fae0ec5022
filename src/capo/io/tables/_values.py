"""Properties of a training table's values from which the schema is inferred."""

from __future__ import annotations

import polars as pl

#: A number whose comma could also be a thousands separator.
_THOUSANDS_SEPARATOR = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
#: A number with a currency or percent sign, or with thousands separators.
_FORMATTED_NUMBER = r"^[$€£+-]*\s*[0-9][0-9.,\s]*\s*[%$€£]?$"


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
