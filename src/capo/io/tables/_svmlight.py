"""Reader of the svmlight (LIBSVM) format: a label, then index:value pairs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_svmlight_file

from ...exceptions import TableError
from ._batch import Batch, NoRowsError, SparseRows
from ._line_blocks import read_line_blocks, recode_to_utf8

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
        rows = _parse_block(block, name, line)
        if len(rows):
            yield Batch(rows, row)
        row, line = row + len(rows), line + block.count(b"\n")
    if row == 1:
        raise NoRowsError(f"{name} is empty.")


def _parse_block(block: bytes, name: str, first_line: int) -> SparseRows:
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
