"""The value of a measure out of fold, with its standard error.

The value is that of all rows together, each scored by a model that has not seen it; a measure of
labels uses thresholds that have not seen it either. The standard error is that of the jackknife over
folds. Unlike the standard deviation of a mean over folds it also exists where a fold has no positive
row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..measures import Measure
from ._threshold import ThresholdRule

#: A gain must exceed this many standard errors to count as one.
MIN_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class CVScore:
    """A value out of fold, and the values without each fold in turn.

    Attributes
    ----------
    value : float
        The value of the measure on all rows.
    leave_one_out : ndarray of shape (n_folds,)
        The values without the rows of each fold in turn.
    """

    value: float
    leave_one_out: FloatArray

    @property
    def std(self) -> float:
        """The standard deviation of the value of one fold."""
        return self.standard_error * float(np.sqrt(len(self.leave_one_out)))

    @property
    def standard_error(self) -> float:
        """The standard error of the value."""
        return _jackknife_error(self.leave_one_out)

    def gain_std_error(self, baseline: CVScore) -> float:
        """The standard error of the difference between two values of the same rows."""
        return _jackknife_error(self.leave_one_out - baseline.leave_one_out)

    def is_significant_gain(self, baseline: CVScore) -> bool:
        """Whether the gain exceeds two standard errors and remains a gain whichever fold is left out."""
        gain = self.value - baseline.value
        return gain > MIN_STANDARD_ERRORS * self.gain_std_error(baseline) and bool(
            (self.leave_one_out > baseline.leave_one_out).all()
        )


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
    """

    measure: Measure
    threshold: ThresholdRule
    positive: BoolArray
    weight: FloatArray | None
    folds: IntArray

    def __call__(self, scores: FloatArray) -> CVScore:
        """Evaluate out-of-fold scores."""
        if self.measure.needs_threshold:
            scores = scores - self._thresholds(scores)
        leave_one_out = [self._value(scores, self.folds != fold) for fold in np.unique(self.folds)]
        return CVScore(self._value(scores, slice(None)), np.array(leave_one_out))

    def _thresholds(self, scores: FloatArray) -> FloatArray:
        """For each row, the threshold chosen on the other folds."""
        thresholds = np.zeros(len(scores))
        for fold in np.unique(self.folds):
            others = self.folds != fold
            point = self.threshold(self.measure, scores[others], self.positive[others], self._weight(others))
            thresholds[~others] = point.score
        return thresholds

    def _value(self, scores: FloatArray, rows: BoolArray | slice) -> float:
        return self.measure.score(self.positive[rows], scores[rows], self._weight(rows))

    def _weight(self, rows: BoolArray | slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[rows]
