"""Lines above the names of the columns in text files: a title, comments, Excel's line with the delimiter."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from ..exceptions import TableError
from .source import (
    MAX_LINE_SIZE,
    Batch,
    NoRowsError,
    find_line_ends,
    read_line_blocks,
    recode_to_utf8,
    unquoted_mask,
)

#: Delimiters that are detected, and their names in messages.
DELIMITER_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
#: Lines above the names of the columns, at most, and lines below that must have as many values.
MAX_TITLE_LINES, MIN_TABLE_LINES = 20, 3
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?')
_NUMBER = re.compile(r"[+-]?[\d.,]+%?")


class Preamble(NamedTuple):
    """What is above the names of the columns: its size in bytes and lines, and a delimiter that it names."""

    n_bytes: int = 0
    n_lines: int = 0
    delimiter: str | None = None


def find_preamble(text: bytes) -> Preamble:
    """Find the lines above the names of the columns in the beginning of a file in UTF-8.

    These are Excel's line ``sep=;``, or else a title and comments: lines with a single value, or that begin
    with #, above a line of names with which the number of values begins to be the same in each line.
    """
    lines = text.removeprefix(codecs.BOM_UTF8).split(b"\n")[: MAX_TITLE_LINES + MIN_TABLE_LINES + 1]
    known = [line.decode(errors="replace") for line in lines[:-1]]
    if known and (found := _SEPARATOR_LINE.fullmatch(known[0])):
        return Preamble(_n_bytes(text, 1), 1, found[1])
    n_lines = _count_title_lines(known)
    return Preamble(_n_bytes(text, n_lines), n_lines) if n_lines else Preamble()


def _n_bytes(text: bytes, n_lines: int) -> int:
    return sum(len(line) + 1 for line in text.split(b"\n", n_lines)[:n_lines])


def _count_title_lines(lines: list[str]) -> int:
    """The number of lines above the names of the columns; 0 if the first line may hold them."""
    if '"' in "".join(lines[:1]):
        return 0
    for number, line in enumerate(lines[:MAX_TITLE_LINES]):
        if number and _begins_table(lines[number : number + MIN_TABLE_LINES + 1]):
            return number
        if line.strip() and not line.startswith("#") and _max_fields(line) > 1:
            return 0
    return 0


def _begins_table(lines: list[str]) -> bool:
    """Whether the lines are names of columns and rows with as many values."""
    delimiter = max(DELIMITER_NAMES, key=lines[0].count)
    counts = {line.count(delimiter) for line in lines if line.strip()}
    names = [name.strip() for name in lines[0].split(delimiter)]
    has_names = not any(_NUMBER.fullmatch(name) for name in names) and sum(map(bool, names)) * 2 > len(names)
    return len(lines) >= MIN_TABLE_LINES and len(counts) == 1 and counts != {0} and has_names


def _max_fields(line: str) -> int:
    return 1 + max(map(line.count, DELIMITER_NAMES))


MAX_COLUMNS = 100_000
#: Longer names are shortened in messages.
MAX_SHOWN_NAME = 40


class Skipped(NamedTuple):
    """Rows and lines of a file that are not read; they are counted in messages."""

    n_rows: int
    n_lines: int


NOTHING_SKIPPED = Skipped(0, 0)


def read_delimited(
    stream: io.BufferedReader,
    head: bytes,
    name: str,
    delimiter: str | None,
    encoding: str | None,
    *,
    skipped: Skipped = NOTHING_SKIPPED,
) -> Iterator[Batch]:
    """Yield the rows after the header in batches of text columns.

    `skipped` is what the file has between its header and the first row of the stream.
    """
    blocks = read_line_blocks(recode_to_utf8(stream, head, encoding, name), name)
    first = next(blocks, b"").lstrip(b"\n")
    if not first.strip():
        raise NoRowsError(f"{name} is empty.")
    preamble = find_preamble(first)
    header, block = _split_header(first[preamble.n_bytes :].lstrip(b"\n"))
    separator = delimiter or preamble.delimiter or _guess_delimiter(header)
    columns = _parse_header(header, separator, name)
    block = block or next(blocks, b"")
    row, line = 1 + skipped.n_rows, 2 + header.count("\n") + preamble.n_lines + skipped.n_lines
    while block:
        frame = _parse_block(block, columns, separator, name, line)
        if frame.height:
            yield Batch(frame, row, decimal_comma=separator != ",")
        row, line = row + frame.height, line + block.count(b"\n")
        block = next(blocks, b"")
    if row == 1 + skipped.n_rows:
        raise NoRowsError(f"{name} has a header but no rows.")


def _split_header(block: bytes) -> tuple[str, bytes]:
    """The first line and the rest of a block."""
    ends = find_line_ends(np.frombuffer(block, dtype=np.uint8))
    end = int(ends[0]) if ends.size else len(block)
    line = block[:end]
    try:
        return line.decode(), block[end + 1 :]
    except UnicodeDecodeError as error:
        raise TableError(
            f"the header is not valid UTF-8 (byte 0x{line[error.start]:02x}): give the encoding of the file, "
            "for example --encoding cp1252."
        ) from error


def _split_fields(header: str, separator: str) -> list[str]:
    previous_limit = csv.field_size_limit(MAX_LINE_SIZE)
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
    _check_unique(columns, name)
    return columns


def _check_unique(columns: list[str], name: str) -> None:
    repeated = sorted(column for column, count in Counter(columns).items() if count > 1)
    if repeated:
        shown = ", ".join(repr(_shorten(column)) for column in repeated[:5])
        verb = "appear" if len(repeated) > 1 else "appears"
        raise TableError(
            f"the column names of {name} must be unique: {shown} {verb} more than once. Rename all but one."
        )


def _parse_block(block: bytes, columns: list[str], separator: str, name: str, line: int) -> pl.DataFrame:
    block = _check_lines(block, len(columns), separator, name, line)
    try:
        return pl.read_csv(
            block,
            has_header=False,
            separator=separator,
            schema=dict.fromkeys(columns, pl.String),
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError as error:
        raise TableError(_parse_error_message(block, name, line)) from error


def _parse_error_message(block: bytes, name: str, line: int) -> str:
    position = _find_invalid_utf8(block)
    if position is None:
        return (
            f"{name} cannot be parsed from line {line:,} on because of its quotes. A value that contains "
            "quotes or delimiters must be quoted, with the quotes inside it doubled."
        )
    invalid_line = line + block[:position].count(b"\n")
    return (
        f"{name} is not valid UTF-8: line {invalid_line:,} contains the byte "
        f"0x{block[position]:02x}. Give the encoding of the file, for example --encoding cp1252. If it was "
        "joined from files with different encodings, convert them to one encoding first."
    )


def _find_invalid_utf8(block: bytes) -> int | None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _check_lines(block: bytes, n_columns: int, separator: str, name: str, line: int) -> bytes:
    """Check the number of fields in each line, and return the block without blank lines."""
    text = np.frombuffer(block, dtype=np.uint8)
    ends, delimiters, unquoted = find_line_ends(text), text == ord(separator), unquoted_mask(text)
    if ends.size == 0 or ends[-1] != len(text) - 1:
        raise TableError(f"{name} has an unclosed quote in or after line {line:,}.")
    positions = np.flatnonzero(delimiters if unquoted is None else delimiters & unquoted)
    n_fields = np.diff(np.searchsorted(positions, ends), prepend=0) + 1
    starts = np.append(0, ends[:-1] + 1)
    blank = (ends == starts) if n_columns > 1 else np.zeros(len(ends), dtype=bool)
    wrong = np.flatnonzero((n_fields != n_columns) & ~blank)
    if wrong.size:
        wrong_line = line + block[: starts[wrong[0]]].count(b"\n")
        raise TableError(
            f"line {wrong_line:,} of {name} has {n_fields[wrong[0]]} values, but the header has {n_columns} "
            "columns. Correct the line, or give the delimiter with --delimiter."
        )
    if not blank.any():
        return block
    keep = np.ones(len(text), dtype=bool)
    keep[ends[blank]] = False
    return text[keep].tobytes()


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_NAME else text[: MAX_SHOWN_NAME - 3] + "..."
