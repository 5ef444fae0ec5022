"""CSV, TSV and their like: every value as text, and every row of the same length."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from ...exceptions import TableError
from ._batch import Batch
from ._line_blocks import LONGEST_LINE, as_utf8, blocks, line_ends, outside_quotes

DELIMITERS = ",;\t|"
_CALLED = {"\t": "a tab", ",": "a comma", ";": "a semicolon", "|": "a bar"}
#: Columns that a table may have.
MOST_COLUMNS = 100_000


def delimited(
    stream: io.BufferedReader, head: bytes, name: str, delimiter: str | None, encoding: str | None
) -> Iterator[Batch]:
    """The rows after the header, as text, missing values as they are written."""
    parts = blocks(as_utf8(stream, head, encoding, name), name)
    first = next(parts, b"").lstrip(b"\n")
    if not first.strip():
        raise TableError(f"{name} is empty.")
    header, _, rest = _header(first)
    separator = delimiter or _likely(header)
    columns = _columns(header, separator, name)
    if not rest:
        rest = next(parts, b"")
    row, line = 1, 2 + header.count("\n")
    while rest:
        frame = _frame(rest, columns, separator, name, line)
        if frame.height:
            yield Batch(frame, row, separator != ",")
        row, line = row + frame.height, line + rest.count(b"\n")
        rest = next(parts, b"")
    if row == 1:
        raise TableError(f"{name} has a header but no rows.")


def _header(block: bytes) -> tuple[str, int, bytes]:
    """The first line, where it ends, and what follows."""
    ends = line_ends(np.frombuffer(block, dtype=np.uint8))
    end = int(ends[0]) if ends.size else len(block)
    return _text(block[:end], "the header"), end, block[end + 1 :]


def _text(line: bytes, what: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise TableError(
            f"{what} is not in UTF-8 (byte 0x{line[error.start]:02x}): give the encoding of the file, such "
            "as --encoding latin-1."
        ) from error


def _fields(header: str, separator: str) -> list[str]:
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        return next(csv.reader(io.StringIO(header), delimiter=separator), [])
    except csv.Error as error:
        raise TableError(f"the header cannot be read: {error}.") from error
    finally:
        csv.field_size_limit(before)


def _likely(header: str) -> str:
    """The delimiter that gives the header most columns."""
    return max(DELIMITERS, key=lambda each: len(_fields(header, each)))


def _columns(header: str, separator: str, name: str) -> list[str]:
    """The names in the header; a column without one gets its number."""
    found = [field.strip() for field in _fields(header, separator)]
    found = [field or f"column_{number}" for number, field in enumerate(found, start=1)]
    likely = _likely(header)
    if len(found) == 1 and len(_fields(header, likely)) > 1:
        raise TableError(
            f"{name} has one column, {_short(found[0])!r}, if values are separated by "
            f"{_CALLED.get(separator, repr(separator))}: it looks as if {_CALLED[likely]} separates them."
        )
    if len(found) > MOST_COLUMNS:
        raise TableError(f"{name} has {len(found):,} columns; at most {MOST_COLUMNS:,} can be read.")
    twice = sorted(field for field, times in Counter(found).items() if times > 1)
    if twice:
        named = ", ".join(repr(_short(each)) for each in twice[:5])
        raise TableError(f"the columns of {name} must have different names: {named} is there more than once.")
    return found


def _frame(block: bytes, columns: list[str], separator: str, name: str, line: int) -> pl.DataFrame:
    block = _checked(block, len(columns), separator, name, line)
    try:
        return pl.read_csv(
            block,
            has_header=False,
            separator=separator,
            schema=dict.fromkeys(columns, pl.String),
            empty_string_is_null=True,
        )
    except pl.exceptions.PolarsError as error:
        if (bad := _not_utf8(block)) is not None:
            where = line + block[:bad].count(b"\n")
            raise TableError(
                f"{name} is not in UTF-8: line {where:,} holds the byte 0x{block[bad]:02x}. Give the "
                "encoding of the file, such as --encoding latin-1; if files of several encodings were "
                "joined, write all of them in one."
            ) from error
        raise TableError(
            f"{name} cannot be read from line {line:,} on: its quotes do not follow the rules. A value with "
            "quotes or delimiters in it must be in quotes, with its own quotes doubled."
        ) from error


def _not_utf8(block: bytes) -> int | None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _checked(block: bytes, n_columns: int, separator: str, name: str, line: int) -> bytes:
    """The block without blank lines, every other line with as many fields as there are columns."""
    text = np.frombuffer(block, dtype=np.uint8)
    ends, marks, outside = line_ends(text), text == ord(separator), outside_quotes(text)
    if ends.size == 0 or ends[-1] != len(text) - 1:
        raise TableError(f"{name} has a quote that is not closed, in line {line:,} or after it.")
    places = np.flatnonzero(marks if outside is None else marks & outside)
    fields = np.diff(np.searchsorted(places, ends), prepend=0) + 1
    starts = np.append(0, ends[:-1] + 1)
    blank = (ends == starts) if n_columns > 1 else np.zeros(len(ends), dtype=bool)
    wrong = np.flatnonzero((fields != n_columns) & ~blank)
    if wrong.size:
        where = line + block[: starts[wrong[0]]].count(b"\n")
        raise TableError(
            f"line {where:,} of {name} has {fields[wrong[0]]} values, but the header has {n_columns} "
            "columns. Correct the line, or give the delimiter with --delimiter."
        )
    if not blank.any():
        return block
    keep = np.ones(len(text), dtype=bool)
    keep[ends[blank]] = False
    return text[keep].tobytes()


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
