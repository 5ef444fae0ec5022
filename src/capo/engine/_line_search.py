"""The best point on a segment of scores, by few calls of the oracle.

Scores are linear in v: from v_b toward v_t they are ``s + t d``, and no product with A
is needed to evaluate any t. Along the segment the objective is

    phi(t) = q0 t + q1 t^2 / 2 + C R(s + t d)         (up to a constant)

with R convex and piecewise linear. Each evaluation gives R and a subgradient; the next t
minimizes the larger of the two parabolas that bound phi from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from .._accel.threads import VectorPool, map_in_threads
from .._compat import ArrayLike, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._designs import NOT_FINITE, iter_row_slices

Result = TypeVar("Result")

#: Largest length of vectors that are not divided into blocks.
MAX_UNDIVIDED = 2**18
#: Number of values per block.
BLOCK_LENGTH = 2**16


def _map_blocks(function: Callable[[slice], Result], length: int) -> list[Result]:
    """The function's results for blocks of a long vector, in threads, or for all of a short one."""
    if length <= MAX_UNDIVIDED:
        return [function(slice(0, length))]
    return map_in_threads(function, list(iter_row_slices(length, 1, BLOCK_LENGTH)))


def inner_products(a: FloatArray, *others: FloatArray) -> list[float]:
    """The inner products of a with some vectors."""
    if len(a) <= MAX_UNDIVIDED:
        return [float(a @ each) for each in others]
    blocks = _map_blocks(lambda rows: [float(np.dot(a[rows], each[rows])) for each in others], len(a))
    return [math.fsum(products) for products in zip(*blocks, strict=True)]


def add_multiple(a: FloatArray, b: FloatArray, factor: float, out: FloatArray) -> FloatArray:
    """``a + factor * b`` in `out`, which may be b."""

    def add(rows: slice) -> None:
        np.multiply(b[rows], factor, out=out[rows])
        np.add(out[rows], a[rows], out=out[rows])

    _map_blocks(add, len(a))
    return out


