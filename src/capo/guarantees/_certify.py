"""Tests of a sequence of thresholds, and the choice among those that pass.

A rate that can only get worse as the threshold moves (recall, false positive rate) is tested at every score,
from the end where the constraint holds by definition: the first true null hypothesis in this order is the
same for every sample, so that testing each threshold with error probability alpha and stopping at the first
failure has error probability alpha as a whole. For precision the thresholds and their order are planned with
the training rows (`_plan`), and nothing but the number of calibration rows is used; the same argument holds.
"""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, LinearMeasure, Measure
from ._constraint import Constraint
from ._guarantee import ALL_ROWS_CUT, NO_ROW_CUT, Guarantee
from ._plan import TrainingScores, count_rows_needed, plan_cuts


def certify(
    constraint: Constraint,
    scores: FloatArray,
    positive: BoolArray,
    training: TrainingScores,
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
    training : TrainingScores
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
    >>> from capo.guarantees import Constraint, TrainingScores, certify
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.3
    >>> s = rng.normal(size=4000) + 2 * y
    >>> training = TrainingScores(s[:2000], y[:2000])
    >>> found = certify(Constraint.parse("precision >= 0.8"), s[2000:], y[2000:], training)
    >>> found.is_certified
    True
    """
    check_confidence(confidence)
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    if constraint.rate.is_monotone:
        cuts = _all_cuts(constraint, scores)
    elif cuts is None:
        cuts = plan_cuts(constraint, training, len(scores), confidence, random_state)
    cells = count_cells(cuts, scores, positive)
    failures, trials = (
        sum_cells(cells, names) for names in (constraint.rate.failures, constraint.rate.trials)
    )
    p_values = constraint.p_values(failures, trials)
    passed = int(np.argmax(np.append(p_values > (1.0 - confidence) * (1.0 + _ROUNDING_TOL), True)))
    if passed == 0:
        n_trials = int(trials.max(initial=0))
        needed = count_rows_needed(constraint, training, len(scores), n_trials, confidence)
        return _refuse(constraint, confidence, positive, needed)
    best = _choose({name: count[:passed] for name, count in cells.items()}, objective)
    return Guarantee(
        constraint,
        float(confidence),
        True,
        float(cuts[best]),
        len(scores),
        int(trials[best]),
        int(failures[best]),
        float(p_values[best]),
    )


#: 1 - 0.9 is not 0.1: a p-value of exactly 0.1 passes at a confidence of 0.9. Relative, since 1 - confidence
#: may be as small.
_ROUNDING_TOL = 1e-12


def check_confidence(confidence: float) -> None:
    """Raise an error unless the confidence is between 0 and 1."""
    if not (isinstance(confidence, (int, float, np.number)) and 0 < confidence < 1):
        raise InvalidInputError(f"confidence must be above 0 and below 1: got {confidence!r}.")


def count_cells(cuts: FloatArray, scores: FloatArray, positive: BoolArray) -> dict[str, IntArray]:
    """The confusion matrix at each cut; scores above it are predicted positive."""
    order_pos, order_neg = np.sort(scores[positive]), np.sort(scores[~positive])
    tp = len(order_pos) - np.searchsorted(order_pos, cuts, side="right")
    fp = len(order_neg) - np.searchsorted(order_neg, cuts, side="right")
    return {"tp": tp, "fp": fp, "fn": len(order_pos) - tp, "tn": len(order_neg) - fp}


def sum_cells(cells: dict[str, IntArray], names: tuple[str, ...]) -> IntArray:
    """The sum of some cells of the confusion matrices."""
    return np.sum([cells[name] for name in names], axis=0)


def _all_cuts(constraint: Constraint, scores: FloatArray) -> FloatArray:
    """Every distinct labeling, from the end where the constraint holds by definition."""
    ascending = np.concatenate(([ALL_ROWS_CUT], np.unique(scores)))
    return ascending if constraint.rate.safe_end == "all" else ascending[::-1]


def _choose(cells: dict[str, IntArray], objective: Measure | None) -> int:
    """The last threshold, or the last of those with the best value of the objective."""
    n_cuts = len(cells["tp"])
    if objective is None:
        return n_cuts - 1
    values = np.broadcast_to(_objective_values(objective, cells), n_cuts)
    return n_cuts - 1 - int(np.argmax(values[::-1]))


def _objective_values(objective: Measure, cells: dict[str, IntArray]) -> FloatArray | float:
    """The value of the objective at each threshold."""
    if isinstance(objective, ConfusionMeasure):
        return objective.value(**cells)
    if not isinstance(objective, LinearMeasure) or objective.for_rows(slice(0)) is not objective:
        raise InvalidInputError(
            f"the objective must be a measure of the confusion matrix: {objective.label} is not."
        )
    return _interpolate(objective, cells)


def _interpolate(objective: LinearMeasure, cells: dict[str, IntArray]) -> FloatArray:
    """The values of a measure that is linear in tp and fp, from those of three labelings."""
    n_pos, n_neg = int(cells["tp"][0] + cells["fn"][0]), int(cells["fp"][0] + cells["tn"][0])
    none, of_tp, of_fp = (
        objective.score([1, 0], scores, [n_pos, n_neg]) for scores in ([-1, -1], [1, -1], [-1, 1])
    )
    recall, fpr = cells["tp"] / max(n_pos, 1), cells["fp"] / max(n_neg, 1)
    return np.asarray(none + recall * (of_tp - none) + fpr * (of_fp - none))


def _refuse(constraint: Constraint, confidence: float, positive: BoolArray, needed: int | None) -> Guarantee:
    """The threshold at which the constraint holds by definition."""
    n_rows, n_pos = len(positive), int(positive.sum())
    n_neg = n_rows - n_pos
    none, every = {"tp": 0, "fp": 0, "fn": n_pos, "tn": n_neg}, {"tp": n_pos, "fp": n_neg, "fn": 0, "tn": 0}
    at_end, cut = (none, NO_ROW_CUT) if constraint.rate.safe_end == "none" else (every, ALL_ROWS_CUT)
    trials = sum(at_end[name] for name in constraint.rate.trials)
    return Guarantee(constraint, float(confidence), False, cut, n_rows, trials, 0, 1.0, needed)
