"""The operating point: where to cut scores so that the measure is best on rows yet to come.

The cut that is best on the rows at hand follows their luck. Better is the cut with the best value
of the *expected* confusion table: scores are calibrated into probabilities p, and a row counts as
p of a positive and 1 - p of a negative. Any measure can read such a table, since a row with
weights is all it needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ..calibration import Platt
from ..measures import Measure

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class OperatingPoint:
    """A cut on scores, and the probabilities that it rests on."""

    score: float
    calibration: Platt

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
    threshold: float | None = None,
) -> OperatingPoint:
    """The cut with the best expected value of the measure, for scores that are out of fold.

    A `threshold`, as a probability, is kept.
    """
    calibration = Platt.fit(scores, positive, weight)
    if threshold is not None:
        return OperatingPoint((logit(threshold) - calibration.intercept) / calibration.slope, calibration)
    share = calibration.probability(scores)
    mass = np.ones(len(scores)) if weight is None else weight
    either = np.repeat((True, False), len(scores))
    cut = measure.threshold(either, np.tile(scores, 2), np.concatenate((mass * share, mass * (1.0 - share))))
    return OperatingPoint(cut, calibration)
