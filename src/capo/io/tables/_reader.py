"""A file as batches of rows: which format it has, and how it is read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from ...exceptions import TableError
from ._batch import Batch, SparseRows
from ._delimited import delimited
from ._source import Source, peek
from ._svmlight import LIKE, svmlight

#: Formats by the endings of file names.
ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
}
FORMATS = ("csv", "parquet", "svmlight")
#: Rows of a Parquet file that are read at once.
PARQUET_ROWS = 20_000


@dataclass(frozen=True)
class TableReader:
    """A file to be read, once; all that may be said of how.

    Attributes
    ----------
    path : str
        The file, or "-" for the standard input.
    format : {"csv", "parquet", "svmlight"}, optional
        Told from the name and the contents if it is not given.
    delimiter, encoding : str, optional
        Of a CSV file: told from the header, and UTF-8.
    """

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def name(self) -> str:
        """What to call the file."""
        return Source(self.path).name

    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time."""
        source = Source(self.path)
        with source.open() as stream:
            head, whole = peek(stream)
            if not head:
                raise TableError(f"{source.name} is empty.")
            kind = self.format or _kind(source.stem, head)
            if kind == "parquet":
                yield from _parquet(source, whole)
            elif kind == "svmlight":
                yield from svmlight(whole, head, source.name)
            else:
                yield from delimited(whole, head, source.name, self.delimiter, self.encoding)

    def read(self) -> Batch:
        """All rows."""
        return _joined(list(self.batches()))


def open_table(
    path: str, *, format: str | None = None, delimiter: str | None = None, encoding: str | None = None
) -> TableReader:
    """A file to be read; bad settings get a sentence before it is."""
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r':
            raise TableError(
                f"the delimiter must be one letter such as ',' or ';', or tab: got {delimiter!r}."
            )
    if format is not None and format not in FORMATS:
        raise TableError(f"there is no format {format!r}: choose one of {', '.join(FORMATS)}.")
    return TableReader(path, format, delimiter, encoding)


def _kind(stem: str, head: bytes) -> str:
    """What a file is, by its first bytes, its name and its first line."""
    if head.startswith(b"PAR1"):
        return "parquet"
    for ending, kind in ENDINGS.items():
        if stem.lower().endswith(ending):
            return kind
    return "svmlight" if LIKE.match(head.split(b"\n", 1)[0]) else "csv"


def _parquet(source: Source, stream: io.BufferedReader) -> Iterator[Batch]:
    """From the file itself if there is one, and uncompressed; else from memory."""
    row = 1
    try:
        plain = source.path is not None and source.path.is_file() and str(source.path) == source.stem
        frame = pl.scan_parquet(
            source.path if plain and source.path else io.BytesIO(stream.read()), glob=False
        )
        for part in frame.collect_batches(chunk_size=PARQUET_ROWS, maintain_order=True):
            if part.height:
                yield Batch(part, row)
            row += part.height
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{source.name} is not a Parquet file that can be read: {reason}.") from error
    if row == 1:
        raise TableError(f"{source.name} has columns but no rows.")


def _joined(batches: list[Batch]) -> Batch:
    parts: list[Any] = [batch.rows for batch in batches]
    rows = SparseRows.joined(parts) if isinstance(parts[0], SparseRows) else pl.concat(parts)
    return Batch(rows, 1, batches[0].decimal_comma)
