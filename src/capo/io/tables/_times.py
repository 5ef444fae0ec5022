"""The times of a training table's rows."""

from __future__ import annotations

import polars as pl

from ..._typing import FloatArray
from ...exceptions import TableError
from ...preprocessing import ColumnValues, ParsedKind, parse_texts, recognize_column
from ...preprocessing.canonical_values import clean_columns
from ._batch import Batch
from ._roles import require_column


def read_times(batch: Batch, name: str) -> FloatArray:
    """Read a column of dates or numbers, none of which may be missing, as numbers that grow with time."""
    require_column(name, batch.frame.columns, "time")
    texts = clean_columns(batch.frame, [name])[name].cast(pl.String)
    kind = recognize_column(ColumnValues.count(name, texts, batch.decimal_comma), name).kind
    if not isinstance(kind, ParsedKind) or texts.null_count():
        problem = "has missing values" if isinstance(kind, ParsedKind) else f"holds {kind.description}"
        raise TableError(
            f"the column {name!r} of --time {problem}: it must hold a date or a number in each row."
        )

    def on_error(position: int, text: str) -> None:
        raise TableError(f"the time {text!r} in row {batch.first_row + position:,} cannot be read.")

    return parse_texts(kind, texts, on_error)
