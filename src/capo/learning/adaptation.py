"""From outputs, features and labels to weights and a threshold.

    min over v = (a, w, b):  1/2 (B ||a - a0||^2 + ||w||^2 + (b - b0)^2) + C R(Z a + Phi w + b)

Z are the auxiliaries' outputs, Phi the delta function's features, (a0, b0) the prior, R the convex
upper bound of the measure's loss. C = 0 is the prior itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._compat import FloatArray, IntArray
from ..decisions import ExpectedValueThreshold, OperatingPoint, ThresholdRule, mean_point
from ..engine import CuttingPlane, Solution, Status, check_C
from ..exceptions import ConstraintWarning, InvalidInputError
from ..measures import Measure
from .center import Prior, StackPrior
from .combination import AdaptationData, LinearCombination, RepeatData, common_scale, pool_repeats
from .path import (
    AUTO_GRID,
    COARSE_AUTO_GRID,
    CGrid,
    CVScorer,
    FoldScores,
    GridPoint,
    PathSearch,
    RepeatedPathSearch,
)

#: The least gain over C = 0 in standard errors: with five folds, chance exceeds it in 2% of cases for one C.
MIN_STD_ERRORS = 3.0
#: The least gain as a share of the standard error of the value itself: folds that agree about a tiny gain are
#: no reason to leave the prior where a few rows decide about the value.
MIN_SHARE_OF_ERROR = 0.25
#: In cross-validation a fold is solved in at most this many iterations per C.
MAX_CV_ITER = 500


@dataclass(frozen=True)
class Objective:
    """The objective of an adaptation, and the accuracy of its solution.

    Attributes
    ----------
    measure : Measure
        The measure.
    prior : Prior
        The center of the regularizer.
    B : float
        Regularization strength of the auxiliary weights relative to that of the delta weights.
    nonnegative : bool
        Whether the auxiliaries' weights are constrained to be at least 0.
    tol : float
        The solver's tolerance, in units of R.
    threshold_rule : ThresholdRule
        Chooses the threshold.
    min_std_errors : float
        The least gain over C = 0, in standard errors of the gain, for a C > 0 to be chosen.
    min_share_of_error : float
        The least gain, as a share of the standard error of the value at C = 0.
    """

    measure: Measure
    prior: Prior = field(default_factory=StackPrior)
    B: float = 1.0
    nonnegative: bool = True
    tol: float = 1e-3
    threshold_rule: ThresholdRule = field(default_factory=ExpectedValueThreshold)
    min_std_errors: float = MIN_STD_ERRORS
    min_share_of_error: float = MIN_SHARE_OF_ERROR

    @property
    def chooses_threshold(self) -> bool:
        """Whether the measure needs a threshold, and the rule learns it from scores."""
        return self.measure.needs_threshold and self.threshold_rule.learns

    def for_data(self, data: AdaptationData) -> Objective:
        """The objective whose threshold is shrunk toward the one that the data know, if they know one."""
        if data.known_threshold is None or not self.measure.needs_threshold:
            return self
        return replace(self, threshold_rule=self.threshold_rule.toward_zero())

    def for_rows(self, rows: IntArray) -> Objective:
        """The objective of some of the rows."""
        return replace(self, measure=self.measure.for_rows(rows))


class AdaptationProblem:
    """The problem for some rows; `solve` for a sequence of values of C, in ascending order for speed."""

    def __init__(self, data: AdaptationData, objective: Objective) -> None:
        self.objective = objective
        oracle = objective.measure.for_training().oracle(data.positive, data.weight)
        formulation = objective.prior.formulate(data, objective, oracle)
        self._combination = formulation.combination
        self._solver = CuttingPlane(
            formulation.design, formulation.oracle, v0=formulation.v0, nonnegative=formulation.nonnegative
        )
        self.prior_risk = self._solver.risk

    def solve(
        self, C: float, tol: float | None = None, max_iter: int = 10_000
    ) -> tuple[LinearCombination, Solution | None]:
        """Return the weights for one C and their certificate; the prior, C = 0, needs none."""
        if C == 0:
            return self._combination(self._solver.v0), None
        solution = self._solver.solve(C, tol or self.objective.tol, max_iter)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self._combination(solution.v), solution

    @property
    def cv_tol(self) -> float:
        """The solver's tolerance in cross-validation."""
        return self.objective.prior.cv_tol(self.objective.tol, self.prior_risk)


