"""Labeled rows grouped by their scores: what measures need of any number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import BoolArray, FloatArray
from ..measures import AveragePrecision, Measure

#: Bins of equal numbers of rows that scores are grouped into.
N_BINS = 4096


@dataclass(frozen=True)
class ScoreGroups:
    """Rows by class and bin of scores; the rows of a bin count as ties.

    Whole numbers as weights count as copies of a row, so that a measure of the groups is the measure of the
    rows if all scores of a bin were equal. Bins do not extend across 0, the threshold of the model.

    Attributes
    ----------
    positive : ndarray of bool of shape (n_groups,)
        The class of each group.
    position : ndarray of shape (n_groups,)
        The bins in their order, in steps of 1: above 0 for scores above 0.
    count : ndarray of shape (n_groups,)
        The number of rows, above 0.
    tied : ndarray of bool of shape (n_groups,)
        Whether all rows of the bin have the same score.
    """

    positive: BoolArray
    position: FloatArray
    count: FloatArray
    tied: BoolArray

    @classmethod
    def from_counts(cls, counts: FloatArray, edges: FloatArray, tied: BoolArray | None = None) -> Self:
        """Groups from numbers of rows by class (negative, positive) and bin.

        Bins end at the edges, which belong to the bin below them. One of the edges is 0. `tied` tells of
        which bins all rows are known to have the same score.
        """
        label, index = np.nonzero(counts)
        position = np.asarray(index - np.searchsorted(edges, 0.0) - 0.5, dtype=np.float64)
        known = np.zeros(len(index), dtype=bool) if tied is None else tied[index]
        return cls(label > 0, position, np.asarray(counts[label, index], dtype=np.float64), known)

    @classmethod
    def from_rows(cls, positive: BoolArray, scores: FloatArray) -> Self:
        """Groups of rows whose scores are in ascending order."""
        ends = np.linspace(0, len(scores) - 1, N_BINS + 1).astype(np.intp)
        edges = np.union1d(scores[ends], [0.0])
        index = np.searchsorted(edges, scores)
        n_bins = len(edges) + 1
        counts = [np.bincount(index[positive == label], minlength=n_bins) for label in (False, True)]
        starts = np.searchsorted(index, np.arange(n_bins + 1))
        last = np.append(scores, 0.0)[np.maximum(starts[1:] - 1, 0)]
        tied = np.append(scores, 0.0)[starts[:-1]] == last
        return cls.from_counts(np.array(counts, dtype=np.float64), edges, tied)

    @property
    def n_rows(self) -> float:
        """The number of all rows."""
        return float(self.count.sum())

    def score(self, measure: Measure, count: FloatArray | None = None) -> float:
        """The measure of the groups, whose numbers of rows can be others than `count`."""
        if count is None:
            return float(measure.score(self.positive, self.position, self.count))
        used = count > 0
        return float(measure.score(self.positive[used], self.position[used], count[used]))

    def score_range(self, measure: Measure) -> tuple[float, float]:
        """Bounds of the measure of the rows: within each bin, the positives below or above the negatives."""
        shift = np.where(self.positive, 0.25, -0.25) * ~self.tied
        low, high = (
            float(measure.score(self.positive, self.position + sign * shift, self.count)) for sign in (-1, 1)
        )
        if isinstance(measure, AveragePrecision):
            low = self._least_average_precision()
        return low, high

    def _least_average_precision(self) -> float:
        """A lower bound: the positives of a bin have the precision at the first of them, after its negatives.

        The measure gives those that are tied the precision at the last of them, which is higher.
        """
        bins, index = np.unique(-self.position, return_inverse=True)
        n_neg, n_pos = (
            np.bincount(index, np.where(self.positive == label, self.count, 0.0)) for label in (False, True)
        )
        tied = np.zeros(len(bins), dtype=bool)
        tied[index] = self.tied
        n_before = np.cumsum(n_pos) - n_pos
        n_counted = n_before + np.where(tied, n_pos, 1.0)
        return float(n_pos @ (n_counted / (n_counted + np.cumsum(n_neg))) / n_pos.sum())
