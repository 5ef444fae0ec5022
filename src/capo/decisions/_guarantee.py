"""Thresholds that keep a constraint on new rows with a stated confidence.

The thresholds are scores of training rows, spaced evenly in the square root of the number of calibration rows
that are expected beyond them, which is how finely rates can be told apart; scores with few values have
thresholds in the gaps between them. The thresholds are tested one after another up to the first failure, so
that the place to start matters: with too few rows beyond it the first test cannot pass, and too far on the
rate is too close to its limit. The plan simulates calibration samples from the training rows, and starts
where the expected share of the table that is gained is largest, or as far before it as hardly costs anything:
training rows can be too optimistic, and a start that fails leaves nothing.

A rate that can only get worse as the threshold moves (recall, false positive rate) is tested at every score,
from the end where the constraint holds by definition: the first true null hypothesis in this order is the
same for every sample, so that testing each threshold with error probability alpha and stopping at the first
failure has error probability alpha as a whole. For precision the thresholds and their order are planned with
the training rows (`_plan`), and nothing but the number of calibration rows is used; the same argument holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._compat import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, LinearMeasure, Measure
from ._calibration import ClassScores
from ._constraint import Constraint, count_rows_needed
from ._threshold import ALL_ROWS_CUT, NO_ROW_CUT, Decision


@dataclass(frozen=True)
class Guarantee(Decision):
    """A threshold that keeps a constraint on new rows with a stated confidence.

    Attributes
    ----------
    constraint : Constraint
        What is guaranteed.
    confidence : float
        The probability, over calibration samples, that the threshold satisfies the constraint.
    is_certified : bool
        Whether a threshold passed the test. If none did, `cut` is the one at which the constraint holds by
        definition.
    cut : float
        The threshold: rows with a higher score are positive.
    n_rows : int
        Number of calibration rows.
    n_trials, n_failures : int
        The rows that the rate refers to at this threshold, and those of them that count against it.
    p_value : float
        The p-value of the test at this threshold.
    n_rows_needed : int or None
        If no threshold passed: about how many calibration rows would be needed; None if, judging by the
        training rows, no number is enough.
    by_group : bool
        Whether one row was drawn from each group of rows.
    """

    constraint: Constraint
    confidence: float
    is_certified: bool
    cut: float
    n_rows: int
    n_trials: int
    n_failures: int
    p_value: float
    n_rows_needed: int | None = None
    by_group: bool = False

    @property
    def log_odds(self) -> float:
        """The log-odds at the threshold, as of other thresholds."""
        return self.cut

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those at the threshold."""
        return scores - self.cut

    def describe(self) -> str:
        """Return the decision in one sentence."""
        return str(self)

    def __str__(self) -> str:
        rows = f"{self.n_rows:,} calibration row{'' if self.n_rows == 1 else 's'}"
        rows += ", one from each group" if self.by_group else ""
        confidence = f"with {100 * self.confidence:.10g}% confidence"
        if self.is_certified:
            kind = "a random row of a new group" if self.by_group else "new rows like the calibration rows"
            return (
                f"{self.constraint} on {kind}, {confidence}: {self.n_failures:,} of {self.n_trials:,} "
                f"{self.constraint.rate.failure_phrase} among {rows} (p = {self.p_value:.2g})"
            )
        labeled = "no row is" if self.constraint.rate.safe_end == "none" else "every row is"
        needed = (
            f"about {self.n_rows_needed:,} calibration rows would be needed"
            if self.n_rows_needed is not None
            else "judging by the training rows, no number of calibration rows would be enough: lower the "
            "limit or train a better model"
        )
        return (
            f"{self.constraint} cannot be guaranteed {confidence} from {rows}: {labeled} predicted positive; "
            f"{needed}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "constraint": str(self.constraint), "statement": str(self)}


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


def expected_gains(passed: BoolArray, gain: FloatArray) -> FloatArray:
    """Return the expected gain at the last test that passes, for each threshold to start with.

    `passed` and `gain` are those of simulated tests, of shape (n_samples, n_cuts).
    """
    n_samples, n_cuts = passed.shape
    last = np.zeros(n_samples, dtype=np.intp)
    gains = np.zeros(n_cuts)
    rows = np.arange(n_samples)
    for start in range(n_cuts - 1, -1, -1):
        extends = passed[:, start + 1] if start + 1 < n_cuts else np.zeros(n_samples, dtype=bool)
        last = np.where(extends, last, start)
        gains[start] = np.where(passed[:, start], gain[rows, last], 0.0).mean()
    return gains


def plan_cuts(
    constraint: Constraint,
    training: ClassScores,
    n_rows: int,
    confidence: float = 0.95,
    random_state: int = 0,
) -> FloatArray:
    """Plan the thresholds to test, and their order, before the calibration rows are seen.

    Parameters
    ----------
    constraint : Constraint
        A constraint on a rate that is not monotone in the threshold: precision, fdr or npv.
    training : ClassScores
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
    >>> from capo.decisions import Constraint, ClassScores, plan_cuts
    >>> training = ClassScores(np.arange(1000.0), np.arange(1000) > 800)
    >>> cuts = plan_cuts(Constraint("precision", 0.9), training, n_rows=500)
    >>> bool(cuts[0] > cuts[-1])
    True
    """
    cuts = _spaced_cuts(constraint, training.log_odds, n_rows, confidence)
    if len(cuts) == 0:
        return cuts
    # Calibration samples from laws that the training rows support.
    rng = np.random.default_rng(random_state)
    counts = _smooth(_count_between(constraint, training, cuts))
    laws = rng.dirichlet(counts.ravel(), size=N_SIMULATIONS)
    samples = rng.multinomial(n_rows, laws).reshape(N_SIMULATIONS, 2, -1)
    failures, others = np.cumsum(samples[:, :, :-1], axis=2).swapaxes(0, 1)
    passed = failures <= constraint.max_failures(np.arange(n_rows + 1), 1.0 - confidence)[failures + others]
    gained = laws.reshape(N_SIMULATIONS, 2, -1)[:, 1, :-1]
    gains = expected_gains(passed, np.cumsum(gained, axis=1))
    return cuts[int(np.argmax(gains >= (1.0 - MAX_PLANNED_LOSS) * gains.max())) :]


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


def _count_between(constraint: Constraint, training: ClassScores, cuts: FloatArray) -> FloatArray:
    """Training rows between successive thresholds: those that would be failures, and the others."""
    probability = np.asarray(training.positive, dtype=np.float64)
    if constraint.rate.safe_end == "none":
        interval, failure = np.searchsorted(-cuts, -training.log_odds, side="right"), 1.0 - probability
    else:
        interval, failure = np.searchsorted(cuts, training.log_odds, side="left"), probability
    return np.stack(
        [np.bincount(interval, part, minlength=len(cuts) + 1) for part in (failure, 1.0 - failure)]
    )


def _smooth(counts: FloatArray) -> FloatArray:
    """Add half a row of each kind beyond the first threshold (Jeffreys): a small count is no certainty."""
    smoothed = np.maximum(counts, MIN_COUNT)
    smoothed[:, 0] += 0.5
    return smoothed


def certify(
    constraint: Constraint,
    scores: FloatArray,
    positive: BoolArray,
    training: ClassScores,
    *,
    confidence: float = 0.95,
    objective: Measure | None = None,
    cuts: FloatArray | None = None,
    random_state: int = 0,
) -> Guarantee:
    """Find a threshold that satisfies a constraint on new rows with a given confidence.

    The promise is exact and free of assumptions about the scores if the calibration rows are independent
    draws from where the model will be used, and nothing in the model has seen them. What is known of the
    training rows decides how much is found, not whether the promise holds.

    Parameters
    ----------
    constraint : Constraint
        What must hold.
    scores : ndarray of shape (n_calibration_rows,)
        The model's scores of the calibration rows; higher is more positive.
    positive : ndarray of bool, shape (n_calibration_rows,)
        Their labels.
    training : ClassScores
        Scores and labels of other rows, on the same scale, from which the thresholds are planned.
    confidence : float, default=0.95
        The probability, over calibration samples, that the constraint holds.
    objective : Measure, optional
        Chooses among the thresholds that pass, by its value on the calibration rows; by default the one
        furthest from the end where the constraint holds by definition, such as that of the highest recall
        for a precision. A measure of the confusion matrix, such as f1, accuracy or cost.
    cuts : ndarray, optional
        The thresholds in the order of the tests, from `plan_cuts`, which is called if they are not given.
        They must not depend on the calibration rows, except on their number.
    random_state : int, default=0
        Seed of the simulation that plans the thresholds.

    Returns
    -------
    Guarantee
        The threshold, and what was tested.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import Constraint, ClassScores, certify
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.3
    >>> s = rng.normal(size=4000) + 2 * y
    >>> training = ClassScores(s[:2000], y[:2000])
    >>> found = certify(Constraint.parse("precision >= 0.8"), s[2000:], y[2000:], training)
    >>> found.is_certified
    True
    """
    if not (isinstance(confidence, (int, float, np.number)) and 0 < confidence < 1):
        raise InvalidInputError(f"confidence must be above 0 and below 1: got {confidence!r}.")
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    rate, n_rows = constraint.rate, len(scores)
    if rate.is_monotone:  # every distinct labeling, from the end where the constraint holds by definition
        ascending = np.concatenate(([ALL_ROWS_CUT], np.unique(scores)))
        cuts = ascending if rate.safe_end == "all" else ascending[::-1]
    elif cuts is None:
        cuts = plan_cuts(constraint, training, n_rows, confidence, random_state)
    # The first cut is not tested: there the constraint holds by definition.
    cuts = np.append(NO_ROW_CUT if rate.safe_end == "none" else ALL_ROWS_CUT, cuts)
    cells = _count_cells(cuts, scores, positive)
    failures, trials = constraint.count(**cells)
    p_values = constraint.p_values(failures, trials)
    p_values[0] = 1.0
    failed = np.append(p_values[1:] > (1.0 - confidence) * (1.0 + _ROUNDING_TOL), True)
    best = passed = int(np.argmax(failed))
    needed = None
    if passed == 0:
        needed = count_rows_needed([constraint], training, n_rows, confidence)
    elif objective is not None:  # the last of the cuts with the best value
        values = _objective_values(objective, {name: count[1 : passed + 1] for name, count in cells.items()})
        best = passed - int(np.argmax(np.broadcast_to(values, passed)[::-1]))
    return Guarantee(
        constraint,
        float(confidence),
        passed > 0,
        float(cuts[best]),
        n_rows,
        int(trials[best]),
        int(failures[best]),
        float(p_values[best]),
        needed,
    )


#: 1 - 0.9 is not 0.1: a p-value of exactly 0.1 passes at a confidence of 0.9. Relative, since 1 - confidence
#: may be as small.
_ROUNDING_TOL = 1e-12


def _count_cells(cuts: FloatArray, scores: FloatArray, positive: BoolArray) -> dict[str, IntArray]:
    """The confusion matrix at each cut; scores above it are predicted positive."""
    order_pos, order_neg = np.sort(scores[positive]), np.sort(scores[~positive])
    tp = len(order_pos) - np.searchsorted(order_pos, cuts, side="right")
    fp = len(order_neg) - np.searchsorted(order_neg, cuts, side="right")
    return {"tp": tp, "fp": fp, "fn": len(order_pos) - tp, "tn": len(order_neg) - fp}


def _objective_values(objective: Measure, cells: dict[str, IntArray]) -> FloatArray | float:
    """The value of the objective at each threshold."""
    if isinstance(objective, ConfusionMeasure):
        return objective.value(**cells)
    if not isinstance(objective, LinearMeasure) or objective.for_rows(slice(0)) is not objective:
        raise InvalidInputError(
            f"the objective must be a measure of the confusion matrix: {objective.label} is not."
        )
    # A measure that is linear in tp and fp follows from the values of three labelings.
    n_pos, n_neg = int(cells["tp"][0] + cells["fn"][0]), int(cells["fp"][0] + cells["tn"][0])
    none, of_tp, of_fp = (
        objective.score([1, 0], scores, [n_pos, n_neg]) for scores in ([-1, -1], [1, -1], [-1, 1])
    )
    recall, fpr = cells["tp"] / max(n_pos, 1), cells["fp"] / max(n_neg, 1)
    return np.asarray(none + recall * (of_tp - none) + fpr * (of_fp - none))
