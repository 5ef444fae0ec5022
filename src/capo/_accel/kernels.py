"""Loops over rows that Numba compiles.

Four rows at a time: each number of the vector is loaded once for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types

from .._compat import BoolArray, FloatArray, IntArray, NDArray

#: Arrays in C order; those that a kernel only reads may be write-protected, such as those mapped from a file.
FLOAT64_OUT = types.float64[::1]
INT32_OUT = types.int32[::1]
INT64_OUT = types.int64[::1]


def read_only(dtype: Any, n_dimensions: int = 1) -> Any:
    """The type of an array in C order that a kernel only reads."""
    return types.Array(dtype, n_dimensions, "C", readonly=True)


FLOAT64 = read_only(types.float64)
INT32 = read_only(types.int32)
INT64 = read_only(types.int64)
BOOL = read_only(types.boolean)


def kernel(*signatures: Any, sum_in_any_order: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile for these types of arguments, and store the result in Numba's cache.

    With other types a call raises a TypeError: nothing is compiled during a fit. `sum_in_any_order` lets the
    compiler add in parallel and fuse products with sums, which BLAS does too.
    """
    allowed = {"reassoc", "contract", "nsz"} if sum_in_any_order else False
    return numba.njit(list(signatures), cache=True, nogil=True, fastmath=allowed, error_model="numpy")


@kernel(types.void(FLOAT64, BOOL, types.float64, types.float64, types.float64, types.int64, INT32_OUT))
def find_slots(
    scores: FloatArray,
    positive: BoolArray,
    margin: float,
    low: float,
    factor: float,
    n_slots: int,
    out: IntArray,
) -> None:
    """The bin of each row, plus `n_slots` for a positive.

    A loop without sums uses vector registers. No slot is outside of the arrays, whatever the scores are.
    """
    offset, last = np.int32(n_slots), np.int32(n_slots - 1)
    for i in range(len(scores)):
        value = scores[i] - margin * positive[i]
        slot = np.int32((value - low) * factor)
        out[i] = min(max(slot, np.int32(0)), last) + offset * np.int32(positive[i])


@kernel(types.void(INT32, FLOAT64, FLOAT64_OUT))
def add_weights(slots: IntArray, weight: FloatArray, mass: FloatArray) -> None:
    """Add the weight of each row to its slot; 1 for each row if there are no weights."""
    has_weight = len(weight) > 0
    for i in range(len(slots)):
        mass[slots[i]] += weight[i] if has_weight else 1.0


@kernel(types.void(INT32, FLOAT64, FLOAT64, FLOAT64_OUT, FLOAT64_OUT))
def add_weights_and_scores(
    slots: IntArray, weight: FloatArray, scores: FloatArray, mass: FloatArray, total: FloatArray
) -> None:
    """Add the weight and the weighted score of each row to its slot."""
    has_weight = len(weight) > 0
    for i in range(len(slots)):
        row_weight = weight[i] if has_weight else 1.0
        mass[slots[i]] += row_weight
        total[slots[i]] += scores[i] * row_weight


@kernel(types.void(FLOAT64, INT32, FLOAT64, FLOAT64_OUT))
def take(table: FloatArray, slots: IntArray, weight: FloatArray, out: FloatArray) -> None:
    """The number of each row's slot, times the weight of the row if there are weights."""
    has_weight = len(weight) > 0
    for i in range(len(slots)):
        out[i] = table[slots[i]] * (weight[i] if has_weight else 1.0)


@kernel(types.float64(FLOAT64, FLOAT64, BOOL, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def mark_errors(
    scores: FloatArray, limit: FloatArray, negative: BoolArray, slope: FloatArray, out: FloatArray
) -> float:
    """The slope of each row with a score on the wrong side of its limit; returns the sum of their prices."""
    loss = 0.0
    for i in range(len(scores)):
        is_error = (scores[i] < limit[i]) != negative[i]
        coef = slope[i] if is_error else 0.0
        out[i] = coef
        loss += limit[i] * coef
    return loss


_ROWS = read_only(types.float32, 2)


@kernel(types.void(_ROWS, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def matvec(X: NDArray[np.float32], v: FloatArray, out: FloatArray) -> None:
    """``X v``."""
    n_rows, n_columns = X.shape
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        a = b = c = d = 0.0
        for j in range(n_columns):
            a += X[i, j] * v[j]
            b += X[i + 1, j] * v[j]
            c += X[i + 2, j] * v[j]
            d += X[i + 3, j] * v[j]
        out[i] = a
        out[i + 1] = b
        out[i + 2] = c
        out[i + 3] = d
    for i in range(whole, n_rows):
        a = 0.0
        for j in range(n_columns):
            a += X[i, j] * v[j]
        out[i] = a


@kernel(types.void(_ROWS, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def add_rmatvec(X: NDArray[np.float32], coef: FloatArray, out: FloatArray) -> None:
    """Add ``X' coef`` to `out`."""
    n_rows, n_columns = X.shape
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        a, b, c, d = coef[i], coef[i + 1], coef[i + 2], coef[i + 3]
        for j in range(n_columns):
            out[j] += X[i, j] * a + X[i + 1, j] * b + X[i + 2, j] * c + X[i + 3, j] * d
    for i in range(whole, n_rows):
        a = coef[i]
        for j in range(n_columns):
            out[j] += X[i, j] * a


@kernel(types.void(_ROWS, INT64, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def add_rmatvec_rows(X: NDArray[np.float32], rows: IntArray, values: FloatArray, out: FloatArray) -> None:
    """Add ``X[rows]' values`` to `out`."""
    n_rows, n_columns = len(rows), X.shape[1]
    whole = n_rows - n_rows % 4
    for k in range(0, whole, 4):
        a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
        row_a, row_b, row_c, row_d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for j in range(n_columns):
            out[j] += X[row_a, j] * a + X[row_b, j] * b + X[row_c, j] * c + X[row_d, j] * d
    for k in range(whole, n_rows):
        row_a, a = rows[k], values[k]
        for j in range(n_columns):
            out[j] += X[row_a, j] * a


@kernel(types.void(_ROWS, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def abs_matvec(X: NDArray[np.float32], size: FloatArray, out: FloatArray) -> None:
    """``|X| size``."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += abs(X[i, j]) * size[j]
        out[i] = total


@kernel(types.void(_ROWS, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def add_abs_rmatvec(X: NDArray[np.float32], size: FloatArray, out: FloatArray) -> None:
    """Add ``|X|' size`` to `out`."""
    for i in range(X.shape[0]):
        a = size[i]
        for j in range(X.shape[1]):
            out[j] += abs(X[i, j]) * a


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
