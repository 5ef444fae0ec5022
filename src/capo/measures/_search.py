"""Exact maximization of V(a, b) = Delta(a, b) + Gp(a) + Gn(b) over all confusion matrices.

A confusion matrix is given by (a, b), the numbers of atoms of the positives and the negatives that are
predicted positive. A strategy is prepared once for a measure and labels, and called with the sorted scores of
the atoms and the factor of their prefix sums Gp and Gn. The strategy of a measure depends on its Delta:

===============  =====================================================================
`ConvexConcave`  falls with tp, convex in it, and is concave in fp (F-beta, Jaccard)
`Bounded`        has a bound over blocks, `delta_bound`: falls with tp and rises with fp
                 (MCC, kappa, constraints), or has one of its own (quantification)
`Exhaustive`     any: all confusion matrices are evaluated
===============  =====================================================================

All but the last are branch and bound: blocks of confusion matrices whose upper bound is below the best value
are dropped, the others are split, all at once in NumPy.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._compat import FloatArray, IntArray, NDArray
from ..exceptions import MeasureFunctionError

if TYPE_CHECKING:
    from ._base import Cells
    from ._confusion import ConfusionMeasure
    from ._labels import AtomArray, ClassAtoms, Gains


#: Largest number of blocks that are evaluated together, which limits the memory.
MAX_BLOCKS = 2**14
#: Number of parts of a block along each axis when it is split.
N_PARTS = 4


#: Tolerance for rounding errors of the prefix sums in comparisons with the best value.
ROUNDING_TOL = 1e-13
#: Rounding error of a bound between two columns, relative to the numbers that it is computed from.
MAX_BOUND_ERROR = 8 * np.finfo(np.float64).eps


#: The best confusion matrix, its tp and fp in atoms, and its loss.
SearchResult = tuple[int, int, float]


class Grid(NamedTuple):
    """The confusion matrices to search for the maximum, with their prefix sums.

    They are ``(a, first_b + t)`` for ``0 <= a < len(gain_pos)`` and
    ``0 <= t < len(gain_neg)``.
    """

    gain_pos: Gains
    gain_neg: Gains
    first_b: int


class Strategy(ABC):
    """A search for the best confusion matrix, prepared for a measure and labels."""

    #: Smallest decrease of Delta with a and smallest increase with b, if known.
    min_slopes: tuple[float, float] = (0.0, 0.0)

    def __init__(self, measure: ConfusionMeasure, pos: ClassAtoms, neg: ClassAtoms) -> None:
        self.measure = measure
        self.n_atoms = pos.n_atoms, neg.n_atoms
        self.atom_masses = pos.atom_mass, neg.atom_mass
        self.masses = pos.n_atoms * pos.atom_mass, neg.n_atoms * neg.atom_mass

    def delta(self, a: Cells, b: Cells) -> Cells:
        """The loss with a and b atoms predicted positive."""
        return self.measure.delta(a * self.atom_masses[0], b * self.atom_masses[1], *self.masses)

    @abstractmethod
    def __call__(self, pos: AtomArray, neg: AtomArray, scale: float) -> SearchResult:
        """The maximizer of V for the sorted atoms of both classes."""

    def grid(self, pos: AtomArray, neg: AtomArray, scale: float, is_monotone: bool) -> Grid:
        """All confusion matrices, or only candidates for the maximum if Delta falls with a and rises with b.

        Marking a positive with a score below 0 as positive, or a negative with a score above 0 as
        negative, can then only lower V.
        """
        last_a = pos.count_above_zero()[1] if is_monotone else None
        first_b = neg.count_above_zero()[0] if is_monotone else 0
        gain_pos = pos.gains(0, last_a, scale * self.atom_masses[0], -self.min_slopes[0])
        gain_neg = neg.gains(first_b, None, scale * self.atom_masses[1], self.min_slopes[1])
        return Grid(gain_pos, gain_neg, first_b)


class Column(NamedTuple):
    """The best confusion matrix for one a; ``t`` is b minus the grid's first."""

    a: int
    t: int
    height: float
    value: float


_value = attrgetter("value")


