"""From outputs, features and labels to weights and a threshold.

    min over v = (a, w, b):  1/2 (B ||a - a0||^2 + ||w - w0||^2 + (b - b0)^2) + C R(Z a + Phi w + b)

Z are the auxiliaries' outputs, Phi the delta function's features, (a0, w0, b0) the prior, R the convex
upper bound of the measure's loss. C = 0 is the prior itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .._compat import BoolArray, FloatArray, IntArray, NDArray
from ..decisions import ExpectedValueThreshold, OperatingPoint, ThresholdRule
from ..engine import CuttingPlane, Solution, Status, check_C
from ..exceptions import ConstraintWarning, InvalidInputError
from ..measures import Measure
from .center import Prior, StackPrior
from .combination import AdaptationData, LinearCombination, common_scale
from .path import AUTO_GRID, COARSE_AUTO_GRID, CGrid, CVScore, CVScorer, GridPoint, PathSearch

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
    """

    measure: Measure
    prior: Prior = field(default_factory=StackPrior)
    B: float = 1.0
    nonnegative: bool = True
    tol: float = 1e-3
    threshold_rule: ThresholdRule = field(default_factory=ExpectedValueThreshold)

    def for_data(self, data: AdaptationData) -> Objective:
        """The objective with a threshold that is shrunk toward the threshold of the data, if it is known."""
        if data.known_threshold is None or not self.measure.needs_threshold:
            return self
        return replace(self, threshold_rule=self.threshold_rule.toward_zero())


class AdaptationProblem:
    """The problem for some rows; `solve` for a sequence of values of C, in ascending order for speed."""

    def __init__(self, data: AdaptationData, objective: Objective) -> None:
        self.objective = objective
        oracle = objective.measure.for_training().oracle(data.positive, data.weight)
        design, oracle, v0, nonnegative, self._combination = objective.prior.formulate(
            data, objective, oracle
        )
        self._solver = CuttingPlane(design, oracle, v0=v0, nonnegative=nonnegative)
        self.cv_tol = objective.prior.cv_tol(objective.tol, self._solver.risk)

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


class SplitProblem:
    """The problem of one split: trained on some rows, evaluated on others."""

    def __init__(
        self, data: AdaptationData, is_trained: BoolArray, is_tested: BoolArray, objective: Objective
    ) -> None:
        train_rows, self.test_rows = np.flatnonzero(is_trained), np.flatnonzero(is_tested)
        self._train, self._test = data.take_rows(train_rows), data.take_rows(self.test_rows)
        self._objective = replace(objective, measure=objective.measure.for_rows(train_rows))

    @cached_property
    def _problem(self) -> AdaptationProblem:
        return AdaptationProblem(self._train, self._objective)

    def test_scores(self, C: float) -> tuple[FloatArray, int]:
        """Return the scores of the test rows at this C on the common scale, and the solver's iterations."""
        objective, rule = self._objective, self._objective.threshold_rule
        weights, solution = None, None
        if C == 0 and (rule.shift_invariant or rule.needs_log_odds):
            # The scale and the shift that the problem gives to the model at C = 0 do not matter.
            weights = objective.prior.classifier(self._train, objective)
        if weights is None:
            weights, solution = self._problem.solve(C, self._problem.cv_tol, MAX_CV_ITER)
        weights = common_scale(weights, self._train, rule)
        scores = weights.scores(self._test.outputs, self._test.features)
        return scores, 0 if solution is None else solution.n_iter


