"""Values as they are written: what is missing, what is a number, what is text."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..exceptions import TableError
from .batch import Batch

#: What is written where a value is missing, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "<NA>", "NULL", "null", "None", "?")


def column(batch: Batch, name: str) -> pl.Series:
    """A column as numbers or as text without blanks around it, null where a value is missing."""
    found = batch.rows[name]
    kind = found.dtype
    if kind.is_numeric():
        return found.cast(pl.Float64).fill_nan(None)
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        raise TableError(
            f"the column {name!r} holds values of type {kind}, where a number or text is needed: leave it "
            f"out with --drop {name}."
        )
    words = found.cast(pl.String).str.strip_chars()
    return words.set(words.is_in(("", *MISSING)), None)


def numbers(batch: Batch, name: str) -> pl.Series | None:
    """A column as finite numbers, null where missing; None if it holds text."""
    found = column(batch, name)
    values = found if found.dtype == pl.Float64 else found.cast(pl.Float64, strict=False).fill_nan(None)
    if values.null_count() > found.null_count():
        return None
    infinite = values.is_infinite().fill_null(False).arg_true()
    if len(infinite):
        raise TableError(
            f"the column {name!r} holds an infinite number in row {batch.first + infinite[0]:,}: correct it, "
            f"or leave the column out with --drop {name}."
        )
    return values


def text(batch: Batch, name: str) -> pl.Series:
    """A column as text; whole numbers without a point."""
    found = column(batch, name)
    if found.dtype == pl.String:
        return found
    whole = found.is_null() | (found == found.round())
    return found.cast(pl.Int64, strict=False).cast(pl.String) if whole.all() else found.cast(pl.String)


def first_text(batch: Batch, name: str) -> tuple[int, str]:
    """The first row of a column that holds no number, and what it holds."""
    found = column(batch, name)
    wrong = (found.is_not_null() & found.cast(pl.Float64, strict=False).fill_nan(None).is_null()).arg_true()
    return batch.first + int(wrong[0]), str(found[int(wrong[0])])


def labels(batch: Batch, name: str) -> NDArray[np.generic]:
    """A column of labels, none missing: whole numbers if they are, other numbers, or text."""
    found = column(batch, name)
    if missing := found.null_count():
        where = batch.first + int(found.is_null().arg_true()[0])
        raise TableError(
            f"the target {name!r} is missing in {missing:,} of {len(found):,} rows, first in row {where:,}: "
            "leave these rows out."
        )
    values = numbers(batch, name)
    return found.to_numpy().astype(str) if values is None else whole_if_so(values.to_numpy())


def whole_if_so(values: NDArray[np.float64]) -> NDArray[np.generic]:
    """Whole numbers as such."""
    whole = bool((values == np.rint(values)).all()) and bool((np.abs(values) < 2**53).all())
    return values.astype(np.int64) if whole else values
