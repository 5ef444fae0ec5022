"""Threshold rules: the best expected value, a fixed probability, or a score of 0.

The best threshold on the training rows overfits their noise. A better choice is the threshold with the best
value of the *expected* confusion matrix: scores are calibrated into probabilities p, and a row counts as p of
a positive and 1 - p of a negative. Any measure can evaluate such a matrix as rows with weights. A constraint
must also pass a test on the labels.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from .._compat import BoolArray, FloatArray, NDArray
from ..exceptions import ConstraintWarning
from ..measures import ConstrainedMeasure, Labels, Measure, score_curve
from ._calibration import ClassScores, PlattCalibrator, normalize_weights
from ._constraint import Constraint, count_rows_needed


class Decision(ABC):
    """Turns scores into labels.

    A fitted classifier has one as `decision_`. Scores are log-odds for two classes and for labels, and
    probabilities for many classes.
    """

    #: Prediction for rows of two classes that get no label; None if every row gets one.
    abstain_label: Any = None

    @abstractmethod
    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the decision function; for two classes and for labels, above 0 is positive."""

    def lower_margins(self, scores: FloatArray) -> FloatArray:
        """Return a number for each row, above 0 if the row is not negative."""
        return self.margins(scores)

    def decide(self, scores: FloatArray) -> NDArray[Any]:
        """Return which rows or labels are positive; the position in `answers` if there are more than two."""
        positive = self.margins(scores) > 0
        return positive if self.abstain_label is None else positive + (self.lower_margins(scores) > 0) * 1

    def answers(self, label_pair: NDArray[Any]) -> NDArray[Any]:
        """Return the prediction for each of the positions from `decide`."""
        if self.abstain_label is None:
            return label_pair
        negative, positive = label_pair.tolist()
        values = [negative, self.abstain_label, positive]
        same_type = len({type(each) for each in values}) == 1
        return np.array(values) if same_type else np.array(values, dtype=object)

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
        The origin of the threshold.
    """

    log_odds: float
    reason: str

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those at the threshold."""
        return scores - self.log_odds

    def describe(self) -> str:
        """Return the decision in one sentence."""
        return f"positive if the probability is above {expit(self.log_odds):.4g}, {self.reason}"


#: Log-odds above those of any row; large enough for that, and small enough that scores relative to it
#: still tell probabilities apart.
NO_ROW_CUT = 1e9
#: Log-odds below those of any row.
ALL_ROWS_CUT = -NO_ROW_CUT
#: Distance beyond all scores of a threshold that gives every row the same label.
MARGIN_BEYOND_SCORES = 1e-3
#: The confidence with which a constraint must hold on the training rows, where no calibration rows are held
#: out for a promise.
CAREFUL_CONFIDENCE = 0.6
#: A known threshold counts as much as this many rows of the rarer class.
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


class ThresholdRule(ABC):
    """Chooses the operating point for scores that are out of fold."""

    #: The reason for its thresholds, as part of a sentence.
    reason: ClassVar[str] = "which has the best expected value of the measure"
    #: Whether scores may be shifted without changing the labels that result.
    shift_invariant: ClassVar[bool] = True
    #: Whether the threshold depends on the labels.
    learns: ClassVar[bool] = True
    #: Whether scores must be log-odds relative to a known threshold.
    needs_log_odds: ClassVar[bool] = False

    def toward_zero(self) -> ThresholdRule:
        """Return the rule for log-odds relative to a known threshold."""
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


def effective_counts(weight: FloatArray) -> FloatArray:
    """Weights that sum to the effective number of rows (Kish)."""
    return np.asarray(weight * (weight.sum() / (weight @ weight)))


def careful_threshold(
    measure: ConstrainedMeasure,
    scores: FloatArray,
    probability: FloatArray,
    positive: BoolArray,
    counts: FloatArray,
) -> float:
    """The threshold with the best expected value at which the constraint is expected to hold, and tested.

    With few rows, a threshold that seems to satisfy the constraint by chance violates it on new rows.
    Therefore the labels must also pass an exact test with a confidence of `CAREFUL_CONFIDENCE`. If no
    threshold does, it is infinite, on the side where the constraint holds by definition: without predicted
    positives for a precision.

    Parameters
    ----------
    measure : ConstrainedMeasure
        The measure.
    scores, probability, positive : ndarray of shape (n_rows,)
        The score of each row, the probability that it is positive, and whether it is.
    counts : ndarray of shape (n_rows,)
        How many rows each row stands for.
    """
    constraint, both = Constraint.from_measure(measure), np.repeat((True, False), len(scores))

    def curve(share: FloatArray | BoolArray) -> Any:
        mass = np.concatenate((counts * share, counts * (1.0 - share)))
        return score_curve(Labels.from_arrays(both, mass), np.tile(scores, 2))

    def p_values(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        return constraint.p_values(*constraint.count(tp=tp, fp=fp, fn=fn, tn=tn))

    expected, observed = curve(probability), curve(positive)
    passes = observed.evaluate(p_values) <= 1.0 - CAREFUL_CONFIDENCE
    passes &= expected.evaluate(measure.is_satisfied) > 0
    safe_end = 0 if constraint.rate.safe_end == "none" else len(passes) - 1
    if not np.delete(passes, safe_end).any():
        n_rows = round(float(counts.sum()))
        training = ClassScores(scores, probability)
        needed = count_rows_needed([constraint], training, n_rows, CAREFUL_CONFIDENCE)
        warnings.warn(
            f"no threshold keeps the constraint of {measure.label} with a confidence of "
            f"{CAREFUL_CONFIDENCE:.0%} on {n_rows:,} training rows: "
            f"{'no' if safe_end == 0 else 'every'} row is predicted positive. "
            + (
                "According to these rows, no number of rows would be enough: relax the constraint or use "
                "better features."
                if needed is None
                else f"About {needed:,} labeled rows would be needed."
            ),
            ConstraintWarning,
            stacklevel=9,
        )
        return float("inf" if safe_end == 0 else "-inf")
    values = np.where(passes, expected.evaluate(measure.rate), -1.0)
    return _clear_of_extremes(expected.best_threshold(values), scores)


@dataclass(frozen=True)
class ExpectedValueThreshold(ThresholdRule):
    """The threshold with the best expected value of the measure under calibrated probabilities.

    Attributes
    ----------
    observed_share : float
        The share of each row that is counted by its label instead of its probability: 1 gives the best
        threshold on these rows.
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
        counts: FloatArray | None = None,
    ) -> OperatingPoint:
        """Return the threshold on these scores, with probabilities from a calibration.

        `counts` are the numbers of rows that each row stands for, if the weights are not importances.
        """
        share = self.observed_share
        probability = (1.0 - share) * calibration.probability(scores) + share * positive
        mass = np.ones(len(scores)) if weight is None else weight
        if isinstance(measure, ConstrainedMeasure):
            counts = effective_counts(mass) if counts is None else counts
            threshold = careful_threshold(measure, scores, probability, positive, counts)
            if np.isinf(threshold):
                threshold = float(calibration.scores(np.sign(threshold) * NO_ROW_CUT))
        else:
            threshold = expected_value_threshold(measure, scores, probability, mass)
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
        if isinstance(measure, ConstrainedMeasure):  # at other thresholds, the constraint may be violated
            return best
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
        """Return the score with this calibrated probability."""
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
