"""Drawings as SVG: charts with axes, and bars that stand in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ._axes import Axis

WIDTH, HEIGHT = 360, 280
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 28, 46


@dataclass(frozen=True)
class Chart:
    """Two axes on a sheet of 360 by 280; what is drawn on them are marks, pieces of SVG."""

    id: str
    title: str
    description: str
    x: Axis
    y: Axis

    def places(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Where points lie on the sheet, a row for each."""
        across = LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - self.y.share(y) * (HEIGHT - TOP - BOTTOM)
        return np.column_stack((across, down)).round(1)

    def line(self, x: ArrayLike, y: ArrayLike, css: str) -> str:
        """Points joined by straight lines."""
        return f'<path class="{css}" d="M{_joined(self.places(x, y))}"/>'

    def band(self, x: FloatArray, low: FloatArray, high: FloatArray, css: str) -> str:
        """The area between two lines."""
        outline = self.places(np.concatenate((x, x[::-1])), np.concatenate((low, high[::-1])))
        return f'<path class="{css}" d="M{_joined(outline)}Z"/>'

    def dot(self, x: float, y: float, css: str, radius: float = 5, id: str = "") -> str:
        """A circle."""
        across, down = self.places([x], [y])[0]
        named = f' id="{id}"' if id else ""
        return f'<circle{named} class="{css}" cx="{across:g}" cy="{down:g}" r="{radius:g}"/>'

    def upright(self, x: float, css: str, id: str = "") -> str:
        """A line from bottom to top."""
        across = self.places([x], [self.y.low])[0, 0]
        named = f' id="{id}"' if id else ""
        ends = f'y1="{TOP}" y2="{HEIGHT - BOTTOM}"'
        return f'<line{named} class="{css}" x1="{across:g}" x2="{across:g}" {ends}/>'

    def note(self, x: float, y: float, text: str, css: str, dx: float = 0, dy: float = 0) -> str:
        """A few words beside a point."""
        across, down = self.places([x], [y])[0]
        return f'<text class="{css}" x="{across + dx:g}" y="{down + dy:g}">{escape(text)}</text>'

    def svg(self, marks: Sequence[str]) -> str:
        """The whole drawing, with the words for those who do not see it."""
        head = f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        label = f'aria-labelledby="{self.id}-title {self.id}-desc"'
        words = (
            f'<title id="{self.id}-title">{escape(self.title)}</title>'
            f'<desc id="{self.id}-desc">{escape(self.description)}</desc>'
        )
        return f"{head} {label}>{words}{self._across()}{self._down()}{''.join(marks)}</svg>"

    def _across(self) -> str:
        """The lower axis."""
        base = HEIGHT - BOTTOM
        parts = [f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>']
        for value, text in self.x.ticks:
            at = self.places([value], [self.y.low])[0, 0]
            parts.append(f'<line class="axis" x1="{at:g}" x2="{at:g}" y1="{base}" y2="{base + 4}"/>')
            parts.append(f'<text class="tick middle" x="{at:g}" y="{base + 18}">{escape(text)}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(
            f'<text class="label middle" x="{middle:g}" y="{HEIGHT - 8}">{escape(self.x.label)}</text>'
        )
        return "".join(parts)

    def _down(self) -> str:
        """The lines across at the ticks of the left axis, and their names."""
        parts = [f'<text class="label" x="2" y="13">{escape(self.y.label)}</text>']
        for value, text in self.y.ticks:
            at = self.places([self.x.low], [value])[0, 1]
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:g}" y2="{at:g}"/>')
            parts.append(f'<text class="tick end" x="{LEFT - 7}" y="{at + 4:g}">{escape(text)}</text>')
        return "".join(parts)


def bar(value: float, low: float, high: float) -> str:
    """A bar from 0 to the value, on a scale from low to high; for a table, whose number says the same."""
    start, end = sorted((_on(0.0, low, high), _on(value, low, high)))
    css = "fill" if value >= 0 else "fill negative"
    zero = _on(0.0, low, high)
    marks = (
        f'<rect class="{css}" x="{start:.1f}" width="{end - start:.1f}" y="1" height="10"/>'
        f'<rect class="zero" x="{min(zero, 99.2):.1f}" width="0.8" y="0" height="12"/>'
    )
    return _strip(marks)


def interval(low: float, value: float, high: float, axis: tuple[float, float]) -> str:
    """An interval and the value in it, on a common scale; for a table."""
    start, middle, end = (_on(each, *axis) for each in (low, value, high))
    marks = (
        '<rect class="track" x="0" width="100" y="5.5" height="1"/>'
        f'<rect class="range" x="{start:.1f}" width="{max(end - start, 0.8):.1f}" y="3" height="6"/>'
        f'<rect class="fill" x="{middle - 0.6:.1f}" width="1.2" y="0" height="12"/>'
    )
    return _strip(marks)


def _strip(marks: str) -> str:
    return (
        f'<svg class="strip" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{marks}</svg>'
    )


def _on(value: float, low: float, high: float) -> float:
    return 100.0 * (value - low) / (high - low) if high > low else 0.0


def _joined(points: FloatArray) -> str:
    """Points as SVG writes them, each place once."""
    moved = np.append(True, (np.diff(points, axis=0) != 0).any(axis=1))
    return "L".join(f"{x:g},{y:g}" for x, y in points[moved])
