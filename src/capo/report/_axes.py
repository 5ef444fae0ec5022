"""Axes of charts: they map numbers to positions, and have round numbers as ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ._formatting import use_minus_sign


@dataclass(frozen=True)
class Axis:
    """The interval from `low` to `high`, with labeled ticks."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    label: str

    def fraction(self, values: ArrayLike) -> FloatArray:
        """The position of each value along the axis, from 0 to 1."""
        return (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)


def unit_axis(label: str) -> Axis:
    """An axis from 0 to 1."""
    return Axis(0.0, 1.0, [(tenths / 10, f"{tenths / 10:g}") for tenths in range(0, 11, 2)], label)


def linear_axis(values: ArrayLike, label: str, *, include_zero: bool = False, n_ticks: int = 5) -> Axis:
    """An axis between the round numbers that enclose all values, with about `n_ticks` ticks."""
    array = np.asarray(values, dtype=np.float64)
    low, high = float(array.min()), float(array.max())
    low = min(low, 0.0) if include_zero else low
    if include_zero and low == high == 0.0:
        high = 1.0
    if not high > low:
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    step = _round_step((high - low) / n_ticks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [(each * step, format_tick(each * step, step)) for each in range(first, last + 1)]
    return Axis(first * step, last * step, ticks, label)


def log_axis(values: FloatArray, label: str) -> tuple[Axis, FloatArray]:
    """A logarithmic axis for ascending values, and their positions; 0 is placed left of the others."""
    logs = np.log10(values[values > 0])
    positions = np.concatenate((np.full(len(values) - len(logs), logs[0] - 0.75), logs))
    powers = range(math.ceil(logs[0] - 1e-9), math.floor(logs[-1] + 1e-9) + 1)
    stride = max(1, math.ceil(len(powers) / 6))
    ticks = [(float(each), f"{10.0**each:g}") for each in powers[::stride]]
    zero = [(float(positions[0]), "0")] if values[0] == 0 else []
    return Axis(positions[0] - 0.15, positions[-1] + 0.15, [*zero, *ticks], label), positions


def format_tick(value: float, step: float) -> str:
    """Write a tick with as many decimals as the step has, or with k, M or G if it is large."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if step >= size / 10 and abs(value) >= size:
            return use_minus_sign(f"{value / size:g}{letter}")
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if abs(value) > step / 2 else 0
    return use_minus_sign(f"{value:.{digits}f}")


def _round_step(rough: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
