"""From scores to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit, log_softmax

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray

#: The smallest slope, in units of the scores' spread, which preserves the order of scores.
MIN_SLOPE = 1e-6
#: Penalty on the slope in units of one row, so that it is finite where the classes are separated.
MIN_RIDGE = 1e-3
#: Values that vary less than this, relative to their center, differ by rounding errors only.
MIN_RELATIVE_SPREAD = 1e-12
#: Tolerance on the mean loss at its minimum ...
LOGISTIC_TOL = 1e-13
#: ... and the largest derivative, as a multiple of it.
GRADIENT_TOL_FACTOR = 1e4
#: Steps of Newton's method, and halvings of a step, before another method takes over.
MAX_NEWTON_ITER, MAX_HALVINGS = 100, 30
#: The sufficient-decrease constant of the line search (Armijo).
SUFFICIENT_DECREASE = 1e-4
#: Number added to the curvature of the mean loss, which is 0 where all probabilities are 0 or 1.
MIN_CURVATURE = 1e-12
#: With more columns than this, L-BFGS-B is faster than Newton's method.
MAX_NEWTON_COLUMNS = 400


@dataclass(frozen=True)
class ClassScores:
    """Out-of-fold log-odds of the training rows, and their labels or probabilities.

    Attributes
    ----------
    log_odds : ndarray of shape (n_rows,)
        The log-odds of the positive class.
    positive : ndarray of shape (n_rows,)
        Whether a row is positive, or the probability that it is.
    weight : ndarray of shape (n_rows,), optional
        How many rows each row stood for in training; the log-odds are calibrated for the weighted rows.
    fold : ndarray of int, shape (n_rows,), optional
        The fold of each row: the log-odds of each fold come from a different model.
    """

    log_odds: FloatArray
    positive: BoolArray | FloatArray
    weight: FloatArray | None = None
    fold: IntArray | None = None

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return float(np.average(self.positive, weights=self.weight))

    @property
    def mean_probability(self) -> float:
        """The mean predicted probability; the share of positives up to calibration error."""
        return float(np.average(expit(self.log_odds), weights=self.weight))

    @property
    def masses(self) -> tuple[FloatArray, FloatArray]:
        """The numbers of positive and negative rows that each row represents."""
        positive = np.asarray(self.positive, dtype=np.float64)
        weight = 1.0 if self.weight is None else self.weight
        return weight * positive, weight * (1.0 - positive)

    def distributions(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The share of the positive and of the negative rows with scores up to each point."""
        order = np.argsort(self.log_odds, kind="stable")
        position = np.searchsorted(self.log_odds[order], points, side="right")
        parts = (np.concatenate(([0.0], np.cumsum(mass[order]))) for mass in self.masses)
        positive, negative = (part[position] / max(part[-1], 1e-300) for part in parts)
        return positive, negative


