"""Columns of nested values, which are divided into one column for each of their fields."""

from __future__ import annotations

import polars as pl


def flatten_structs(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace each column of objects by one column for each field, such as ``user.age``, at any depth."""
    while nested := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
        prefixed = [pl.col(name).name.prefix_fields(f"{name}.") for name in nested]
        frame = frame.with_columns(prefixed).unnest(nested)
    return frame
