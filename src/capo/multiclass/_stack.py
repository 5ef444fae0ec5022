"""The stack of probabilities: a multinomial logistic regression on the auxiliaries' log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from .._typing import FloatArray, IntArray
from ..auxiliary import ClassCalibrator
from ..model_selection import fit_softmax, normalize_weights

#: Penalty on the distance of the stack's weights from the plain average, in units of one row.
STACK_RIDGE = 10.0
#: An auxiliary whose log-probabilities vary less than this carries no information and gets no weight.
MIN_OUTPUT_STD = 1e-4


@dataclass(frozen=True)
class ProbabilityStack:
    """Probabilities of the classes from the raw outputs of the auxiliaries.

    ::

        log P(k | x) = sum_j weights[j] * calibrators[j](raw_j(x))_k + intercepts[k] - log(normalizer)

    Attributes
    ----------
    calibrators : tuple of ClassCalibrator
        For each auxiliary, the function from its raw output to log-probabilities.
    weights : ndarray of shape (n_auxiliaries,)
        The weight of each auxiliary, at least 0.
    intercepts : ndarray of shape (n_classes,)
        The intercept of each class.
    """

    calibrators: tuple[ClassCalibrator, ...]
    weights: FloatArray
    intercepts: FloatArray

    @classmethod
    def fit(cls, raw: FloatArray, codes: IntArray, sample_weight: FloatArray | None) -> ProbabilityStack:
        """Fit to raw outputs of shape (n_samples, n_auxiliaries, n_classes), which should be out of fold.

        With few rows the plain average of log-probabilities is a good guess, toward which the weights are
        shrunk.
        """
        weight = normalize_weights(len(codes), sample_weight)
        n_auxiliaries = raw.shape[1]
        calibrators = tuple(ClassCalibrator.fit(raw[:, j], codes, weight) for j in range(n_auxiliaries))
        inputs = np.stack([each.log_probabilities(raw[:, j]) for j, each in enumerate(calibrators)])
        constant = inputs.std(axis=1).max(axis=1) <= MIN_OUTPUT_STD
        inputs[constant] = 0.0
        average = 1.0 / max(1, int(np.sum(~constant)))
        weights, intercepts = fit_softmax(inputs, codes, weight, ridge=STACK_RIDGE, center=average)
        return cls(calibrators, np.where(constant, 0.0, weights), intercepts)

    def probabilities(self, raw: Sequence[FloatArray]) -> FloatArray:
        """Return probabilities, from one array of raw outputs per auxiliary."""
        scores = np.broadcast_to(self.intercepts, raw[0].shape).copy()
        for weight, calibrator, each in zip(self.weights, self.calibrators, raw, strict=True):
            if weight > 0:
                scores += weight * calibrator.log_probabilities(each)
        return np.asarray(softmax(scores, axis=1))


def cross_fit_probabilities(
    raw: FloatArray, codes: IntArray, sample_weight: FloatArray | None, folds: IntArray
) -> FloatArray:
    """Return the probabilities of each row from a stack that has not seen its label."""
    probabilities = np.empty((len(codes), raw.shape[2]))
    for fold in np.unique(folds):
        train, test = folds != fold, folds == fold
        weight = None if sample_weight is None else sample_weight[train]
        stack = ProbabilityStack.fit(raw[train], codes[train], weight)
        probabilities[test] = stack.probabilities(list(np.moveaxis(raw[test], 1, 0)))
    return probabilities