def make_search(
    data: AdaptationData,
    folds: IntArray,
    objective: Objective,
    log: Callable[..., None] = lambda *line: None,
    *,
    priors: Mapping[int, Prior] | None = None,
    nested: bool = False,
) -> PathSearch:
    """Return the search over C; `folds` has the number of the fold that holds out each row.

    `priors` are those of the folds, if they are not the objective's own. If nested, the scores by which a
    fold's threshold is chosen come from models that have not seen the fold.
    """
    numbers, problems, inner = np.unique(folds).tolist(), [], []
    for fold in numbers:
        own, goal = data.in_fold(fold), objective
        if priors is not None:
            goal = replace(objective, prior=priors[fold])
        problems.append(SplitProblem(own, folds != fold, folds == fold, goal))
        if nested:
            others = [other for other in numbers if other != fold]
            inner.append(
                [
                    SplitProblem(own, (folds != fold) & (folds != other), folds == other, goal)
                    for other in others
                ]
            )
    scorer = CVScorer(objective.measure, objective.threshold_rule, data.positive, data.weight, folds)
    return PathSearch(problems, scorer, log, inner)


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
        All values of C that were tried; C = 0, if it is among them, is the prior.
    scores : ndarray of shape (n_samples,)
        The out-of-fold scores on which the threshold was chosen. They differ from those of `chosen` where
        evaluation has models that were trained without pairs of folds.
    solution : Solution, optional
        The solver's certificate for all rows; None if C = 0 was chosen.
    delta_ridge : float
        The penalty on the delta function's weights at C = 0; inf if they are 0.
    stack_score : CVScore
        The value out of fold without the delta function and at C = 0.
    """

    weights: LinearCombination
    point: OperatingPoint
    chosen: GridPoint
    points: list[GridPoint]
    scores: FloatArray
    solution: Solution | None
    delta_ridge: float
    stack_score: CVScore

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
) -> AdaptationResult:
    """Adapt the auxiliaries' outputs to the measure.

    A number is used as C; from a grid, C = 0 is chosen, or a C that clearly improves on it. The reported
    value is that of the values of C chosen without each fold.
    """
    objective = stacked = objective.for_data(data)
    rule, pairs = objective.threshold_rule, data.pair_outputs
    evaluation = data if pairs is None else replace(data, fold_outputs=pairs, pair_outputs=None)
    has_prior, priors = objective.prior.is_classifier, None
    objective = replace(objective, prior=objective.prior.tune(data, folds))
    if objective.prior != stacked.prior:
        priors = {fold: _tune_without(evaluation, folds, fold, stacked.prior) for fold in np.unique(folds)}
    with warnings.catch_warnings():
        # The user is warned once, for the final threshold.
        warnings.simplefilter("ignore", ConstraintWarning)
        search = make_search(evaluation, folds, objective, log, priors=priors)
        if C in (AUTO_GRID, COARSE_AUTO_GRID) and has_prior and _keeps_prior(data, folds, objective.measure):
            C = 0.0
        grid = CGrid((C,)) if isinstance(C, float) else C
        search.run(grid.with_zero() if has_prior else grid)
        chosen, by_fold = (search.points[-1], []) if isinstance(C, float) else search.choose()
        weights, solution = AdaptationProblem(data, objective).solve(chosen.C)
        points, scores = {point.C: point for point in search.points}, chosen.scores
        has_cut = objective.measure.at_threshold() is not None
        has_pairs = evaluation is not data and has_cut and rule.learns
        if evaluation is not data:
            scores = make_search(data, folds, objective, priors=priors).evaluate(chosen.C).scores
        if has_pairs:
            # C = 0 and the chosen C are reported with thresholds that have not seen the rows at all.
            nested = make_search(evaluation, folds, objective, priors=priors, nested=True)
            reported = {search.points[0].C, chosen.C, *(point.C for point in by_fold)}
            points |= {each: nested.evaluate(each) for each in sorted(reported)}
        chosen = points[chosen.C].with_folds([points[point.C] for point in by_fold], search.scorer)
        points[chosen.C] = chosen
        stack = points[search.points[0].C]
        if priors is not None:
            without: dict[int, Prior] = {
                fold: replace(each, delta_ridge=np.inf)
                for fold, each in priors.items()
                if isinstance(each, StackPrior)
            }
            stack = make_search(evaluation, folds, stacked, priors=without, nested=has_pairs).evaluate(0.0)
    point = rule(objective.measure, scores, data.positive, data.weight)
    weights = common_scale(weights, data, rule)
    weights = weights.transform(point.calibration.slope, point.calibration.intercept)
    ridge = getattr(objective.prior, "delta_ridge", np.inf)
    return AdaptationResult(
        weights, point, chosen, list(points.values()), scores, solution, ridge, stack.cv_score
    )


def _tune_without(data: AdaptationData, folds: IntArray, fold: int, prior: Prior) -> Prior:
    """Return the prior that is learned without the rows of a fold."""
    rows = np.flatnonzero(folds != fold)
    return prior.tune(data.in_fold(fold).take_rows(rows), folds[rows])


def _keeps_prior(data: AdaptationData, folds: IntArray, measure: Measure) -> bool:
    """Whether there are too few rows of a class to choose among many C's, or no C > 0 is useful."""
    counted = data.positive if data.weight is None else data.positive[data.weight > 0]
    n_rarer = min(int(counted.sum()), int((~counted).sum()))
    # R has one threshold for all rows: it bounds no loss of rows with thresholds of their own.
    return n_rarer / len(np.unique(folds)) < MIN_CLASS_ROWS_PER_FOLD or measure.row_log_odds is not None
