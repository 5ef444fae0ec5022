"""Threshold rules: the best expected value, a given probability, or a score of 0.

The threshold that is best on the rows at hand follows their noise. Better is the threshold with the
best value of the *expected* confusion matrix: scores are calibrated into probabilities p, and a row
counts as p of a positive and 1 - p of a negative. Any measure can evaluate such a matrix, because a
row with weights is all it needs.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from .._compat import BoolArray, FloatArray
from ..exceptions import ConstraintWarning
from ..measures import Measure
from ._calibration import PlattCalibrator, normalize_weights


class Decision(ABC):
    """Turns scores into labels.

    A fitted classifier has one as `decision_`. Scores are log-odds for two classes and for labels, and
    probabilities for many classes.
    """

    @abstractmethod
    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the decision function; for two classes and for labels, above 0 is positive."""

    def decide(self, scores: FloatArray) -> NDArray[Any]:
        """Return which rows or labels are positive; for many classes, the position of the class."""
        return self.margins(scores) > 0

    @abstractmethod
    def describe(self) -> str:
        """Return the decision in one sentence."""


@dataclass(frozen=True)
class Threshold(Decision):
    """Rows are positive if their log-odds are above a number.

    Attributes
    ----------
    log_odds : float
        The log-odds of the positive class at the threshold.
    reason : str
        Where the threshold comes from.
    """

    log_odds: float
    reason: str

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those at the threshold."""
        return scores - self.log_odds

    def describe(self) -> str:
        """Return the decision in one sentence."""
        return f"positive if the probability is above {expit(self.log_odds):.4g}, {self.reason}"


#: A threshold that gives every row the same label lies this far beyond all scores.
MARGIN_BEYOND_SCORES = 1e-3
#: A threshold that is known from elsewhere counts as much as so many rows of the rarer class.
KNOWN_THRESHOLD_ROWS = 1.0


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold on scores, and the calibration that turns these scores into probabilities.

    Attributes
    ----------
    score : float
        Rows with a higher score are positive.
    calibration : PlattCalibrator
        From scores to the log-odds of the positive class.
    """

    score: float
    calibration: PlattCalibrator

    @property
    def log_odds(self) -> float:
        """The log-odds of the positive class at the threshold."""
        return float(self.calibration.log_odds(np.array([self.score]))[0])

    @property
    def probability(self) -> float:
        """The probability of the positive class at the threshold."""
        return float(expit(self.log_odds))


class ThresholdRule(ABC):
    """Chooses the operating point for scores that are out of fold."""

    #: Where its thresholds come from, as a part of a sentence.
    reason: ClassVar[str] = "which has the best expected value of the measure"
    #: Whether scores may be shifted without changing the labels that result.
    shift_invariant: ClassVar[bool] = True
    #: Whether the threshold depends on the labels.
    learns: ClassVar[bool] = True
    #: Whether scores must be log-odds, measured from a threshold that is known.
    needs_log_odds: ClassVar[bool] = False

    def toward_zero(self) -> ThresholdRule:
        """Return the rule for log-odds that are measured from a threshold that is known."""
        return self

    @abstractmethod
    def __call__(
        self, measure: Measure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
    ) -> OperatingPoint:
        """Return the threshold on these scores."""


def expected_value_threshold(
    measure: Measure, scores: FloatArray, probability: FloatArray, mass: FloatArray
) -> float:
    """The threshold on scores with the best expected value, if rows are positive with these probabilities."""
    both_labels = np.repeat((True, False), len(scores))
    expected_mass = np.concatenate((mass * probability, mass * (1.0 - probability)))
    twice = np.tile(np.arange(len(scores)), 2)
    threshold = measure.for_rows(twice).threshold(both_labels, scores[twice], expected_mass)
    return _clear_of_extremes(threshold, scores)


