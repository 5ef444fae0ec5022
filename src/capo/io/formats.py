"""Readers of all formats, and the choice of the reader.

The first line of a CSV file holds the names of the columns; a title and comments above it are left out. The
keys of nested objects are columns such as ``user.age``.
"""

import codecs
import csv
import glob
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from ..exceptions import MissingExtraError, TableError
from . import source
from .source import Batch, NoRowsError, SparseRows

#: The formats, with the endings of their files.
FORMATS = {
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
}
#: The first bytes of files.
_SIGNATURES = {b"PAR1": "parquet", b"ARROW1": "feather", **dict.fromkeys(source.EXCEL_SIGNATURES, "excel")}
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
    format : {"csv", "parquet", "feather", "json", "jsonl", "excel", "svmlight"}, optional
        By default it is detected from the name and the content.
    delimiter : str, optional
        The delimiter of a CSV file, or "tab"; by default it is detected from the header.
    encoding : str, optional
        The encoding of a CSV file, by default UTF-8.
    sheet : str, optional
        The sheet of an Excel file, by default the first.
    """

    path: str
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            delimiter = {"tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter)
            if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r':
                raise TableError(
                    "the delimiter must be a single ASCII character such as ',' or ';', or 'tab': got "
                    f"{delimiter!r}."
                )
            object.__setattr__(self, "delimiter", delimiter)
        if self.format is not None and self.format not in FORMATS:
            raise TableError(f"unknown format {self.format!r}: choose one of {', '.join(FORMATS)}.")

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def paths(self) -> list[str]:
        """The file, or the files of a pattern or folder in the order of their names."""
        if not self.path:
            raise TableError(
                "the name of the table is empty, as an unset variable in a script is: name a file."
            )
        path = Path(self.path)
        if self.path == "-" or path.is_file():
            return [self.path]
        found = map(str, path.iterdir()) if path.is_dir() else glob.glob(self.path)
        files = [file for file in sorted(found) if Path(file).is_file()]
        if path.is_dir():  # hidden files and files such as _SUCCESS are not tables
            endings = tuple(chain.from_iterable(FORMATS.values()))
            files = [file for file in files if Path(file).name[0] not in "._"]
            files = [file for file in files if _uncompressed_name(file).endswith(endings)]
        return files or [self.path]

    def batches(self, max_rows: int | None = None) -> Iterator[Batch]:
        """Read the rows in batches; of several files, those without rows are skipped."""
        row, columns, paths = 1, list[str](), self.paths
        for path in paths:
            with suppress(NoRowsError) if len(paths) > 1 else nullcontext():
                for number, batch in enumerate(replace(self, path=path)._file_batches()):
                    if not number and isinstance(batch.rows, pl.DataFrame):
                        # Later rows of JSON lines may have keys that the first ones lack.
                        columns = columns or batch.rows.columns
                        if different := sorted(set(columns) ^ set(batch.rows.columns)):
                            raise TableError(
                                f"{path} has different columns from the previous files: see {different[0]!r}."
                            )
                    yield from replace(batch, first_row=row).split(max_rows or len(batch))
                    row += len(batch)
        if row == 1:
            raise NoRowsError(f"none of the {len(paths):,} files of {self.name} has rows.")

    def _file_batches(self) -> Iterator[Batch]:
        with source.open_decompressed(self.path, self.name) as opened:
            head, stream = source.read_head(opened)
            if not head:
                raise NoRowsError(f"{self.name} is empty.")
            format = self.detect_format(head)
            if self.sheet is not None and format != "excel":
                raise TableError(f"{self.name} is not an Excel file: leave out --sheet.")
            if format == "parquet":
                yield from read_parquet(self, stream)
            elif format == "jsonl":
                yield from _read_json_lines(stream, head, self.name, self.encoding)
            elif format in ("feather", "json"):
                yield _read_whole(format, stream, self.name)
            elif format == "excel":
                yield from _read_excel(stream, self.name, self.sheet)
            elif format == "svmlight":
                yield from _read_svmlight(stream, head, self.name)
            else:
                yield from read_delimited(self, stream, head)

    def detect_format(self, head: bytes) -> str:
        """The format that is asked for, or else that of the first bytes, the file name and the first line."""
        if self.format:
            return self.format
        for signature, format in _SIGNATURES.items():
            if head.startswith(signature):
                return format
        text = head.removeprefix(codecs.BOM_UTF8).lstrip()
        if _JSON_START.match(text):
            line = text.split(b"\n", 1)[0].strip()
            if line.startswith(b"{") and line.endswith(b"}"):
                return "jsonl"
            if text.startswith(b"["):
                return "json"
            raise TableError(
                f"{self.name} is a JSON file, but neither an array of objects nor one object in each line: "
                "convert it to JSON lines, CSV or Parquet."
            )
        name = _uncompressed_name(self.path)
        for format, endings in FORMATS.items():
            if name.endswith(endings):
                return format
        return "svmlight" if _TYPICAL_SVMLIGHT_LINE.match(head.split(b"\n", 1)[0]) else "csv"

    def read(self) -> Batch:
        """Read all rows."""
        return source.concat_batches(self.batches())


def _uncompressed_name(path: str) -> str:
    """The path without the ending of a compressed file, in lower case."""
    return re.sub(r"\.(gz|bz2|xz|zip)$", "", path).lower()


def _parse_blocks(
    blocks: Iterable[bytes],
    parse: Callable[[bytes, int], pl.DataFrame | SparseRows],
    without_rows: str,
    *,
    row: int = 1,
    line: int = 1,
    decimal_comma: bool = False,
) -> Iterator[Batch]:
    """Yield the rows of blocks of lines; `parse` gets the number of the first line, for messages."""
    first = row
    for block in blocks:
        rows = parse(block, line)
        if len(rows):
            yield Batch(rows, row, decimal_comma)
        row, line = row + len(rows), line + block.count(b"\n")
    if row == first:
        raise NoRowsError(without_rows)


#: Delimiters that are detected, and their names in messages.
DELIMITER_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
#: Largest number of lines above the header, and number of lines below it that must have as many values.
MAX_TITLE_LINES, MIN_TABLE_LINES = 20, 3
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?')
_NUMBER = re.compile(r"[+-]?[\d.,]+%?")
MAX_COLUMNS = 100_000
#: Longer names are shortened in messages.
MAX_SHOWN_NAME = 40


def read_delimited(
    table: TableReader, stream: io.BufferedReader, head: bytes, *, skipped: tuple[int, int] = (0, 0)
) -> Iterator[Batch]:
    """Yield the rows after the header in batches of text columns.

    `skipped` has the numbers of rows and lines of the file between its header and the rows of the stream.
    """
    name = table.name
    blocks = source.complete_lines(source.read_text(stream, head, name, table.encoding), name)
    first = next(blocks, b"").lstrip(b"\n")
    if not first.strip():
        raise NoRowsError(f"{name} is empty.")
    n_titles, delimiter = find_preamble(first)
    first = first.split(b"\n", n_titles)[-1].lstrip(b"\n")
    ends = source.find_line_ends(np.frombuffer(first, dtype=np.uint8))
    end = int(ends[0]) if ends.size else len(first)
    try:
        header, block = first[:end].decode(), first[end + 1 :]
    except UnicodeDecodeError as error:
        raise TableError(_explain_parse_error(first[:end], f"the header of {name}", 1)) from error
    separator = table.delimiter or delimiter or _guess_delimiter(header)
    columns = _parse_header(header, separator, name)

    def parse(block: bytes, line: int) -> pl.DataFrame:
        block = _check_fields(block, len(columns), separator, name, line)
        schema = dict.fromkeys(columns, pl.String)
        try:
            return pl.read_csv(
                block, has_header=False, separator=separator, schema=schema, raise_if_empty=False
            )
        except pl.exceptions.PolarsError as error:
            raise TableError(_explain_parse_error(block, name, line)) from error

    yield from _parse_blocks(
        chain([block] if block else [], blocks),
        parse,
        f"{name} has a header but no rows.",
        row=1 + skipped[0],
        line=2 + header.count("\n") + n_titles + skipped[1],
        decimal_comma=separator != ",",
    )


def find_preamble(text: bytes) -> tuple[int, str | None]:
    """Return the number of lines above the header, and the delimiter that they specify, if any.

    These are Excel's line ``sep=;``, or else a title and comments: lines with a single value, or that begin
    with #, above a line of names with which the number of values begins to be the same in each line.
    """
    known = text.removeprefix(codecs.BOM_UTF8).split(b"\n")[: MAX_TITLE_LINES + MIN_TABLE_LINES + 1]
    lines = [line.decode(errors="replace") for line in known[:-1]]
    if lines and (found := _SEPARATOR_LINE.fullmatch(lines[0])):
        return 1, found[1]
    if not lines or '"' in lines[0]:
        return 0, None
    for number, line in enumerate(lines[:MAX_TITLE_LINES]):
        if number and _begins_table(lines[number : number + MIN_TABLE_LINES + 1]):
            return number, None
        if line.strip() and not line.startswith("#") and any(map(line.count, DELIMITER_NAMES)):
            break
    return 0, None


def _begins_table(lines: list[str]) -> bool:
    """Whether the lines are a header followed by rows with as many values."""
    delimiter = max(DELIMITER_NAMES, key=lines[0].count)
    counts = {line.count(delimiter) for line in lines if line.strip()}
    names = [name.strip() for name in lines[0].split(delimiter)]
    has_names = not any(_NUMBER.fullmatch(name) for name in names) and sum(map(bool, names)) * 2 > len(names)
    return len(lines) >= MIN_TABLE_LINES and len(counts) == 1 and counts != {0} and has_names


def _split_fields(header: str, separator: str) -> list[str]:
    previous_limit = csv.field_size_limit(source.MAX_LINE_SIZE)
    try:
        return next(csv.reader(io.StringIO(header), delimiter=separator), [])
    except csv.Error as error:
        raise TableError(f"the header cannot be parsed: {error}.") from error
    finally:
        csv.field_size_limit(previous_limit)


def _guess_delimiter(header: str) -> str:
    """The delimiter that splits the header into the most columns."""
    return max(DELIMITER_NAMES, key=lambda delimiter: len(_split_fields(header, delimiter)))


def _parse_header(header: str, separator: str, name: str) -> list[str]:
    """The column names; an empty one is replaced by the column's number."""
    fields = [field.strip() for field in _split_fields(header, separator)]
    columns = [field or f"column_{number}" for number, field in enumerate(fields, start=1)]
    guess = _guess_delimiter(header)
    if len(columns) == 1 and len(_split_fields(header, guess)) > 1:
        raise TableError(
            f"{name} has only one column, {_shorten(columns[0])!r}, with "
            f"{DELIMITER_NAMES.get(separator, repr(separator))} as the delimiter. Its delimiter seems to be "
            f"{DELIMITER_NAMES[guess]}."
        )
    if len(columns) > MAX_COLUMNS:
        raise TableError(f"{name} has {len(columns):,} columns; at most {MAX_COLUMNS:,} are supported.")
    if repeated := sorted(column for column, count in Counter(columns).items() if count > 1):
        shown = ", ".join(repr(_shorten(column)) for column in repeated[:5])
        verb = "appear" if len(repeated) > 1 else "appears"
        raise TableError(
            f"the column names of {name} must be unique: {shown} {verb} more than once. Rename all but one."
        )
    return columns


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_NAME else text[: MAX_SHOWN_NAME - 3] + "..."


