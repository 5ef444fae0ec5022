"""The whole adaptation: choose C in cross-validation, solve with all rows, set the operating point."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._typing import FloatArray, IntArray
from ..engine import Solution, check_C
from ..exceptions import ConstraintWarning, InvalidInputError
from ..model_selection import (
    AUTO_GRID,
    CGrid,
    CVScorer,
    GridPoint,
    OperatingPoint,
    PathSearch,
)
from ._combination import LinearCombination
from ._data import AdaptationData
from ._problem import AdaptationProblem, Objective, make_folds

#: With fewer rows of a class per fold than this, a choice among many C's is dominated by
#: noise, and the prior is kept.
MIN_CLASS_ROWS_PER_FOLD = 5


@dataclass(frozen=True)
class AdaptationResult:
    """The result of an adaptation.

    Attributes
    ----------
    weights : LinearCombination
        The weights; the scores are log-odds of the positive class.
    point : OperatingPoint
        The threshold and the calibration behind it.
    chosen : GridPoint
        The C that was chosen, with its out-of-fold scores.
    points : list of GridPoint
        All C's that were tried; C = 0, where it is one of them, is the prior.
    scores : ndarray of shape (n_samples,)
        The out-of-fold scores on which the threshold was chosen. They differ from those of `chosen` where
        evaluation has models that were trained without pairs of folds.
    solution : Solution, optional
        The solver's certificate for all rows; None if C = 0 was chosen.
    """

    weights: LinearCombination
    point: OperatingPoint
    chosen: GridPoint
    points: list[GridPoint]
    scores: FloatArray
    solution: Solution | None

    def cv_results(self) -> dict[str, NDArray[Any]]:
        """Return the path in the format of scikit-learn's searches."""
        points, first = self.points, self.points[0].cv_score
        value = np.array([point.cv_score.value for point in points])
        return {
            "param_C": np.array([point.C for point in points]),
            "test_score": value,
            "std_test_score": np.array([point.cv_score.std for point in points]),
            "gain": value - first.value,
            "gain_std_error": np.array([point.cv_score.gain_std_error(first) for point in points]),
            "rank_test_score": rankdata(-value, method="min").astype(int),
            "n_iter": np.array([point.n_iter for point in points]),
        }


def parse_C(C: Any) -> float | CGrid:
    """Return the number, or the grid of a list or of "auto"; raise a clear error for anything else."""
    if isinstance(C, str):
        return AUTO_GRID
    try:
        values = np.asarray(C, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim > 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(f"C must be 'auto', a number of at least 0 or a list of them: got {C!r}.")
    if (values > 0).any():
        check_C(float(values.max()))
    return float(values) if values.ndim == 0 else CGrid(tuple(sorted(set(values.tolist()))))


def adapt(
    data: AdaptationData,
    folds: IntArray,
    objective: Objective,
    C: float | CGrid,
    log: Callable[..., None] = lambda *line: None,
) -> AdaptationResult:
    """Adapt the auxiliaries' outputs to the measure.

    A number is used as C; of a grid, the best C whose gain over C = 0 is significant is chosen.
    """
    scorer = CVScorer(objective.measure, objective.threshold_rule, data.positive, data.weight, folds)
    evaluation = data.for_evaluation()
    with warnings.catch_warnings():
        # The user is warned once, for the final threshold.
        warnings.simplefilter("ignore", ConstraintWarning)
        search = PathSearch(make_folds(evaluation, folds, objective), scorer, log)
        chosen = _choose(search, C, objective, _rarer_class_per_fold(data, folds))
        weights, solution = AdaptationProblem(data, objective).solve(chosen.C)
        scores = chosen.scores
        if evaluation is not data:
            scores = PathSearch(make_folds(data, folds, objective), scorer).evaluate(chosen.C).scores
        points = search.points
        if objective.chooses_threshold and evaluation is not data:
            nested = PathSearch(make_folds(evaluation, folds, objective, nested=True), scorer)
            points, chosen = _evaluate_nested(nested, points, chosen)
    point = objective.threshold_rule(objective.measure, scores, data.positive, data.weight)
    weights = weights.standardize(data, center=objective.threshold_rule.shift_invariant)
    weights = weights.transform(point.calibration.slope, point.calibration.intercept)
    return AdaptationResult(weights, point, chosen, points, scores, solution)


def _evaluate_nested(
    nested: PathSearch, points: list[GridPoint], chosen: GridPoint
) -> tuple[list[GridPoint], GridPoint]:
    """Evaluate C = 0 and the chosen C, which are reported, with thresholds that have not seen the fold."""
    reported = {C: nested.evaluate(C) for C in sorted({0.0 if points[0].C == 0 else chosen.C, chosen.C})}
    return [reported.get(point.C, point) for point in points], reported[chosen.C]


def _choose(
    search: PathSearch, C: float | CGrid, objective: Objective, rarer_class_per_fold: float
) -> GridPoint:
    # R has one threshold for all rows: it bounds no loss of rows with thresholds of their own.
    keeps_prior = rarer_class_per_fold < MIN_CLASS_ROWS_PER_FOLD or objective.measure.row_log_odds is not None
    if C is AUTO_GRID and objective.prior.is_classifier and keeps_prior:
        C = 0.0
    grid = CGrid((C,)) if isinstance(C, float) else C
    search.run(grid.with_zero() if objective.prior.is_classifier else grid)
    return search.points[-1] if isinstance(C, float) else search.best_significant(objective.min_std_errors)


def _rarer_class_per_fold(data: AdaptationData, folds: IntArray) -> float:
    """Rows of the rarer class in a fold, on average."""
    positive = data.positive if data.weight is None else data.positive[data.weight > 0]
    return min(int(positive.sum()), int((~positive).sum())) / len(np.unique(folds))
