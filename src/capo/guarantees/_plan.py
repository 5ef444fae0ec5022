"""Which thresholds are tested, and in which order, planned before the calibration labels are seen.

The thresholds are scores of training rows, spaced evenly in the square root of the number of calibration rows
that are expected beyond them, which is how finely rates can be told apart; scores with few values have
thresholds in the gaps between them. The thresholds are tested one after another up to the first failure, so
that the place to start matters: with too few rows beyond it the first test cannot pass, and too far on the
rate is too close to its limit. The plan simulates calibration samples from the training rows, and starts
where the expected share of the table that is gained is largest, or as far before it as hardly costs anything:
training rows can be too optimistic, and a start that fails leaves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from .._typing import BoolArray, FloatArray, IntArray
from ._constraint import Constraint

#: Difference of the square roots of the expected numbers of rows beyond successive thresholds: each step adds
#: a tenth of the standard deviation of a Poisson number.
ROOT_STEP = 0.05
#: Larger steps are made if there would be more thresholds.
MAX_CUTS = 2000
#: The share of the expected gain that is given up for an earlier start.
MAX_PLANNED_LOSS = 0.01
#: The least mass of an interval between thresholds, in rows; a Dirichlet distribution needs some.
MIN_COUNT = 1e-6
#: Scores with fewer values than this share of the rows are those of a model with few values.
MAX_VALUES_SHARE = 0.1
#: Values of the folds whose log-odds differ by no more are those of one value of the final model.
MIN_GAP = 0.25
#: Simulated calibration samples.
N_SIMULATIONS = 500
#: The number of rows that is needed is the one with this probability of success.
TARGET_POWER = 0.8
#: For the number of rows that would be needed, every so many thresholds are enough.
COARSE_STRIDE = 20
#: How often the number of calibration rows is doubled to see whether more would be enough.
MAX_DOUBLINGS = 10


@dataclass(frozen=True)
class TrainingScores:
    """Out-of-fold scores of the training rows, on the scale of the model's scores.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        The scores; higher is more positive.
    positive : ndarray of shape (n_rows,)
        Whether a row is positive, or the probability that it is.
    """

    scores: FloatArray
    positive: BoolArray | FloatArray


@dataclass(frozen=True)
class SimulatedTests:
    """Simulated tests: for each sample and threshold, whether it passed, and what is gained there."""

    passed: BoolArray
    gain: FloatArray

    def expected_gains(self) -> FloatArray:
        """The expected gain at the last test that passes, for each start."""
        n_samples, n_cuts = self.passed.shape
        last = np.zeros(n_samples, dtype=np.intp)
        gains = np.zeros(n_cuts)
        rows = np.arange(n_samples)
        for start in range(n_cuts - 1, -1, -1):
            extends = self.passed[:, start + 1] if start + 1 < n_cuts else np.zeros(n_samples, dtype=bool)
            last = np.where(extends, last, start)
            gains[start] = np.where(self.passed[:, start], self.gain[rows, last], 0.0).mean()
        return gains


def plan_cuts(
    constraint: Constraint,
    training: TrainingScores,
    n_rows: int,
    confidence: float = 0.95,
    random_state: int = 0,
) -> FloatArray:
    """Plan the thresholds to test, and their order, before the calibration rows are seen.

    Parameters
    ----------
    constraint : Constraint
        A constraint on a rate that is not monotone in the threshold: precision, fdr or npv.
    training : TrainingScores
        Scores and labels that calibration rows are simulated from.
    n_rows : int
        Number of calibration rows.
    confidence : float, default=0.95
        The confidence of the test.
    random_state : int, default=0
        Seed of the simulation.

    Returns
    -------
    ndarray
        The thresholds in the order of the tests; empty if there are too few rows for any test to pass.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.guarantees import Constraint, TrainingScores, plan_cuts
    >>> training = TrainingScores(np.arange(1000.0), np.arange(1000) > 800)
    >>> cuts = plan_cuts(Constraint("precision", 0.9), training, n_rows=500)
    >>> bool(cuts[0] > cuts[-1])
    True
    """
    cuts = _spaced_cuts(constraint, training.scores, n_rows, confidence)
    if len(cuts) == 0:
        return cuts
    simulated = _simulate(constraint, training, cuts, n_rows, confidence, random_state)
    gains = simulated.expected_gains()
    return cuts[int(np.argmax(gains >= (1.0 - MAX_PLANNED_LOSS) * gains.max())) :]


def count_rows_needed(
    constraint: Constraint, training: TrainingScores, n_rows: int, n_trials: int, confidence: float
) -> int | None:
    """Return about how many calibration rows make success likely, or None if no number does.

    Rounded up to a power of two times the present number, for a rate that needs a plan. A rate of one class
    needs enough rows of it, of which the calibration rows have `n_trials`; half a row is added, since none
    among a few rows does not mean that there are none.
    """
    least = constraint.min_trials(confidence)
    if constraint.rate.is_monotone:
        share = min(_trial_share(constraint, training), (n_trials + 0.5) / (n_rows + 1.0))
        return int(np.ceil(least / share)) if share > 0 else None
    numbers = (2 * max(n_rows, least) * 2 ** np.arange(MAX_DOUBLINGS)).tolist()
    shares, _ = _expected_trials(constraint, training, numbers[-1], confidence)
    if (shares >= constraint.max_failure_rate).all():
        return None
    for n_more in numbers:
        shares, trials = _expected_trials(constraint, training, n_more, confidence)
        if _power(constraint, shares, trials, confidence) >= TARGET_POWER:
            return int(n_more)
    return None


def _expected_trials(
    constraint: Constraint, training: TrainingScores, n_rows: int, confidence: float
) -> tuple[FloatArray, IntArray]:
    """The share of failures and the number of trials at each threshold, if the training rows are typical."""
    cuts = _spaced_cuts(constraint, training.scores, n_rows, confidence)[::COARSE_STRIDE]
    totals = np.cumsum(_smooth(_count_between(constraint, training, cuts)), axis=1)[:, :-1]
    n_training = totals.sum(axis=0)
    return totals[0] / n_training, np.round(n_training * n_rows / len(training.scores)).astype(np.intp)


def _power(constraint: Constraint, shares: FloatArray, trials: IntArray, confidence: float) -> float:
    """The probability that the most promising threshold passes."""
    allowed = constraint.max_failures(trials, 1.0 - confidence)
    return float(np.where(allowed < 0, 0.0, bdtr(np.maximum(allowed, 0), trials, shares)).max())


def _trial_share(constraint: Constraint, training: TrainingScores) -> float:
    """The share of the training rows that a rate of one class, or of all rows, refers to."""
    positive = float(np.mean(training.positive))
    shares = {"tp": positive, "fn": positive, "fp": 1.0 - positive, "tn": 1.0 - positive}
    trials = constraint.rate.trials
    return 1.0 if len(trials) == 4 else shares[trials[0]]


def _spaced_cuts(constraint: Constraint, scores: FloatArray, n_rows: int, confidence: float) -> FloatArray:
    """Scores of training rows beyond which so many calibration rows are expected that a test can pass."""
    least = constraint.min_trials(confidence)
    if n_rows <= least:
        return np.zeros(0)
    first, last = np.sqrt(least), np.sqrt(n_rows)
    expected = np.arange(first, last, max(ROOT_STEP, (last - first) / MAX_CUTS)) ** 2
    ranks = np.unique(np.round(expected * len(scores) / n_rows).astype(np.intp))
    ranks = ranks[(ranks >= 1) & (ranks < len(scores))]
    ascending = np.sort(scores)
    if constraint.rate.safe_end == "all":
        return _between_values(np.unique(ascending[ranks - 1]), ascending)
    return _between_values(np.unique(ascending[len(scores) - 1 - ranks]), ascending)[::-1]


def _between_values(cuts: FloatArray, ascending: FloatArray) -> FloatArray:
    """If the scores have few values, put the cuts where the values of the final model leave a gap as well.

    Out of fold, each fold has values of its own, close to those of the final model: a cut between two of them
    may have none of the final model's rows beyond it.
    """
    values = np.unique(ascending)
    if len(cuts) == 0 or len(values) > MAX_VALUES_SHARE * len(ascending):
        return cuts
    is_gap = np.diff(values) > MIN_GAP
    middles = ((values[:-1] + values[1:]) / 2.0)[is_gap]
    middles = middles[middles > cuts[0]]
    return middles if len(middles) else cuts


def _simulate(
    constraint: Constraint,
    training: TrainingScores,
    cuts: FloatArray,
    n_rows: int,
    confidence: float,
    seed: int,
) -> SimulatedTests:
    """Draw calibration samples from laws that the training rows support, and test all thresholds."""
    rng = np.random.default_rng(seed)
    counts = _count_between(constraint, training, cuts)
    laws = rng.dirichlet(_smooth(counts).ravel(), size=N_SIMULATIONS)
    samples = rng.multinomial(n_rows, laws).reshape(N_SIMULATIONS, 2, -1)
    failures, others = np.cumsum(samples[:, :, :-1], axis=2).swapaxes(0, 1)
    passed = failures <= constraint.max_failures(np.arange(n_rows + 1), 1.0 - confidence)[failures + others]
    gained = laws.reshape(N_SIMULATIONS, 2, -1)[:, 1, :]
    return SimulatedTests(passed, np.cumsum(gained[:, :-1], axis=1))


def _count_between(constraint: Constraint, training: TrainingScores, cuts: FloatArray) -> FloatArray:
    """Training rows between successive thresholds: those that would be failures, and the others."""
    probability = np.asarray(training.positive, dtype=np.float64)
    if constraint.rate.safe_end == "none":
        interval, failure = np.searchsorted(-cuts, -training.scores, side="right"), 1.0 - probability
    else:
        interval, failure = np.searchsorted(cuts, training.scores, side="left"), probability
    return np.stack(
        [np.bincount(interval, part, minlength=len(cuts) + 1) for part in (failure, 1.0 - failure)]
    )


def _smooth(counts: FloatArray) -> FloatArray:
    """Add half a row of each kind beyond the first threshold (Jeffreys): a small count is no certainty."""
    smoothed = np.maximum(counts, MIN_COUNT)
    smoothed[:, 0] += 0.5
    return smoothed