class ConvexConcave(Strategy):
    """One-dimensional branch and bound over a, for Delta convex in tp and concave in fp.

    For a fixed a, ``h(a) = max over b of Delta(a, b) + Gn(b)`` is the maximum of a concave
    sequence. As a maximum of convex functions h is convex, so that between two points it lies
    below their chord, while the concave Gp lies below its tangents at both ends. The error of the
    resulting bound is quadratic in the width of the interval, so that about twenty columns are enough
    for any number of rows; for these, Python numbers are faster than arrays.
    """

    def __call__(self, pos: AtomArray, neg: AtomArray, scale: float) -> SearchResult:
        grid = self.grid(pos, neg, scale, is_monotone=True)
        left = self._column(0, 0, grid)
        right = self._column(len(grid.gain_pos) - 1, left.t, grid)
        best = max(left, right, key=_value)
        queue = [self._bound(left, right, grid.gain_pos)]
        while queue and -queue[0][0] > best.value + ROUNDING_TOL:
            _, a, left, right = heapq.heappop(queue)
            if right.a - left.a < 2:
                continue
            guess = left.t + (right.t - left.t) * (a - left.a) // (right.a - left.a)
            middle = self._column(a, guess, grid)
            best = max(best, middle, key=_value)
            for part in ((left, middle), (middle, right)):
                heapq.heappush(queue, self._bound(*part, grid.gain_pos))
        b = best.t + grid.first_b
        return best.a, b, float(self.delta(best.a, b))

    @staticmethod
    def _bound(left: Column, right: Column, gain: Gains) -> tuple[float, int, Column, Column]:
        """Minus an upper bound of V between two columns, and the column to evaluate next."""
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
        # The differences above lose digits where an end of the interval is huge.
        bound += MAX_BOUND_ERROR * (
            abs(low) + abs(high) + abs(first) + abs(last) * width + abs(chord) * width
        )
        inside = min(max(x, 0.1 * width), 0.9 * width)
        return -bound, min(max(left.a + round(inside), left.a + 1), right.a - 1), left, right

    def _column(self, a: int, guess: int, grid: Grid) -> Column:
        """The best t for one a, by an exponential search from a guess and then bisection."""
        gain, first_b, last = grid.gain_neg, grid.first_b, len(grid.gain_neg) - 1
        delta, tp, unit = self.measure.delta, a * self.atom_masses[0], self.atom_masses[1]

        def height(t: int) -> float:
            return delta(tp, (t + first_b) * unit, *self.masses) + gain.item(t)

        def rises(t: int) -> bool:
            return t < last and height(t + 1) > height(t)

        low, high, step = guess, guess, 1
        rising = rises(guess)
        if rising:
            while rising:
                low, high, step = high + 1, min(high + step, last), 4 * step
                rising = rises(high)
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
    """Rectangular blocks of confusion matrices, given by their corners (inclusive)."""

    a0: IntArray
    a1: IntArray
    t0: IntArray
    t1: IntArray

    def select(self, index: NDArray[np.bool_] | slice | IntArray) -> Blocks:
        """The blocks of an index or mask."""
        return Blocks(*(corner[index] for corner in self))

    def split(self) -> Blocks:
        """Each block split into `N_PARTS` x `N_PARTS` parts, or fewer if it is small."""
        a0, a1 = _parts(self.a0, self.a1)
        t0, t1 = _parts(self.t0, self.t1)
        shape = (len(self.a0), N_PARTS, N_PARTS)
        parts = Blocks(
            np.broadcast_to(a0[:, :, None], shape),
            np.broadcast_to(a1[:, :, None], shape),
            np.broadcast_to(t0[:, None, :], shape),
            np.broadcast_to(t1[:, None, :], shape),
        )
        return parts.select((parts.a0 <= parts.a1) & (parts.t0 <= parts.t1))


