"""Bootstrap: measures on rows drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compat import BoolArray, FloatArray, IntArray
from ..learning.folds import check_groups
from ..measures import AveragePrecision, Cost, Measure
from ._targets import BinaryTargets, Targets

#: Resamples for measures of the confusion matrix, which are cheap.
N_CONFUSION_RESAMPLES = 2000
#: Resamples for all other measures.
N_ROW_RESAMPLES = 200
#: Of more rows, resamples are drawn from groups of rows with similar scores.
MAX_RESAMPLED_ROWS = 50_000
#: With fewer groups the intervals are called uncertain.
MIN_GROUPS = 20
#: Draws of a resample until it has rows of every class.
MAX_DRAWS = 100
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

    def draw(self, n_resamples: int, seed: int) -> FloatArray:
        """Return the numbers of rows in resamples, of shape (n_resamples, n_groups)."""
        n_rows = self.count.sum()
        drawn = np.random.default_rng(seed).multinomial(int(n_rows), self.count / n_rows, size=n_resamples)
        for label in (False, True):  # measures need both classes
            lacking = ~drawn[:, self.positive == label].any(axis=1)
            drawn[lacking, np.argmax(self.positive == label)] = 1
        return np.asarray(drawn, dtype=np.float64)

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


class RowBootstrap:
    """Weights of rows that are drawn with replacement.

    Rows of one group depend on each other, so that single rows would vary less than new rows do: with groups,
    as many whole groups are drawn as there are.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        The sample weights.
    strata : ndarray of shape (n_rows,)
        Every resample has rows of each stratum that has any.
    groups : array-like of shape (n_rows,), optional
        The group of each row.
    n_resamples : int
        The number of resamples.
    random : RandomState
        Draws the rows.
    """

    def __init__(
        self,
        weight: FloatArray,
        strata: IntArray,
        groups: ArrayLike | None,
        n_resamples: int,
        random: np.random.RandomState,
    ) -> None:
        self._weight, self._strata = weight, strata
        self._units = (
            np.arange(len(weight))
            if groups is None
            else np.unique(check_groups(groups, len(weight)), return_inverse=True)[1]
        )
        self._n_units = int(self._units.max()) + 1
        self._present = np.bincount(strata, weight > 0) > 0
        self._seeds = random.randint(2**31 - 1, size=n_resamples)

    def weights(self) -> Iterator[FloatArray]:
        """Yield the weights of the rows in each resample, the same ones in every call."""
        return (self._draw(np.random.default_rng(seed)) for seed in self._seeds)

    def _draw(self, random: np.random.Generator) -> FloatArray:
        for _ in range(MAX_DRAWS):
            drawn = random.integers(self._n_units, size=self._n_units)
            weight = self._weight * np.bincount(drawn, minlength=self._n_units)[self._units]
            if ((np.bincount(self._strata, weight, len(self._present)) > 0) == self._present).all():
                return weight
        return self._weight


def describe_few_groups(groups: NDArray[Any] | None) -> str:
    """Return what limits the trust in intervals from few groups, otherwise ""."""
    n_groups = MIN_GROUPS if groups is None else len(np.unique(groups))
    if n_groups >= MIN_GROUPS:
        return ""
    count = "a single group" if n_groups == 1 else f"only {n_groups} groups"
    return f"the rows are from {count}, and intervals are uncertain"


@dataclass(frozen=True)
class Bootstrap:
    """Measures of outputs on rows drawn with replacement.

    Attributes
    ----------
    targets : Targets
        The true labels of the rows.
    outputs : ndarray
        The outputs for the rows.
    weights : callable
        Returns the weights of the rows in each resample.
    matrices : callable, optional
        Returns blocks of resampled confusion matrices, for measures that are functions of them.
    by_score : Bootstrap, optional
        The bootstrap of groups of rows with similar scores, if there are many rows.
    """

    targets: Targets
    outputs: FloatArray
    weights: Callable[[], Iterable[FloatArray]]
    matrices: Callable[[], Iterable[FloatArray]] | None
    by_score: Bootstrap | None = None

    @classmethod
    def of_rows(
        cls,
        targets: Targets,
        outputs: FloatArray,
        weight: FloatArray | None,
        groups: ArrayLike | None,
        random: np.random.RandomState,
    ) -> Bootstrap:
        """Draw single rows or whole groups; the confusion matrices of single rows are drawn directly."""
        n_rows, cost, matrices, by_score = len(outputs), targets.resample_cost, None, None
        strata = targets.strata if targets.needs_every_class else np.zeros(n_rows, dtype=np.intp)
        if weight is None and groups is None and targets.matrix_measures:
            counts = targets.count(outputs, None)
            matrices = targets.draw_matrices(counts, N_CONFUSION_RESAMPLES // cost, random)
            if isinstance(targets, BinaryTargets) and n_rows > MAX_RESAMPLED_ROWS:
                by_score = cls.of_counts(None, ScoreGroups.from_rows(targets.truth, outputs), random)
        mass = np.ones(n_rows) if weight is None else weight
        rows = RowBootstrap(mass, strata, groups, N_ROW_RESAMPLES // cost, random)
        return cls(targets, outputs, rows.weights, matrices, by_score)

    @classmethod
    def of_counts(
        cls, targets: Targets | None, groups: ScoreGroups, random: np.random.RandomState
    ) -> Bootstrap:
        """Draw the numbers of rows in groups of similar scores."""
        targets = targets or BinaryTargets(None, groups.positive, np.arange(2))
        counts = targets.count(groups.position, groups.count)
        matrices = targets.draw_matrices(counts, N_CONFUSION_RESAMPLES, random)
        drawn = groups.draw(N_ROW_RESAMPLES, random.randint(2**31 - 1))
        return cls(targets, groups.position, lambda: drawn, matrices)

    def resample(self, measure: Any) -> FloatArray:
        """Return the measure on each resample."""
        if self.matrices is not None and self.targets.is_of_matrix(measure):
            return np.concatenate([self.targets.value_of_matrices(measure, each) for each in self.matrices()])
        if self.by_score is not None and not (isinstance(measure, Cost) and measure.per_row):
            return self.by_score.resample(measure)
        return self.targets.values(measure, self.outputs, self.weights())

    def class_counts(self) -> FloatArray:
        """Return hits, predicted rows and true rows of each class, of shape (3, n_resamples, n_classes)."""
        if self.matrices is not None:
            return np.concatenate([self.targets.count_classes(each) for each in self.matrices()], axis=1)
        return np.stack([self.targets.class_counts(self.outputs, each) for each in self.weights()], axis=1)
