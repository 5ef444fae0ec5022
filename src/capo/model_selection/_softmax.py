"""Multinomial logistic regression with few weights: one per input, shared by all classes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from .._typing import FloatArray, IntArray

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

    # einsum, since the threads of a matrix product cost more than they save for so few weights.
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
