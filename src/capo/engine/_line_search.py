"""The best point on a segment of scores, by few searches for the worst labelling.

Scores are linear in v: from v_b towards v_t they are ``s + t d``, and no product with A
is needed to look at any t. Along the segment the objective is

    phi(t) = q0 t + q1 t^2 / 2 + C R(s + t d)         (up to a constant)

with R convex and piecewise linear. Each look gives R and a subgradient; the next t
minimises the larger of the two parabolas that bound phi from both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from .._typing import FloatArray


class CutLike(Protocol):
    """What the engine knows of a cut: ``R(t) >= loss - coef @ t`` for all scores t."""

    @property
    def coef(self) -> FloatArray:
        """One number per row."""

    @property
    def loss(self) -> float:
        """The constant."""


Oracle = Callable[[FloatArray], CutLike]


class Zero(NamedTuple):
    """The cut R >= 0, for risks that would fall below."""

    coef: FloatArray
    loss: float = 0.0


def risk_at(oracle: Oracle, scores: FloatArray) -> tuple[float, CutLike]:
    """R at these scores, at least 0, and the cut that gives it."""
    cut = oracle(scores)
    risk = cut.loss - float(cut.coef @ scores)
    return (risk, cut) if risk >= 0.0 else (0.0, Zero(np.zeros_like(scores)))


class LinePoint(NamedTuple):
    """phi, R and their slopes at one t."""

    t: float
    risk: float
    value: float
    slope: float
    risk_slope: float


class Segment:
    """phi along ``s + t d``; counts its looks."""

    def __init__(
        self, oracle: Oracle, scores: FloatArray, direction: FloatArray, q0: float, q1: float, C: float
    ) -> None:
        self.oracle, self.scores, self.direction = oracle, scores, direction
        self.q0, self.q1, self.C = q0, q1, C
        self.looks = 0

    def look(self, t: float) -> tuple[LinePoint, CutLike]:
        """Search for the worst labelling at t."""
        self.looks += 1
        here = self.direction * t
        here += self.scores
        risk, cut = risk_at(self.oracle, here)
        return self.describe(t, risk, cut), cut

    def describe(self, t: float, risk: float, cut: CutLike) -> LinePoint:
        """What a known cut and risk at t say."""
        risk_slope = -float(cut.coef @ self.direction)
        value = self.q0 * t + 0.5 * self.q1 * t * t + self.C * risk
        return LinePoint(t, risk, value, self.q0 + self.q1 * t + self.C * risk_slope, risk_slope)

    def model_minimum(self, low: LinePoint, high: LinePoint) -> tuple[float, float]:
        """Where the larger of the two supporting parabolas is least, and its value there."""
        kink = self._crossing(low, high)
        t = kink
        if self.q1 > 0 and self.q0 + self.q1 * kink + self.C * low.risk_slope > 0:
            t = -(self.q0 + self.C * low.risk_slope) / self.q1
        elif self.q1 > 0 and self.q0 + self.q1 * kink + self.C * high.risk_slope < 0:
            t = -(self.q0 + self.C * high.risk_slope) / self.q1
        risk = max(look.risk + look.risk_slope * (t - look.t) for look in (low, high))
        return t, self.q0 * t + 0.5 * self.q1 * t * t + self.C * risk

    @staticmethod
    def _crossing(low: LinePoint, high: LinePoint) -> float:
        steeper = low.risk_slope - high.risk_slope
        if not steeper < 0:
            return 0.5 * (low.t + high.t)
        start = low.risk - low.risk_slope * low.t
        return ((high.risk - high.risk_slope * high.t) - start) / steeper


#: At most this many looks.
MOST_LOOKS = 6
#: A look before the minimum is followed by one this much further.
LONGER = 3.0
#: A new look keeps this share of the bracket from its ends.
MARGIN = 0.05


def search(
    segment: Segment, start: LinePoint, cut: CutLike, first: float, accuracy: float
) -> tuple[LinePoint, CutLike]:
    """The best look between 0 and 1 with its cut; `start` and `cut` are those of t = 0.

    Its value is within `accuracy` of the least on the segment unless the looks run out.
    """
    low, high, best = start, (start if start.slope >= 0 else None), start
    t = first
    for _ in range(MOST_LOOKS):
        look, here = segment.look(t)
        if look.value < best.value:
            best, cut = look, here
        if look.slope > 0:
            high = look
        else:
            low = look
        if high is None:
            if t >= 1.0:
                break
            t = min(1.0, LONGER * t)
            continue
        t, least = segment.model_minimum(low, high)
        if best.value - least <= accuracy:
            break
        width = high.t - low.t
        t = min(max(t, low.t + MARGIN * width), high.t - MARGIN * width)
    return best, cut
