"""Lines above the names of the columns in text files: a title, comments, Excel's line with the delimiter."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

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
