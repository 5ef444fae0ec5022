"""The scores of the two classes in training, and how far new scores are from any mixture of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from .._typing import BoolArray, FloatArray

#: Shares of positives that are tried for the nearest mixture.
N_SHARES = 201
#: Log-odds that differ by no more than this count as equal.
SCORE_TOLERANCE = 0.25
#: Log-odds of 95%.
MAX_DOUBTFUL_LOG_ODDS = float(logit(0.95))


@dataclass(frozen=True)
class ClassScores:
    """Out-of-fold log-odds of the training rows, and how far each row is a positive one.

    Attributes
    ----------
    log_odds : ndarray of shape (n_rows,)
        The log-odds of the positive class.
    positive : ndarray of shape (n_rows,)
        Whether a row is positive, or the probability that it is.
    weight : ndarray of shape (n_rows,), optional
        How many rows each row stood for in training; the log-odds are calibrated for the weighted rows.
    """

    log_odds: FloatArray
    positive: BoolArray | FloatArray
    weight: FloatArray | None = None

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return float(np.average(self.positive, weights=self.weight))

    @property
    def mean_probability(self) -> float:
        """The mean of the probabilities: what they were calibrated to, up to the error of the calibration."""
        return float(np.average(expit(self.log_odds), weights=self.weight))

    @property
    def masses(self) -> tuple[FloatArray, FloatArray]:
        """How many positive and how many negative rows each row stands for."""
        positive = np.asarray(self.positive, dtype=np.float64)
        weight = 1.0 if self.weight is None else self.weight
        return weight * positive, weight * (1.0 - positive)

    def distributions(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The share of the positive and of the negative rows with scores up to each point."""
        order = np.argsort(self.log_odds, kind="stable")
        position = np.searchsorted(self.log_odds[order], points, side="right")
        parts = (np.concatenate(([0.0], np.cumsum(mass[order]))) for mass in self.masses)
        positive, negative = (part[position] / max(part[-1], 1e-300) for part in parts)
        return positive, negative


def mixture_distance(log_odds: FloatArray, training: ClassScores) -> float:
    """The distance of new scores from the nearest mixture of the two classes as trained.

    The largest difference between distribution functions (Kolmogorov-Smirnov), which is small if only the
    share of positives has changed. Log-odds that differ by up to 0.25 count as equal, and only scores whose
    probability in training is between 5% and 95% count: the models of folds and the final one differ by as
    much, and no threshold is among scores that are hardly in doubt.

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
    >>> from capo.label_shift import ClassScores, mixture_distance
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
    before, after = (training.distributions(points + step) for step in (-SCORE_TOLERANCE, SCORE_TOLERANCE))
    return min(
        max(0.0, float((found - _mix(after, share)).max()), float((_mix(before, share) - found).max()))
        for share in np.linspace(0.0, 1.0, N_SHARES)
    )


def _mix(distributions: tuple[FloatArray, FloatArray], share: float) -> FloatArray:
    """The distribution of a mixture with a share of positives."""
    positive, negative = distributions
    return share * positive + (1.0 - share) * negative
