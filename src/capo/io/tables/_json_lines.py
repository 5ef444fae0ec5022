"""Reader of JSON lines: one object per line, whose keys are the names of the columns.

The keys of nested objects are columns such as ``user.age``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import polars as pl

from ...exceptions import TableError
from ._batch import Batch
from ._line_blocks import read_line_blocks, recode_to_utf8
from ._nested import flatten_structs


def read_json_lines(
    stream: io.BufferedReader, head: bytes, name: str, encoding: str | None
) -> Iterator[Batch]:
    """Yield the rows in batches; a key that a line lacks is a missing value."""
    row, line, columns = 1, 1, dict[str, None]()
    for block in read_line_blocks(recode_to_utf8(stream, head, encoding, name), name):
        frame = _parse_block(block, name, line)
        columns |= dict.fromkeys(frame.columns)
        absent = [pl.lit(None, pl.String).alias(column) for column in columns if column not in frame.columns]
        if frame.height:
            yield Batch(frame.with_columns(absent).select(list(columns)), row)
        row, line = row + frame.height, line + block.count(b"\n")
    if row == 1:
        raise TableError(f"{name} is empty.")


def _parse_block(block: bytes, name: str, line: int) -> pl.DataFrame:
    if not block.strip():
        return pl.DataFrame()
    try:
        return flatten_structs(pl.read_ndjson(io.BytesIO(block), infer_schema_length=None))
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(
            f"{name} cannot be read as JSON lines from line {line:,} on: {reason}. Each line must be one "
            'object, such as {"age": 31, "town": "Ulm"}.'
        ) from error
