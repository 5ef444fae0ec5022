"""Charts as SVG.

Elements are `Markup` made with its `format`, which escapes the arguments; chart.html draws the axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .._compat import FloatArray
from ._templating import Markup, load_environment, use_minus_sign


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


def probability_axis(highest: float, label: str) -> Axis:
    """An axis from 0 to 1, or to the highest probability if that is small."""
    return unit_axis(label) if highest > 0.5 else linear_axis([0, highest], label)


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


WIDTH, HEIGHT = 360, 280
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 28, 46


@dataclass(frozen=True)
class Chart:
    """Two axes in an SVG of 360 by 280; its methods draw in the axes' coordinates, one above the other."""

    id: str
    title: str
    description: str
    x: Axis
    y: Axis
    elements: list[Markup] = field(default_factory=list)

    def positions(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The SVG coordinates of points, one row per point."""
        across = LEFT + self.x.fraction(x) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - self.y.fraction(y) * (HEIGHT - TOP - BOTTOM)
        return np.column_stack((across, down)).round(1)

    def line(self, x: ArrayLike, y: ArrayLike, css: str, end: str = "") -> None:
        """Connect points by straight lines."""
        points = self.positions(x, y)
        moved = np.append(True, (np.diff(points, axis=0) != 0).any(axis=1))
        path = "L".join(f"{across:g},{down:g}" for across, down in points[moved])
        self.elements.append(Markup('<path class="{}" d="M{}{}"/>').format(css, path, end))

    def band(self, x: FloatArray, low: FloatArray, high: FloatArray, css: str) -> None:
        """Fill the area between two lines."""
        self.line(np.concatenate((x, x[::-1])), np.concatenate((low, high[::-1])), css, end="Z")

    def circle(self, x: float, y: float, css: str, radius: float = 5, id: str = "") -> None:
        """Draw a circle around a point."""
        across, down = self.positions([x], [y])[0]
        self.elements.append(
            Markup('<circle{} class="{}" cx="{:g}" cy="{:g}" r="{:g}"/>').format(
                _id_attribute(id), css, across, down, radius
            )
        )

    def vertical_line(self, x: float, css: str, id: str = "") -> None:
        """Draw a line from the bottom to the top of the chart."""
        across = self.positions([x], [self.y.low])[0, 0]
        self.elements.append(
            Markup('<line{} class="{}" x1="{:g}" x2="{:g}" y1="{}" y2="{}"/>').format(
                _id_attribute(id), css, across, across, TOP, HEIGHT - BOTTOM
            )
        )

    def __html__(self) -> str:
        """The figure, with a title and a description for screen readers."""
        frame = {"left": LEFT, "right": WIDTH - RIGHT, "base": HEIGHT - BOTTOM}
        size = {"width": WIDTH, "height": HEIGHT}
        return load_environment().get_template("chart.html").render(chart=self, **frame, **size)


def _id_attribute(id: str) -> Markup:
    return Markup(' id="{}"').format(id) if id else Markup("")
