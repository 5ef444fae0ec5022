"""Hinges of rows with prices: the kernel of one block of rows."""

from __future__ import annotations

from numba import types

from .._typing import BoolArray, FloatArray
from ._compile import BOOL, FLOAT64, FLOAT64_OUT, kernel


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