def _explain_parse_error(block: bytes, name: str, line: int) -> str:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        invalid_line = line + block[: error.start].count(b"\n")
        return (
            f"{name} is not valid UTF-8: line {invalid_line:,} contains the byte "
            f"0x{block[error.start]:02x}. Set the encoding of the file, for example --encoding cp1252. If "
            "it was joined from files with different encodings, convert them to one encoding first."
        )
    return (
        f"{name} cannot be parsed from line {line:,} on because of its quotes. A value that contains "
        "quotes or delimiters must be quoted, with the quotes inside it doubled."
    )


def _check_fields(block: bytes, n_columns: int, separator: str, name: str, line: int) -> bytes:
    """Check the number of fields in each line, and return the block without blank lines.

    Polars would fill short lines with missing values.
    """
    text = np.frombuffer(block, dtype=np.uint8)
    ends = source.find_line_ends(text)
    if ends.size == 0 or ends[-1] != len(text) - 1:
        raise TableError(f"{name} has an unclosed quote in or after line {line:,}.")
    delimiters = np.flatnonzero(source.is_outside_quotes(text, ord(separator)))
    n_fields = np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1
    starts = np.append(0, ends[:-1] + 1)
    blank = (ends == starts) & (n_columns > 1)
    wrong = np.flatnonzero((n_fields != n_columns) & ~blank)
    if wrong.size:
        wrong_line = line + block[: starts[wrong[0]]].count(b"\n")
        raise TableError(
            f"line {wrong_line:,} of {name} has {n_fields[wrong[0]]} values, but the header has {n_columns} "
            "columns. Correct the line, or set the delimiter with --delimiter."
        )
    return np.delete(text, ends[blank]).tobytes() if blank.any() else block