def _parts(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    step = (high - low) // N_PARTS + 1
    starts = low[:, None] + step[:, None] * np.arange(N_PARTS)
    return starts, np.minimum(starts + step[:, None] - 1, high[:, None])


class Bounded(Strategy):
    """Two-dimensional branch and bound, with the measure's bound of Delta over blocks.

    Gp and Gn are concave, so that their maximum over a block is at their peak, or at the end nearer to
    it. If Delta falls by at least ``min_slopes[0]`` with each a and rises by at least ``min_slopes[1]``
    with each b, this linear part is moved to Gp and Gn, which makes the bounds tighter: the rest of a
    linear Delta is constant.
    """

    def __call__(self, pos: AtomArray, neg: AtomArray, scale: float) -> SearchResult:
        grid = self.grid(pos, neg, scale, self.measure.is_monotone)
        gains = grid.gain_pos, grid.gain_neg
        peaks = int(gains[0].argmax()), int(gains[1].argmax())
        zero = np.zeros(1, dtype=np.intp)
        whole = Blocks(zero, zero + len(gains[0]) - 1, zero, zero + len(gains[1]) - 1)
        best_value, best = -np.inf, (0, 0)
        queue = [(np.full(1, np.inf), whole)]
        while queue:
            bound, blocks = queue.pop()
            parts = blocks.select(bound > best_value + ROUNDING_TOL).split()
            if not parts.a0.size:
                continue
            a, t = np.clip(peaks[0], parts.a0, parts.a1), np.clip(peaks[1], parts.t0, parts.t1)
            gain = gains[0][a] + gains[1][t]
            here = self.delta(a, t + grid.first_b) + (self.min_slopes[0] * a - self.min_slopes[1] * t)
            i = int(np.argmax(here + gain))
            if here[i] + gain[i] > best_value:
                best_value, best = float(here[i] + gain[i]), (int(a[i]), int(t[i]) + grid.first_b)
            wide = np.flatnonzero((parts.a0 < parts.a1) | (parts.t0 < parts.t1))
            if not wide.size:
                continue
            parts, (up, un) = parts.select(wide), self.atom_masses
            tp = parts.a0 * up, parts.a1 * up
            fp = (parts.t0 + grid.first_b) * un, (parts.t1 + grid.first_b) * un
            linear_part = self.min_slopes[0] * parts.a0 - self.min_slopes[1] * parts.t1
            top = self.measure.delta_bound(tp, fp, *self.masses) + linear_part
            if (here[wide] > top + 1e-9).any():
                raise NotMonotoneError
            bound = top + gain[wide]
            keep = np.flatnonzero(bound > best_value + ROUNDING_TOL)
            if len(keep) > MAX_BLOCKS:  # those with the highest bounds are taken first
                keep = keep[np.argsort(bound[keep])]
            batches = (keep[start : start + MAX_BLOCKS] for start in range(0, len(keep), MAX_BLOCKS))
            queue += [(bound[batch], parts.select(batch)) for batch in batches]
        return *best, float(self.delta(*best))


class NotMonotoneError(MeasureFunctionError):
    """The loss inside a block was larger than at the corner with its bound."""

    def __init__(self) -> None:
        super().__init__(
            "the loss of the measure must fall with tp and rise with fp, but it does not: its value inside a "
            "block of confusion matrices exceeds the bound at the corner."
        )


class Exhaustive(Strategy):
    """Evaluates all confusion matrices, in chunks of rows of the grid."""

    chunk_size = 2**22

    def __init__(self, measure: ConfusionMeasure, pos: ClassAtoms, neg: ClassAtoms) -> None:
        super().__init__(measure, pos, neg)
        self._step = max(1, self.chunk_size // (neg.n_atoms + 1))
        self._all_losses = self._losses(0) if pos.n_atoms < self._step else None

    def _losses(self, start: int) -> FloatArray:
        """The losses of the rows of a chunk."""
        stop = min(start + self._step, self.n_atoms[0] + 1)
        return self.delta(np.arange(start, stop)[:, None], np.arange(self.n_atoms[1] + 1))

    def __call__(self, pos: AtomArray, neg: AtomArray, scale: float) -> SearchResult:
        grid = self.grid(pos, neg, scale, is_monotone=False)
        gain_pos, gain_neg = np.asarray(grid.gain_pos), np.asarray(grid.gain_neg)
        best_value, best = -np.inf, (0, 0, 0.0)
        for start in range(0, len(gain_pos), self._step):
            delta = self._losses(start) if self._all_losses is None else self._all_losses
            value = delta + gain_pos[start : start + self._step, None] + gain_neg
            a, b = np.unravel_index(int(np.argmax(value)), value.shape)
            if value[a, b] > best_value:
                best_value, best = value[a, b], (start + int(a), int(b), float(delta[a, b]))
        return best
