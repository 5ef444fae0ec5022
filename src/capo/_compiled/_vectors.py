"""Vectors of one number per row: the kernels of one block of rows."""

from __future__ import annotations

from numba import types

from .._typing import FloatArray, IntArray
from ._compile import FLOAT64, FLOAT64_OUT, INT64_OUT, kernel


@kernel(types.void(FLOAT64, FLOAT64, types.float64, FLOAT64_OUT))
def add_scaled(a: FloatArray, b: FloatArray, factor: float, out: FloatArray) -> None:
    """``a + factor * b`` in `out`, which may be either of them."""
    for i in range(len(a)):
        out[i] = b[i] * factor + a[i]


@kernel(types.float64(FLOAT64, FLOAT64), sum_in_any_order=True)
def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel(types.UniTuple(types.float64, 2)(FLOAT64, FLOAT64, FLOAT64), sum_in_any_order=True)
def dot_both(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[float, float]:
    """The inner products of a with b and with c."""
    first = second = 0.0
    for i in range(len(a)):
        first += a[i] * b[i]
        second += a[i] * c[i]
    return first, second


@kernel(types.int64(FLOAT64, FLOAT64, types.int64, INT64_OUT, FLOAT64_OUT))
def find_changes(a: FloatArray, b: FloatArray, start: int, rows: IntArray, changes: FloatArray) -> int:
    """Put the positions where two vectors differ, plus `start`, and ``a - b`` there in arrays.

    Returns their number.
    """
    count = 0
    for i in range(len(a)):
        rows[count] = start + i
        changes[count] = a[i] - b[i]
        count += a[i] != b[i]
    return count
