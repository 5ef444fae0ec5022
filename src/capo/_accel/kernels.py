"""Loops over rows that Numba compiles."""

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


def read_only(dtype: Any, n_dimensions: int = 1) -> Any:
    """The type of an array in C order that a kernel only reads."""
    return types.Array(dtype, n_dimensions, "C", readonly=True)


FLOAT64 = read_only(types.float64)
INT32 = read_only(types.int32)
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


@kernel(types.void(INT32, FLOAT64, FLOAT64, FLOAT64_OUT, FLOAT64_OUT))
def add_to_slots(
    slots: IntArray, weight: FloatArray, scores: FloatArray, mass: FloatArray, total: FloatArray
) -> None:
    """Add the weight of each row to its slot, and its weighted score if `total` is not empty.

    Without weights, all weights are 1.
    """
    has_weight, has_total = len(weight) > 0, len(total) > 0
    for i in range(len(slots)):
        row_weight = weight[i] if has_weight else 1.0
        mass[slots[i]] += row_weight
        if has_total:
            total[slots[i]] += scores[i] * row_weight


@kernel(types.void(FLOAT64, INT32, FLOAT64, FLOAT64_OUT))
def take(table: FloatArray, slots: IntArray, weight: FloatArray, out: FloatArray) -> None:
    """The number of each row's slot, times the weight of the row if there are weights."""
    has_weight = len(weight) > 0
    for i in range(len(slots)):
        out[i] = table[slots[i]] * (weight[i] if has_weight else 1.0)


_ROWS = read_only(types.float32, 2)


@kernel(types.void(_ROWS, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def matvec(X: NDArray[np.float32], v: FloatArray, out: FloatArray) -> None:
    """``X v``."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * v[j]
        out[i] = total


@kernel(types.void(_ROWS, FLOAT64, FLOAT64_OUT), sum_in_any_order=True)
def add_rmatvec(X: NDArray[np.float32], coef: FloatArray, out: FloatArray) -> None:
    """Add ``X' coef`` to `out`, four rows at a time: each number of `out` is loaded once for them."""
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
