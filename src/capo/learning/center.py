"""Priors of the adaptation: centers of the regularizer, which are the models at C = 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from .._compat import BoolArray, FloatArray
from ..decisions import fit_logistic
from ..engine import CutOracle, Design, augment
from ..measures import Cut, Oracle
from .combination import AdaptationData, LinearCombination

if TYPE_CHECKING:
    from .adaptation import Objective


#: Penalty on the distance of the stack's weights from their center, in units of one row.
STACK_RIDGE = 10.0
#: With fewer rows of a class than this, the stack keeps all auxiliaries.
MIN_CLASS_ROWS_FOR_PRUNING = 100
#: An auxiliary is left out of the stack if the log-likelihood falls by no more than this in all (Akaike).
MAX_PRUNED_LOG_LIKELIHOOD = 1.0
#: Is added to the curvature of the stack, which equal auxiliaries would make singular.
MIN_STACK_CURVATURE = 1e-3
#: An auxiliary whose log-odds vary less than this carries no information and gets no weight.
MIN_OUTPUT_STD = 1e-4
#: The scale of the stack is searched for between these factors.
MIN_STACK_SCALE, MAX_STACK_SCALE = 1e-2, 1e3
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

    #: The model at C = 0, as tables name it.
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

    def classifier(self, data: AdaptationData, objective: Objective) -> LinearCombination | None:
        """Return the model at C = 0 on a scale of its own; None if only the problem knows it."""
        return None

    def cv_tol(self, tol: float, prior_risk: float) -> float:
        """Return the solver's tolerance in cross-validation: a share of the prior's risk."""
        return max(tol, float(np.clip(CV_GAP_SHARE * prior_risk, MIN_CV_TOL, MAX_CV_TOL)))


@dataclass(frozen=True)
class StackPrior(Prior):
    """The logistic regression on the auxiliaries' outputs, at the scale with the least risk."""

    label: ClassVar[str] = "stack (C = 0)"

    def center(self, data: AdaptationData, objective: Objective, oracle: Oracle) -> LinearCombination:
        """Return the stack."""
        stack = self.classifier(data, objective)
        scores = stack.scores(data.outputs, None)
        threshold = objective.measure.threshold(data.positive, scores, data.weight)
        return stack.transform(factor := least_risk_scale(oracle, scores - threshold), -factor * threshold)

    def classifier(self, data: AdaptationData, objective: Objective) -> LinearCombination:
        """Return the stack, whose scores are log-odds."""
        weights, intercept = fit_binary_stack(data, nonnegative=objective.nonnegative)
        return LinearCombination(weights, np.zeros(_features(data).shape[1]), intercept)


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
    """Return weights and intercept of the logistic regression on the auxiliaries' outputs.

    The outputs are log-odds, so that with few rows their plain average is a good guess, toward which
    the weights are shrunk unless the data have another center. Auxiliaries without which the others fit
    the labels as well get no weight: they need not be computed for new rows.
    """
    kept = data.outputs.std(axis=0) > MIN_OUTPUT_STD
    weights, intercept = _fit_stack_of(data, kept, nonnegative=nonnegative)
    if data.center is None and data.n_rarer >= MIN_CLASS_ROWS_FOR_PRUNING:
        worth_keeping = ~_negligible_weights(data, weights, intercept)
        if np.any(kept & ~worth_keeping):
            weights, intercept = _fit_stack_of(data, worth_keeping, nonnegative=nonnegative)
    return weights, intercept


def _fit_stack_of(data: AdaptationData, kept: BoolArray, *, nonnegative: bool) -> tuple[FloatArray, float]:
    """Return the stack of some of the auxiliaries: the others have the weight 0."""
    mean = data.outputs.mean(axis=0)
    outputs, target = (data.outputs - mean)[:, kept], data.positive.astype(np.float64)
    center = 1.0 / max(1, int(np.sum(kept))) if data.center is None else data.center[kept]
    weights = np.zeros(len(kept))
    weights[kept], intercept = fit_logistic(
        outputs, target, data.row_weights, ridge=STACK_RIDGE, center=center, nonnegative=nonnegative
    )
    return weights, intercept - float(weights @ mean)


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


def least_risk_scale(oracle: CutOracle, scores: FloatArray) -> float:
    """Return the factor of the scores at which their risk is least."""

    def risk(log_factor: float) -> float:
        values = np.exp(log_factor) * scores
        cut = oracle(values)
        return max(0.0, cut.loss - float(cut.coef @ values))

    bounds = (np.log(MIN_STACK_SCALE), np.log(MAX_STACK_SCALE))
    result = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": 0.1})
    return float(np.exp(result.x))
