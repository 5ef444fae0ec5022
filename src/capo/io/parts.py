"""Parts of a table that are read on their own.

The rows of a Parquet file are found by its metadata. Those of a CSV file are found in one pass over its
bytes, which keeps only the positions at which parts start. Other files are not divided.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._compat import BoolArray, IntArray
from ..exceptions import TableError
from .delimited import Skipped, find_preamble, read_delimited
from .formats import TableReader, count_parquet, detect_format, read_parquet
from .source import (
    BLOCK_SIZE,
    HEAD_SIZE,
    Batch,
    ByteSource,
    NoRowsError,
    concat_batches,
    detect_encoding,
    find_line_ends,
    read_byte_blocks,
    read_head,
)

#: By default a part has at most so many rows, and fewer if they have many columns.
MAX_PART_ROWS = 200_000
MAX_PART_VALUES = 4_000_000
#: Smaller ones of several files are not opened to be divided.
MIN_DIVIDED_BYTES = 2**25
#: Encodings in which the bytes of a newline and of a quote mean nothing else.
_ASCII_COMPATIBLE = ("ascii", "utf-8", "iso8859", "cp125")
#: A first line that is blank except for a byte order mark is hard to tell from a header.
_BLANK_AFTER_MARK = (codecs.BOM_UTF8 + b"\n", codecs.BOM_UTF8 + b"\r")
_RETURN = ord("\r")


class TablePart(Protocol):
    """Rows that can be read at once."""

    @property
    def name(self) -> str:
        """What is read, in messages."""

    @property
    def path(self) -> str:
        """The file."""

    def read(self) -> Batch:
        """Read all rows."""


def divide_table(table: TableReader, max_rows: int | None = None) -> Sequence[TablePart]:
    """Divide a table into parts that can be read in any order, by any process.

    Parquet files, and CSV files that are not compressed, are divided into parts of `max_rows` rows; by
    default 200,000, or fewer with more than 20 columns. Each other file is a part, and by default also each
    file of several that is not large.
    """
    paths = table.paths
    if len(paths) == 1:
        return _divide_file(replace(table, path=paths[0]), max_rows)
    parts: list[TablePart] = []
    for path in paths:
        file = replace(table, path=path)
        if max_rows is None and Path(path).stat().st_size < MIN_DIVIDED_BYTES:
            parts.append(file)
        else:
            with suppress(NoRowsError):
                parts.extend(_divide_file(file, max_rows))
    return parts


def _divide_file(table: TableReader, max_rows: int | None) -> Sequence[TablePart]:
    source, format = ByteSource(table.path), divisible_format(table)
    if format == "parquet":
        return _divide_parquet(source, max_rows)
    if format == "csv":
        return _divide_delimited(table, source, max_rows)
    return [table]


def divisible_format(table: TableReader) -> str | None:
    """The format of a file that can be divided; None for other files."""
    source = ByteSource(table.path)
    head = _plain_head(source)
    if not head:
        return None
    format = table.format or detect_format(source.name, source.stem, head)
    if format == "parquet" or (format == "csv" and _can_be_divided(head, table.encoding)):
        return format
    return None


def _plain_head(source: ByteSource) -> bytes:
    """The first bytes of a file that is not compressed; nothing for other files and pipes."""
    if source.path is None or not source.path.is_file():
        return b""
    with source.open() as stream:
        head, _ = read_head(stream)
    with source.path.open("rb") as file:
        return head if file.read(HEAD_SIZE) == head else b""


def _default_rows(n_columns: int) -> int:
    return max(min(MAX_PART_ROWS, MAX_PART_VALUES // max(n_columns, 1)), 1)


@dataclass(frozen=True)
class ParquetPart:
    """Consecutive rows of a Parquet file, from the row `start`, counted from 0."""

    path: str
    start: int
    n_rows: int

    @property
    def name(self) -> str:
        return _describe_rows(self.start, self.n_rows, self.path)

    def read(self) -> Batch:
        source = ByteSource(self.path)
        with source.open() as stream:
            return concat_batches(list(read_parquet(source, stream, self.start, self.n_rows)))


def _divide_parquet(source: ByteSource, max_rows: int | None) -> list[TablePart]:
    with source.open() as stream:
        n_rows, n_columns = count_parquet(source, stream)
    if not n_rows:
        raise NoRowsError(f"{source.name} has columns but no rows.")
    size = max_rows or _default_rows(n_columns)
    return [ParquetPart(source.name, start, min(size, n_rows - start)) for start in range(0, n_rows, size)]


@dataclass(frozen=True)
class DelimitedPart:
    """The bytes from `start` to `stop` of a CSV file, which are complete lines, after its header."""

    table: TableReader
    header: bytes
    start: int
    stop: int
    skipped: Skipped
    n_rows: int

    @property
    def name(self) -> str:
        return _describe_rows(self.skipped.n_rows, self.n_rows, self.table.name)

    @property
    def path(self) -> str:
        return self.table.path

    def read(self) -> Batch:
        data = self.header + _read_bytes(self.table.path, self.start, self.stop)
        stream: io.BufferedReader = io.BufferedReader(io.BytesIO(data))
        table = self.table
        batches = read_delimited(
            stream, data[:HEAD_SIZE], table.name, table.delimiter, table.encoding, skipped=self.skipped
        )
        return concat_batches(list(batches))


def _describe_rows(start: int, n_rows: int, name: str) -> str:
    return f"rows {start + 1:,} to {start + n_rows:,} of {name}"


def _read_bytes(path: str, start: int, stop: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            file.seek(start)
            return file.read(stop - start)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from error


def _can_be_divided(head: bytes, encoding: str | None) -> bool:
    """Whether lines end with newlines, which can be found before the text is decoded."""
    name = detect_encoding(head, encoding) or "utf-8"
    if b"\n" not in head or head.startswith(_BLANK_AFTER_MARK) or find_preamble(head).n_lines:
        return False
    try:
        return codecs.lookup(name).name.startswith(_ASCII_COMPATIBLE)
    except LookupError:  # the reader reports it
        return False


def _divide_delimited(table: TableReader, source: ByteSource, max_rows: int | None) -> Sequence[TablePart]:
    # The first batch shows the number of columns, and raises an error if this is no table.
    size = max_rows or _default_rows(next(table.batches()).frame.width)
    path = Path(source.name)
    with path.open("rb") as file:
        starts, n_rows = _find_part_starts(file, source.name, size)
        file.seek(0)
        header = file.read(starts[0].offset)
    if len(starts) == 1:
        return [table]
    stops = [*(start.offset for start in starts[1:]), path.stat().st_size]
    return [
        DelimitedPart(
            table,
            header,
            start.offset,
            stop,
            Skipped(i * size, start.n_lines - starts[0].n_lines),
            min(size, n_rows - i * size),
        )
        for i, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]


class _Position(NamedTuple):
    """The start of a line: its byte, and the number of newlines before it."""

    offset: int
    n_lines: int


def _find_part_starts(file: io.BufferedReader, name: str, size: int) -> tuple[list[_Position], int]:
    """The starts of the first row and of every `size`-th row after it, and the number of rows.

    A blank line is no row. At least one row follows each start.
    """
    starts, here, n_found = list[_Position](), _Position(0, 0), 0
    for block in read_byte_blocks(file, name):
        ends = _row_ends(np.frombuffer(block, dtype=np.uint8))
        # The header is number 0, so that the first part starts after it.
        numbers = np.arange(n_found, n_found + len(ends))
        for end in (ends[numbers % size == 0] + 1).tolist():
            starts.append(_Position(here.offset + end, here.n_lines + block.count(b"\n", 0, end)))
        n_found += len(ends)
        here = _Position(here.offset + len(block), here.n_lines + block.count(b"\n"))
    n_rows = n_found - 1
    return starts[: max(-(-n_rows // size), 1)], n_rows


def _row_ends(text: NDArray[np.uint8]) -> IntArray:
    """The ends of the lines that are not blank."""
    ends = find_line_ends(text)
    return ends[~_is_blank(text, ends)]


def _is_blank(text: NDArray[np.uint8], ends: IntArray) -> BoolArray:
    size = np.diff(ends, prepend=-1) - 1
    return (size == 0) | ((size == 1) & (text[ends - 1] == _RETURN))


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
