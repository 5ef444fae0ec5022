"""The correction of a stack: how the log-probabilities of each class change those of the others.

One weight per auxiliary treats all classes alike. Where an auxiliary confuses some classes more than others,
a matrix B of coefficients can use that:

    log P(k | x) = stack_k(x) + sum over j, l of z_jl(x) B[j, l, k] - log(normalizer)

with the auxiliaries' centered log-probabilities z. It is fitted with a ridge penalty, which is chosen by the
log loss out of fold; no correction is among the candidates.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from .._typing import FloatArray, IntArray

#: Penalties that are tried, in units of one row, the largest first; each starts from the one before.
RIDGES = (100.0, 30.0, 10.0)
#: Iterations for each penalty.
MAX_CORRECTION_ITER = 60
#: The correction is not tried if the rows times its coefficients exceed this.
MAX_CORRECTION_WORK = 1e8
#: Nor if it has more coefficients than this.
MAX_CORRECTION_COEFFICIENTS = 2_000


def is_affordable(n_rows: int, n_auxiliaries: int, n_classes: int) -> bool:
    """Whether a correction is tried for data of this size."""
    n_coef = n_auxiliaries * n_classes**2
    return n_coef <= MAX_CORRECTION_COEFFICIENTS and n_rows * n_coef <= MAX_CORRECTION_WORK


def center_inputs(inputs: FloatArray) -> FloatArray:
    """Return log-probabilities of shape (n_inputs, n_samples, n_classes) as features of each sample."""
    centered = inputs - inputs.mean(axis=2, keepdims=True)
    return np.moveaxis(centered, 0, 1).reshape(inputs.shape[1], -1)


def fit_corrections(
    features: FloatArray, scores: FloatArray, codes: IntArray, weight: FloatArray
) -> list[FloatArray]:
    """Return for each penalty the coefficients, with the intercepts in the last row.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Centered log-probabilities.
    scores : ndarray of shape (n_samples, n_classes)
        The stack's log-probabilities, which are corrected.
    codes : ndarray of int, shape (n_samples,)
        The position of each row's class.
    weight : ndarray of shape (n_samples,)
        Weights of the rows.
    """
    n_features, n_classes, total = features.shape[1], scores.shape[1], weight.sum()
    mean = np.average(features, axis=0, weights=weight)
    centered, truth = features - mean, np.eye(n_classes)[codes]
    found, start = [], np.zeros(n_features * n_classes)
    for ridge in RIDGES:

        def value(v: FloatArray, ridge: float = ridge) -> tuple[float, FloatArray]:
            logs = log_softmax(scores + centered @ v.reshape(n_features, n_classes), axis=1)
            residual = (np.exp(logs) - truth) * weight[:, None]
            loss = 0.5 * ridge * (v @ v) - weight @ (logs * truth).sum(axis=1)
            return float(loss) / total, ((centered.T @ residual).ravel() + ridge * v) / total

        options = {"maxiter": MAX_CORRECTION_ITER, "ftol": 1e-9}
        start = minimize(value, start, jac=True, method="L-BFGS-B", options=options).x
        coef = start.reshape(n_features, n_classes)
        found.append(np.vstack((coef, -mean @ coef)))
    return found


def apply_correction(correction: FloatArray, features: FloatArray) -> FloatArray:
    """Return what a correction adds to the scores."""
    return np.asarray(features @ correction[:-1] + correction[-1])
