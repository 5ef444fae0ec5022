"""Values as they are written: what is missing, what is a number, what is text; all columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..exceptions import TableError
from .batch import Batch

#: What is written where a value is missing, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "<NA>", "NULL", "null", "None", "?")


def clean(batch: Batch, names: Sequence[str]) -> pl.DataFrame:
    """Columns as numbers or as text without blanks around it, null where a value is missing."""
    kinds = batch.rows.select(names).schema
    return batch.rows.select(_clean(name, kind) for name, kind in kinds.items())


def _clean(name: str, kind: pl.DataType) -> pl.Expr:
    if kind.is_numeric():
        return pl.col(name).cast(pl.Float64).fill_nan(None)
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        raise TableError(
            f"the column {name!r} holds values of type {kind}, where a number or text is needed: leave it "
            f"out with --drop {name}."
        )
    words = pl.col(name).cast(pl.String).str.strip_chars()
    return pl.when(words.is_in(["", *MISSING]).not_()).then(words).alias(name)


def numbers(cleaned: pl.DataFrame) -> pl.DataFrame:
    """All columns as numbers, null where a value is missing or none."""
    return cleaned.select(pl.all().cast(pl.Float64, strict=False).fill_nan(None))


def with_text(cleaned: pl.DataFrame, found: pl.DataFrame) -> list[str]:
    """Which columns hold something that is no number."""
    before, after = cleaned.null_count().row(0), found.null_count().row(0)
    return [name for name, old, new in zip(cleaned.columns, before, after, strict=True) if new > old]


def check_finite(found: pl.DataFrame, first: int) -> None:
    """Refuse infinite numbers, with the row; `first` is the number of the first one."""
    infinite = found.select(pl.all().is_infinite().any())
    for name, any_of_them in zip(found.columns, infinite.row(0) if found.width else (), strict=True):
        if any_of_them:
            row = first + int(found[name].is_infinite().fill_null(False).arg_true()[0])
            raise TableError(
                f"the column {name!r} holds an infinite number in row {row:,}: correct it, or leave the "
                f"column out with --drop {name}."
            )


def first_text(cleaned: pl.Series, found: pl.Series, first: int) -> tuple[int, str]:
    """The first row of a column that holds no number, and what it holds."""
    place = int((cleaned.is_not_null() & found.is_null()).arg_true()[0])
    return first + place, str(cleaned[place])


def text(cleaned: pl.Series) -> pl.Series:
    """A column as text; whole numbers without a point."""
    if cleaned.dtype == pl.String:
        return cleaned
    whole = bool((cleaned.is_null() | (cleaned == cleaned.round())).all())
    return (cleaned.cast(pl.Int64, strict=False) if whole else cleaned).cast(pl.String)


def all_different(cleaned: pl.DataFrame, least: int) -> list[str]:
    """Columns with at least so many values, no two of them the same."""
    if not cleaned.width:
        return []
    counts = cleaned.select(pl.all().count()).row(0)
    kinds = cleaned.select(pl.all().drop_nulls().n_unique()).row(0)
    named = zip(cleaned.columns, counts, kinds, strict=True)
    return [name for name, count, kind in named if count >= least and kind == count]


def labels(batch: Batch, name: str) -> NDArray[np.generic]:
    """A column of labels, none missing: whole numbers if they are, other numbers, or text."""
    cleaned = clean(batch, [name])
    if missing := cleaned[name].null_count():
        where = batch.first + int(cleaned[name].is_null().arg_true()[0])
        raise TableError(
            f"the target {name!r} is missing in {missing:,} of {len(batch):,} rows, first in row {where:,}: "
            "leave these rows out."
        )
    found = numbers(cleaned)
    if with_text(cleaned, found):
        return cleaned[name].to_numpy().astype(str)
    check_finite(found, batch.first)
    return whole_if_so(found[name].to_numpy())


def whole_if_so(values: NDArray[np.float64]) -> NDArray[np.generic]:
    """Whole numbers as such."""
    whole = bool((values == np.rint(values)).all()) and bool((np.abs(values) < 2**53).all())
    return values.astype(np.int64) if whole else values