@dataclass(frozen=True)
class ExpectedValueThreshold(ThresholdRule):
    """The threshold with the best expected value of the measure under calibrated probabilities.

    Attributes
    ----------
    observed_share : float
        How much of each row is counted by its label and not by its probability: 1 is the threshold that is
        best on the rows at hand.
    """

    observed_share: float = 0.0

    def toward_zero(self) -> ThresholdRule:
        """Return the rule that shrinks the threshold toward 0."""
        return ShrunkenThreshold(self)

    def __call__(
        self, measure: Measure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
    ) -> OperatingPoint:
        """Return the threshold on these scores."""
        return self.choose(PlattCalibrator.fit(scores, positive, weight), measure, scores, positive, weight)

    def choose(
        self,
        calibration: PlattCalibrator,
        measure: Measure,
        scores: FloatArray,
        positive: BoolArray,
        weight: FloatArray | None,
    ) -> OperatingPoint:
        """Return the threshold on these scores, with probabilities from a calibration."""
        share = self.observed_share
        probability = (1.0 - share) * calibration.probability(scores) + share * positive
        mass = np.ones(len(scores)) if weight is None else weight
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConstraintWarning)
                threshold = expected_value_threshold(measure, scores, probability, mass)
        except ConstraintWarning:  # no threshold is expected to meet the constraint; one may on these rows
            threshold = _clear_of_extremes(measure.threshold(positive, scores, weight), scores)
        return OperatingPoint(threshold, calibration)


@dataclass(frozen=True)
class ShrunkenThreshold(ThresholdRule):
    """The threshold with the best expected value, shrunk toward a score of 0.

    The scores are log-odds, measured from the threshold of a model from elsewhere. Log-odds that are learned
    from n rows of the rarer class have a variance of about 1/n. If the best threshold here is expected
    within one unit of the known one, that counts as much as one more row: the threshold is multiplied by
    n / (n + 1).

    Attributes
    ----------
    rule : ExpectedValueThreshold
        Chooses the threshold that is shrunk.
    """

    rule: ExpectedValueThreshold
    shift_invariant: ClassVar[bool] = False
    needs_log_odds: ClassVar[bool] = True

    def __call__(
        self, measure: Measure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
    ) -> OperatingPoint:
        """Return the threshold on these scores."""
        calibration = PlattCalibrator.fit_log_odds(scores, positive, weight)
        best = self.rule.choose(calibration, measure, scores, positive, weight)
        counts = normalize_weights(len(scores), weight)
        n_rarer = float(min(counts[positive].sum(), counts[~positive].sum()))
        return OperatingPoint(best.score * n_rarer / (n_rarer + KNOWN_THRESHOLD_ROWS), calibration)


@dataclass(frozen=True)
class FixedThreshold(ThresholdRule):
    """A probability of the positive class, given by the user."""

    probability: float
    reason: ClassVar[str] = "as given"

    def __call__(
        self, measure: Measure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
    ) -> OperatingPoint:
        """Return the score at which the calibrated probability is the one given."""
        calibration = PlattCalibrator.fit(scores, positive, weight)
        return OperatingPoint(float(calibration.scores(logit(self.probability))), calibration)


@dataclass(frozen=True)
class ZeroThreshold(ThresholdRule):
    """A score of 0, for which measures of labels are optimized; rankings get the best expected value."""

    shift_invariant: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    reason: ClassVar[str] = "where the score is 0"

    def __call__(
        self, measure: Measure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
    ) -> OperatingPoint:
        """Return a threshold of 0 where the measure needs one."""
        if measure.needs_threshold:
            return OperatingPoint(0.0, PlattCalibrator.fit(scores, positive, weight))
        return ExpectedValueThreshold()(measure, scores, positive, weight)


def _clear_of_extremes(threshold: float, scores: FloatArray) -> float:
    """Move a threshold beyond all scores away from them, so that no rounding error changes a label."""
    low, high = float(scores.min()), float(scores.max())
    if threshold < low:
        return low - MARGIN_BEYOND_SCORES
    return high + MARGIN_BEYOND_SCORES if threshold >= high else threshold
