"""Parts of a table that are read independently.

The rows of a Parquet file are found by its metadata. Those of a CSV file are found in one pass over its
bytes, which keeps only the positions at which parts start. Other files are not divided.
"""

import codecs
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..exceptions import TableError
from . import formats, source
from .formats import TableReader
from .source import Batch, NoRowsError

#: Largest default number of rows of a part; fewer if there are many columns.
MAX_PART_ROWS = 200_000
MAX_PART_VALUES = 4_000_000
#: Smaller files among several are not divided.
MIN_DIVIDED_BYTES = 2**25
#: Encodings in which the bytes of a newline and of a quote mean nothing else.
_ASCII_COMPATIBLE = ("ascii", "utf-8", "iso8859", "cp125")
#: A first line that is blank except for a byte order mark is hard to tell from a header.
_BLANK_AFTER_MARK = (codecs.BOM_UTF8 + b"\n", codecs.BOM_UTF8 + b"\r")


class ByteRange(NamedTuple):
    """Complete lines of a CSV file: their bytes, the lines between header and them, and the header."""

    start: int
    stop: int
    n_lines_before: int
    header: bytes


@dataclass(frozen=True)
class FilePart:
    """Consecutive rows of a file, from the row `start`, counted from 0; `lines` has those of a CSV file."""

    table: TableReader
    start: int
    n_rows: int
    lines: ByteRange | None = None

    @property
    def name(self) -> str:
        """The name of the part in messages."""
        return f"rows {self.start + 1:,} to {self.start + self.n_rows:,} of {self.table.name}"

    @property
    def path(self) -> str:
        """The file."""
        return self.table.path

    def read(self) -> Batch:
        """Read all rows."""
        if self.lines is None:
            with source.open_decompressed(self.path, self.path) as stream:
                rows = formats.read_parquet(self.table, stream, self.start, self.n_rows)
                return source.concat_batches(rows)
        start, stop, n_lines_before, header = self.lines
        try:
            with Path(self.path).open("rb") as file:
                file.seek(start)
                data = header + file.read(stop - start)
        except OSError as error:
            raise TableError(f"{self.path} cannot be read: {error.strerror or error}.") from error
        head, lines = source.read_head(io.BytesIO(data))
        skipped = (self.start, n_lines_before)
        return source.concat_batches(formats.read_delimited(self.table, lines, head, skipped=skipped))


#: Rows that can be read at once: of a whole table, or some rows of a file.
TablePart = TableReader | FilePart


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
    format = _divisible_format(table)
    if format is None:
        return [table]
    if format == "csv":
        # The first batch shows the number of columns, and raises an error if this is not a table.
        return _divide_lines(table, max_rows or _default_rows(next(table.batches()).frame.width))
    n_rows, n_columns = formats.count_parquet(table)
    if not n_rows:
        raise NoRowsError(f"{table.name} has columns but no rows.")
    size = max_rows or _default_rows(n_columns)
    return [FilePart(table, start, min(size, n_rows - start)) for start in range(0, n_rows, size)]


def _default_rows(n_columns: int) -> int:
    return max(min(MAX_PART_ROWS, MAX_PART_VALUES // max(n_columns, 1)), 1)


def _divisible_format(table: TableReader) -> str | None:
    """The format of a file that can be divided; None for other files, compressed ones and pipes."""
    path = Path(table.path)
    if table.path == "-" or not path.is_file():
        return None
    with source.open_decompressed(table.path, table.name) as stream, path.open("rb") as file:
        head, _ = source.read_head(stream)
        if not head or file.read(source.HEAD_SIZE) != head:
            return None
    format = table.detect_format(head)
    is_divisible = format == "parquet" or (format == "csv" and _has_plain_lines(head, table.encoding))
    return format if is_divisible else None


def _has_plain_lines(head: bytes, encoding: str | None) -> bool:
    """Whether lines end with newlines, which can be found before the text is decoded."""
    if b"\n" not in head or head.startswith(_BLANK_AFTER_MARK) or formats.find_preamble(head)[0]:
        return False
    try:
        name = codecs.lookup(source.detect_encoding(head, encoding) or "utf-8").name
    except LookupError:  # the reader reports it
        return False
    return name.startswith(_ASCII_COMPATIBLE)


def _divide_lines(table: TableReader, size: int) -> Sequence[TablePart]:
    """Divide a CSV file before every `size`-th row; at least one row follows each start."""
    path = Path(table.path)
    # Bytes and newlines before the first row and before every `size`-th row after it.
    starts, n_bytes, n_lines, n_found = list[tuple[int, int]](), 0, 0, 0
    with path.open("rb") as file:
        for block in source.complete_lines(iter(partial(file.read, source.BLOCK_SIZE), b""), table.name):
            text = np.frombuffer(block, dtype=np.uint8)
            ends = source.find_line_ends(text)
            sizes = np.diff(ends, prepend=-1) - 1
            is_blank = (sizes == 0) | ((sizes == 1) & (text[ends - 1] == ord("\r")))
            ends = ends[~is_blank]
            # The header is number 0, so that the first part starts after it.
            numbers = np.arange(n_found, n_found + len(ends))
            for end in (ends[numbers % size == 0] + 1).tolist():
                starts.append((n_bytes + end, n_lines + block.count(b"\n", 0, end)))
            n_found += len(ends)
            n_bytes, n_lines = n_bytes + len(block), n_lines + block.count(b"\n")
        n_rows = n_found - 1
        starts = starts[: max(-(-n_rows // size), 1)]
        file.seek(0)
        header = file.read(starts[0][0])
    if len(starts) == 1:
        return [table]
    stops = [*(start for start, _ in starts[1:]), path.stat().st_size]
    parts = []
    for i, ((start, n_lines), stop) in enumerate(zip(starts, stops, strict=True)):
        lines = ByteRange(start, stop, n_lines - starts[0][1], header)
        parts.append(FilePart(table, i * size, min(size, n_rows - i * size), lines))
    return parts


def estimate_size(table: TableReader) -> tuple[int, int] | None:
    """Estimate the rows of a table, and the bytes of their values, from the first rows of its largest file.

    None if that is not a Parquet file or a CSV file that is not compressed, which can be read in parts.
    """
    sizes = {path: Path(path).stat().st_size for path in table.paths}
    largest = max(sizes, key=lambda path: sizes[path])
    reader = replace(table, path=largest)
    format = _divisible_format(reader)
    if format is None:
        return None
    batch = next(reader.batches())
    n_read: float = min(sizes[largest], source.BLOCK_SIZE)
    if format == "parquet":
        n_read = sizes[largest] * len(batch) / formats.count_parquet(reader)[0]
    n_batches = sum(sizes.values()) / n_read
    return int(n_batches * len(batch)), int(n_batches * batch.frame.estimated_size())
