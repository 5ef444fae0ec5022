"""Operations on vectors of one number per row; long ones are divided into blocks, and these among threads.

The blocks, and so the sums, do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from .._threads import map_in_threads
from .._typing import BoolArray, FloatArray
from ..design import iter_row_blocks

#: Vectors of up to this length are not divided.
MAX_UNDIVIDED = 2**18
#: Numbers of a block.
BLOCK_LENGTH = 2**16


def _blocks(length: int) -> list[slice]:
    return list(iter_row_blocks(length, 1, BLOCK_LENGTH))


def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product."""
    if len(a) <= MAX_UNDIVIDED:
        return float(a @ b)
    return math.fsum(map_in_threads(lambda rows: float(a[rows] @ b[rows]), _blocks(len(a))))


def add_scaled(a: FloatArray, b: FloatArray, factor: float, out: FloatArray) -> FloatArray:
    """``a + factor * b`` in `out`, which may be b."""

    def add(rows: slice) -> None:
        np.multiply(b[rows], factor, out=out[rows])
        np.add(out[rows], a[rows], out=out[rows])

    map_in_threads(add, [slice(None)] if len(a) <= MAX_UNDIVIDED else _blocks(len(a)))
    return out


def differs(a: FloatArray, b: FloatArray) -> BoolArray:
    """Where two vectors differ."""
    out = np.empty(len(a), dtype=bool)

    def compare(rows: slice) -> None:
        np.not_equal(a[rows], b[rows], out=out[rows])

    map_in_threads(compare, [slice(None)] if len(a) <= MAX_UNDIVIDED else _blocks(len(a)))
    return out
