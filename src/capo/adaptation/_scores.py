"""How good scores are out of fold, with their spread.

The value is that of all rows together, each scored by a model that has not seen it; a measure of
labels is taken at cuts that have not seen it either. The spread is what the value of one fold
would vary by: the standard error that the jackknife over folds gives, times the root of their
number. Unlike a mean over folds it also holds where a fold has no positive row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..measures import Measure
from ._problem import AdaptationData, Settings
from ._threshold import operating_point

#: Standard errors that a gain must be above to be believed.
ENOUGH_ERRORS = 2.0


@dataclass(frozen=True)
class CVScore:
    """A value and the values without each fold in turn."""

    value: float
    without: FloatArray

    @property
    def spread(self) -> float:
        """The standard deviation of the value of a fold."""
        return self.error * float(np.sqrt(len(self.without)))

    @property
    def error(self) -> float:
        """The standard error of the value."""
        return _jackknife(self.without)

    def convinces(self, over: CVScore) -> bool:
        """Whether the gain is above twice its standard error, and there whichever fold is left out."""
        gain = self.value - over.value
        return gain > ENOUGH_ERRORS * self.error_of_gain(over) and bool((self.without > over.without).all())

    def error_of_gain(self, over: CVScore) -> float:
        """The standard error of the difference between two figures of the same rows."""
        return _jackknife(self.without - over.without)


def _jackknife(without: FloatArray) -> float:
    n = len(without)
    return float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))


def cv_score(settings: Settings, scores: FloatArray, rows: AdaptationData, folds: IntArray) -> CVScore:
    """The figure for out-of-fold scores; ``folds`` is the number of each row's fold."""
    numbers, measure = np.unique(folds), settings.measure
    if measure.needs_threshold:
        scores = scores - _cuts(settings, scores, rows, folds)
    without = np.array([_value(measure, scores, rows, folds != number) for number in numbers])
    return CVScore(_value(measure, scores, rows, slice(None)), without)


def _cuts(settings: Settings, scores: FloatArray, rows: AdaptationData, folds: IntArray) -> FloatArray:
    """For each row the cut that the other folds ask for."""
    cuts = np.zeros(len(scores))
    for number in np.unique(folds):
        others = folds != number
        weight = None if rows.weight is None else rows.weight[others]
        point = operating_point(
            settings.measure, scores[others], rows.positive[others], weight, settings.threshold
        )
        cuts[~others] = point.score
    return cuts


def _value(
    measure: Measure, scores: FloatArray, rows: AdaptationData, index: NDArray[np.bool_] | slice
) -> float:
    weight = None if rows.weight is None else rows.weight[index]
    return measure.score(rows.positive[index], scores[index], weight)
