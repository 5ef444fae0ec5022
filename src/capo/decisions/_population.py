"""Another share of positives than in training.

With p(x) calibrated where a share of q rows is positive, r(x) = p(x) / (1 - p(x)) * (1 - q) / q is the ratio
of the densities of the two classes, which label shift leaves as it is. The likelihood of a share s among new
rows is the product of 1 + s (r(x) - 1), and its logarithm is concave. The maximum is the fixed point of the
EM algorithm of Saerens, Latinne and Decaestecker (2002); here it is found by bisection of the derivative. Two
rows with the share of positives in training are added: if the scores do not depend on the labels, no change
is estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from .._compat import FloatArray, IntArray
from ..exceptions import InvalidInputError, LabelShiftError
from ..measures import ConstrainedMeasure, Measure
from ._calibration import ClassScores, PlattCalibrator
from ._threshold import (
    ALL_ROWS_CUT,
    NO_ROW_CUT,
    careful_threshold,
    effective_counts,
    expected_value_threshold,
)

#: Larger distances of new scores from every mixture of the two classes mean more than a change of the base
#: rate.
MAX_MIXTURE_DISTANCE = 0.06
#: With fewer estimated rows of a class, a threshold between the classes cannot be chosen.
MIN_EXPECTED_ROWS = 1.0
#: Shares of positives that are tried for the nearest mixture.
N_SHARES = 201
#: Log-odds that differ by no more than this count as equal.
SCORE_TOLERANCE = 0.25
#: Log-odds of 95%.
MAX_DOUBTFUL_LOG_ODDS = float(logit(0.95))


def mixture_distance(log_odds: FloatArray, training: ClassScores) -> float:
    """The distance of new scores from the nearest mixture of the two classes as trained.

    The largest difference between distribution functions (Kolmogorov-Smirnov), which is small if only the
    share of positives has changed. Log-odds that differ by up to 0.25 count as equal, and only scores whose
    probability in training is between 5% and 95% count: the models of the folds and the final one differ by
    this much, and no threshold lies among scores that are nearly certain.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        The model's log-odds of the new rows.
    training : ClassScores
        The scores of both classes in training.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import ClassScores, mixture_distance
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.5
    >>> training = ClassScores(2 * (rng.normal(size=4000) + 2 * y) - 2, y)
    >>> rare = 2 * (rng.normal(size=2000) + 2 * (rng.random(2000) < 0.1)) - 2
    >>> mixture_distance(rare, training) < 0.05 < mixture_distance(rare / 4, training)
    True
    """
    new = np.sort(np.asarray(log_odds, dtype=np.float64))
    points = np.unique(np.concatenate((new, training.log_odds)))
    points = points[np.abs(points) < MAX_DOUBTFUL_LOG_ODDS]
    if len(points) == 0:
        return 0.0
    found = np.searchsorted(new, points, side="right") / len(new)
    before, after = (
        np.array(training.distributions(points + step)) for step in (-SCORE_TOLERANCE, SCORE_TOLERANCE)
    )
    mixtures = (np.array([share, 1.0 - share]) for share in np.linspace(0.0, 1.0, N_SHARES))
    return min(
        max(0.0, float((found - each @ after).max()), float((each @ before - found).max()))
        for each in mixtures
    )


N_RESAMPLES = 100
CONFIDENCE = 0.95
#: Scores are grouped into this many quantiles before they are resampled.
MAX_GROUPS = 500
#: Steps of the bisection; each halves the error.
N_BISECTIONS = 40
#: Rows with the share of positives in training that are added to the new rows.
PRIOR_ROWS = 2.0
#: Log-odds beyond this are treated as equal, so that their exponential is finite.
MAX_LOG_ODDS = 100.0


@dataclass(frozen=True)
class PrevalenceEstimate:
    """The estimated share of positives among new rows.

    Attributes
    ----------
    value : float
        The maximum-likelihood estimate.
    low, high : float
        A 95% bootstrap interval, over new rows and over the training rows behind the calibration.
    trained : float
        The share of positives in training, where rows count as much as their weights.
    distance : float
        The distance of the new scores from the nearest mixture of the two training classes.
    n_rows : int
        Number of new rows.
    """

    value: float
    low: float
    high: float
    trained: float
    distance: float
    n_rows: int

    @property
    def is_changed(self) -> bool:
        """Whether the interval excludes the share of positives in training."""
        return not self.low <= self.trained <= self.high


def estimate_prevalence(
    log_odds: FloatArray, training: ClassScores, *, random_state: int = 0
) -> PrevalenceEstimate:
    """Estimate the share of positives among unlabeled rows from a model's scores.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        The model's log-odds of the new rows.
    training : ClassScores
        Out-of-fold log-odds and labels of the training rows, with their weights if there were any.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    PrevalenceEstimate
        The estimate, its interval, and how well label shift explains the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import ClassScores, estimate_prevalence
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.5
    >>> log_odds = 2 * (rng.normal(size=4000) + 2 * y) - 2  # calibrated for normal scores
    >>> rare = 2 * (rng.normal(size=3000) + 2 * (rng.random(3000) < 0.1)) - 2
    >>> found = estimate_prevalence(rare, ClassScores(log_odds, y))
    >>> bool(found.low < 0.1 < found.high < 0.15)
    True
    """
    new = np.asarray(log_odds, dtype=np.float64)
    if len(new) == 0:
        raise InvalidInputError("the prevalence of 0 rows cannot be estimated: pass at least one row.")
    rng = np.random.default_rng(random_state)
    parts = np.array_split(np.sort(new), min(MAX_GROUPS, len(new)))
    means, sizes = np.array([part.mean() for part in parts]), np.array([len(part) for part in parts])
    trained = training.prevalence
    own = _density_ratios(means, training.log_odds, training.weight)
    value = _most_likely(own[None], sizes[None], trained)[0]
    ratios = np.stack([_density_ratios(*scores) for scores in _recalibrations(means, training, rng)])
    resampled = rng.multinomial(len(new), sizes / len(new), size=N_RESAMPLES)
    tails = (1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0
    low, high = np.quantile(_most_likely(ratios, resampled, trained), tails)
    distance = mixture_distance(new, training)
    return PrevalenceEstimate(float(value), float(low), float(high), trained, distance, len(new))


def _density_ratios(
    log_odds: FloatArray, training_log_odds: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """The ratio of the likelihoods of each score for a positive and a negative row."""
    share = float(np.average(expit(training_log_odds), weights=weight))
    return np.exp(np.minimum(log_odds, MAX_LOG_ODDS)) * (1.0 - share) / share


def _recalibrations(
    means: FloatArray, training: ClassScores, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """For each resample of the training rows: new and training log-odds on its calibration, and weights."""
    order = np.argsort(training.log_odds, kind="stable")
    parts = np.array_split(order, min(MAX_GROUPS, len(order)))
    scores = np.array([training.log_odds[part].mean() for part in parts])
    counts, masses = (
        np.array([[mass[part].sum() for part in parts] for mass in each.masses]).ravel()
        for each in (replace(training, weight=None), training)
    )
    row_weights = np.divide(masses, counts, out=np.zeros(len(counts)), where=counts > 0)
    both_scores, labels = np.tile(scores, 2), np.repeat((True, False), len(scores))
    for count in rng.multinomial(len(order), counts / counts.sum(), size=N_RESAMPLES):
        weight = count * row_weights
        curve = PlattCalibrator.fit(both_scores, labels, weight)
        yield curve.log_odds(means), curve.log_odds(both_scores), weight


def _most_likely(ratios: FloatArray, sizes: IntArray, trained: float) -> FloatArray:
    """The most likely share of positives for each row of density ratios and group sizes."""
    low, high = np.zeros(len(sizes)), np.ones(len(sizes))
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        slope = (sizes * (ratios - 1.0) / (1.0 + middle[:, None] * (ratios - 1.0))).sum(axis=1)
        slope += PRIOR_ROWS * (trained / middle - (1.0 - trained) / (1.0 - middle))
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return (low + high) / 2.0


@dataclass(frozen=True)
class Population:
    """The population that a model is adjusted to.

    Attributes
    ----------
    prevalence : float
        The share of positives in it.
    trained_prevalence : float
        The share of positives in training, where rows count as much as their weights.
    log_odds_shift : float
        The number that was added to the model's log-odds; 0 for no change.
    estimate : PrevalenceEstimate or None
        The estimate of the prevalence; None if the prevalence was passed.
    trained_threshold : float
        The log-odds of the threshold as trained, to which a later adjustment without a change returns.
    """

    prevalence: float
    trained_prevalence: float
    log_odds_shift: float
    estimate: PrevalenceEstimate | None = None
    trained_threshold: float = 0.0

    @classmethod
    def from_rows(cls, log_odds: FloatArray, training: ClassScores, random_state: int) -> Population:
        """Estimate the population of rows with these log-odds.

        It is unchanged if the interval contains the prevalence in training. Raises an error if more than the
        share of positives has changed.
        """
        found = estimate_prevalence(log_odds, training, random_state=random_state)
        if not MIN_EXPECTED_ROWS <= found.value * found.n_rows <= found.n_rows - MIN_EXPECTED_ROWS:
            raise LabelShiftError(
                f"{found.value:.2%} positive as estimated from {found.n_rows:,} new rows is less than one "
                "row of a class: the model is not adjusted. Pass more rows, label some of them, or pass the "
                "prevalence if it is known."
            )
        if found.distance > MAX_MIXTURE_DISTANCE + sampling_error(len(log_odds)):
            raise LabelShiftError(
                "the scores of the new rows are not a mixture of the scores of the two training classes "
                f"(distance {found.distance:.3f}, beyond {MAX_MIXTURE_DISTANCE:g} and the sampling error): "
                "more than the share of positives has changed, and adjusting the model to it could make it "
                "worse. Label some of the new rows and train on them, or pass the prevalence if it is known."
            )
        # An estimate of 0 or 1 is rounded to half a row: no score makes a class impossible.
        half = 0.5 / found.n_rows
        value = float(np.clip(found.value, half, 1.0 - half))
        shift = _log_odds_shift(value, training) if found.is_changed else 0.0
        return cls(found.value, found.trained, shift, found)

    @classmethod
    def from_prevalence(cls, prevalence: float, training: ClassScores) -> Population:
        """The population with a prevalence that is known."""
        if not (isinstance(prevalence, (int, float, np.number)) and 0 < prevalence < 1):
            raise InvalidInputError(
                f"prevalence must be a share of positives above 0 and below 1: got {prevalence!r}."
            )
        value = float(prevalence)
        return cls(value, training.prevalence, _log_odds_shift(value, training))

    def __str__(self) -> str:
        if self.estimate is None:
            return f"{self.prevalence:.2%} positive as given, {self.trained_prevalence:.2%} in training"
        interval = f"95% interval {self.estimate.low:.2%} to {self.estimate.high:.2%}"
        change = "" if self.log_odds_shift else "; not different from training: the model is unchanged"
        return (
            f"{self.prevalence:.2%} positive as estimated from {self.estimate.n_rows:,} unlabeled rows "
            f"({interval}), {self.trained_prevalence:.2%} in training{change}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        found = self.estimate
        return {
            "prevalence": self.prevalence,
            "low": None if found is None else found.low,
            "high": None if found is None else found.high,
            "trained_prevalence": self.trained_prevalence,
            "log_odds_shift": self.log_odds_shift,
            "distance": None if found is None else found.distance,
            "rows": None if found is None else found.n_rows,
        }


def sampling_error(n_rows: int) -> float:
    """An upper bound on the 95% quantile of the distance of this many rows from their own distribution."""
    return 1.36 / float(np.sqrt(n_rows))


def adjust_threshold(
    measure: Measure, log_odds: FloatArray | None, training: ClassScores, population: Population
) -> float:
    """The log-odds, after the shift, above which the expected value of the measure is best.

    Parameters
    ----------
    measure : Measure
        What to maximize.
    log_odds : ndarray or None
        The model's log-odds of the new rows, before the shift. Without them, the training rows are used
        instead, weighted such that the share of positives is that of the population; they always do if the
        measure has a constraint, which is tested on labels.
    training : ClassScores
        Out-of-fold log-odds of the training rows.
    population : Population
        The population that the model is adjusted to.

    Returns
    -------
    float
        The threshold.
    """
    is_constrained = isinstance(measure, ConstrainedMeasure)  # and needs labels
    if log_odds is None or is_constrained:
        log_odds, trained = training.log_odds, training.mean_probability
        weight = np.ones(len(log_odds)) if training.weight is None else training.weight
        factors = population.prevalence / trained, (1.0 - population.prevalence) / (1.0 - trained)
        share = training.positive if is_constrained else expit(log_odds)
        mass = np.asarray(weight * (share * factors[0] + (1.0 - share) * factors[1]))
    else:
        mass = np.ones(len(log_odds))
    shifted = np.asarray(log_odds, dtype=np.float64) + population.log_odds_shift
    if not isinstance(measure, ConstrainedMeasure):
        return expected_value_threshold(measure, shifted, expit(shifted), mass)
    counts, positive = effective_counts(mass), np.asarray(training.positive, dtype=bool)
    found = careful_threshold(measure, shifted, expit(shifted), positive, counts)
    return float(np.clip(found, ALL_ROWS_CUT, NO_ROW_CUT))


def _log_odds_shift(prevalence: float, training: ClassScores) -> float:
    """From the log-odds as trained to those in a population of this prevalence."""
    return float(logit(prevalence) - logit(training.mean_probability))
