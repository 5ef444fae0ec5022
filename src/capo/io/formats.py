"""Readers of all formats, and the choice of the reader.

The keys of nested objects are columns such as ``user.age``.
"""

from __future__ import annotations

import codecs
import glob
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from ..exceptions import MissingExtraError, TableError
from .delimited import read_delimited
from .source import (
    EXCEL_SIGNATURES,
    Batch,
    ByteSource,
    NoRowsError,
    SparseRows,
    concat_batches,
    read_head,
    read_line_blocks,
    recode_to_utf8,
)


def flatten_structs(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace each column of objects by one column for each field, such as ``user.age``, at any depth."""
    while nested := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
        prefixed = [pl.col(name).name.prefix_fields(f"{name}.") for name in nested]
        frame = frame.with_columns(prefixed).unnest(nested)
    return frame


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


#: How the library names the column at a position, counted from 0, if it has no name.
_UNNAMED = "__UNNAMED__{}"
#: Rows above the names of the columns, such as a title, at most.
MAX_TITLE_ROWS = 20


def read_excel(stream: io.BufferedReader, name: str) -> Iterator[Batch]:
    """Yield all rows of the first sheet, whose first row holds the names of the columns.

    A title and other rows above the names are left out: rows that are not filled to the last column.
    """
    content = stream.read()
    try:
        frame = _read_sheet(content)
        if _has_title(frame):
            frame = _read_sheet(content, {"header_row": _find_header(content)})
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{name} is an Excel file, which needs fastexcel: pip install 'capo-learn[excel]', or save the "
            "sheet as CSV."
        ) from error
    except Exception as error:  # the errors of the library have no common base
        raise TableError(f"{name} cannot be read as an Excel file: {error}.") from error
    if not frame.height:
        raise TableError(f"{name} has no rows in its first sheet.")
    names = {_UNNAMED.format(position): f"column_{position + 1}" for position in range(frame.width)}
    yield Batch(frame.rename(names, strict=False), 1)


def _read_sheet(content: bytes, options: dict[str, Any] | None = None, **params: Any) -> pl.DataFrame:
    return pl.read_excel(
        io.BytesIO(content), engine="calamine", infer_schema_length=None, read_options=options, **params
    )


def _has_title(frame: pl.DataFrame) -> bool:
    """Whether the first row cannot hold the names of the columns: half have none, and the last is one."""
    unnamed = [name == _UNNAMED.format(position) for position, name in enumerate(frame.columns)]
    return frame.width > 1 and unnamed[-1] and 2 * sum(unnamed) >= frame.width


def _find_header(content: bytes) -> int:
    """The position of the first row without an empty cell; 0 if there is none near the top."""
    top = _read_sheet(content, {"n_rows": MAX_TITLE_ROWS}, has_header=False, drop_empty_rows=False)
    is_complete = top.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    return int(is_complete.arg_max() or 0)


_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PAIR = rb"(?:qid:\d+|\d+:" + _NUMBER + rb")"
_VALID_LINE = re.compile(rb"\s*(?:" + _NUMBER + rb"(?:\s+" + _PAIR + rb")*\s*)?(?:#.*)?")
_TYPICAL_LINE = re.compile(rb"\s*" + _NUMBER + rb"(?:[ \t]+" + _PAIR + rb")+\s*(?:#.*)?$")


def is_svmlight_line(line: bytes) -> bool:
    """Whether a line is in svmlight format and could not be a line of a CSV file."""
    return _TYPICAL_LINE.match(line) is not None


def read_svmlight(stream: io.BufferedReader, head: bytes, name: str) -> Iterator[Batch]:
    """Yield the rows in batches; column 0 always exists, even if the file counts features from 1."""
    row, line = 1, 1
    for block in read_line_blocks(recode_to_utf8(stream, head, None, name), name):
        rows = _parse_block_svmlight(block, name, line)
        if len(rows):
            yield Batch(rows, row)
        row, line = row + len(rows), line + block.count(b"\n")
    if row == 1:
        raise NoRowsError(f"{name} is empty.")


def _parse_block_svmlight(block: bytes, name: str, first_line: int) -> SparseRows:
    _check_lines(block, name, first_line)
    try:
        X, labels = load_svmlight_file(io.BytesIO(block), zero_based=True)
    except (ValueError, OverflowError) as error:
        reason = str(error).rstrip(".")
        raise TableError(f"{name} cannot be parsed from line {first_line:,} on: {reason}.") from error
    if not np.isfinite(X.data).all() or not np.isfinite(labels).all():
        raise TableError(f"{name} contains an infinite number in or after line {first_line:,}.")
    return SparseRows(X, labels)


def _check_lines(block: bytes, name: str, first_line: int) -> None:
    for number, line in enumerate(block.splitlines(), start=first_line):
        if not _VALID_LINE.fullmatch(line):
            shown = line[:40].decode(errors="replace")
            raise TableError(
                f"line {number:,} of {name} is not in svmlight format, 'label index:value index:value ...': "
                f"{shown!r}."
            )


FORMATS = ("csv", "parquet", "jsonl", "excel", "svmlight")
FORMAT_BY_SUFFIX = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls"), "excel"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
}
#: The beginning of a JSON file: an object, or an array of objects, arrays, texts or numbers.
_JSON_START = re.compile(rb'\{\s*("|\}\s*$)|\[\s*[\[{]|\[\s*("[^"\n]*"|[-0-9.eE]+|true|false|null)\s*,\s*')


@dataclass(frozen=True)
class TableReader:
    """A file to be read, and how to read it.

    Attributes
    ----------
    path : str
        The file, or "-" for standard input, or several files with the same columns: a pattern such as
        ``part-*.csv``, or a folder, for all tables in it.
    format : {"csv", "parquet", "jsonl", "excel", "svmlight"}, optional
        By default it is detected from the name and the content.
    delimiter : str, optional
        The delimiter of a CSV file; by default it is detected from the header.
    encoding : str, optional
        The encoding of a CSV file, by default UTF-8.
    """

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return ByteSource(self.path).name

    @property
    def paths(self) -> list[str]:
        """The files: one, or in the order of their names those that a pattern or a folder stands for."""
        if self.path == "-" or Path(self.path).is_file():
            return [self.path]
        if Path(self.path).is_dir():
            return list_tables(Path(self.path)) or [self.path]
        return sorted(path for path in glob.glob(self.path) if Path(path).is_file()) or [self.path]

    def batches(self) -> Iterator[Batch]:
        """Read the rows in batches; of several files, those without rows are skipped."""
        row, columns, paths = 1, None, self.paths
        for path in paths:
            batches = self._file_batches(ByteSource(path))
            for number, batch in enumerate(batches if len(paths) == 1 else _skip_without_rows(batches)):
                if not number:  # later rows of JSON lines may have keys that the first ones lack
                    columns = _check_same_columns(batch, columns, path)
                yield replace(batch, first_row=row)
                row += len(batch)
        if row == 1:
            raise NoRowsError(f"none of the {len(paths):,} files of {self.name} has rows.")

    def _file_batches(self, source: ByteSource) -> Iterator[Batch]:
        with source.open() as opened:
            head, stream = read_head(opened)
            if not head:
                raise NoRowsError(f"{source.name} is empty.")
            format = self.format or detect_format(source.name, source.stem, head)
            if format == "parquet":
                yield from read_parquet(source, stream)
            elif format == "jsonl":
                yield from read_json_lines(stream, head, source.name, self.encoding)
            elif format == "excel":
                yield from read_excel(stream, source.name)
            elif format == "svmlight":
                yield from read_svmlight(stream, head, source.name)
            else:
                yield from read_delimited(stream, head, source.name, self.delimiter, self.encoding)

    def read(self) -> Batch:
        """Read all rows."""
        return concat_batches(list(self.batches()))


def open_table(
    path: str, *, format: str | None = None, delimiter: str | None = None, encoding: str | None = None
) -> TableReader:
    """Check the settings, and return a reader of the file."""
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r':
            raise TableError(
                "the delimiter must be a single ASCII character such as ',' or ';', or 'tab': got "
                f"{delimiter!r}."
            )
    if format is not None and format not in FORMATS:
        raise TableError(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}.")
    return TableReader(path, format, delimiter, encoding)


def detect_format(name: str, stem: str, head: bytes) -> str:
    """Detect the format from the first bytes, the file name and the first line."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(EXCEL_SIGNATURES):
        return "excel"
    if _is_json(head):
        return _json_format(name, head)
    for suffix, format in FORMAT_BY_SUFFIX.items():
        if stem.lower().endswith(suffix):
            return format
    return "svmlight" if is_svmlight_line(head.split(b"\n", 1)[0]) else "csv"


def _json_format(name: str, head: bytes) -> str:
    """JSON lines if the first line is an object; an error for other JSON."""
    line = head.removeprefix(codecs.BOM_UTF8).lstrip().split(b"\n", 1)[0].strip()
    if line.startswith(b"{") and line.endswith(b"}"):
        return "jsonl"
    raise TableError(
        f"{name} is a JSON file, but not one with an object in each line: convert it to JSON lines, CSV or "
        "Parquet."
    )


def list_tables(folder: Path) -> list[str]:
    """The tables in a folder in the order of their names; hidden files and those like _SUCCESS are none."""
    files = (path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] not in "._")
    return [
        str(path) for path in files if ByteSource(path.name).stem.lower().endswith(tuple(FORMAT_BY_SUFFIX))
    ]


def _skip_without_rows(batches: Iterator[Batch]) -> Iterator[Batch]:
    with suppress(NoRowsError):
        yield from batches


def _check_same_columns(batch: Batch, columns: list[str] | None, path: str) -> list[str] | None:
    """Raise if a file of several has other columns than those before; their order does not matter."""
    if isinstance(batch.rows, SparseRows):
        return None
    found = batch.rows.columns
    if columns is not None and (different := sorted(set(columns) ^ set(found))):
        raise TableError(f"{path} has other columns than the files before it: see {different[0]!r}.")
    return columns or found


def _is_json(head: bytes) -> bool:
    """Whether a file begins with a JSON object or array, in one line or in several."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return _JSON_START.match(text) is not None
