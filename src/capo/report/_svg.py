"""Charts as SVG.

All elements are `Markup` made with its `format`, which escapes the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._compat import FloatArray
from ._templating import Markup, use_minus_sign


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
    """Two axes in an SVG of 360 by 280; its methods create elements in the axes' coordinates."""

    id: str
    title: str
    description: str
    x: Axis
    y: Axis

    def positions(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The SVG coordinates of points, one row per point."""
        across = LEFT + self.x.fraction(x) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - self.y.fraction(y) * (HEIGHT - TOP - BOTTOM)
        return np.column_stack((across, down)).round(1)

    def line(self, x: ArrayLike, y: ArrayLike, css: str) -> Markup:
        """Points connected by straight lines."""
        return Markup('<path class="{}" d="M{}"/>').format(css, _path_points(self.positions(x, y)))

    def band(self, x: FloatArray, low: FloatArray, high: FloatArray, css: str) -> Markup:
        """The area between two lines."""
        outline = self.positions(np.concatenate((x, x[::-1])), np.concatenate((low, high[::-1])))
        return Markup('<path class="{}" d="M{}Z"/>').format(css, _path_points(outline))

    def circle(self, x: float, y: float, css: str, radius: float = 5, id: str = "") -> Markup:
        """A circle around a point."""
        across, down = self.positions([x], [y])[0]
        return Markup('<circle{} class="{}" cx="{:g}" cy="{:g}" r="{:g}"/>').format(
            _id_attribute(id), css, across, down, radius
        )

    def vertical_line(self, x: float, css: str, id: str = "") -> Markup:
        """A line from the bottom to the top of the chart."""
        across = self.positions([x], [self.y.low])[0, 0]
        return Markup('<line{} class="{}" x1="{:g}" x2="{:g}" y1="{}" y2="{}"/>').format(
            _id_attribute(id), css, across, across, TOP, HEIGHT - BOTTOM
        )

    def render(self, elements: Sequence[Markup]) -> Markup:
        """The whole figure, with a title and a description for screen readers."""
        return Markup(
            "<figure><figcaption>{title}</figcaption>"
            '<svg class="chart" viewBox="0 0 {width} {height}" role="img" '
            'aria-labelledby="{id}-title {id}-desc">'
            '<title id="{id}-title">{title}</title><desc id="{id}-desc">{description}</desc>'
            "{x_axis}{y_axis}{elements}</svg></figure>"
        ).format(
            width=WIDTH,
            height=HEIGHT,
            id=self.id,
            title=self.title,
            description=self.description,
            x_axis=self._x_axis(),
            y_axis=self._y_axis(),
            elements=Markup("").join(elements),
        )

    def _x_axis(self) -> Markup:
        base = HEIGHT - BOTTOM
        parts = [
            Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                LEFT, WIDTH - RIGHT, base, base
            )
        ]
        for value, text in self.x.ticks:
            across = self.positions([value], [self.y.low])[0, 0]
            parts.append(
                Markup(
                    '<line class="axis" x1="{x:g}" x2="{x:g}" y1="{top}" y2="{bottom}"/>'
                    '<text class="tick middle" x="{x:g}" y="{below}">{text}</text>'
                ).format(x=across, top=base, bottom=base + 4, below=base + 18, text=text)
            )
        label = Markup('<text class="label middle" x="{:g}" y="{}">{}</text>')
        parts.append(label.format((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, self.x.label))
        return Markup("").join(parts)

    def _y_axis(self) -> Markup:
        """The horizontal grid lines with their tick labels."""
        parts = [Markup('<text class="label" x="2" y="13">{}</text>').format(self.y.label)]
        for value, text in self.y.ticks:
            down = self.positions([self.x.low], [value])[0, 1]
            parts.append(
                Markup(
                    '<line class="grid" x1="{left}" x2="{right}" y1="{y:g}" y2="{y:g}"/>'
                    '<text class="tick end" x="{before}" y="{baseline:g}">{text}</text>'
                ).format(
                    left=LEFT, right=WIDTH - RIGHT, y=down, before=LEFT - 7, baseline=down + 4, text=text
                )
            )
        return Markup("").join(parts)


def draw_weight_bar(value: float, low: float, high: float) -> Markup:
    """A bar from 0 to the value, on a scale from `low` to `high`."""
    zero = _percent_along(0.0, low, high)
    start, end = sorted((zero, _percent_along(value, low, high)))
    return _cell_drawing(
        Markup(
            '<rect class="{}" x="{:.1f}" width="{:.1f}" y="1" height="10"/>'
            '<rect class="zero" x="{:.1f}" width="0.8" y="0" height="12"/>'
        ).format("fill" if value >= 0 else "fill negative", start, end - start, min(zero, 99.2))
    )


def draw_interval(
    low: float, value: float, high: float, scale: tuple[float, float], *, mark_zero: bool = False
) -> Markup:
    """An interval with a mark at the value inside it; `mark_zero` also marks 0."""
    start, middle, end = (_percent_along(each, *scale) for each in (low, value, high))
    zero = Markup('<rect class="zero" x="{:.1f}" width="0.8" y="0" height="12"/>').format(
        min(_percent_along(0.0, *scale), 99.2)
    )
    return _cell_drawing(
        (zero if mark_zero else Markup(""))
        + Markup(
            '<rect class="track" x="0" width="100" y="5.5" height="1"/>'
            '<rect class="range" x="{:.1f}" width="{:.1f}" y="3" height="6"/>'
            '<rect class="fill" x="{:.1f}" width="1.2" y="0" height="12"/>'
        ).format(start, max(end - start, 0.8), middle - 0.6)
    )


def _cell_drawing(elements: Markup) -> Markup:
    """A drawing that fills a table cell; screen readers skip it, since the row has the numbers."""
    return Markup(
        '<svg class="strip" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(elements)


def _percent_along(value: float, low: float, high: float) -> float:
    return 100.0 * (value - low) / (high - low) if high > low else 0.0


def _id_attribute(id: str) -> Markup:
    return Markup(' id="{}"').format(id) if id else Markup("")


def _path_points(points: FloatArray) -> str:
    """Points in the syntax of an SVG path, without repetitions."""
    moved = np.append(True, (np.diff(points, axis=0) != 0).any(axis=1))
    return "L".join(f"{x:g},{y:g}" for x, y in points[moved])
