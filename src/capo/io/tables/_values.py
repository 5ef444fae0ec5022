"""Properties of a training table's values from which the schema is inferred."""

from __future__ import annotations

import polars as pl

#: A number whose comma could also be a thousands separator.
_THOUSANDS_SEPARATOR = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"


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
