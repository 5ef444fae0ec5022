"""Vectors of one number per row: the kernels of one block of rows."""

from __future__ import annotations

from numba import types

from .._typing import FloatArray
from ._compile import FLOAT64, FLOAT64_OUT, kernel


@kernel(types.void(FLOAT64, FLOAT64, types.float64, FLOAT64_OUT))
def add_scaled(a: FloatArray, b: FloatArray, factor: float, out: FloatArray) -> None:
    """``a + factor * b`` in `out`, which may be either of them."""
    for i in range(len(a)):
        product = b[i] * factor
        out[i] = product + a[i]