def changed_rows(a: FloatArray, b: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """The positions where a differs from b, or from 0, and the differences there."""

    def find(block: slice) -> tuple[IntArray, FloatArray]:
        rows = np.flatnonzero(a[block] if b is None else a[block] != b[block]) + block.start
        return rows, a[rows] if b is None else a[rows] - b[rows]

    rows, changes = zip(*_map_blocks(find, len(a)), strict=True)
    return np.concatenate(rows), np.concatenate(changes)


@dataclass(frozen=True, slots=True)
class Cut:
    """A linear lower bound on the risk R: ``R(t) >= loss - coef @ t`` for all scores t.

    The solver takes any object with `coef` and `loss`.

    Attributes
    ----------
    coef : ndarray of shape (n,)
        One coefficient per row; ``A.T @ coef`` is the negative gradient of the bound for scores ``A v``.
    loss : float
        The constant: Delta of the worst labeling, for the risk of a measure.
    error : float, default=0.0
        An upper bound of R minus the cut at the scores for which it was computed; 0 if it is exact there.
    """

    coef: FloatArray
    loss: float
    error: float = 0.0

    def value(self, scores: ArrayLike) -> float:
        """The bound ``loss - coef @ scores``."""
        return float(self.loss - self.coef @ np.asarray(scores, dtype=np.float64))


def cut_error(cut: Cut) -> float:
    """A bound of R minus the cut; 0 for users' cuts without `error`."""
    return float(getattr(cut, "error", 0.0))


Oracle = Callable[[FloatArray], Cut]
"""A function of the scores that returns the cut that is exact at them: ``R(s) = loss - coef @ s``.

A cut with an attribute `error` may lie below R by that much at these scores; the solver's upper bound
contains it. An oracle may have an attribute `direction`: +1 for rows whose higher scores cannot raise R, -1
for rows whose lower scores cannot. It makes the bound of rounding errors tighter. It may also have a method
`within(error)`, which returns a faster oracle whose cuts lie below R by at most `error`. The oracles of
measures have both.
"""


def evaluate_risk(
    oracle: Oracle, scores: FloatArray, direction: FloatArray | None = None
) -> tuple[float, Cut, float]:
    """R at these scores, at least 0, its cut, and its slope along a direction."""
    cut = oracle(scores)
    # Not by isinstance, which takes as long as the search of a small problem.
    if getattr(getattr(cut, "coef", None), "shape", None) != scores.shape or not hasattr(cut, "loss"):
        found = type(cut).__name__
        if hasattr(cut, "coef") and hasattr(cut, "loss"):
            found += f" with `coef` of shape {np.shape(cut.coef)}"
        raise InvalidInputError(
            f"the oracle must return a cut, an object with `coef`, an array of shape {scores.shape}, and "
            f"`loss`, a number, such as capo.measures.Cut(coef, loss): got {found}."
        )
    vectors = (scores,) if direction is None else (scores, direction)
    product, *along = inner_products(cut.coef, *vectors)
    risk = float(cut.loss) - product
    if not math.isfinite(risk):
        raise InvalidInputError(NOT_FINITE)
    if risk >= 0.0:
        return risk, cut, -sum(along)
    return 0.0, Cut(np.zeros_like(scores), 0.0, max(risk + cut_error(cut), 0.0)), 0.0


#: Largest number of evaluations of one search.
MAX_EVALUATIONS = 6
#: While phi still falls at t, the next t is this many times larger.
STEP_EXPANSION = 3.0
#: The next t is at least this share of the bracket away from both of its ends.
MIN_BRACKET_SHARE = 0.05


class LinePoint(NamedTuple):
    """phi, R and their slopes at one t."""

    t: float
    risk: float
    value: float
    slope: float
    risk_slope: float


@dataclass
class Segment:
    """phi along ``s + t d``; counts its calls of the oracle."""

    oracle: Oracle
    scores: FloatArray
    direction: FloatArray
    vectors: VectorPool
    q0: float
    q1: float
    C: float
    n_evaluations: int = 0

    def evaluate(self, t: float) -> tuple[LinePoint, Cut]:
        """Call the oracle at t."""
        self.n_evaluations += 1
        scores = add_multiple(self.scores, self.direction, t, self.vectors.take())
        risk, cut, risk_slope = evaluate_risk(self.oracle, scores, self.direction)
        return self._make_point(t, risk, risk_slope), cut

    def _make_point(self, t: float, risk: float, risk_slope: float) -> LinePoint:
        value = self.q0 * t + 0.5 * self.q1 * t * t + self.C * risk
        return LinePoint(t, risk, value, self.q0 + self.q1 * t + self.C * risk_slope, risk_slope)

    def model_minimum(self, low: LinePoint, high: LinePoint) -> tuple[float, float]:
        """The minimizer of the larger of the two supporting parabolas, and its value there."""
        slope_change = low.risk_slope - high.risk_slope
        kink = 0.5 * (low.t + high.t)
        if slope_change < 0:
            intercept = low.risk - low.risk_slope * low.t
            kink = ((high.risk - high.risk_slope * high.t) - intercept) / slope_change
        t = kink
        if self.q1 > 0 and self.q0 + self.q1 * kink + self.C * low.risk_slope > 0:
            t = -(self.q0 + self.C * low.risk_slope) / self.q1
        elif self.q1 > 0 and self.q0 + self.q1 * kink + self.C * high.risk_slope < 0:
            t = -(self.q0 + self.C * high.risk_slope) / self.q1
        risk = max(point.risk + point.risk_slope * (t - point.t) for point in (low, high))
        return t, self.q0 * t + 0.5 * self.q1 * t * t + self.C * risk

    def search(self, risk: float, cut: Cut, first: float, accuracy: float) -> tuple[LinePoint, Cut]:
        """The best point found between 0 and 1 with its cut, from the risk and the cut at 0.

        Its value is within `accuracy` of the least on the segment unless the limit on evaluations is reached.
        """
        start = self._make_point(0.0, risk, -inner_products(cut.coef, self.direction)[0])
        low, high, best = start, (start if start.slope >= 0 else None), start
        t = first
        for _ in range(MAX_EVALUATIONS):
            point, point_cut = self.evaluate(t)
            if point.value < best.value:
                best, cut = point, point_cut
            if point.slope > 0:
                high = point
            else:
                low = point
            if high is None:
                if t >= 1.0:
                    break
                t = min(1.0, STEP_EXPANSION * t)
                continue
            t, least = self.model_minimum(low, high)
            if best.value - least <= accuracy:
                break
            margin = MIN_BRACKET_SHARE * (high.t - low.t)
            t = min(max(t, low.t + margin), high.t - margin)
        return best, cut