def _read_json_lines(
    stream: io.BufferedReader, head: bytes, name: str, encoding: str | None
) -> Iterator[Batch]:
    """Yield the rows in batches; a key that a line lacks is a missing value."""
    columns = dict[str, None]()

    def parse(block: bytes, line: int) -> pl.DataFrame:
        if not block.strip():
            return pl.DataFrame()
        try:
            frame = _flatten_structs(pl.read_ndjson(io.BytesIO(block), infer_schema_length=None))
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise TableError(
                f"{name} cannot be read as JSON lines from line {line:,} on: {_first_line(error)}. Each line "
                'must be one object, such as {"age": 31, "town": "Ulm"}.'
            ) from error
        columns.update(dict.fromkeys(frame.columns))
        absent = [pl.lit(None, pl.String).alias(column) for column in columns if column not in frame.columns]
        return frame.with_columns(absent).select(list(columns))

    lines = source.complete_lines(source.read_text(stream, head, name, encoding), name)
    return _parse_blocks(lines, parse, f"{name} is empty.")


def _read_whole(format: str, stream: io.BufferedReader, name: str) -> Batch:
    """Read all rows of a Feather file, or of a JSON array of objects."""
    content = io.BytesIO(stream.read().removeprefix(codecs.BOM_UTF8))
    what = "an Arrow or Feather file"
    try:
        if format == "json":
            what = 'a JSON array of objects, such as [{"age": 31, "town": "Ulm"}]'
            frame = pl.read_json(content, infer_schema_length=None)
        else:
            frame = pl.read_ipc(content)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise TableError(f"{name} cannot be read as {what}: {_first_line(error)}.") from error
    if not frame.height:
        raise NoRowsError(f"{name} has no rows.")
    return Batch(_flatten_structs(frame), 1)


