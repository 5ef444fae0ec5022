"""The operating point: where to cut scores so that the measure is best on rows yet to come.

The cut that is best on the rows at hand follows their luck. Better is the cut with the best value
of the *expected* confusion table: scores are calibrated into probabilities p, and a row counts as
p of a positive and 1 - p of a negative. Any measure can read such a table, since a row with
weights is all it needs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from .._typing import FloatArray
from ..exceptions import ConstraintWarning
from ..measures import Measure
from ..model_selection import PlattCalibrator

#: How far beyond all scores a cut lies that gives every row the same answer.
MARGIN = 1e-3


@dataclass(frozen=True)
class OperatingPoint:
    """A cut on scores, and the probabilities that it rests on."""

    score: float
    calibration: PlattCalibrator

    @property
    def log_odds(self) -> float:
        """The log-odds of the positive class at the cut."""
        return float(self.calibration.log_odds(np.array([self.score]))[0])

    @property
    def probability(self) -> float:
        """The probability of the positive class at the cut."""
        return float(expit(self.log_odds))


def operating_point(
    measure: Measure,
    scores: FloatArray,
    positive: NDArray[np.bool_],
    weight: FloatArray | None,
    threshold: float | str | None = None,
) -> OperatingPoint:
    """The cut with the best expected value of the measure, for scores that are out of fold.

    A `threshold`, as a probability, is kept; "zero" cuts at a score of 0 where the measure wants a cut.
    """
    calibration = PlattCalibrator.fit(scores, positive, weight)
    if isinstance(threshold, str) and measure.needs_threshold:
        return OperatingPoint(0.0, calibration)
    if isinstance(threshold, float):
        return OperatingPoint((logit(threshold) - calibration.intercept) / calibration.slope, calibration)
    share = calibration.probability(scores)
    mass = np.ones(len(scores)) if weight is None else weight
    either = np.repeat((True, False), len(scores))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConstraintWarning)
            shares = np.concatenate((mass * share, mass * (1.0 - share)))
            cut = measure.threshold(either, np.tile(scores, 2), shares)
    except ConstraintWarning:  # not to be expected; but perhaps seen
        cut = measure.threshold(positive, scores, weight)
    # A cut beyond all scores, for one answer to every row, must not hang on the last digit.
    low, high = float(scores.min()) - MARGIN, float(scores.max()) + MARGIN
    return OperatingPoint(low if cut < scores.min() else high if cut >= scores.max() else cut, calibration)
