"""The best table (a, b): maximise Delta(a, b) + Gp(a) + Gn(b), exactly.

A strategy is made once per problem and called with the sorted scores of the atoms and
the factor that makes their prefix sums Gp and Gn. Which one a measure names depends on
what is known of its Delta:

===============  ==================================================================
`ConvexConcave`  falls with tp, convex in it, and is concave in fp (F-beta, Jaccard)
`Monotone`       falls with tp and rises with fp (MCC, kappa, constraints)
`Bounded`        neither, but `delta_bound` bounds it over blocks (quantification)
`Exhaustive`     nothing is known: every table is tried
===============  ==================================================================

All but the last are branch and bound: blocks of tables whose upper bound cannot
beat the best table seen are dropped, the others are split, all at once in NumPy.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..exceptions import MeasureFunctionError

if TYPE_CHECKING:
    from ._base import Cells
    from ._confusion import ConfusionMeasure
    from ._labels import ClassScores


#: Blocks that are looked at together; more wait on a stack, which bounds the memory.
MOST_BLOCKS = 2**14
#: A block is split into this many parts along each axis.
SPLIT = 4


#: Bounds closer than this to the best value are equal to it but for rounding in the prefix sums.
ROUNDING = 1e-13


class Best(NamedTuple):
    """The best table: its tp and fp in atoms, and its loss."""

    a: int
    b: int
    loss: float


class Grid(NamedTuple):
    """The part of the tables that can hold the maximum, with the prefix sums over it.

    Tables are ``(a, first_b + t)`` for ``0 <= a < len(gain_pos)`` and
    ``0 <= t < len(gain_neg)``.
    """

    gain_pos: FloatArray
    gain_neg: FloatArray
    first_b: int


class Strategy(ABC):
    """Finds the best table for sorted atoms; prepared once for a measure and its labels."""

    #: Least fall of Delta with a and least rise with b, where a strategy can use them.
    tilt: tuple[float, float] = (0.0, 0.0)

    def __init__(self, measure: ConfusionMeasure, pos: ClassScores, neg: ClassScores) -> None:
        self.measure = measure
        self.levels = pos.levels, neg.levels
        self.units = pos.unit, neg.unit
        self.masses = pos.levels * pos.unit, neg.levels * neg.unit

    def delta(self, a: Cells, b: Cells) -> Cells:
        """Loss of the tables with a and b atoms predicted positive."""
        return self.measure.delta(a * self.units[0], b * self.units[1], *self.masses)

    @abstractmethod
    def __call__(self, pos: FloatArray, neg: FloatArray, scale: float) -> Best:
        """The maximiser of V, given the atoms' scores in descending order."""

    def gains(self, pos: FloatArray, neg: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
        """Gp and Gn, up to a constant, for these atoms."""
        return prefix_sums(pos, scale * self.units[0]), prefix_sums(neg, scale * self.units[1])

    def all_tables(self, pos: FloatArray, neg: FloatArray, scale: float) -> Grid:
        """The grid of all tables."""
        return Grid(*self.gains(pos, neg, scale), 0)

    def monotone_tables(self, pos: FloatArray, neg: FloatArray, scale: float) -> Grid:
        """The part that matters for Delta falling in a and rising in b: Gp rises, Gn falls.

        Marking a positive with a score below 0 as positive, or a negative with a score
        above 0 as negative, can only lower V.
        """
        last_a, first_b = len(pos) - _count_below(pos), len(neg) - _count_below(neg)
        return Grid(*self.gains(pos[:last_a], neg[first_b:], scale), first_b)


def _count_below(descending: FloatArray) -> int:
    """How many values are 0 or less."""
    return int(np.searchsorted(descending[::-1], 0.0, side="right"))


def prefix_sums(values: FloatArray, scale: float = 1.0) -> FloatArray:
    """Sums of the first 0, 1, 2, ... values, times a factor."""
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    np.cumsum(values, out=sums[1:])
    sums *= scale
    return sums


class Column(NamedTuple):
    """The best table for one a: ``t`` counts b from the grid's first."""

    a: int
    t: int
    height: float
    value: float


_value = attrgetter("value")


class ConvexConcave(Strategy):
    """One-dimensional branch and bound over a, for Delta convex in tp and concave in fp.

    For a fixed a, ``h(a) = max over b of Delta(a, b) + Gn(b)`` is the maximum of a concave
    sequence. As a maximum of convex functions h is convex, so that between two points it lies
    below their chord, while the concave Gp lies below its tangents at either end. The bound that
    follows is off by the square of the interval's width, and some twenty columns settle the
    matter whatever the number of rows: plain numbers are faster here than arrays.
    """

    def __call__(self, pos: FloatArray, neg: FloatArray, scale: float) -> Best:
        grid = self.monotone_tables(pos, neg, scale)
        left = self._column(0, 0, grid)
        right = self._column(len(grid.gain_pos) - 1, left.t, grid)
        best = max(left, right, key=_value)
        waiting = [self._bound(left, right, grid.gain_pos)]
        while waiting and -waiting[0][0] > best.value + ROUNDING:
            _, a, left, right = heapq.heappop(waiting)
            if right.a - left.a < 2:
                continue
            guess = left.t + (right.t - left.t) * (a - left.a) // (right.a - left.a)
            middle = self._column(a, guess, grid)
            best = max(best, middle, key=_value)
            for part in ((left, middle), (middle, right)):
                heapq.heappush(waiting, self._bound(*part, grid.gain_pos))
        b = best.t + grid.first_b
        return Best(best.a, b, float(self.delta(best.a, b)))

    @staticmethod
    def _bound(left: Column, right: Column, gain: FloatArray) -> tuple[float, int, Column, Column]:
        """Minus the most that V can be between two columns, and where to look next."""
        width = right.a - left.a
        if width < 2:
            return -max(left.value, right.value), left.a, left, right
        low, high = gain.item(left.a), gain.item(right.a)
        first, last = gain.item(left.a + 1) - low, high - gain.item(right.a - 1)
        chord = (right.height - left.height) / width
        bend = first - last
        x = (high - low - last * width) / bend if bend > 0 else 0.5 * width
        if chord + first <= 0:
            x = 0.0
        elif chord + last >= 0:
            x = float(width)
        x = min(max(x, 0.0), float(width))
        bound = left.height + chord * x + min(low + first * x, high - last * (width - x))
        inside = min(max(x, 0.1 * width), 0.9 * width)
        return -bound, min(max(left.a + round(inside), left.a + 1), right.a - 1), left, right

    def _column(self, a: int, guess: int, grid: Grid) -> Column:
        """The best t for one a, by ever longer steps from a guess and then halving what is left."""
        gain, first_b, last = grid.gain_neg, grid.first_b, len(grid.gain_neg) - 1
        delta, tp, unit, (n_pos, n_neg) = self.measure.delta, a * self.units[0], self.units[1], self.masses

        def height(t: int) -> float:
            return delta(tp, (t + first_b) * unit, n_pos, n_neg) + gain.item(t)

        def rises(t: int) -> bool:
            return t < last and height(t + 1) > height(t)

        low, high, step = guess, guess, 1
        if rises(guess):
            while rises(high):
                low, high, step = high + 1, min(high + step, last), 4 * step
        else:
            while low > 0 and not rises(low - 1):
                low, high, step = max(low - 1 - step, 0), low - 1, 4 * step
        # The best t is the first in [low, high] from which the sequence does not rise.
        while low < high:
            middle = (low + high) // 2
            if rises(middle):
                low = middle + 1
            else:
                high = middle
        top = height(low)
        return Column(a, low, top, top + grid.gain_pos.item(a))


class Blocks(NamedTuple):
    """Rectangles of tables, corners included."""

    a0: IntArray
    a1: IntArray
    t0: IntArray
    t1: IntArray

    def pick(self, which: NDArray[np.bool_] | slice | IntArray) -> Blocks:
        """Some of the blocks."""
        return Blocks(*(corner[which] for corner in self))

    def split(self) -> Blocks:
        """Each block cut into `SPLIT` x `SPLIT` parts, less where it is small."""
        a0, a1 = _parts(self.a0, self.a1)
        t0, t1 = _parts(self.t0, self.t1)
        shape = (len(self.a0), SPLIT, SPLIT)
        parts = Blocks(
            np.broadcast_to(a0[:, :, None], shape),
            np.broadcast_to(a1[:, :, None], shape),
            np.broadcast_to(t0[:, None, :], shape),
            np.broadcast_to(t1[:, None, :], shape),
        )
        return parts.pick((parts.a0 <= parts.a1) & (parts.t0 <= parts.t1))


def _parts(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    step = (high - low) // SPLIT + 1
    starts = low[:, None] + step[:, None] * np.arange(SPLIT)
    return starts, np.minimum(starts + step[:, None] - 1, high[:, None])


class Bounded(Strategy):
    """Two-dimensional branch and bound; the measure bounds Delta over a block.

    Gp and Gn are concave, so that their maximum over a block is known: at their peak
    if it is inside, else at the end that is nearer to it. Where Delta is known to fall by at
    least ``tilt[0]`` with each a and to rise by at least ``tilt[1]`` with each b, that part
    of it is moved to Gp and Gn, where it costs no tightness: what is left of a linear Delta
    is constant.
    """

    def tables(self, pos: FloatArray, neg: FloatArray, scale: float) -> Grid:
        """The tables to search."""
        return self.all_tables(pos, neg, scale)

    def __call__(self, pos: FloatArray, neg: FloatArray, scale: float) -> Best:
        grid = self.tables(pos, neg, scale)
        gains = grid.gain_pos, grid.gain_neg
        for gain, slope in zip(gains, (-self.tilt[0], self.tilt[1]), strict=True):
            if slope:
                np.add(gain, slope * np.arange(len(gain)), out=gain)
        peaks = int(np.argmax(gains[0])), int(np.argmax(gains[1]))
        zero = np.zeros(1, dtype=np.intp)
        whole = Blocks(zero, zero + len(gains[0]) - 1, zero, zero + len(gains[1]) - 1)
        best_value, best = -np.inf, (0, 0)
        waiting = [(np.full(1, np.inf), whole)]
        while waiting:
            bound, blocks = waiting.pop()
            parts = blocks.pick(bound > best_value + ROUNDING).split()
            if not parts.a0.size:
                continue
            a, t = np.clip(peaks[0], parts.a0, parts.a1), np.clip(peaks[1], parts.t0, parts.t1)
            gain = gains[0][a] + gains[1][t]
            here = self.delta(a, t + grid.first_b) + (self.tilt[0] * a - self.tilt[1] * t)
            i = int(np.argmax(here + gain))
            if here[i] + gain[i] > best_value:
                best_value, best = float(here[i] + gain[i]), (int(a[i]), int(t[i]) + grid.first_b)
            wide = np.flatnonzero((parts.a0 < parts.a1) | (parts.t0 < parts.t1))
            if not wide.size:
                continue
            parts, gain = parts.pick(wide), gain[wide]
            top = self._bound(parts, grid.first_b)
            self._check(here[wide], top)
            bound = top + gain
            waiting.extend(self._promising(bound, parts, best_value))
        return Best(*best, float(self.delta(*best)))

    @staticmethod
    def _promising(
        bound: FloatArray, parts: Blocks, best_value: float
    ) -> Iterator[tuple[FloatArray, Blocks]]:
        """What may still hold a better table, in batches, the most promising last."""
        keep = np.flatnonzero(bound > best_value + ROUNDING)
        if len(keep) > MOST_BLOCKS:
            keep = keep[np.argsort(bound[keep])]
        for start in range(0, len(keep), MOST_BLOCKS):
            some = keep[start : start + MOST_BLOCKS]
            yield bound[some], parts.pick(some)

    def _bound(self, parts: Blocks, first_b: int) -> FloatArray:
        up, un = self.units
        tp = parts.a0 * up, parts.a1 * up
        fp = (parts.t0 + first_b) * un, (parts.t1 + first_b) * un
        bound: FloatArray = self.measure.delta_bound(tp, fp, *self.masses)
        return bound + (self.tilt[0] * parts.a0 - self.tilt[1] * parts.t1)

    def _check(self, here: FloatArray, top: FloatArray) -> None:
        if (here > top + 1e-9).any():
            raise NotMonotoneError


class Monotone(Bounded):
    """Branch and bound for a Delta that falls with tp and rises with fp."""

    def tables(self, pos: FloatArray, neg: FloatArray, scale: float) -> Grid:
        return self.monotone_tables(pos, neg, scale)


class NotMonotoneError(MeasureFunctionError):
    """A loss was larger inside a block than in the corner where it should be largest."""

    def __init__(self) -> None:
        super().__init__(
            "the measure is declared to fall with tp and rise with fp, but it does not: "
            "its loss inside a block of tables exceeds the loss in the corner."
        )


class Exhaustive(Strategy):
    """Every table, in chunks of rows of the grid."""

    chunk = 2**22

    def __init__(self, measure: ConfusionMeasure, pos: ClassScores, neg: ClassScores) -> None:
        super().__init__(measure, pos, neg)
        self.n_tables = (pos.levels + 1) * (neg.levels + 1)
        self._kept = self._rows(0, pos.levels + 1) if self.n_tables <= self.chunk else None

    def _rows(self, start: int, stop: int) -> FloatArray:
        a, b = np.arange(start, stop)[:, None], np.arange(self.levels[1] + 1)
        return self.delta(a, b)

    def __call__(self, pos: FloatArray, neg: FloatArray, scale: float) -> Best:
        grid = self.all_tables(pos, neg, scale)
        step = max(1, self.chunk // len(grid.gain_neg))
        best_value, best = -np.inf, Best(0, 0, 0.0)
        for start in range(0, len(grid.gain_pos), step):
            stop = min(start + step, len(grid.gain_pos))
            delta = self._rows(start, stop) if self._kept is None else self._kept[start:stop]
            value = delta + grid.gain_pos[start:stop, None] + grid.gain_neg
            a, b = np.unravel_index(int(np.argmax(value)), value.shape)
            if value[a, b] > best_value:
                best_value, best = value[a, b], Best(start + int(a), int(b), float(delta[a, b]))
        return best
