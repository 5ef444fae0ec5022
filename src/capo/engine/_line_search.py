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
from types import ModuleType
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from .._accel.loader import load_kernels
from .._accel.threads import VectorPool, map_in_threads
from .._compat import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._designs import iter_row_blocks

#: Vectors of up to this length are not divided.
MAX_UNDIVIDED = 2**18
#: Numbers of a block.
BLOCK_LENGTH = 2**16
#: Steps of the kernels for each row in a fit of some thirty iterations.
STEPS_PER_ROW = 500


def _blocks(length: int) -> list[slice]:
    return list(iter_row_blocks(length, 1, BLOCK_LENGTH))


def _load_kernels(*vectors: FloatArray) -> ModuleType | None:
    """The compiled kernels for long vectors, if there are any."""
    plain = all(vector.dtype == np.float64 and vector.flags.c_contiguous for vector in vectors)
    return load_kernels(STEPS_PER_ROW * len(vectors[0])) if plain else None


def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product."""
    if len(a) <= MAX_UNDIVIDED:
        return float(a @ b)
    kernels = _load_kernels(a, b)
    multiply = np.dot if kernels is None else kernels.dot
    return math.fsum(map_in_threads(lambda rows: float(multiply(a[rows], b[rows])), _blocks(len(a))))


def dot_both(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[float, float]:
    """The inner products of a with b and with c, in one pass."""
    if len(a) <= MAX_UNDIVIDED:
        return float(a @ b), float(a @ c)
    kernels = _load_kernels(a, b, c)

    def multiply(rows: slice) -> tuple[float, float]:
        if kernels is None:
            return float(a[rows] @ b[rows]), float(a[rows] @ c[rows])
        first, second = kernels.dot_both(a[rows], b[rows], c[rows])
        return first, second

    first, second = zip(*map_in_threads(multiply, _blocks(len(a))), strict=True)
    return math.fsum(first), math.fsum(second)


def add_scaled(a: FloatArray, b: FloatArray, factor: float, out: FloatArray) -> FloatArray:
    """``a + factor * b`` in `out`, which may be b."""
    if len(a) <= MAX_UNDIVIDED:
        np.multiply(b, factor, out=out)
        return np.add(out, a, out=out)
    kernels = _load_kernels(a, b, out)

    def add(rows: slice) -> None:
        if kernels is not None:
            kernels.add_scaled(a[rows], b[rows], factor, out[rows])
            return
        np.multiply(b[rows], factor, out=out[rows])
        np.add(out[rows], a[rows], out=out[rows])

    map_in_threads(add, _blocks(len(a)))
    return out


def subtract(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a - b``, in a."""
    if len(a) <= MAX_UNDIVIDED:
        return np.subtract(a, b, out=a)

    def subtract_block(rows: slice) -> None:
        np.subtract(a[rows], b[rows], out=a[rows])

    map_in_threads(subtract_block, _blocks(len(a)))
    return a


