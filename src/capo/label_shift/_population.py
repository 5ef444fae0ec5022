"""What is known of the population that a model is adjusted to, and the threshold for it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from .._typing import FloatArray
from ..exceptions import ConstraintWarning
from ..measures import Measure
from ..model_selection import expected_value_threshold
from ._mixture import ClassScores
from ._prevalence import PrevalenceEstimate


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
        What was added to the model's log-odds; 0 if nothing was changed.
    estimate : PrevalenceEstimate or None
        How the prevalence was estimated; None if it was given.
    trained_threshold : float or None
        The log-odds of the threshold as trained, to which a later adjustment without a change returns.
    """

    prevalence: float
    trained_prevalence: float
    log_odds_shift: float
    estimate: PrevalenceEstimate | None = None
    trained_threshold: float | None = None

    @classmethod
    def from_estimate(cls, estimate: PrevalenceEstimate, training: ClassScores) -> Population:
        """The population with an estimated prevalence; unchanged if its interval holds the trained one."""
        if not estimate.is_changed:
            return cls(estimate.value, estimate.trained, 0.0, estimate)
        # An estimate of 0 or 1 is rounded to half a row: no score makes a class impossible.
        half = 0.5 / estimate.n_rows
        shift = _log_odds_shift(float(np.clip(estimate.value, half, 1.0 - half)), training)
        return cls(estimate.value, estimate.trained, shift, estimate)

    @classmethod
    def from_prevalence(cls, prevalence: float, training: ClassScores) -> Population:
        """The population with a prevalence that is known."""
        return cls(prevalence, training.prevalence, _log_odds_shift(prevalence, training))

    def __str__(self) -> str:
        if self.estimate is None:
            return f"{self.prevalence:.2%} positive as given, {self.trained_prevalence:.2%} in training"
        interval = f"95% interval {self.estimate.low:.2%} to {self.estimate.high:.2%}"
        change = "" if self.log_odds_shift else "; not different from training: the model is as trained"
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


def adjust_threshold(
    measure: Measure, log_odds: FloatArray | None, training: ClassScores, population: Population
) -> float:
    """The log-odds, after the shift, above which the expected value of the measure is best.

    Parameters
    ----------
    measure : Measure
        What to maximize.
    log_odds : ndarray or None
        The model's log-odds of the new rows, before the shift. Without them the training rows stand for them,
        weighted such that the share of positives is that of the population.
    training : ClassScores
        Out-of-fold log-odds of the training rows.
    population : Population
        What the model is adjusted to.

    Returns
    -------
    float
        The threshold.
    """
    if log_odds is None:
        log_odds, mass = training.log_odds, _row_masses(training, population.prevalence)
    else:
        mass = np.ones(len(log_odds))
    shifted = np.asarray(log_odds, dtype=np.float64) + population.log_odds_shift
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        return expected_value_threshold(measure, shifted, expit(shifted), mass)


def _log_odds_shift(prevalence: float, training: ClassScores) -> float:
    """From the log-odds as trained to those in a population of this prevalence."""
    return float(logit(prevalence) - logit(training.mean_probability))


def _row_masses(training: ClassScores, prevalence: float) -> FloatArray:
    """How many rows of the population each training row stands for."""
    probability, trained = expit(training.log_odds), training.mean_probability
    weight = 1.0 if training.weight is None else training.weight
    positive, negative = prevalence / trained, (1.0 - prevalence) / (1.0 - trained)
    return np.asarray(weight * (probability * positive + (1.0 - probability) * negative))
