"""svmlight's and LIBSVM's format: a label, then index:value pairs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_svmlight_file

from ...exceptions import TableError
from ._batch import Batch, SparseRows
from ._line_blocks import as_utf8, blocks

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rb"\s*(?:" + _NUMBER + rb"(?:\s+(?:qid:\d+|\d+:" + _NUMBER + rb"))*\s*)?(?:#.*)?")
#: How a line looks that is in no other format.
LIKE = re.compile(rb"\s*" + _NUMBER + rb"(?:[ \t]+(?:qid:\d+|\d+:" + _NUMBER + rb"))+\s*(?:#.*)?$")
#: Features that a file may have.
LARGEST_INDEX = 2**31 - 2


def svmlight(stream: io.BufferedReader, head: bytes, name: str) -> Iterator[Batch]:
    """The rows; feature 0 is there, too, whether or not the file counts from 1."""
    row, line = 1, 1
    for block in blocks(as_utf8(stream, head, None, name), name):
        rows = _rows(block, name, line)
        if len(rows):
            yield Batch(rows, row)
        row, line = row + len(rows), line + block.count(b"\n")
    if row == 1:
        raise TableError(f"{name} is empty.")


def _rows(block: bytes, name: str, line: int) -> SparseRows:
    for number, text in enumerate(block.splitlines(), start=line):
        if not _LINE.fullmatch(text):
            shown = text[:40].decode(errors="replace")
            raise TableError(
                f"line {number:,} of {name} is not in svmlight's format, 'label index:value index:value ...'"
                f": {shown!r}."
            )
    try:
        X, labels = load_svmlight_file(io.BytesIO(block), zero_based=True)
    except (ValueError, OverflowError) as error:
        reason = str(error).rstrip(".")
        raise TableError(f"{name} cannot be read from line {line:,} on: {reason}.") from error
    if not np.isfinite(X.data).all() or not np.isfinite(labels).all():
        raise TableError(f"{name} holds infinite numbers, from line {line:,} on.")
    return SparseRows(X, labels)
