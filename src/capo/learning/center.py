"""Priors of the adaptation: centers of the regularizer, which are the models at C = 0."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import expit

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import fit_logistic
from ..engine import Design, augment
from ..measures import Cut, Oracle
from .combination import AdaptationData, LinearCombination

if TYPE_CHECKING:
    from .adaptation import Objective


#: Penalty on the distance of the stack's weights from their center, in units of one row.
STACK_RIDGE = 10.0
#: With fewer rows of a class than this, the stack keeps all auxiliaries.
MIN_CLASS_ROWS_FOR_PRUNING = 100
#: An auxiliary is left out of the stack if the total log-likelihood falls by at most this (Akaike).
MAX_PRUNED_LOG_LIKELIHOOD = 1.0
#: Number added to the curvature of the stack, which equal auxiliaries would make singular.
MIN_STACK_CURVATURE = 1e-3
#: An auxiliary whose log-odds vary less than this carries no information and gets no weight.
MIN_OUTPUT_STD = 1e-4
#: The scale of the stack is searched for between these factors.
MIN_STACK_SCALE, MAX_STACK_SCALE = 1e-2, 1e3
#: Penalties on the weights of the delta function to try, in units of one row.
DELTA_RIDGES = tuple(10.0**power for power in range(4, -2, -1))
#: The search for a penalty ends after this many consecutive ones without improvement.
N_LOSSES_TO_STOP = 2
#: Tolerance on the mean loss while penalties are compared.
TUNING_TOL = 1e-8
#: The least gain in log loss by features that trained auxiliaries have used already, in standard errors.
MIN_GAIN_STD_ERRORS = 3.0
#: Number of folds for the choice of a penalty if the rows have no folds.
N_TUNING_FOLDS = 3
#: In cross-validation the gap may be this share of the prior's risk.
CV_GAP_SHARE = 0.1
#: Smallest tolerance of the solver in cross-validation.
MIN_CV_TOL = 1e-4
#: Largest tolerance of the solver in cross-validation.
MAX_CV_TOL = 1e-2


#: A problem in the solver's terms: the design, the oracle, the center, which coefficients are at least 0, and
#: the function from the solver's coefficients to weights of outputs and features.
Formulation = tuple[
    Design, Callable[[FloatArray], Cut], FloatArray, BoolArray, Callable[[FloatArray], LinearCombination]
]


class Prior(ABC):
    """Formulates the adaptation problem around the model at C = 0."""

    #: The name of the model at C = 0 in tables.
    label: ClassVar[str]
    #: Whether the model at C = 0 is a usable classifier, so that C = 0 is a candidate.
    is_classifier: ClassVar[bool] = True

    @abstractmethod
    def center(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> LinearCombination:
        """Return the model at C = 0."""

    def formulate(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> Formulation:
        """Return the problem for some rows in the solver's terms."""
        n_auxiliaries, root_B = data.outputs.shape[1], np.sqrt(objective.B)
        design = augment(_features(data), auxiliary=data.outputs, B=objective.B)
        center = self.center(data, objective, oracle)
        v0 = np.concatenate((root_B * center.auxiliary, center.delta, [center.intercept]))
        bounded = np.arange(len(v0)) < (n_auxiliaries if objective.nonnegative else 0)

        def combination(v: FloatArray) -> LinearCombination:
            return LinearCombination(v[:n_auxiliaries] / root_B, v[n_auxiliaries:-1].copy(), float(v[-1]))

        return design, oracle, v0, bounded, combination

    def tune(self, data: AdaptationData, folds: IntArray) -> Prior:
        """Return the prior, tuned by cross-validation; `folds` contains the fold of each row."""
        return self

    def classifier(self, data: AdaptationData, objective: Objective) -> LinearCombination | None:
        """Return the model at C = 0, possibly on another scale; None if it is only known to the problem."""
        return None

    def cv_tol(self, tol: float, prior_risk: float) -> float:
        """Return the solver's tolerance in cross-validation: a share of the prior's risk."""
        return max(tol, float(np.clip(CV_GAP_SHARE * prior_risk, MIN_CV_TOL, MAX_CV_TOL)))


