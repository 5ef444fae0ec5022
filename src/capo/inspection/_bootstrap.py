"""Values of measures on rows drawn with replacement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, FloatArray
from ..measures import ConfusionMeasure, Cost, Labels, Measure
from ._row_sampler import RowSampler
from ._score_groups import ScoreGroups

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
