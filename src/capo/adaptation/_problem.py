"""The problem of adaptation, for one set of rows and all C's.

    min over v = (a, w, b):  1/2 (B ||a - a0||^2 + ||w||^2 + (b - b0)^2) + C R(Z a + Phi w + b)

Z are the auxiliaries' columns, Phi the delta function's features, (a0, b0) the prior. The
auxiliaries' weights `a` are not negative unless a free sign is asked for, and with the prior
``"unit"`` they are 1 and not learned at all. C = 0 is the prior itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from .._sklearn_compat import safe_indexing
from .._typing import FloatArray
from ..design import Design, augment
from ..engine import CuttingPlane, Solution, Status
from ..measures import Cut, Measure, Oracle
from ..model_selection import fit_logistic, normalize_weights

#: Penalty on the distance of the stack's weights from the plain average, in units of one row.
STACK_RIDGE = 10.0
#: A column that varies less, in log-odds, says nothing and gets no weight.
LEAST_SPREAD = 1e-4
#: The scale of the prior is sought between these factors.
LEAST_SCALE, GREATEST_SCALE = 1e-2, 1e3


@dataclass(frozen=True)
class AdaptationData:
    """What the adaptation sees of the data: columns, features, labels, weights.

    Columns that are out of fold are the same in every fold. Others come a second time in `by_fold`, of shape
    (n_folds, n_rows, n_columns), from auxiliaries that each fold has trained for itself.
    """

    columns: FloatArray
    features: Any | None
    positive: NDArray[np.bool_]
    weight: FloatArray | None
    by_fold: FloatArray | None = None

    def in_fold(self, number: int) -> AdaptationData:
        """The rows as the auxiliaries of one fold see them."""
        if self.by_fold is None:
            return self
        return replace(self, columns=self.by_fold[number], by_fold=None)

    def held_out(self, folds: NDArray[np.intp]) -> FloatArray:
        """Of each row what the auxiliaries say that have not seen it; `folds` numbers the rows' folds."""
        return self.columns if self.by_fold is None else self.by_fold[folds, np.arange(len(folds))]

    def with_columns(self, kept: NDArray[np.intp]) -> AdaptationData:
        """All rows with some of the columns."""
        by_fold = None if self.by_fold is None else self.by_fold[:, :, kept]
        return replace(self, columns=self.columns[:, kept], by_fold=by_fold)

    def take(self, index: NDArray[np.intp]) -> AdaptationData:
        """Some of the rows, in no fold."""
        return AdaptationData(
            self.columns[index],
            None if self.features is None else safe_indexing(self.features, index),
            self.positive[index],
            None if self.weight is None else self.weight[index],
        )


@dataclass(frozen=True)
class LinearCombination:
    """A linear combination of columns and features."""

    auxiliary: FloatArray
    delta: FloatArray
    bias: float

    def scores(self, columns: FloatArray, features: Any | None) -> FloatArray:
        """One score a row."""
        scores = columns @ self.auxiliary + self.bias
        if features is not None:
            scores = scores + np.asarray(features @ self.delta).ravel()
        return np.asarray(scores)

    def normalised(self, rows: AdaptationData, *, centred: bool = True) -> LinearCombination:
        """The same order of rows, with mean 0 and standard deviation 1 on these.

        Scores of models from different rows meet on the scale of the rows each was trained on. Not
        `centred`, a score of 0 stays 0.
        """
        scores = self.scores(rows.columns, rows.features)
        centre = float(np.average(scores, weights=rows.weight))
        spread = float(np.sqrt(np.average((scores - centre) ** 2, weights=rows.weight)))
        if spread <= 1e-10 * float(np.abs(scores).max()):  # rounding errors of a constant
            spread = 1.0
        return self.times(1.0 / spread, -centre / spread if centred else 0.0)

    def times(self, factor: float, shift: float) -> LinearCombination:
        """Weights whose scores are ``factor * scores + shift``."""
        return LinearCombination(self.auxiliary * factor, self.delta * factor, self.bias * factor + shift)


@dataclass(frozen=True)
class Settings:
    """What the user decides about the problem."""

    measure: Measure
    prior: str = "stack"
    B: float = 1.0
    positive: bool = True
    tol: float = 1e-3
    threshold: float | str | None = None

    @property
    def centred(self) -> bool:
        """Whether scores may be shifted: not if they are to be cut at 0."""
        return self.threshold != "zero"