@dataclass(frozen=True)
class StackPrior(Prior):
    """The logistic regression on the auxiliaries' outputs and the features of the delta function.

    Attributes
    ----------
    delta_ridge : float, default=inf
        The penalty on the weights of the features; inf leaves them at 0.
    is_external : bool, default=False
        Whether all auxiliaries are frozen or score columns, so that none has learned from the features. Then
        `tune` uses the features for any out-of-fold gain in log loss, and the weights of outputs and features
        are shrunk toward 0. Otherwise the gain must be `MIN_GAIN_STD_ERRORS` standard errors.
    is_averaging : bool, default=False
        Whether the weights of the outputs are shrunk toward their plain average where the data have another
        center.
    """

    delta_ridge: float = math.inf
    is_external: bool = False
    is_averaging: bool = False

    label: ClassVar[str] = "stack (C = 0)"

    def tune(self, data: AdaptationData, folds: IntArray) -> StackPrior:
        """Return the prior with the least log loss out of fold: its center, and the penalty of the features.

        The penalties descend from a large one, so that each fit starts near its minimum, and the search ends
        where the log loss rises. The auxiliaries' outputs must be out of fold.
        """
        weight, numbers = data.row_weights, np.unique(folds)
        if len(numbers) < 2:
            numbers, folds = np.arange(N_TUNING_FOLDS), _deal_rows(data.positive, N_TUNING_FOLDS)

        def losses(problem: CenterProblem, ridge: float, starts: dict[int, FloatArray]) -> FloatArray:
            """The log loss of each row, with weights learned without its fold."""
            found = np.empty(len(folds))
            for fold in numbers:
                held_out = folds == fold
                starts[fold] = problem.fit(
                    np.where(held_out, 0.0, weight), ridge, starts.get(fold), tol=TUNING_TOL
                )
                odds = problem.log_odds(starts[fold])[held_out]
                found[held_out] = np.logaddexp(0.0, odds) - data.positive[held_out] * odds
            return weight * found

        prior = self
        if data.center is not None:
            candidates = (self, replace(self, is_averaging=True))
            prior = min(candidates, key=lambda each: losses(each._problem(data), math.inf, {}).sum())
        if data.features is None or not data.features.shape[1]:
            return prior
        problem, starts = prior._problem(data), dict[int, FloatArray]()
        # Without features, but with outputs that are shrunk in the same way.
        without = losses(problem, DELTA_RIDGES[0] ** 2 if self.is_external else math.inf, starts)
        best, n_worse = (-math.inf, math.inf, 0.0), 0
        for ridge in DELTA_RIDGES:
            gains = without - losses(problem, ridge, starts)
            gain, error = float(gains.sum()), float(np.sqrt(len(gains)) * gains.std())
            n_worse = 0 if gain > best[0] else n_worse + 1
            best = max(best, (gain, ridge, error))
            if n_worse == N_LOSSES_TO_STOP:
                break
        gain, ridge, error = best
        is_used = gain > (0.0 if self.is_external else MIN_GAIN_STD_ERRORS * error)
        return replace(prior, delta_ridge=ridge if is_used else math.inf)

    def _problem(self, data: AdaptationData, *, nonnegative: bool = True) -> CenterProblem:
        """Return the logistic regression of these rows."""
        data = replace(data, center=None) if self.is_averaging else data
        return CenterProblem(data, nonnegative=nonnegative, is_external=self.is_external)

    def center(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> LinearCombination:
        """Return the stack at the scale with the least risk."""
        stack = self.classifier(data, objective)
        scores = stack.scores(data.outputs, data.features)
        threshold = objective.measure.threshold(data.positive, scores, data.weight)
        return stack.transform(factor := least_risk_scale(oracle, scores - threshold), -factor * threshold)

    def classifier(self, data: AdaptationData, objective: Objective) -> LinearCombination:
        """Return the stack, whose scores are log-odds."""
        problem = self._problem(data, nonnegative=objective.nonnegative)
        is_stack = self.delta_ridge == math.inf
        return problem.combination(problem.stack if is_stack else problem.fit(None, self.delta_ridge))


class CenterProblem:
    """The logistic regression on outputs and features of some rows.

    The outputs are log-odds, so that with few rows their plain average is a good guess, toward which
    the weights are shrunk unless the data have another center. Auxiliaries that do not improve the fit beside
    the others get the weight 0, and need not be computed for new rows.

    Attributes
    ----------
    stack : ndarray of shape (n_kept + 1,)
        Weights of the outputs of the auxiliaries that are kept, and the bias, without features.
    """

    def __init__(self, data: AdaptationData, *, nonnegative: bool = True, is_external: bool = False) -> None:
        self._data, self._nonnegative, self._mean = data, nonnegative, data.outputs.mean(axis=0)
        self._is_external = is_external
        self._target, self._weight = data.positive.astype(np.float64), data.row_weights
        self._has_features = data.features is not None and data.features.shape[1] > 0
        self._keep(data.outputs.std(axis=0) > MIN_OUTPUT_STD)
        if data.center is None and data.n_rarer >= MIN_CLASS_ROWS_FOR_PRUNING:
            found = self.combination(self.stack)
            negligible = _negligible_weights(data, found.auxiliary, found.intercept)
            if np.any(self._kept & negligible):
                self._keep(~negligible)

    def _keep(self, kept: BoolArray) -> None:
        """Use some of the auxiliaries: the others have the weight 0."""
        self._kept, center = kept, self._data.center
        self._outputs = (self._data.outputs - self._mean)[:, kept]
        self._goal = np.full(kept.sum(), 1.0 / max(1, kept.sum())) if center is None else center[kept]
        self.stack = self.fit(self._weight, math.inf)

    @cached_property
    def _columns(self) -> Any:
        """Outputs and features side by side."""
        features = self._data.features
        if issparse(features):
            return hstack((csr_array(self._outputs), features), format="csr")
        return np.hstack((self._outputs, np.asarray(features)))

    def fit(
        self,
        weight: FloatArray | None,
        delta_ridge: float,
        start: FloatArray | None = None,
        **options: float,
    ) -> FloatArray:
        """Return the weights of the outputs, those of the features if they are used, and the bias.

        `weight` are those of the data by default, `start` the result for a similar problem.
        """
        weight = self._weight if weight is None else weight
        ridge: float | FloatArray = STACK_RIDGE
        columns, goal, nonnegative = self._outputs, self._goal, np.full(len(self._goal), self._nonnegative)
        if self._has_features and delta_ridge != math.inf:
            columns, n_features = self._columns, self._columns.shape[1] - len(goal)
            output_ridge = STACK_RIDGE
            if self._is_external:
                output_ridge, goal = min(STACK_RIDGE, delta_ridge), np.zeros(len(goal))
            ridge = np.repeat((output_ridge, delta_ridge), (len(goal), n_features))
            goal, nonnegative = (np.append(each, np.zeros(n_features)) for each in (goal, nonnegative))
            start = self.stack if start is None else start
            if len(start) < len(goal) + 1:
                start = np.concatenate((start[:-1], np.zeros(n_features), start[-1:]))
        coef, bias = fit_logistic(
            columns,
            self._target,
            weight,
            ridge=ridge,
            center=goal,
            nonnegative=nonnegative > 0,
            start=start,
            **options,
        )
        return np.append(coef, bias)

    def log_odds(self, v: FloatArray) -> FloatArray:
        """Return the log-odds of the rows."""
        columns = self._outputs if len(v) == len(self._goal) + 1 else self._columns
        return np.asarray(columns @ v[:-1] + v[-1])

    def combination(self, v: FloatArray) -> LinearCombination:
        """Return the weights in terms of the data."""
        auxiliary, delta = np.zeros(len(self._kept)), v[len(self._goal) : -1]
        auxiliary[self._kept] = v[: len(self._goal)]
        if not len(delta):
            delta = np.zeros(_features(self._data).shape[1])
        return LinearCombination(auxiliary, delta, float(v[-1] - auxiliary @ self._mean))


def _deal_rows(positive: BoolArray, n_folds: int) -> IntArray:
    """Return numbers of folds that deal the rows of each class in turn."""
    folds = np.empty(len(positive), dtype=np.int64)
    for rows in (positive, ~positive):
        folds[rows] = np.arange(rows.sum()) % n_folds
    return folds


@dataclass(frozen=True)
class ZeroPrior(Prior):
    """All weights 0, as published for several auxiliaries."""

    label: ClassVar[str] = "zero"
    is_classifier: ClassVar[bool] = False

    def center(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> LinearCombination:
        """Return zeros."""
        return LinearCombination(np.zeros(data.outputs.shape[1]), np.zeros(_features(data).shape[1]), 0.0)

    def cv_tol(self, tol: float, prior_risk: float) -> float:
        """Return the tolerance of the last fit: the risk of all zeros carries no information."""
        return tol


@dataclass(frozen=True)
class UnitPrior(Prior):
    """The auxiliaries with weights fixed at 1, as published for one auxiliary: only the rest is learned."""

    label: ClassVar[str] = "auxiliaries (C = 0)"

    def center(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> LinearCombination:
        """Return the sum of the outputs."""
        return LinearCombination(np.ones(data.outputs.shape[1]), np.zeros(_features(data).shape[1]), 0.0)

    def formulate(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> Formulation:
        """Return the problem of the delta function and the intercept in the solver's terms."""
        design, center = augment(_features(data)), self.center(data, objective, oracle)
        v0 = np.zeros(design.shape[1])

        def combination(v: FloatArray) -> LinearCombination:
            return LinearCombination(center.auxiliary, v[:-1].copy(), float(v[-1]))

        offset_oracle = _OffsetOracle(oracle, data.outputs.sum(axis=1))
        return design, offset_oracle, v0, np.zeros(len(v0), dtype=bool), combination


def fit_binary_stack(data: AdaptationData, *, nonnegative: bool) -> tuple[FloatArray, float]:
    """Return weights and intercept of the logistic regression on the auxiliaries' outputs."""
    problem = CenterProblem(data, nonnegative=nonnegative)
    found = problem.combination(problem.stack)
    return found.auxiliary, found.intercept


def _negligible_weights(data: AdaptationData, weights: FloatArray, intercept: float) -> BoolArray:
    """Return which auxiliaries can be left out, one after the other, by the curvature of the likelihood."""
    negligible = weights == 0
    outputs = np.column_stack((data.outputs - data.outputs.mean(axis=0), np.ones(len(data.positive))))
    probability = expit(data.outputs @ weights + intercept)
    row_weight = data.row_weights * probability * (1.0 - probability)
    curvature = (outputs * row_weight[:, None]).T @ outputs
    variance = np.linalg.inv(curvature + MIN_STACK_CURVATURE * np.eye(len(curvature)))

    def loss_without(number: np.intp) -> float:
        left_out = np.flatnonzero(negligible | (np.arange(len(weights)) == number))
        values = weights[left_out]
        return 0.5 * float(values @ np.linalg.solve(variance[np.ix_(left_out, left_out)], values))

    while np.sum(~negligible) > 1:
        least = min(np.flatnonzero(~negligible), key=loss_without)
        if loss_without(least) > MAX_PRUNED_LOG_LIKELIHOOD:
            break
        negligible[least] = True
    return negligible


def _features(data: AdaptationData) -> FloatArray:
    return np.zeros((len(data.positive), 0)) if data.features is None else data.features


@dataclass(frozen=True)
class _OffsetOracle:
    """The oracle for scores to which `offset` is added."""

    oracle: Oracle
    offset: FloatArray

    @property
    def direction(self) -> FloatArray:
        """The direction of the oracle, which an offset does not change; those of measures have one."""
        return np.asarray(self.oracle.direction)  # type: ignore[attr-defined]

    def __call__(self, scores: FloatArray) -> Cut:
        cut = self.oracle(scores + self.offset)
        return Cut(cut.coef, cut.loss - float(cut.coef @ self.offset))


def least_risk_scale(oracle: Oracle, scores: FloatArray) -> float:
    """Return the factor of the scores at which their risk is least."""

    def risk(log_factor: float) -> float:
        values = np.exp(log_factor) * scores
        cut = oracle(values)
        return max(0.0, cut.loss - float(cut.coef @ values))

    bounds = (np.log(MIN_STACK_SCALE), np.log(MAX_STACK_SCALE))
    result = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": 0.1})
    return float(np.exp(result.x))
