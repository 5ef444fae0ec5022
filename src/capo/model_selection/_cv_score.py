"""The value of a measure out of fold, with its standard error.

The value is that of all rows together, each scored by a model that has not seen it; a measure of
labels uses thresholds that have not seen it either. The standard error is that of the jackknife over
folds. Unlike the standard deviation of a mean over folds it also exists where a fold has no positive
row. If the folds are repeated, the value is the mean over the repeats, and the jackknife leaves out the rows
of each fold of the first repeat: repeats are no new rows, and do not make the error of few rows smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..measures import Measure
from ._threshold import ThresholdRule


@dataclass(frozen=True)
class CVScore:
    """A value out of fold, and the values without each fold in turn.

    Attributes
    ----------
    value : float
        The value of the measure on all rows.
    leave_one_out : ndarray of shape (n_folds,)
        The values without the rows of each fold in turn.
    max_std : float, default=inf
        The largest standard deviation that a value can have.
    """

    value: float
    leave_one_out: FloatArray
    max_std: float = math.inf

    @classmethod
    def mean(cls, scores: Sequence[CVScore]) -> CVScore:
        """Return the mean over repeats, whose values leave out the same rows in turn."""
        value = float(np.mean([each.value for each in scores]))
        leave_one_out = np.mean([each.leave_one_out for each in scores], axis=0)
        return cls(value, leave_one_out, scores[0].max_std)

    @property
    def std(self) -> float:
        """The standard deviation of the value of one fold."""
        return min(self.standard_error * math.sqrt(len(self.leave_one_out)), self.max_std)

    @property
    def standard_error(self) -> float:
        """The standard error of the value."""
        return _jackknife_error(self.leave_one_out)

    def gain_std_error(self, baseline: CVScore) -> float:
        """The standard error of the difference between two values of the same rows."""
        return _jackknife_error(self.leave_one_out - baseline.leave_one_out)

    def shift_from(self, old: CVScore, new: CVScore) -> CVScore:
        """Return a score whose gain over `new` is that of this score over `old`, with its standard error."""
        return replace(
            self,
            value=new.value + (self.value - old.value),
            leave_one_out=new.leave_one_out + (self.leave_one_out - old.leave_one_out),
        )

    def is_significant_gain(
        self, baseline: CVScore, min_std_errors: float, min_share_of_error: float = 0.0
    ) -> bool:
        """Whether the gain exceeds some standard errors and remains a gain whichever fold is left out.

        It must also exceed a share of the standard error of the baseline's value.
        """
        gain = self.value - baseline.value
        least = max(
            min_std_errors * self.gain_std_error(baseline), min_share_of_error * baseline.standard_error
        )
        return gain > least and bool((self.leave_one_out > baseline.leave_one_out).all())


def _jackknife_error(values: FloatArray) -> float:
    n = len(values)
    return float(np.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2)))


@dataclass(frozen=True)
class CVScorer:
    """Computes the `CVScore` of out-of-fold scores for one measure, one set of rows and their folds.

    Attributes
    ----------
    measure : Measure
        The measure to evaluate.
    threshold : ThresholdRule
        Chooses each fold's threshold from the rows of the other folds.
    positive : ndarray of bool, shape (n_samples,)
        Which rows are positive.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold in which each row is held out.
    blocks : ndarray of int, shape (n_samples,), optional
        The rows that the jackknife leaves out together have the same number; by default the rows of a fold.
    strata : ndarray of int, shape (n_samples,), optional
        A fold's threshold is chosen on the other folds that have the same number; by default on all others.
    """

    measure: Measure
    threshold: ThresholdRule
    positive: BoolArray
    weight: FloatArray | None
    folds: IntArray
    blocks: IntArray | None = None
    strata: IntArray | None = None

    def __call__(self, scores: FloatArray) -> CVScore:
        """Evaluate out-of-fold scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_folds, n_samples)
            The score of each row; or, for each fold, scores from models that have not seen the fold.
        """
        by_fold = np.broadcast_to(scores, (self._fold_numbers[-1] + 1, len(self.folds)))
        held_out = by_fold[self.folds, np.arange(len(self.folds))]
        return self.evaluate(held_out - self.thresholds(by_fold))

    def evaluate(self, decisions: FloatArray) -> CVScore:
        """Evaluate scores from which their thresholds have been subtracted."""
        blocks = self.folds if self.blocks is None else self.blocks
        leave_one_out = [self._value(decisions, blocks != block) for block in np.unique(blocks)]
        return CVScore(self._value(decisions, slice(None)), np.array(leave_one_out), self.measure.max_std)

    def thresholds(self, by_fold: FloatArray) -> FloatArray:
        """For each row, the threshold chosen on the scores that its fold has for the other folds."""
        thresholds = np.zeros(len(self.folds))
        for fold in self._fold_numbers if self.measure.needs_threshold else ():
            held_out = self.folds == fold
            others = ~held_out
            if self.strata is not None:
                others &= self.strata == self.strata[held_out][0]
            thresholds[held_out] = self._held_out_thresholds(by_fold[fold, others], others, held_out)
        return thresholds

    def _held_out_thresholds(
        self, scores: FloatArray, others: BoolArray, held_out: BoolArray
    ) -> float | FloatArray:
        """The threshold of the rows held out, or one for each where rows have thresholds of their own."""
        measure = self.measure.for_rows(others)
        point = self.threshold(measure, scores, self.positive[others], self._weight(others))
        row_log_odds = self.measure.for_rows(held_out).row_log_odds
        return point.score if row_log_odds is None else point.calibration.scores(row_log_odds)

    @property
    def _fold_numbers(self) -> IntArray:
        return np.unique(self.folds)

    def _value(self, scores: FloatArray, rows: BoolArray | slice) -> float:
        measure = self.measure.for_rows(rows)
        return measure.score(self.positive[rows], scores[rows], self._weight(rows))

    def _weight(self, rows: BoolArray | slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[rows]
