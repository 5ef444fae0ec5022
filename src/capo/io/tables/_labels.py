"""Labels: what kind they are is learned once, and holds for every row that is judged later."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...exceptions import TableError
from . import _values as values
from ._batch import Batch

NUMBER, TEXT = "number", "text"
#: Whole numbers as they are written, without zeros in front; larger ones lose their last digits.
_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,14})(\.0+)?$"


def read_labels(batch: Batch, name: str, kind: str = "") -> tuple[NDArray[np.generic], str]:
    """The labels of a column, none missing, and their kind: whole numbers if all of them are, or text."""
    cleaned = values.clean(batch, [name])
    _check_missing(batch, cleaned[name], name)
    words = values.text(cleaned)[name]
    kind = kind or (NUMBER if bool(words.str.contains(_WHOLE).all()) else TEXT)
    if kind == TEXT:
        return words.to_numpy().astype(str), kind
    wrong = words.str.contains(_WHOLE).not_().arg_true()
    if len(wrong):
        raise TableError(
            f"the target {name!r} held whole numbers in training, but {words[int(wrong[0])]!r} is none (row "
            f"{batch.first + int(wrong[0]):,})."
        )
    return words.cast(pl.Float64).cast(pl.Int64).to_numpy(), kind


def as_label(given: str, kind: str) -> int | str | None:
    """A label that was typed, read as those of a column are; None if it cannot be one."""
    word = given.strip()
    if kind == TEXT:
        small = word.lower() in ("true", "false")
        return word.lower() if small else re.sub(values.WHOLE_WITH_POINT, r"\1", word)
    return int(float(word)) if re.match(_WHOLE, word) else None


def _check_missing(batch: Batch, cleaned: pl.Series, name: str) -> None:
    missing = cleaned.null_count()
    if not missing:
        return
    place = int(cleaned.is_null().arg_true()[0])
    written = batch.rows[name][place]
    how = f" ({written!r} counts as missing)" if isinstance(written, str) and written.strip() else ""
    raise TableError(
        f"the target {name!r} is missing in {missing:,} of {len(batch):,} rows, first in row "
        f"{batch.first + place:,}{how}: leave these rows out."
    )