class Problem:
    """The problem for some rows; `solve` for one C after another, upwards for speed."""

    def __init__(self, rows: AdaptationData, settings: Settings) -> None:
        self.rows, self.settings = rows, settings
        oracle = settings.measure.for_training().oracle(rows.positive, rows.weight)
        if settings.prior == "unit":
            offset = rows.columns.sum(axis=1)
            self.solver = CuttingPlane(_design(rows, None), _shifted(oracle, offset))
        else:
            design = _design(rows, settings.B)
            v0 = self._prior(oracle, design.shape[1])
            bounded = np.arange(design.shape[1]) < (self.n_auxiliaries if settings.positive else 0)
            self.solver = CuttingPlane(design, oracle, v0=v0, nonnegative=bounded)
        self.prior_risk = self.solver.risk

    @property
    def n_auxiliaries(self) -> int:
        """Columns of the auxiliaries."""
        return self.rows.columns.shape[1]

    def at(
        self, C: float, tol: float | None = None, max_rounds: int = 10_000
    ) -> tuple[LinearCombination, Solution | None]:
        """The weights for one C and their certificate; C = 0 is the prior, which needs none."""
        if C == 0:
            return self._weights(self.solver.v0), None
        solution = self.solver.solve(C, tol or self.settings.tol, max_rounds)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self._weights(solution.v), solution

    def _weights(self, v: FloatArray) -> LinearCombination:
        if self.settings.prior == "unit":
            return LinearCombination(np.ones(self.n_auxiliaries), v[:-1].copy(), float(v[-1]))
        k = self.n_auxiliaries
        return LinearCombination(v[:k] / np.sqrt(self.settings.B), v[k:-1].copy(), float(v[-1]))

    def _prior(self, oracle: Oracle, n_coef: int) -> FloatArray:
        """(a0, 0, b0): the stacked auxiliaries at the scale where R is least, or zeros."""
        v0 = np.zeros(n_coef)
        if self.settings.prior == "zero":
            return v0
        a, b = stack(self.rows, positive=self.settings.positive)
        scores = self.rows.columns @ a + b
        cut = self.settings.measure.threshold(self.rows.positive, scores, self.rows.weight)
        factor = _best_scale(oracle, scores - cut)
        v0[: len(a)] = factor * np.sqrt(self.settings.B) * a
        v0[-1] = factor * (b - cut)
        return v0


def stack(rows: AdaptationData, *, positive: bool) -> tuple[FloatArray, float]:
    """Weights and bias of the logistic regression on the auxiliaries' columns.

    They are log-odds, so that with few rows their plain average is a good guess, to which the
    weights are drawn.
    """
    centre = rows.columns.mean(axis=0)
    columns, target = rows.columns - centre, rows.positive.astype(np.float64)
    says_nothing = columns.std(axis=0) <= LEAST_SPREAD
    columns[:, says_nothing] = 0.0
    mass = normalize_weights(len(target), rows.weight)
    average = 1.0 / max(1, int(np.sum(~says_nothing)))
    a, b = fit_logistic(columns, target, mass, ridge=STACK_RIDGE, towards=average, positive=positive)
    a[says_nothing] = 0.0
    return a, b - float(a @ centre)


def _design(rows: AdaptationData, B: float | None) -> Design:
    phi = rows.features if rows.features is not None else np.zeros((len(rows.positive), 0))
    if B is None:
        return augment(phi)
    return augment(phi, auxiliary=rows.columns, B=B)


def _shifted(oracle: Oracle, offset: FloatArray) -> Callable[[FloatArray], Cut]:
    """The oracle for scores that are counted from `offset`."""

    def shifted(scores: FloatArray) -> Cut:
        cut = oracle(scores + offset)
        return Cut(cut.coef, cut.loss - float(cut.coef @ offset))

    return shifted


def _best_scale(oracle: Oracle, scores: FloatArray) -> float:
    """The factor of the scores at which their risk is least."""

    def risk(log_factor: float) -> float:
        values = np.exp(log_factor) * scores
        cut = oracle(values)
        return max(0.0, cut.loss - float(cut.coef @ values))

    bounds = (np.log(LEAST_SCALE), np.log(GREATEST_SCALE))
    found = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": 0.1})
    return float(np.exp(found.x))
