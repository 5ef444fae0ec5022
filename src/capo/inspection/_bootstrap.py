"""Bootstrap of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from .._compat import BoolArray, FloatArray, IntArray
from ..learning.folds import check_groups
from ..measures import AveragePrecision, ConfusionMeasure, Cost, Labels, Measure

#: With fewer groups the intervals are called uncertain.
MIN_GROUPS = 20


class RowSampler:
    """Draws rows with replacement.

    Rows of one group depend on each other, so that single rows would vary less than new rows do: with groups,
    as many whole groups are drawn as there are.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    groups : array-like of shape (n_rows,), optional
        The group of each row.
    """

    def __init__(self, n_rows: int, groups: ArrayLike | None = None) -> None:
        self._n_rows, self._has_groups = n_rows, groups is not None
        names = np.arange(0) if groups is None else check_groups(groups, n_rows)
        _, codes = np.unique(names, return_inverse=True)
        self._by_group, self._sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
        self._starts = np.cumsum(self._sizes) - self._sizes

    @property
    def has_groups(self) -> bool:
        """Whether whole groups are drawn."""
        return self._has_groups

    @property
    def caution(self) -> str:
        """What limits the trust in intervals from few groups; empty if there is nothing."""
        if not self._has_groups or len(self._sizes) >= MIN_GROUPS:
            return ""
        count = "a single group" if len(self._sizes) == 1 else f"only {len(self._sizes)} groups"
        return f"the rows are from {count}, and intervals are uncertain"

    def draw(self, seed: int) -> IntArray:
        """Return the positions of the rows of one draw."""
        generator = np.random.default_rng(seed)
        if not self._has_groups:
            return generator.integers(self._n_rows, size=self._n_rows)
        drawn = generator.integers(len(self._sizes), size=len(self._sizes))
        sizes = self._sizes[drawn]
        offsets = self._starts[drawn] - (np.cumsum(sizes) - sizes)
        return np.asarray(self._by_group[np.arange(sizes.sum()) + np.repeat(offsets, sizes)])


def join_cautions(*cautions: str) -> str:
    """Return the cautions that are not empty as one text."""
    return "; ".join(filter(None, cautions))


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


#: Resamples for measures of the confusion matrix, which are cheap.
N_CONFUSION_RESAMPLES = 2000
#: Resamples for all other measures.
N_ROW_RESAMPLES = 200
#: Of more rows, resamples are drawn from groups of rows with similar scores.
MAX_RESAMPLED_ROWS = 50_000


class Bootstrap(ABC):
    """A measure on all rows, and on rows drawn with replacement."""

    @abstractmethod
    def value(self, measure: Measure) -> float:
        """The measure on all rows."""

    @abstractmethod
    def resample(self, measure: Measure) -> FloatArray:
        """The measure on each resample."""


class GroupBootstrap(Bootstrap):
    """Resamples of the numbers of rows in groups of similar scores.

    Parameters
    ----------
    groups : ScoreGroups
        The groups.
    random : RandomState
        Source of the resamples.
    """

    def __init__(self, groups: ScoreGroups, random: np.random.RandomState) -> None:
        self.groups = groups
        self.cells = draw_confusion_matrices(groups.positive, groups.position > 0, groups.count, random)
        self.seed = random.randint(2**31 - 1)

    def value(self, measure: Measure) -> float:
        return self.groups.score(measure)

    def resample(self, measure: Measure) -> FloatArray:
        values = score_cells(measure, self.cells)
        if values is not None:
            return values
        return np.array([self.groups.score(measure, count) for count in self._resampled_counts])

    @cached_property
    def _resampled_counts(self) -> FloatArray:
        groups = self.groups
        draw = np.random.default_rng(self.seed).multinomial
        counts = draw(int(groups.n_rows), groups.count / groups.n_rows, size=N_ROW_RESAMPLES)
        for label in (False, True):  # measures need both classes
            lacking = ~counts[:, groups.positive == label].any(axis=1)
            counts[lacking, np.argmax(groups.positive == label)] = 1
        return np.asarray(counts, dtype=np.float64)


class RowBootstrap(Bootstrap):
    """Resamples of rows, or of whole groups such as patients.

    Many rows without weights and such groups are resampled by similar scores.

    Parameters
    ----------
    labels : Labels
        The classes and weights of the rows.
    scores : ndarray of shape (n_rows,)
        Their scores.
    random : RandomState
        Source of the resamples.
    groups : array-like of shape (n_rows,), optional
        The group of each row.
    """

    def __init__(
        self, labels: Labels, scores: FloatArray, random: np.random.RandomState, groups: ArrayLike | None
    ) -> None:
        self.labels, self.all_scores = labels, scores
        order = np.argsort(scores, kind="stable")
        order = order if labels.weight is None else order[labels.weight[order] > 0]
        self.order, self.scores, self.positive = order, scores[order], labels.positive[order]
        self.weight = None if labels.weight is None else labels.weight[order]
        self.sampler = RowSampler(len(order), None if groups is None else np.asarray(groups)[order])
        is_plain = self.weight is None and groups is None
        ones = np.ones(len(order))
        self.cells = (
            draw_confusion_matrices(self.positive, self.scores > 0, ones, random) if is_plain else None
        )
        self.by_score = (
            GroupBootstrap(ScoreGroups.from_rows(self.positive, self.scores), random)
            if is_plain and len(order) > MAX_RESAMPLED_ROWS
            else None
        )
        self.seeds = random.randint(2**31 - 1, size=N_ROW_RESAMPLES)

    def value(self, measure: Measure) -> float:
        return float(measure.score(self.labels.positive, self.all_scores, self.labels.weight))

    def resample(self, measure: Measure) -> FloatArray:
        values = None if self.cells is None else score_cells(measure, self.cells)
        if values is not None:
            return values
        if self.by_score is not None and not (isinstance(measure, Cost) and measure.per_row):
            return self.by_score.resample(measure)
        return np.array([self._value_on_resample(measure, seed) for seed in self.seeds])

    def _value_on_resample(self, measure: Measure, seed: int) -> float:
        rows = self.sampler.draw(seed)
        if not 0 < np.count_nonzero(self.positive[rows]) < len(rows):  # measures need both classes
            rows[:2] = np.argmin(self.positive), np.argmax(self.positive)
        rows.sort()
        weight = None if self.weight is None else self.weight[rows]
        drawn = measure.for_rows(self.order[rows])
        return float(drawn.score(self.positive[rows], self.scores[rows], weight))


#: Label and prediction of the rows of tp, fp, fn and tn.
_CELLS = ((True, True), (False, True), (True, False), (False, False))


def draw_confusion_matrices(
    positive: BoolArray, predicted: BoolArray, count: FloatArray, random: np.random.RandomState
) -> FloatArray:
    """Confusion matrices of rows drawn with replacement: a multinomial draw of the four cells."""
    cells = np.array(
        [count[(positive == label) & (predicted == guess)].sum() for label, guess in _CELLS], dtype=np.float64
    )
    n_rows = cells.sum()
    drawn = random.multinomial(int(n_rows), cells / n_rows, size=N_CONFUSION_RESAMPLES)
    return np.asarray(drawn.T, dtype=np.float64)


def score_cells(measure: Measure, cells: FloatArray) -> FloatArray | None:
    """The measure of confusion matrices with rows of both classes; None if it depends on more than them."""
    if not (isinstance(measure, ConfusionMeasure) and measure.needs_threshold):
        return None
    both = (cells[0] + cells[2] > 0) & (cells[1] + cells[3] > 0)
    return np.asarray(measure.value(*cells[:, both]))
