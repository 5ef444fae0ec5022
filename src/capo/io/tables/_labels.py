"""The labels of a target column, with a kind that is inferred in training and kept with the model."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...exceptions import TableError
from ...preprocessing.canonical_values import INTEGER_PATTERN, clean_columns, to_text
from ._batch import Batch

LabelKind = Literal["integer", "text"]
#: Integers without leading zeros, and not so large that a double would lose digits.
_INTEGER_LABEL = r"^[+-]?(0|[1-9][0-9]{0,14})(\.0+)?$"


def infer_label_kind(batch: Batch, name: str) -> LabelKind:
    """Return "integer" if all labels of a column are integers, else "text"."""
    texts = read_complete_texts(batch, name, "target")
    return "integer" if bool(texts.str.contains(_INTEGER_LABEL).all()) else "text"


def read_labels(batch: Batch, name: str, kind: LabelKind) -> NDArray[np.generic]:
    """Read the labels of a column, none of which may be missing."""
    texts = read_complete_texts(batch, name, "target")
    if kind == "text":
        return texts.to_numpy().astype(str)
    wrong = texts.str.contains(_INTEGER_LABEL).not_().arg_true()
    if len(wrong):
        position = int(wrong[0])
        raise TableError(
            f"the target {name!r} had integer labels in training, but row {batch.first_row + position:,} "
            f"contains {texts[position]!r}."
        )
    return texts.cast(pl.Float64).cast(pl.Int64).to_numpy()


def parse_label(text: str, kind: LabelKind) -> int | str | None:
    """Parse a label that the user typed like those of a column; None if it cannot be one of them."""
    text = text.strip()
    if kind == "integer":
        return int(float(text)) if re.match(_INTEGER_LABEL, text) else None
    if text.lower() in ("true", "false"):
        return text.lower()
    return re.sub(INTEGER_PATTERN, r"\1", text)


def read_complete_texts(batch: Batch, name: str, role: str) -> pl.Series:
    """Read a column as text, no value of which may be missing; `role` is its name in messages."""
    cleaned = clean_columns(batch.frame, [name])
    _check_no_missing(batch, cleaned[name], name, role)
    return to_text(cleaned)[name]


def _check_no_missing(batch: Batch, cleaned: pl.Series, name: str, role: str) -> None:
    n_missing = cleaned.null_count()
    if not n_missing:
        return
    position = int(cleaned.is_null().arg_true()[0])
    raw = batch.frame[name][position]
    note = f" ({raw!r} counts as missing)" if isinstance(raw, str) and raw.strip() else ""
    raise TableError(
        f"the {role} {name!r} is missing in {n_missing:,} of {len(batch):,} rows, first in row "
        f"{batch.first_row + position:,}{note}: remove these rows."
    )