def _flatten_structs(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace each column of objects by one column for each field, such as ``user.age``, at any depth."""
    while nested := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
        prefixed = [pl.col(name).name.prefix_fields(f"{name}.") for name in nested]
        frame = frame.with_columns(prefixed).unnest(nested)
    return frame


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")


#: Rows per batch.
PARQUET_BATCH_SIZE = 20_000


def read_parquet(
    table: TableReader, stream: io.BufferedReader, start: int = 0, n_rows: int | None = None
) -> Iterator[Batch]:
    """Yield the rows in batches: all of them, or `n_rows` from the row `start`, counted from 0."""
    row = start + 1
    with _scan_parquet(table, stream) as frame:
        rows = frame.slice(start, n_rows)
        for part in rows.collect_batches(chunk_size=PARQUET_BATCH_SIZE, maintain_order=True):
            if part.height:
                yield Batch(_flatten_structs(part), row)
            row += part.height
    if row == start + 1:
        raise NoRowsError(f"{table.name} has columns but no rows.")


def count_parquet(table: TableReader) -> tuple[int, int]:
    """The numbers of rows and columns, from the metadata."""
    with source.open_decompressed(table.path, table.name) as stream, _scan_parquet(table, stream) as frame:
        return int(frame.select(pl.len()).collect().item()), len(frame.collect_schema())


@contextmanager
def _scan_parquet(table: TableReader, stream: io.BufferedReader) -> Iterator[pl.LazyFrame]:
    """Scan an uncompressed file in place, and anything else in memory."""
    is_plain = table.path != "-" and table.path.lower() == _uncompressed_name(table.path)
    try:
        if is_plain and Path(table.path).is_file():
            yield pl.scan_parquet(table.path, glob=False)
        else:
            yield pl.scan_parquet(io.BytesIO(stream.read()), glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TableError(f"{table.name} cannot be read as a Parquet file: {_first_line(error)}.") from error


#: The name that the library gives to an unnamed column, with its position counted from 0.
_UNNAMED = "__UNNAMED__{}"
#: Largest number of rows above the header, such as a title.
MAX_TITLE_ROWS = 20


def _read_excel(stream: io.BufferedReader, name: str, sheet: str | None) -> Iterator[Batch]:
    """Yield all rows of a sheet, by default the first, whose first row holds the names of the columns.

    A title and other rows above the names are left out: rows that are not filled to the last column.
    """
    content = stream.read()
    try:
        import fastexcel  # noqa: PLC0415 (an optional package)

        names = fastexcel.read_excel(content).sheet_names
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{name} is an Excel file, which needs fastexcel: pip install 'capo-learn[excel]', or save the "
            "sheet as CSV."
        ) from error
    except Exception as error:  # the errors of the library have no common base
        raise TableError(f"{name} cannot be read as an Excel file: {error}.") from error
    if sheet is None and len(names) > 1:
        others = ", ".join(map(repr, names[1:]))
        warnings.warn(
            f"{name} has {len(names)} sheets, and the first, {names[0]!r}, is read: --sheet chooses "
            f"another ({others}).",
            stacklevel=2,
        )
    if sheet is not None and sheet not in names:
        raise TableError(f"{name} has no sheet {sheet!r}: it has {', '.join(map(repr, names))}.")
    read = partial(
        pl.read_excel,
        content,
        sheet_name=sheet or names[0],
        engine="calamine",
        infer_schema_length=None,
    )
    try:
        frame = read()
        unnamed = [column == _UNNAMED.format(position) for position, column in enumerate(frame.columns)]
        if frame.width > 1 and unnamed[-1] and 2 * sum(unnamed) >= frame.width:
            top = read(read_options={"n_rows": MAX_TITLE_ROWS}, has_header=False, drop_empty_rows=False)
            is_complete = top.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
            frame = read(read_options={"header_row": int(is_complete.arg_max() or 0)})
    except Exception as error:
        raise TableError(f"{name} cannot be read as an Excel file: {error}.") from error
    if not frame.height:
        raise TableError(f"{name} has no rows in its sheet {sheet or names[0]!r}.")
    renamed = {_UNNAMED.format(position): f"column_{position + 1}" for position in range(frame.width)}
    yield Batch(frame.rename(renamed, strict=False), 1)


_FLOAT = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PAIR = rb"(?:qid:\d+|\d+:" + _FLOAT + rb")"
_SVMLIGHT_LINE = re.compile(rb"\s*(?:" + _FLOAT + rb"(?:\s+" + _PAIR + rb")*\s*)?(?:#.*)?")
#: A line that could not be one of a CSV file.
_TYPICAL_SVMLIGHT_LINE = re.compile(rb"\s*" + _FLOAT + rb"(?:[ \t]+" + _PAIR + rb")+\s*(?:#.*)?$")


def _read_svmlight(stream: io.BufferedReader, head: bytes, name: str) -> Iterator[Batch]:
    """Yield the rows in batches; column 0 always exists, even if the file counts features from 1."""

    def parse(block: bytes, line: int) -> SparseRows:
        for number, text in enumerate(block.splitlines(), start=line):
            if not _SVMLIGHT_LINE.fullmatch(text):
                raise TableError(
                    f"line {number:,} of {name} is not in svmlight format, 'label index:value index:value "
                    f"...': {text[:40].decode(errors='replace')!r}."
                )
        try:
            X, labels = load_svmlight_file(io.BytesIO(block), zero_based=True)
        except (ValueError, OverflowError) as error:
            raise TableError(
                f"{name} cannot be parsed from line {line:,} on: {_first_line(error)}."
            ) from error
        if not np.isfinite(X.data).all() or not np.isfinite(labels).all():
            raise TableError(f"{name} contains an infinite number in or after line {line:,}.")
        return SparseRows(X, labels)

    lines = source.complete_lines(source.read_text(stream, head, name), name)
    return _parse_blocks(lines, parse, f"{name} is empty.")
