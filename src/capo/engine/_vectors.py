"""Operations on vectors of one number per row; long ones are divided into blocks, and these among threads.

The blocks, and so the sums, do not depend on the number of threads.
"""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np

from .._compiled import load_kernels
from .._threads import map_in_threads
from .._typing import FloatArray, IntArray
from ..design import iter_row_blocks

#: Vectors of up to this length are not divided.
MAX_UNDIVIDED = 2**18
#: Numbers of a block.
BLOCK_LENGTH = 2**16
#: Steps of the kernels for each row in a fit of some thirty iterations.
STEPS_PER_ROW = 500


def _blocks(length: int) -> list[slice]:
    return list(iter_row_blocks(length, 1, BLOCK_LENGTH))


def _load_kernels(*vectors: FloatArray) -> ModuleType | None:
    """The compiled kernels for long vectors, if there are any."""
    plain = all(vector.dtype == np.float64 and vector.flags.c_contiguous for vector in vectors)
    return load_kernels("vectors", STEPS_PER_ROW * len(vectors[0])) if plain else None


def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product."""
    if len(a) <= MAX_UNDIVIDED:
        return float(a @ b)
    kernels = _load_kernels(a, b)
    multiply = np.dot if kernels is None else kernels.dot
    return math.fsum(map_in_threads(lambda rows: float(multiply(a[rows], b[rows])), _blocks(len(a))))


def dot_both(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[float, float]:
    """The inner products of a with b and with c, in one pass."""
    if len(a) <= MAX_UNDIVIDED:
        return float(a @ b), float(a @ c)
    kernels = _load_kernels(a, b, c)

    def multiply(rows: slice) -> tuple[float, float]:
        if kernels is None:
            return float(a[rows] @ b[rows]), float(a[rows] @ c[rows])
        first, second = kernels.dot_both(a[rows], b[rows], c[rows])
        return first, second

    first, second = zip(*map_in_threads(multiply, _blocks(len(a))), strict=True)
    return math.fsum(first), math.fsum(second)


def add_scaled(a: FloatArray, b: FloatArray, factor: float, out: FloatArray) -> FloatArray:
    """``a + factor * b`` in `out`, which may be b."""
    if len(a) <= MAX_UNDIVIDED:
        np.multiply(b, factor, out=out)
        return np.add(out, a, out=out)
    kernels = _load_kernels(a, b, out)

    def add(rows: slice) -> None:
        if kernels is not None:
            kernels.add_scaled(a[rows], b[rows], factor, out[rows])
            return
        np.multiply(b[rows], factor, out=out[rows])
        np.add(out[rows], a[rows], out=out[rows])

    map_in_threads(add, _blocks(len(a)))
    return out


def subtract(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a - b``, in a."""
    if len(a) <= MAX_UNDIVIDED:
        return np.subtract(a, b, out=a)

    def subtract_block(rows: slice) -> None:
        np.subtract(a[rows], b[rows], out=a[rows])

    map_in_threads(subtract_block, _blocks(len(a)))
    return a


def find_changes(a: FloatArray, b: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """The positions where a differs from b, or from 0, and the differences there."""
    if len(a) <= MAX_UNDIVIDED:
        return _find_in_block(a, b)
    kernels = None if b is None else _load_kernels(a, b)

    def find(block: slice) -> tuple[IntArray, FloatArray]:
        if kernels is None or b is None:
            rows, changes = _find_in_block(a[block], None if b is None else b[block])
            return rows + block.start, changes
        rows, changes = np.empty(block.stop - block.start, dtype=np.int64), np.empty(len(a[block]))
        count = kernels.find_changes(a[block], b[block], block.start, rows, changes)
        return rows[:count].copy(), changes[:count].copy()

    found = map_in_threads(find, _blocks(len(a)))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([changes for _, changes in found])


def _find_in_block(a: FloatArray, b: FloatArray | None) -> tuple[IntArray, FloatArray]:
    rows = np.flatnonzero(a if b is None else a != b)
    return rows, a[rows] if b is None else a[rows] - b[rows]
