"""The whole adaptation: choose C in cross-validation, solve with all rows, set the operating point."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._typing import FloatArray, IntArray
from ..engine import Solution, check_C
from ..exceptions import ConstraintWarning, InvalidInputError
from ..model_selection import (
    AUTO_GRID,
    COARSE_AUTO_GRID,
    CGrid,
    CVScorer,
    GridPoint,
    OperatingPoint,
    PathSearch,
    RepeatedPathSearch,
    mean_point,
)
from ._combination import LinearCombination, common_scale
from ._data import AdaptationData, RepeatData, pool_repeats
from ._problem import AdaptationProblem, Objective, make_folds, make_parts

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
        The out-of-fold scores on which the threshold was chosen, those of the first repeat. They differ from
        those of `chosen` where evaluation has models that were trained without pairs of folds.
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


def parse_C(C: Any, *, coarse: bool = False) -> float | CGrid:
    """Return the number, or the grid of a list or of "auto"; raise a clear error for anything else.

    A coarse grid of "auto" has half as many values.
    """
    if isinstance(C, str):
        return COARSE_AUTO_GRID if coarse else AUTO_GRID
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
    further: Sequence[RepeatData] = (),
) -> AdaptationResult:
    """Adapt the auxiliaries' outputs to the measure.

    A number is used as C; of a grid, the best C whose gain over C = 0 is significant is chosen. `further` are
    other repeats of the folds: the weights are learned from the rows of all repeats, thresholds and
    calibrations are means, and so are the values out of fold, each of which is that of one repeat.
    """
    objective = objective.for_data(data)
    repeats = [RepeatData(data, folds), *further]
    evaluation = [RepeatData(each.data.for_evaluation(), each.folds) for each in repeats]
    has_pairs = any(new.data is not old.data for new, old in zip(evaluation, repeats, strict=True))
    with warnings.catch_warnings():
        # The user is warned once, for the final threshold.
        warnings.simplefilter("ignore", ConstraintWarning)
        searches = _make_searches(evaluation, objective)
        search = RepeatedPathSearch(searches, log)
        chosen = _choose(search, C, objective, _rarer_class_per_fold(data, folds))
        pooled = pool_repeats([each.data for each in repeats])
        weights, solution = AdaptationProblem(pooled, _pool_objective(objective, repeats)).solve(chosen.C)
        scores = [each.find(chosen.C).scores for each in searches]
        if has_pairs:
            scores = [each.evaluate(chosen.C).scores for each in _make_searches(repeats, objective)]
        points = search.points
        if objective.chooses_threshold and has_pairs:
            nested = RepeatedPathSearch(_make_searches(evaluation, objective, nested=True))
            points, chosen = _evaluate_again(nested, points, chosen)
        elif data.parts is not None and not further:
            points, chosen = _evaluate_parts(_make_part_search(repeats[0], objective), points, chosen)
    point = mean_point([_choose_threshold(objective, data, each) for each in scores])
    weights = common_scale(weights, pooled, objective.threshold_rule)
    weights = weights.transform(point.calibration.slope, point.calibration.intercept)
    return AdaptationResult(weights, point, chosen, points, scores[0], solution)


def _make_searches(
    repeats: Sequence[RepeatData], objective: Objective, *, nested: bool = False
) -> list[PathSearch]:
    """The search in each repeat; all of them leave out the rows of the first one's folds in turn."""
    measure, rule, blocks = objective.measure, objective.threshold_rule, repeats[0].folds
    return [
        PathSearch(
            make_folds(data, folds, objective, nested=nested),
            CVScorer(measure, rule, data.positive, data.weight, folds, blocks),
        )
        for data, folds in repeats
    ]


def _pool_objective(objective: Objective, repeats: Sequence[RepeatData]) -> Objective:
    """The objective of the rows of all repeats."""
    if len(repeats) == 1:
        return objective
    return objective.for_rows(np.tile(np.arange(len(repeats[0].folds)), len(repeats)))


def _choose_threshold(objective: Objective, data: AdaptationData, scores: FloatArray) -> OperatingPoint:
    return objective.threshold_rule(objective.measure, scores, data.positive, data.weight)


def _make_part_search(repeat: RepeatData, objective: Objective) -> PathSearch:
    """The search whose folds are the parts of the folds; the jackknife leaves out the folds themselves."""
    data, folds = repeat
    measure, rule, parts = objective.measure, objective.threshold_rule, np.asarray(data.parts)
    scorer = CVScorer(measure, rule, data.positive, data.weight, parts, folds, folds)
    return PathSearch(make_parts(data, folds, objective), scorer)


def _evaluate_again(
    search: PathSearch, points: list[GridPoint], chosen: GridPoint
) -> tuple[list[GridPoint], GridPoint]:
    """Evaluate C = 0 and the chosen C, which are reported, by a search that has not seen the rows at all."""
    reported = {C: search.evaluate(C) for C in sorted({0.0 if points[0].C == 0 else chosen.C, chosen.C})}
    return [reported.get(point.C, point) for point in points], reported[chosen.C]


def _evaluate_parts(
    search: PathSearch, points: list[GridPoint], chosen: GridPoint
) -> tuple[list[GridPoint], GridPoint]:
    """Evaluate C = 0 and the chosen C by the parts of the folds; the others keep their gain over C = 0."""
    reported, chosen = _evaluate_again(search, points, chosen)
    old, new = points[0].cv_score, reported[0].cv_score
    shifted = [
        point if point.C in (0.0, chosen.C) else replace(point, cv_score=point.cv_score.shift_from(old, new))
        for point in reported
    ]
    return shifted if points[0].C == 0 else reported, chosen


def _choose(
    search: PathSearch, C: float | CGrid, objective: Objective, rarer_class_per_fold: float
) -> GridPoint:
    # R has one threshold for all rows: it bounds no loss of rows with thresholds of their own.
    keeps_prior = rarer_class_per_fold < MIN_CLASS_ROWS_PER_FOLD or objective.measure.row_log_odds is not None
    if C in (AUTO_GRID, COARSE_AUTO_GRID) and objective.prior.is_classifier and keeps_prior:
        C = 0.0
    grid = CGrid((C,)) if isinstance(C, float) else C
    search.run(grid.with_zero() if objective.prior.is_classifier else grid)
    if isinstance(C, float):
        return search.points[-1]
    return search.best_significant(objective.min_std_errors, objective.min_share_of_error)


def _rarer_class_per_fold(data: AdaptationData, folds: IntArray) -> float:
    """Rows of the rarer class in a fold, on average."""
    positive = data.positive if data.weight is None else data.positive[data.weight > 0]
    return min(int(positive.sum()), int((~positive).sum())) / len(np.unique(folds))