def find_changes(a: FloatArray, b: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """The positions where a differs from b, or from 0, and the differences there."""
    if len(a) <= MAX_UNDIVIDED:
        return _find_in_block(a, b)
    kernels = None if b is None else _load_kernels(a, b)

    def find(block: slice) -> tuple[IntArray, FloatArray]:
        if kernels is None or b is None:
            rows, changes = _find_in_block(a[block], None if b is None else b[block])
            return rows + block.start, changes
        rows, changes = np.empty(block.stop - block.start, dtype=np.int64), np.empty(len(a[block]))
        count = kernels.find_changes(a[block], b[block], block.start, rows, changes)
        return rows[:count].copy(), changes[:count].copy()

    found = map_in_threads(find, _blocks(len(a)))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([changes for _, changes in found])


def _find_in_block(a: FloatArray, b: FloatArray | None) -> tuple[IntArray, FloatArray]:
    rows = np.flatnonzero(a if b is None else a != b)
    return rows, a[rows] if b is None else a[rows] - b[rows]


@runtime_checkable
class CutLike(Protocol):
    """A linear lower bound on R: ``R(t) >= loss - coef @ t`` for all scores t.

    Any object with these two attributes will do; `capo.measures.Cut` is one.
    """

    @property
    def coef(self) -> FloatArray:
        """One number per row."""

    @property
    def loss(self) -> float:
        """The constant."""


@runtime_checkable
class InexactCut(CutLike, Protocol):
    """A cut that may lie below R at the scores it was computed for."""

    @property
    def error(self) -> float:
        """An upper bound of ``R(s) - (loss - coef @ s)`` at those scores."""


def cut_error(cut: CutLike) -> float:
    """How far R may lie above the cut at the scores it was computed for: 0 unless the cut says otherwise."""
    return float(getattr(cut, "error", 0.0))


NOT_FINITE = (
    "the design or the oracle gave NaN or infinity: remove or impute such rows, and scale features that "
    "overflow."
)

CutOracle = Callable[[FloatArray], CutLike]
"""A function of the scores that returns the cut that is exact at them: ``R(s) = loss - coef @ s``.

A cut with the attribute `error` (`InexactCut`) may lie below R by that much; the solver's upper bound
contains it.
"""


@runtime_checkable
class AdjustableOracle(Protocol):
    """An oracle that is faster if its cuts may lie below R; those of large problems of measures are."""

    def within(self, error: float, /) -> CutOracle:
        """An oracle whose cuts lie below R by at most `error`, which their attribute `error` tells."""


class ZeroCut(NamedTuple):
    """The cut R >= 0, for risks that would be negative."""

    coef: FloatArray
    loss: float = 0.0
    error: float = 0.0


def evaluate_risk(oracle: CutOracle, scores: FloatArray) -> tuple[float, CutLike]:
    """R at these scores, at least 0, and the cut that gives it."""
    cut = _call(oracle, scores)
    return _clip_risk(cut, float(cut.loss) - dot(cut.coef, scores), scores)


def evaluate_slope(
    oracle: CutOracle, scores: FloatArray, direction: FloatArray
) -> tuple[float, CutLike, float]:
    """R at these scores, the cut that gives it, and its slope along a direction."""
    cut = _call(oracle, scores)
    product, along = dot_both(cut.coef, scores, direction)
    risk, clipped = _clip_risk(cut, float(cut.loss) - product, scores)
    return risk, clipped, -along if clipped is cut else 0.0


def _call(oracle: CutOracle, scores: FloatArray) -> CutLike:
    """The cut of the oracle, or an error that describes what it returned."""
    cut = oracle(scores)
    # Not by isinstance, which takes as long as the search of a small problem.
    if getattr(getattr(cut, "coef", None), "shape", None) != scores.shape or not hasattr(cut, "loss"):
        raise InvalidInputError(
            f"the oracle must return a cut, an object with `coef`, an array of shape {scores.shape}, and "
            f"`loss`, a number, such as capo.measures.Cut(coef, loss): got {_describe(cut)}."
        )
    return cut


def _clip_risk(cut: CutLike, risk: float, scores: FloatArray) -> tuple[float, CutLike]:
    """The risk and its cut, or 0 and the cut R >= 0 if the risk is negative."""
    if not math.isfinite(risk):
        raise InvalidInputError(NOT_FINITE)
    if risk >= 0.0:
        return risk, cut
    return 0.0, ZeroCut(np.zeros_like(scores), error=max(risk + cut_error(cut), 0.0))


def _describe(cut: object) -> str:
    kind = type(cut).__name__
    return f"{kind} with `coef` of shape {np.shape(cut.coef)}" if isinstance(cut, CutLike) else kind


class LinePoint(NamedTuple):
    """phi, R and their slopes at one t."""

    t: float
    risk: float
    value: float
    slope: float
    risk_slope: float


class Segment:
    """phi along ``s + t d``; counts its calls of the oracle."""

    def __init__(
        self,
        oracle: CutOracle,
        scores: FloatArray,
        direction: FloatArray,
        vectors: VectorPool,
        q0: float,
        q1: float,
        C: float,
    ) -> None:
        self.oracle, self.scores, self.direction, self.vectors = oracle, scores, direction, vectors
        self.q0, self.q1, self.C = q0, q1, C
        self.n_evaluations = 0

    def evaluate(self, t: float) -> tuple[LinePoint, CutLike]:
        """Call the oracle at t."""
        self.n_evaluations += 1
        scores = add_scaled(self.scores, self.direction, t, self.vectors.take())
        risk, cut, risk_slope = evaluate_slope(self.oracle, scores, self.direction)
        return self._make_point(t, risk, risk_slope), cut

    def start(self, risk: float, cut: CutLike) -> LinePoint:
        """Value and slopes at 0, where the risk and the cut are known."""
        return self._make_point(0.0, risk, -dot(cut.coef, self.direction))

    def _make_point(self, t: float, risk: float, risk_slope: float) -> LinePoint:
        value = self.q0 * t + 0.5 * self.q1 * t * t + self.C * risk
        return LinePoint(t, risk, value, self.q0 + self.q1 * t + self.C * risk_slope, risk_slope)

    def model_minimum(self, low: LinePoint, high: LinePoint) -> tuple[float, float]:
        """The minimizer of the larger of the two supporting parabolas, and its value there."""
        kink = self._intersection(low, high)
        t = kink
        if self.q1 > 0 and self.q0 + self.q1 * kink + self.C * low.risk_slope > 0:
            t = -(self.q0 + self.C * low.risk_slope) / self.q1
        elif self.q1 > 0 and self.q0 + self.q1 * kink + self.C * high.risk_slope < 0:
            t = -(self.q0 + self.C * high.risk_slope) / self.q1
        risk = max(point.risk + point.risk_slope * (t - point.t) for point in (low, high))
        return t, self.q0 * t + 0.5 * self.q1 * t * t + self.C * risk

    @staticmethod
    def _intersection(low: LinePoint, high: LinePoint) -> float:
        slope_change = low.risk_slope - high.risk_slope
        if not slope_change < 0:
            return 0.5 * (low.t + high.t)
        intercept = low.risk - low.risk_slope * low.t
        return ((high.risk - high.risk_slope * high.t) - intercept) / slope_change


#: Limit on the evaluations of one search.
MAX_EVALUATIONS = 6
#: While phi still falls at t, the next t is this many times larger.
STEP_EXPANSION = 3.0
#: The next t is at least this share of the bracket away from both of its ends.
MIN_BRACKET_SHARE = 0.05


def line_search(
    segment: Segment, start: LinePoint, cut: CutLike, first: float, accuracy: float
) -> tuple[LinePoint, CutLike]:
    """The best point found between 0 and 1 with its cut; `start` and `cut` are those of t = 0.

    Its value is within `accuracy` of the least on the segment unless the limit on evaluations is reached.
    """
    low, high, best = start, (start if start.slope >= 0 else None), start
    t = first
    for _ in range(MAX_EVALUATIONS):
        point, point_cut = segment.evaluate(t)
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
        t, least = segment.model_minimum(low, high)
        if best.value - least <= accuracy:
            break
        margin = MIN_BRACKET_SHARE * (high.t - low.t)
        t = min(max(t, low.t + margin), high.t - margin)
    return best, cut
