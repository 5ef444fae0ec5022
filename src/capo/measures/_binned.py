"""Searches that put scores in bins instead of sorting them: linear in the number of rows.

The rows of each class are counted in bins of equal width. The effect of the order of the scores within a bin
is bounded by the counts, and falls with the square of the width. A cut is found for an average over orders
within the bins, so that it is a lower bound of R everywhere; `Cut.error` is how far R may lie above it at the
scores themselves. Where bins are not narrow enough for the required error, the exact search takes over.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from .._accel.loader import load_kernels
from .._accel.threads import VectorPool, map_in_threads
from .._compat import FloatArray, NDArray
from ..engine import Cut, Oracle, iter_row_slices
from ._base import LabeledOracle, Measure
from ._labels import MAX_EXACT_SCORE, ClassTotals, GroupedLabels, Labels

#: Limits on the number of bins.
MIN_BINS, MAX_BINS = 2**8, 2**20
#: Expected error times the square of the number of bins, relative to the range of the scores: at first ...
EXPECTED_PEAK = 2.0
#: ... and later, as a multiple of the value for the last scores.
PEAK_MARGIN = 1.3
#: Largest number of attempts with different numbers of bins.
MAX_ATTEMPTS = 2
#: Number of rows that a thread counts at a time, and its minimum as a multiple of the number of bins.
TASK_ROWS, MIN_TASK_ROWS_PER_BIN = 2**16, 8
#: Steps of the kernels for each row in a fit of some thirty iterations.
STEPS_PER_ROW = 500
#: Bounds are increased by this factor to include their rounding errors ...
ROUNDING_FACTOR = 1.0 + 1e-9
#: ... and by this share of the range of the scores to include the rounding errors of the sums.
SUM_ERROR = 1e-12


class Bins(NamedTuple):
    """Rows in bins of one width: the mass of each class, and the sums of weighted scores if they are needed.

    `total` is empty if the sums are not needed. `slots` is the position of each row in the flat arrays of
    shape (2, n_slots), class by class.
    """

    slots: NDArray[np.integer]
    width: float
    mass: FloatArray
    total: FloatArray


class Binner:
    """Counts rows in bins of their scores, after `margin` has been subtracted from those of the positives.

    Large problems are counted by compiled kernels if they are available, with bitwise identical results.
    """

    def __init__(self, labels: Labels, margin: float, with_totals: bool) -> None:
        self.margin, self.with_totals, n_rows = margin, with_totals, len(labels.positive)
        self.positive = np.ascontiguousarray(labels.positive)
        self.weight = np.empty(0) if labels.weight is None else np.ascontiguousarray(labels.weight)
        self._kernels = load_kernels(STEPS_PER_ROW * n_rows)
        self._slots: NDArray[np.integer] = np.empty(n_rows, np.intp if self._kernels is None else np.int32)
        self._vectors = VectorPool(n_rows, size=4)  # cuts of the line search, and that of the best point

    def score_range(self, scores: FloatArray) -> tuple[float, float]:
        """Limits of all scores, with the margin and without it."""
        blocks = list(iter_row_slices(len(scores), 1, TASK_ROWS))
        ends = np.array(map_in_threads(lambda rows: (scores[rows].min(), scores[rows].max()), blocks))
        return float(ends[:, 0].min()) - self.margin, float(ends[:, 1].max())

    def __call__(self, scores: FloatArray, n_bins: int, low: float, high: float) -> Bins:
        """The bins of scores in this range; `Bins.slots` is valid until the next call."""
        factor = n_bins / (high - low) if high > low else 0.0
        factor = factor if math.isfinite(factor) else 0.0
        n_slots = n_bins + 1  # the largest score may be in a bin of its own
        task_rows = max(TASK_ROWS, MIN_TASK_ROWS_PER_BIN * n_slots)
        parts = map_in_threads(
            lambda rows: self._count(scores[rows], rows, low, factor, n_slots),
            list(iter_row_slices(len(scores), 1, task_rows)),
        )
        mass, total = (np.sum(part, axis=0).reshape(2, -1) for part in zip(*parts, strict=True))
        return Bins(self._slots, (high - low) / n_bins, mass, total)

    def _count(
        self, scores: FloatArray, rows: slice, low: float, factor: float, n_slots: int
    ) -> tuple[FloatArray, FloatArray]:
        """Find the slots of some rows; returns the mass and the totals of each slot."""
        positive, slots, weight = self.positive[rows], self._slots[rows], self.weight[rows]
        mass, total = np.zeros(2 * n_slots), np.zeros(2 * n_slots if self.with_totals else 0)
        if self._kernels is not None:
            values = np.ascontiguousarray(scores, dtype=np.float64)
            self._kernels.find_slots(values, positive, self.margin, low, factor, n_slots, slots)
            self._kernels.add_to_slots(slots, weight, values, mass, total)
            return mass, total
        values = scores - self.margin * positive if self.margin else scores.copy()
        values -= low
        values *= factor
        np.copyto(slots, values, casting="unsafe")
        slots += np.multiply(positive, n_slots, dtype=np.intp)
        mass += np.bincount(slots, weight if len(weight) else None, minlength=len(mass))
        if self.with_totals:
            total += np.bincount(slots, scores * weight if len(weight) else scores, minlength=len(mass))
        return mass, total

    def coef_from_table(self, slots: NDArray[np.integer], per_mass: FloatArray) -> FloatArray:
        """The number of each row's class and bin, times the weight of the row."""
        out, table, kernels = self._vectors.take(), per_mass.ravel(), self._kernels

        def take(rows: slice) -> None:
            if kernels is not None:
                kernels.take(table, slots[rows], self.weight[rows], out[rows])
                return
            table.take(slots[rows], out=out[rows], mode="clip")
            if len(self.weight):
                out[rows] *= self.weight[rows]

        map_in_threads(take, list(iter_row_slices(len(out), 1, TASK_ROWS)))
        return out


