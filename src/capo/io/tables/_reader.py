"""Files as batches of rows: detection of the format, and the reader for each."""

from __future__ import annotations

import codecs
import glob
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...exceptions import TableError
from ._batch import Batch, NoRowsError, SparseRows, concat_batches
from ._delimited import read_delimited
from ._excel import read_excel
from ._json_lines import read_json_lines
from ._parquet import read_parquet
from ._source import EXCEL_SIGNATURES, ByteSource, read_head
from ._svmlight import is_svmlight_line, read_svmlight

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
