"""Products with rows in float32, summed in float64 without a copy: the kernels of one block of rows.

Four rows at a time: each number of the vector is loaded once for them.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ._compile import FLOAT64, FLOAT64_OUT, INT64, kernel, read_only

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
    n_rows, n_columns = X.shape
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        a, b, c, d = size[i], size[i + 1], size[i + 2], size[i + 3]
        for j in range(n_columns):
            first = abs(X[i, j]) * a + abs(X[i + 1, j]) * b
            out[j] += first + (abs(X[i + 2, j]) * c + abs(X[i + 3, j]) * d)
    for i in range(whole, n_rows):
        a = size[i]
        for j in range(n_columns):
            out[j] += abs(X[i, j]) * a