class BinnedOracle(LabeledOracle):
    """A search among bins with an error of at most `max_error`, or the exact search.

    The number of bins follows from the range of the scores and from the `peak` of previous scores: the error
    times the square of the number of bins, relative to the range.
    """

    #: Number that is subtracted from the scores of the positives.
    margin: ClassVar[float] = 0.0
    #: With fewer rows per bin, the exact search is as fast.
    min_rows_per_bin: ClassVar[float] = 0.5
    #: Whether the search needs the sums of the scores in the bins.
    needs_totals: ClassVar[bool] = False

    def __init__(self, exact: LabeledOracle, max_error: float) -> None:
        self.exact, self.max_error, self.labels = exact, max_error, exact.labels
        self.bin = Binner(self.labels, self.margin, self.needs_totals)
        self.max_bins = min(MAX_BINS, int(len(self.labels.positive) / self.min_rows_per_bin))
        self.peak = EXPECTED_PEAK

    def within(self, error: float) -> Oracle:
        """The same search with another error."""
        return self.exact.within(error)

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        low, high = self.bin.score_range(scores)
        if not max(-low, high) <= MAX_EXACT_SCORE:
            return self.exact(scores)
        for _ in range(MAX_ATTEMPTS):
            n_bins = max(MIN_BINS, math.ceil(math.sqrt(self.peak * (high - low) / self.max_error)))
            if n_bins > self.max_bins:
                break
            bins = self.bin(scores, n_bins, low, high)
            error = self.bound_error(bins) + SUM_ERROR * (high - low)
            if error > 0.0 and bins.width > 0.0:
                self.peak = PEAK_MARGIN * error * n_bins / bins.width
            if error <= self.max_error:
                return self.find_cut(bins, error)
        return self.exact(scores)

    @abstractmethod
    def bound_error(self, bins: Bins) -> float:
        """How far R may lie above the cut of these bins."""

    @abstractmethod
    def find_cut(self, bins: Bins, error: float) -> Cut:
        """The cut of these bins."""


class BinnedPairOracle(BinnedOracle):
    """The pairwise hinge of the ROC area, with half of each pair that shares a bin.

    A pair whose keys differ by x contributes max(0, x), and here x / 2 if it shares a bin: less by at
    most half the width.
    """

    margin = 1.0

    def bound_error(self, bins: Bins) -> float:
        shared = float(bins.mass[0] @ bins.mass[1]) / (self.labels.n_pos * self.labels.n_neg)
        return 0.5 * ROUNDING_FACTOR * bins.width * shared

    def find_cut(self, bins: Bins, error: float) -> Cut:
        neg, pos = bins.mass
        above = np.cumsum(neg[::-1])[::-1] - 0.5 * neg
        below = np.cumsum(pos) - 0.5 * pos
        per_mass = np.stack([-below, above]) / (self.labels.n_pos * self.labels.n_neg)
        coef = self.bin.coef_from_table(bins.slots, per_mass)
        return Cut(coef, float(per_mass[1] @ pos), error)


class BinnedConfusionOracle(BinnedOracle):
    """The search of a measure of the confusion matrix, among groups of rows with the mean score of their bin.

    The sum of the k highest scores of a bin is at least k times their mean. It is larger by at most a quarter
    of the bin's mass times its width: if half of the rows are at each end, and k is this half.
    """

    min_rows_per_bin = 4.0
    needs_totals = True

    def __init__(self, exact: LabeledOracle, max_error: float, measure: Measure) -> None:
        super().__init__(exact, max_error)
        self.measure, self.totals = measure, ClassTotals.from_labels(self.labels)

    def bound_error(self, bins: Bins) -> float:
        fullest = float(bins.mass.max(axis=1).sum())
        return 0.25 * ROUNDING_FACTOR * bins.width * fullest / self.labels.total

    def find_cut(self, bins: Bins, error: float) -> Cut:
        groups = bins.mass > 0
        mass = bins.mass[groups]
        positive = np.repeat([False, True], np.count_nonzero(groups, axis=1))
        cut = self.measure.oracle_for(GroupedLabels(positive, mass, self.totals))(bins.total[groups] / mass)
        per_mass = np.zeros(bins.mass.shape)
        per_mass[groups] = cut.coef / mass
        return Cut(self.bin.coef_from_table(bins.slots, per_mass), cut.loss, error)