class SplitProblem:
    """The problem of one split: trained on some rows, evaluated on others."""

    def __init__(
        self, data: AdaptationData, train_rows: IntArray, test_rows: IntArray, objective: Objective
    ) -> None:
        self.test_rows = test_rows
        self._train, self._test = data.take_rows(train_rows), data.take_rows(test_rows)
        self._train_rows, self._objective = train_rows, objective
        self._rule = objective.threshold_rule

    @cached_property
    def _problem(self) -> AdaptationProblem:
        return AdaptationProblem(self._train, self._objective.for_rows(self._train_rows))

    def test_scores(self, C: float) -> tuple[FloatArray, int]:
        """Return the scores of the test rows at this C on the common scale, and the solver's iterations."""
        weights, n_iter = self._solve(C)
        return weights.scores(self._test.outputs, self._test.features), n_iter

    def all_scores(self, C: float) -> tuple[FloatArray, FloatArray, int]:
        """Return the scores of the test rows, those of the training rows, and the solver's iterations."""
        weights, n_iter = self._solve(C)
        test, train = (weights.scores(each.outputs, each.features) for each in (self._test, self._train))
        return test, train, n_iter

    def _solve(self, C: float) -> tuple[LinearCombination, int]:
        """Return the weights at this C on the common scale, and the solver's iterations."""
        solution, weights = None, self._classifier() if C == 0 else None
        if weights is None:
            weights, solution = self._problem.solve(C, self._problem.cv_tol, MAX_CV_ITER)
        weights = common_scale(weights, self._train, self._rule)
        return weights, 0 if solution is None else solution.n_iter

    def _classifier(self) -> LinearCombination | None:
        """The model at C = 0, where the scale and the shift that the problem gives it do not matter."""
        is_scaled_anyway = self._rule.shift_invariant or self._rule.needs_log_odds
        return self._objective.prior.classifier(self._train, self._objective) if is_scaled_anyway else None


class FoldProblem:
    """The problem of one fold, and the problems within its training rows that its threshold needs.

    Parameters
    ----------
    data : AdaptationData
        The rows, with the outputs of this fold.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold that holds out each row.
    fold : int
        The number of this fold.
    objective : Objective
        What is solved.
    nested : bool
        Whether the scores of the other rows come from models that have not seen this fold.
    """

    def __init__(
        self, data: AdaptationData, folds: IntArray, fold: int, objective: Objective, *, nested: bool
    ) -> None:
        self.test_rows = np.flatnonzero(folds == fold)
        self._outer = SplitProblem(data, np.flatnonzero(folds != fold), self.test_rows, objective)
        self._inner = [
            SplitProblem(
                data,
                np.flatnonzero((folds != fold) & (folds != other)),
                np.flatnonzero(folds == other),
                objective,
            )
            for other in (np.unique(folds) if nested else ())
            if other != fold
        ]

    def scores(self, C: float) -> FoldScores:
        """Return the scores of the held-out rows and, if nested, of the others."""
        test, n_iter = self._outer.test_scores(C)
        if not self._inner:
            return FoldScores(test, None, n_iter)
        rows = np.concatenate([each.test_rows for each in self._inner])
        parts = [each.test_scores(C) for each in self._inner]
        others = np.concatenate([scores for scores, _ in parts])[np.argsort(rows)]
        return FoldScores(test, others, n_iter + sum(iterations for _, iterations in parts))


class PartProblem:
    """The problem of one part of a fold, trained on the other parts of the same fold.

    The outputs of all of these rows come from the same models, which have seen none of them. The threshold is
    chosen on the scores of the training rows, which the weights were learned from.

    Parameters
    ----------
    data : AdaptationData
        The rows, with the outputs of this part.
    test_rows : ndarray of int
        The rows of this part.
    train_rows : ndarray of int
        The rows of the other parts of the fold.
    objective : Objective
        What is solved.
    """

    def __init__(
        self, data: AdaptationData, test_rows: IntArray, train_rows: IntArray, objective: Objective
    ) -> None:
        self.test_rows, self._train_rows = test_rows, train_rows
        self._n_rows = len(data.positive)
        self._split = SplitProblem(data, train_rows, test_rows, objective)

    def scores(self, C: float) -> FoldScores:
        """Return the scores of the rows of the part, and of the fold's other rows; NaN for all others."""
        test, train, n_iter = self._split.all_scores(C)
        scores = np.full(self._n_rows, np.nan)
        scores[self._train_rows] = train
        return FoldScores(test, np.delete(scores, self.test_rows), n_iter)


def make_parts(data: AdaptationData, folds: IntArray, objective: Objective) -> list[PartProblem]:
    """Return the problem of each part of the folds."""
    parts, in_parts = np.asarray(data.parts), data.in_parts()
    problems = []
    for part in np.unique(parts):
        rows = parts == part
        others = (folds == folds[rows][0]) & ~rows
        problems.append(
            PartProblem(in_parts.in_fold(part), np.flatnonzero(rows), np.flatnonzero(others), objective)
        )
    return problems


def make_folds(
    data: AdaptationData, folds: IntArray, objective: Objective, *, nested: bool = False
) -> list[FoldProblem]:
    """Return the problem of each fold; `folds` has the number of the fold that holds out each row."""
    return [
        FoldProblem(data.in_fold(fold), folds, fold, objective, nested=nested) for fold in np.unique(folds)
    ]


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
