"""The size of a table in memory, before it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ._line_blocks import BLOCK_SIZE
from ._parquet import count_parquet
from ._parts import divisible_format
from ._reader import TableReader
from ._source import ByteSource


class TableSize(NamedTuple):
    """The number of rows, and the bytes of their values in memory."""

    n_rows: int
    n_bytes: int


def estimate_size(table: TableReader) -> TableSize | None:
    """Estimate the size of a table from the first rows of its largest file.

    None if that is not a Parquet file or a CSV file that is not compressed, which can be read in parts.
    """
    sizes = {path: Path(path).stat().st_size for path in table.paths}
    largest = replace(table, path=max(sizes, key=lambda path: sizes[path]))
    format = divisible_format(largest)
    if format is None:
        return None
    batch = next(largest.batches())
    share = _share_of_parquet(largest.path, len(batch)) if format == "parquet" else None
    n_read = sizes[largest.path] * share if share else min(sizes[largest.path], BLOCK_SIZE)
    n_batches = sum(sizes.values()) / n_read
    return TableSize(int(n_batches * len(batch)), int(n_batches * batch.frame.estimated_size()))


def _share_of_parquet(path: str, n_rows: int) -> float:
    """The share of some rows in those of a Parquet file."""
    source = ByteSource(path)
    with source.open() as stream:
        return n_rows / count_parquet(source, stream)[0]
