"""The adaptation problem, for one set of rows and all C's.

    min over v = (a, w, b):  1/2 (B ||a - a0||^2 + ||w||^2 + (b - b0)^2) + C R(Z a + Phi w + b)

Z are the auxiliaries' outputs, Phi the delta function's features, (a0, b0) the prior, R the convex
upper bound of the measure's loss. C = 0 is the prior itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .._typing import FloatArray, IntArray
from ..engine import CuttingPlane, Solution, Status
from ..measures import Measure
from ..model_selection import ExpectedValueThreshold, FoldScores, ThresholdRule
from ._combination import LinearCombination, common_scale
from ._data import AdaptationData
from ._priors import Prior, StackPrior

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
