"""Bootstrap: measures on rows with random weights.

The Bayesian bootstrap: each row, or group of rows, gets a weight from an exponential distribution. A measure
that is the same on all rows, such as a recall of 1, would be the same in all resamples; *pseudo-rows* prevent
that. They are right and wrong predictions of each class, with a total weight of two rows. For two classes
each cell of the confusion matrix gets half a row, so that the interval of a rate is that of Jeffreys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from .._compat import BoolArray, FloatArray, NDArray
from ..measures import AveragePrecision, Measure
from ._targets import Targets

#: Number of resamples, its minimum for many rows, and the limit on the number of rows evaluated in total.
N_RESAMPLES, MIN_RESAMPLES, MAX_EVALUATED_ROWS = 400, 100, 50_000_000
#: The share of resamples outside each end of a 95% interval.
TAIL = 0.025
#: The weight of all pseudo-rows.
PSEUDO_WEIGHT = 2.0
#: With fewer groups the intervals are called uncertain.
MIN_GROUPS = 20
#: Bins of equal numbers of rows that scores are grouped into, and of rows of the rarer class.
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
        # Rows of the rarer class get separate bins if there are not too many.
        rare = scores[positive] if positive.mean() <= 0.5 else scores[~positive]
        ends, own = (
            each[np.linspace(0, len(each) - 1, N_BINS + 1).astype(np.intp)] for each in (scores, rare)
        )
        edges = np.unique(np.concatenate((ends, own, np.nextafter(own, -np.inf), [0.0])))
        index = np.searchsorted(edges, scores)
        n_bins = len(edges) + 1
        counts = [np.bincount(index[positive == label], minlength=n_bins) for label in (False, True)]
        starts = np.searchsorted(index, np.arange(n_bins + 1))
        last = np.append(scores, 0.0)[np.maximum(starts[1:] - 1, 0)]
        tied = np.append(scores, 0.0)[starts[:-1]] == last
        return cls.from_counts(np.array(counts, dtype=np.float64), edges, tied)

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


class RandomWeights:
    """Random weights of rows, the same ones in every iteration.

    Rows of one group depend on each other, so that single rows would vary less than new rows do: all rows of
    a group get the same random factor.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        The sample weights.
    groups : ndarray of shape (n_rows,), optional
        The group of each row.
    n_resamples : int
        The number of resamples.
    random : RandomState
        Draws the weights.
    counts : ndarray, optional
        The number of rows that each row, or each group, stands for; 1 by default.
    """

    def __init__(
        self,
        weight: FloatArray,
        groups: NDArray[Any] | None,
        n_resamples: int,
        random: np.random.RandomState,
        counts: FloatArray | None = None,
    ) -> None:
        self._weight, self._units = weight, np.arange(len(weight))
        if groups is not None:
            self._units = np.unique(groups, return_inverse=True)[1]
        self._counts = np.ones(int(self._units.max()) + 1) if counts is None else counts
        #: The sum of the weights in each resample.
        self.total = float(weight @ self._counts[self._units])
        self._seeds = random.randint(2**31 - 1, size=n_resamples)

    def __iter__(self) -> Iterator[FloatArray]:
        for seed in self._seeds:
            weight = self._weight * np.random.default_rng(seed).standard_gamma(self._counts)[self._units]
            yield weight * (self.total / weight.sum())


def describe_few_groups(groups: NDArray[Any] | None) -> str:
    """Return what limits the trust in intervals from few groups, otherwise ""."""
    n_groups = MIN_GROUPS if groups is None else len(np.unique(groups))
    if n_groups >= MIN_GROUPS:
        return ""
    count = "a single group" if n_groups == 1 else f"only {n_groups} groups"
    return f"the rows are from {count}, and intervals are uncertain"


class Bootstrap:
    """Intervals of measures of outputs, from random weights of the rows.

    Parameters
    ----------
    targets : Targets
        The true labels of the rows.
    outputs : ndarray
        The outputs for the rows.
    weight : ndarray of shape (n_rows,), optional
        The sample weights.
    groups : ndarray of shape (n_rows,), optional
        The group of each row.
    random : RandomState
        Draws the weights.
    counts : ndarray of shape (n_rows,), optional
        The number of rows that each row stands for.
    """

    def __init__(
        self,
        targets: Targets,
        outputs: FloatArray,
        weight: FloatArray | None,
        groups: NDArray[Any] | None,
        random: np.random.RandomState,
        counts: FloatArray | None = None,
    ) -> None:
        n_rows = len(outputs)
        rows, truth, pseudo_outputs = targets.pseudo_rows(outputs)
        self._rows = np.concatenate((np.arange(n_rows), rows))
        self._targets = targets.take(self._rows)
        self._targets.truth[n_rows:] = truth
        self._outputs = np.concatenate((outputs, pseudo_outputs))
        mass = np.ones(n_rows) if weight is None else weight
        units = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
        n_units = int(units.max()) + 1
        counts = np.ones(n_units) if counts is None else counts
        # Each pseudo-row is a separate unit with the mean weight.
        self._weights = RandomWeights(
            np.append(mass, np.full(len(rows), mass.sum() / n_units)),
            np.append(units, n_units + np.arange(len(rows))),
            int(np.clip(MAX_EVALUATED_ROWS // n_rows, MIN_RESAMPLES, N_RESAMPLES)),
            random,
            np.append(counts, np.full(len(rows), PSEUDO_WEIGHT / len(rows))),
        )
        self._weights.total = float(mass @ counts[units])
        strata = targets.strata if targets.needs_every_class else np.zeros(n_rows, dtype=np.intp)
        sizes = [counts[np.unique(units[strata == each])].sum() for each in np.unique(strata)]
        self._n_rarest = max(2.0, min(sizes))

    def intervals(self, measures: Sequence[Any], on_progress: Callable[[str], None]) -> FloatArray:
        """Return the ends of the 95% intervals, of shape (n_measures, 2).

        Quantiles of resamples of few rows are too close to each other: for measures of the order of scores
        they are moved apart as Student's distribution is wider than the normal one, with as many degrees of
        freedom as there are rows of the rarer of two classes, minus 1 (Hesterberg, 2015).
        """
        of_rows = [each.for_rows(self._rows) if isinstance(each, Measure) else each for each in measures]
        found = []
        for number, weight in enumerate(self._weights, start=1):
            found.append([self._targets.score(each, self._outputs, weight) for each in of_rows])
            on_progress(f"resample {number}")
        n = self._n_rarest
        wider = norm.cdf(student.ppf(TAIL, n - 1.0) * np.sqrt(n / (n - 1.0)))
        tails = [TAIL if getattr(each, "needs_threshold", False) else wider for each in measures]
        values = np.array(found).T
        return np.array(
            [np.nanquantile(each, (tail, 1.0 - tail)) for each, tail in zip(values, tails, strict=True)]
        )
