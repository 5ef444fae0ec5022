"""Reader of Parquet files, whole or some of their rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from ...exceptions import TableError
from ._batch import Batch, NoRowsError
from ._nested import flatten_structs
from ._source import ByteSource

#: Rows per batch.
PARQUET_BATCH_SIZE = 20_000


def read_parquet(
    source: ByteSource, stream: io.BufferedReader, start: int = 0, n_rows: int | None = None
) -> Iterator[Batch]:
    """Yield the rows in batches: all of them, or `n_rows` from the row `start`, counted from 0."""
    row = start + 1
    with _table_errors(source.name):
        frame = _scan_parquet(source, stream)
        if n_rows is not None:
            frame = frame.slice(start, n_rows)
        for part in frame.collect_batches(chunk_size=PARQUET_BATCH_SIZE, maintain_order=True):
            if part.height:
                yield Batch(flatten_structs(part), row)
            row += part.height
    if row == start + 1:
        raise NoRowsError(f"{source.name} has columns but no rows.")


def count_parquet(source: ByteSource, stream: io.BufferedReader) -> tuple[int, int]:
    """The numbers of rows and columns, from the metadata."""
    with _table_errors(source.name):
        frame = _scan_parquet(source, stream)
        return int(frame.select(pl.len()).collect().item()), len(frame.collect_schema())


def _scan_parquet(source: ByteSource, stream: io.BufferedReader) -> pl.LazyFrame:
    """Scan an uncompressed file in place, and anything else in memory."""
    path = source.path
    if path is not None and path.is_file() and str(path) == source.stem:
        return pl.scan_parquet(path, glob=False)
    return pl.scan_parquet(io.BytesIO(stream.read()), glob=False)


@contextmanager
def _table_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{name} cannot be read as a Parquet file: {reason}.") from error
