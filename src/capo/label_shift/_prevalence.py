"""The share of positives among unlabeled rows, by maximum likelihood, with a bootstrap interval.

With p(x) calibrated where a share of q rows is positive, r(x) = p(x) / (1 - p(x)) * (1 - q) / q is the ratio
of the densities of the two classes, which label shift leaves as it is. The likelihood of a share s among new
rows is the product of 1 + s (r(x) - 1), and its logarithm is concave. The maximum is the fixed point of the
EM algorithm of Saerens, Latinne and Decaestecker (2002); here it is found by bisection of the derivative. Two
rows with the share of positives in training are added: if the scores say nothing of the labels, nothing is
estimated to have changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..model_selection import PlattCalibrator
from ._mixture import ClassScores, mixture_distance

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
        The distance of the new scores from the nearest mixture of the two classes as trained.
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
    >>> from capo.label_shift import ClassScores, estimate_prevalence
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
    means, sizes = _group(new)
    trained = training.prevalence
    own = _density_ratios(means, training.log_odds, training.weight)
    value = _most_likely(own[None], sizes[None], trained)[0]
    ratios = np.stack([_density_ratios(*scores) for scores in _recalibrations(means, training, rng)])
    resampled = rng.multinomial(len(new), sizes / len(new), size=N_RESAMPLES)
    tails = (1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0
    low, high = np.quantile(_most_likely(ratios, resampled, trained), tails)
    distance = mixture_distance(new, training)
    return PrevalenceEstimate(float(value), float(low), float(high), trained, distance, len(new))


def _group(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """The means and sizes of quantile groups."""
    parts = np.array_split(np.sort(values), min(MAX_GROUPS, len(values)))
    return np.array([part.mean() for part in parts]), np.array([len(part) for part in parts])


def _density_ratios(
    log_odds: FloatArray, training_log_odds: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """How much more likely each score is for a positive than for a negative row."""
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
