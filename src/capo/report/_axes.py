"""Axes: from numbers to places on a drawing, with round numbers as ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ._formatting import minus


@dataclass(frozen=True)
class Axis:
    """The numbers from `low` to `high`, some of them named."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    label: str

    def share(self, values: ArrayLike) -> FloatArray:
        """How far along the axis each value is, from 0 to 1."""
        return (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)


def unit(label: str) -> Axis:
    """An axis from 0 to 1."""
    return Axis(
        0.0, 1.0, [(0.0, "0"), *((each / 10, f"{each / 10:g}") for each in (2, 4, 6, 8)), (1.0, "1")], label
    )


def around(values: ArrayLike, label: str, *, zero: bool = False, about: int = 5) -> Axis:
    """An axis that holds all values between round numbers, and 0 if wanted and not far off."""
    found = np.asarray(values, dtype=np.float64)
    low, high = float(found.min()), float(found.max())
    low = min(low, 0.0) if zero else low
    if not high > low:
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    step = _round_step((high - low) / about)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [(each * step, tick(each * step, step)) for each in range(first, last + 1)]
    return Axis(first * step, last * step, ticks, label)


def logarithmic(values: FloatArray, label: str) -> tuple[Axis, FloatArray]:
    """An axis over C's, ascending, and where each is: at its logarithm, 0 one step to their left."""
    logs = np.log10(values[values > 0])
    places = np.concatenate((np.full(len(values) - len(logs), logs[0] - 0.75), logs))
    powers = range(math.ceil(logs[0] - 1e-9), math.floor(logs[-1] + 1e-9) + 1)
    stride = max(1, math.ceil(len(powers) / 6))
    ticks = [(float(each), f"{10.0**each:g}") for each in powers[::stride]]
    zero = [(float(places[0]), "0")] if values[0] == 0 else []
    return Axis(places[0] - 0.15, places[-1] + 0.15, [*zero, *ticks], label), places


def tick(value: float, step: float) -> str:
    """A tick's name: thousands and millions by their letters, else as many decimals as the step has."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if step >= size / 10 and abs(value) >= size:
            return minus(f"{value / size:g}{letter}")
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if abs(value) > step / 2 else 0
    return minus(f"{value:.{digits}f}")


def _round_step(rough: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