@dataclass(frozen=True)
class PlattCalibrator:
    """``P(y = 1 | s) = 1 / (1 + exp(-(slope s + intercept)))``.

    The slope is positive unless its sign is free.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import PlattCalibrator
    >>> scores = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    >>> curve = PlattCalibrator.fit(scores, np.array([0, 0, 1, 0, 1, 1]))
    >>> bool(0.6 < curve.probability(np.array([3.0]))[0] < 0.9)
    True
    """

    slope: float
    intercept: float

    @classmethod
    def fit(
        cls,
        scores: FloatArray,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        counts: FloatArray | None = None,
        nonnegative: bool = True,
        shrink: bool = False,
    ) -> PlattCalibrator:
        """Fit to labels softened by one row each (Platt, 1999), so that no probability is 0 or 1.

        With `shrink`, the slope is shrunk toward 1 in units of the scores' spread, by as much as one row:
        scores that are known to be good keep their order where a few rows contradict it. `counts` are the
        numbers of rows with equal scores and labels, in place of weights.
        """
        labels = np.asarray(y, dtype=bool)
        weight = normalize_weights(len(labels), sample_weight) if counts is None else counts
        n_pos, n_neg = weight[labels].sum(), weight[~labels].sum()
        target = np.where(labels, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
        center, spread = robust_scale(np.asarray(scores, dtype=np.float64))
        Z = ((scores - center) / spread)[:, None]
        ridge, slope = (1.0, 1.0) if shrink else (MIN_RIDGE, 0.0)
        coef, bias = fit_logistic(Z, target, weight, ridge=ridge, center=slope, nonnegative=nonnegative)
        slope = max(float(coef[0]), MIN_SLOPE) / spread if nonnegative else float(coef[0]) / spread
        return cls(slope, bias - slope * center)

    @classmethod
    def fit_log_odds(
        cls, log_odds: FloatArray, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PlattCalibrator:
        """Fit to scores that are log-odds up to a constant: the slope is shrunk toward 1.

        The penalty is worth one row. The mean probability is the share of positives.
        """
        labels = np.asarray(y, dtype=np.float64)
        weight = normalize_weights(len(labels), sample_weight)
        coef, bias = fit_logistic(log_odds[:, None], labels, weight, ridge=1.0, center=1.0)
        return cls(max(float(coef[0]), MIN_SLOPE), bias)

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """The log-odds of the positive class."""
        return self.slope * scores + self.intercept

    def scores(self, log_odds: FloatArray) -> FloatArray:
        """The scores that have these log-odds; the inverse of `log_odds`."""
        return (log_odds - self.intercept) / self.slope

    def probability(self, scores: FloatArray) -> FloatArray:
        """The probability of the positive class."""
        return np.asarray(expit(self.log_odds(scores)))


def normalize_weights(n_rows: int, sample_weight: ArrayLike | None) -> FloatArray:
    """Return weights scaled to sum to the number of rows with a nonzero weight."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    return weight * (np.count_nonzero(weight) / weight.sum())


def robust_scale(values: FloatArray) -> tuple[float, float]:
    """Return the median and the mean distance from it, extremes clipped; (c, 1) for a constant.

    Values that differ only by rounding count as constant, so that the scale is never a rounding error.
    """
    low, center, high = np.quantile(values, (0.001, 0.5, 0.999))
    spreads = float(np.abs(np.clip(values, low, high) - center).mean()), float(np.ptp(values))
    smallest = MIN_RELATIVE_SPREAD * abs(float(center))
    return float(center), next((each for each in spreads if each > smallest), 1.0)


def fit_logistic(
    Z: Any,
    target: FloatArray,
    weight: FloatArray,
    *,
    ridge: float | FloatArray = MIN_RIDGE,
    center: float | FloatArray = 0.0,
    nonnegative: bool | BoolArray = True,
    start: FloatArray | None = None,
    tol: float = LOGISTIC_TOL,
) -> tuple[FloatArray, float]:
    """Return weights and bias of a logistic regression on probabilities `target`.

    The penalty is ``ridge / 2`` times the squared distance of the weights from `center`; with
    `nonnegative`, no weight is below 0. Each of the three may differ between the columns of Z, which may be
    sparse. `start` are weights and bias near the minimum, if known; `tol` is the tolerance on the mean loss.
    """
    masses, n_coef = (float(weight @ target), float(weight.sum())), Z.shape[1]
    penalty = LogisticPenalty.of_weights(n_coef, ridge, center, nonnegative)
    if start is None:
        start = _logistic_start(n_coef, masses)
    if not issparse(Z) and n_coef <= MAX_NEWTON_COLUMNS:
        found = _newton(Z, target, weight, penalty, start, tol)
        if found is not None:
            return found[:-1], float(found[-1])

    def sums(v: FloatArray) -> FloatArray:
        return logistic_sums(Z, target, weight, v)

    return minimize_logistic(sums, masses, penalty, start, tol)


class LogisticPenalty(NamedTuple):
    """The penalty of each coefficient of a logistic regression, the bias included, and its lower bound."""

    ridge: FloatArray
    center: FloatArray
    lower: FloatArray

    @classmethod
    def of_weights(
        cls,
        n_coef: int,
        ridge: float | FloatArray,
        center: float | FloatArray,
        nonnegative: bool | BoolArray,
    ) -> LogisticPenalty:
        """Return the penalty of weights, each with its own or all with the same, and of a free bias."""
        lower = np.where(nonnegative, 0.0, -np.inf)
        values = ((ridge, 0.0), (center, 0.0), (lower, -np.inf))
        return cls(*(np.append(np.broadcast_to(each, n_coef), bias) for each, bias in values))


def _newton(
    Z: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    penalty: LogisticPenalty,
    start: FloatArray,
    tol: float,
) -> FloatArray | None:
    """Return the minimum of the penalized logistic loss; None if it is not reached.

    Newton's method, with a projection onto the bounds (Bertsekas, 1982): coefficients at a bound that the
    gradient would take beyond it stay there. For a few coefficients it takes far fewer passes over the rows
    than a method that has to learn the curvature.
    """
    columns, total = np.vstack((Z.T, np.ones(len(Z)))), float(weight.sum())
    ridge, goal, lower = penalty

    def value(v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        odds = v @ columns
        smaller = np.exp(-np.abs(odds))
        loss = weight @ (np.maximum(odds, 0.0) + np.log(1.0 + smaller) - target * odds)
        return float(loss + 0.5 * ridge @ (v - goal) ** 2), odds, smaller

    v = np.maximum(start, lower)
    loss, odds, smaller = value(v)
    for _ in range(MAX_NEWTON_ITER):
        probability = np.where(odds < 0, smaller, 1.0) / (1.0 + smaller)
        gradient = columns @ (weight * (probability - target)) + ridge * (v - goal)
        free = (v > lower) | (gradient < 0)
        if np.abs(gradient[free]).max() <= GRADIENT_TOL_FACTOR * tol * total:
            return v
        parts = columns if free.all() else columns[free]
        curvature = (parts * (weight * probability * (1.0 - probability))) @ parts.T
        curvature += np.diag(ridge[free] + MIN_CURVATURE * total)
        step = np.zeros(len(v))
        try:
            step[free] = np.linalg.solve(curvature, gradient[free])
        except np.linalg.LinAlgError:
            return None
        if float(gradient @ step) <= tol * total:
            return v
        for halvings in range(MAX_HALVINGS):
            new = np.maximum(v - 0.5**halvings * step, lower)
            found = value(new)
            if found[0] <= loss + SUFFICIENT_DECREASE * float(gradient @ (new - v)):
                break
        else:
            return None
        v, (loss, odds, smaller) = new, found
    return None


def _logistic_start(n_coef: int, masses: tuple[float, float]) -> FloatArray:
    """The average of the features, and the log-odds of the share of positives."""
    share = float(np.clip(masses[0] / masses[1], 1e-9, 1.0 - 1e-9))
    return np.append(np.full(n_coef, 1.0 / max(1, n_coef)), np.log(share / (1.0 - share)))


def logistic_sums(Z: FloatArray, target: FloatArray, weight: FloatArray, v: FloatArray) -> FloatArray:
    """The logistic loss of some rows, and its gradient: those of all rows are the sum over their parts."""
    odds = Z @ v[:-1] + v[-1]
    slope = weight * (expit(odds) - target)
    loss = weight @ (np.logaddexp(0.0, odds) - target * odds)
    return np.concatenate([[loss], Z.T @ slope, [slope.sum()]])


def minimize_logistic(
    sums: Callable[[FloatArray], FloatArray],
    masses: tuple[float, float],
    penalty: LogisticPenalty,
    start: FloatArray,
    tol: float = LOGISTIC_TOL,
) -> tuple[FloatArray, float]:
    """Return weights and bias of the logistic regression whose `logistic_sums` over all rows are `sums`.

    `masses` are those of the positive rows and of all rows.
    """

    def value(v: FloatArray) -> tuple[float, FloatArray]:
        away, found = v - penalty.center, sums(v)
        slope = penalty.ridge * away
        found = (found + np.concatenate([[0.5 * (slope @ away)], slope])) / masses[1]
        return float(found[0]), found[1:]

    bounds = [(low if np.isfinite(low) else None, None) for low in penalty.lower.tolist()]
    options = {"maxiter": 1000, "ftol": tol, "gtol": GRADIENT_TOL_FACTOR * tol}
    result = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return result.x[:-1], float(result.x[-1])


#: Penalty on the intercepts, in units of one row.
INTERCEPT_RIDGE = 1.0


def fit_softmax(
    inputs: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    ridge: float = 1e-3,
    center: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return weights and intercepts of ``log P(k | x) = sum_j w_j z_jk(x) + c_k - log(normalizer)``.

    Parameters
    ----------
    inputs : ndarray of shape (n_inputs, n_samples, n_classes)
        The scores z of each class, from each input.
    codes : ndarray of int, shape (n_samples,)
        The position of each row's class.
    weight : ndarray of shape (n_samples,)
        Weights of the rows.
    ridge, center : float
        The penalty is ``ridge / 2`` times the squared distance of the weights from `center`.

    Returns
    -------
    weights : ndarray of shape (n_inputs,)
        The weights, none of them below 0.
    intercepts : ndarray of shape (n_classes,)
        The intercepts, with mean 0.
    """
    n_inputs, n_rows, n_classes = inputs.shape
    flat, rows, total = inputs.reshape(n_inputs, -1), np.arange(n_rows), weight.sum()

    # einsum, since the threads of a matrix product cost more than they save for few weights.
    def value(v: FloatArray) -> tuple[float, FloatArray]:
        away, intercepts = v[:n_inputs] - center, v[n_inputs:]
        logs = log_softmax(
            np.einsum("i,if->f", v[:n_inputs], flat).reshape(n_rows, n_classes) + intercepts, axis=1
        )
        penalty = 0.5 * ridge * (away @ away) + 0.5 * INTERCEPT_RIDGE * (intercepts @ intercepts)
        residual = np.exp(logs)
        residual[rows, codes] -= 1.0
        residual *= weight[:, None]
        slope = np.einsum("if,f->i", flat, residual.ravel()) + ridge * away
        by_intercept = residual.sum(axis=0) + INTERCEPT_RIDGE * intercepts
        loss = penalty - weight @ logs[rows, codes]
        return float(loss) / total, np.concatenate((slope, by_intercept)) / total

    start = np.concatenate((np.full(n_inputs, center), np.zeros(n_classes)))
    bounds = [(0.0, None)] * n_inputs + [(None, None)] * n_classes
    options = {"maxiter": 300, "ftol": 1e-10, "gtol": 1e-7}
    result = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    intercepts = result.x[n_inputs:]
    return result.x[:n_inputs], intercepts - intercepts.mean()
