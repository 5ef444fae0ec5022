"""The stack of probabilities: a multinomial logistic regression on the auxiliaries' log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from .._typing import FloatArray, IntArray
from ..auxiliary import ClassCalibrator
from ..model_selection import CVScore, fit_softmax, normalize_weights
from ._correction import RIDGES, apply_correction, center_inputs, fit_corrections, is_affordable

#: Penalty on the distance of the stack's weights from the plain average, in units of one row.
STACK_RIDGE = 10.0
#: An auxiliary whose log-probabilities vary less than this carries no information and gets no weight.
MIN_OUTPUT_STD = 1e-4
#: A correction is used if it lowers the log loss out of fold by more than this many standard errors.
MIN_CORRECTION_STD_ERRORS = 1.0


@dataclass(frozen=True)
class ProbabilityStack:
    """Probabilities of the classes from the raw outputs of the auxiliaries.

    ::

        z_j          = calibrators[j](raw_j(x)),  log-probabilities
        scores       = sum_j weights[j] * z_j + intercepts
        scores      += concatenate_j(z_j - mean(z_j)) @ correction[:-1] + correction[-1],  if there is one
        log P(k | x) = scores[k] - log(sum(exp(scores)))

    Attributes
    ----------
    calibrators : tuple of ClassCalibrator
        For each auxiliary, the function from its raw output to log-probabilities.
    weights : ndarray of shape (n_auxiliaries,)
        The weight of each auxiliary, at least 0.
    intercepts : ndarray of shape (n_classes,)
        The intercept of each class.
    correction : ndarray of shape (n_auxiliaries * n_classes + 1, n_classes), optional
        How the log-probabilities of each auxiliary and class change the scores of all classes, with an
        intercept in the last row; None without a correction.
    """

    calibrators: tuple[ClassCalibrator, ...]
    weights: FloatArray
    intercepts: FloatArray
    correction: FloatArray | None = None

    @classmethod
    def fit(cls, raw: FloatArray, codes: IntArray, sample_weight: FloatArray | None) -> ProbabilityStack:
        """Fit to raw outputs of shape (n_samples, n_auxiliaries, n_classes), which should be out of fold.

        With few rows the plain average of log-probabilities is a good guess, toward which the weights are
        shrunk. There is no correction.
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
        return np.exp(self.log_probabilities(raw))

    def log_probabilities(self, raw: Sequence[FloatArray]) -> FloatArray:
        """Return log-probabilities, from one array of raw outputs per auxiliary."""
        inputs = self.inputs(raw)
        scores = np.einsum("j,jik->ik", self.weights, inputs) + self.intercepts
        if self.correction is not None:
            scores = scores + apply_correction(self.correction, center_inputs(inputs))
        return np.asarray(log_softmax(scores, axis=1))

    def inputs(self, raw: Sequence[FloatArray]) -> FloatArray:
        """Return the calibrated log-probabilities of each auxiliary."""
        pairs = zip(self.calibrators, raw, strict=True)
        return np.stack([calibrator.log_probabilities(each) for calibrator, each in pairs])

    @property
    def is_used(self) -> list[bool]:
        """Which auxiliaries the probabilities depend on."""
        if self.correction is not None:
            return [True] * len(self.weights)
        return [bool(weight > 0) for weight in self.weights]

    def with_corrections(
        self, raw: FloatArray, codes: IntArray, sample_weight: FloatArray | None
    ) -> list[ProbabilityStack]:
        """Return the stack with a correction for each penalty."""
        outputs = list(np.moveaxis(raw, 1, 0))
        weight = normalize_weights(len(codes), sample_weight)
        features, scores = center_inputs(self.inputs(outputs)), self.log_probabilities(outputs)
        found = fit_corrections(features, scores, codes, weight)
        return [replace(self, correction=each) for each in found]


def fit_stack(
    raw: FloatArray, codes: IntArray, sample_weight: FloatArray | None, folds: IntArray
) -> tuple[ProbabilityStack, FloatArray]:
    """Return the stack, and the probabilities of each row from a stack that has not seen its label.

    A correction is used if it lowers the log loss out of fold by more than one standard error.
    """
    n_rows, n_auxiliaries, n_classes = raw.shape
    n_candidates = 1 + len(RIDGES) * is_affordable(n_rows, n_auxiliaries, n_classes)
    logs = np.empty((n_candidates, n_rows, n_classes))
    for fold in np.unique(folds):
        train, test = folds != fold, folds == fold
        weight = None if sample_weight is None else sample_weight[train]
        held_out = list(np.moveaxis(raw[test], 1, 0))
        stacks = _candidates(raw[train], codes[train], weight, n_candidates)
        logs[:, test] = [stack.log_probabilities(held_out) for stack in stacks]
    best = _choose_correction(logs, codes, sample_weight, folds)
    return _candidates(raw, codes, sample_weight, best + 1)[best], np.exp(logs[best])


def _candidates(
    raw: FloatArray, codes: IntArray, sample_weight: FloatArray | None, n_candidates: int
) -> list[ProbabilityStack]:
    """Return the stack without a correction and, if more are wanted, with each of the penalties."""
    stack = ProbabilityStack.fit(raw, codes, sample_weight)
    return [stack, *(stack.with_corrections(raw, codes, sample_weight) if n_candidates > 1 else [])]


def _choose_correction(
    logs: FloatArray, codes: IntArray, sample_weight: FloatArray | None, folds: IntArray
) -> int:
    """Return the position of the candidate with the least log loss; 0 unless another is clearly better."""
    rows = np.arange(len(codes))
    scores = [_log_score(each[rows, codes], sample_weight, folds) for each in logs]
    best = max(range(len(scores)), key=lambda position: scores[position].value)
    gain = scores[best].value - scores[0].value
    return best if gain > MIN_CORRECTION_STD_ERRORS * scores[best].gain_std_error(scores[0]) else 0


def _log_score(logs: FloatArray, sample_weight: FloatArray | None, folds: IntArray) -> CVScore:
    """Return the negative log loss, and its values without each fold."""
    weight = np.ones(len(logs)) if sample_weight is None else sample_weight
    kept = [folds != fold for fold in np.unique(folds)]
    leave_one_out = [float(np.average(logs[rows], weights=weight[rows])) for rows in kept]
    return CVScore(float(np.average(logs, weights=weight)), np.array(leave_one_out))
