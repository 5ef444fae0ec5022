"""Rows in bins of their scores: the kernels of one block of rows. They give the bits that NumPy gives."""

from __future__ import annotations

import numpy as np
from numba import types

from .._typing import BoolArray, FloatArray, IntArray
from ._compile import BOOL, FLOAT64, FLOAT64_OUT, INT32, INT32_OUT, kernel


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
    if len(weight) == 0:
        for i in range(len(slots)):
            mass[slots[i]] += 1.0
    else:
        for i in range(len(slots)):
            mass[slots[i]] += weight[i]


@kernel(types.void(INT32, FLOAT64, FLOAT64, FLOAT64_OUT, FLOAT64_OUT))
def add_weights_and_scores(
    slots: IntArray, weight: FloatArray, scores: FloatArray, mass: FloatArray, total: FloatArray
) -> None:
    """Add the weight and the weighted score of each row to its slot."""
    if len(weight) == 0:
        for i in range(len(slots)):
            mass[slots[i]] += 1.0
            total[slots[i]] += scores[i]
    else:
        for i in range(len(slots)):
            mass[slots[i]] += weight[i]
            total[slots[i]] += scores[i] * weight[i]


@kernel(types.void(FLOAT64, INT32, FLOAT64, FLOAT64_OUT))
def take(table: FloatArray, slots: IntArray, weight: FloatArray, out: FloatArray) -> None:
    """The number of each row's slot, times the weight of the row if there are weights."""
    if len(weight) == 0:
        for i in range(len(slots)):
            out[i] = table[slots[i]]
    else:
        for i in range(len(slots)):
            out[i] = table[slots[i]] * weight[i]
