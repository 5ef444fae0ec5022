"""The stack of probabilities: a multinomial logistic regression on the auxiliaries' log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from .._typing import BoolArray, FloatArray, IntArray
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


@dataclass(frozen=True)
class StackFit:
    """The stack, and the probabilities of the training rows.

    Attributes
    ----------
    stack : ProbabilityStack
        The stack.
    probabilities : ndarray of shape (n_samples, n_classes)
        The probabilities of each row from a stack that has not seen its label. A decision rule is learned
        from them.
    fold_probabilities : ndarray of shape (n_folds, n_samples, n_classes)
        For each fold, the probabilities with which it is evaluated. Where there are outputs of auxiliaries
        without pairs of folds, neither the auxiliaries nor the stack have seen the row or the fold.
    """

    stack: ProbabilityStack
    probabilities: FloatArray
    fold_probabilities: FloatArray

    def held_out_probabilities(self, folds: IntArray) -> FloatArray:
        """Return the probabilities of each row as the fold has them that holds it out."""
        return np.asarray(self.fold_probabilities[folds, np.arange(len(folds))])


@dataclass(frozen=True)
class _StackRows:
    """Raw outputs of shape (n_samples, n_auxiliaries, n_classes), positions of the classes, and weights."""

    raw: FloatArray
    codes: IntArray
    weight: FloatArray | None

    def take(self, rows: BoolArray) -> _StackRows:
        return _StackRows(
            self.raw[rows], self.codes[rows], None if self.weight is None else self.weight[rows]
        )

    def fit(self, n_candidates: int) -> list[ProbabilityStack]:
        """Return the stack without a correction and, if more are wanted, with the first penalties."""
        stack = ProbabilityStack.fit(self.raw, self.codes, self.weight)
        corrections = stack.with_corrections(self.raw, self.codes, self.weight) if n_candidates > 1 else []
        return [stack, *corrections][:n_candidates]

    def held_out_logs(self, held_out: BoolArray, trained: BoolArray, n_candidates: int) -> FloatArray:
        """Return log-probabilities of some rows from candidates that are fitted to others."""
        outputs = list(np.moveaxis(self.raw[held_out], 1, 0))
        return np.stack([each.log_probabilities(outputs) for each in self.take(trained).fit(n_candidates)])


def fit_stack(
    raw: FloatArray,
    codes: IntArray,
    sample_weight: FloatArray | None,
    folds: IntArray,
    pair_raw: FloatArray | None = None,
) -> StackFit:
    """Fit the stack to raw outputs that are out of fold.

    A correction is used if it lowers the log loss out of fold by more than one standard error. `pair_raw` are
    the raw outputs of auxiliaries trained without pairs of folds, as in `capo.auxiliary.CrossFitResult`.
    """
    n_rows, n_auxiliaries, n_classes = raw.shape
    n_candidates = 1 + len(RIDGES) * is_affordable(n_rows, n_auxiliaries, n_classes)
    rows = _StackRows(raw, codes, sample_weight)
    n_folds = int(folds.max()) + 1
    by_fold = [rows] * n_folds if pair_raw is None else [replace(rows, raw=each) for each in pair_raw]
    logs = _cross_validate(by_fold, folds, n_candidates)
    best = _choose_correction(logs, codes, sample_weight, folds)
    stack, evaluated = rows.fit(best + 1)[best], np.exp(logs[best])
    if pair_raw is None:
        return StackFit(stack, evaluated, np.broadcast_to(evaluated, (n_folds, *evaluated.shape)))
    probabilities = np.exp(_cross_validate([rows] * n_folds, folds, best + 1)[best])
    nested = [_nested_probabilities(each, folds, fold, best) for fold, each in enumerate(by_fold)]
    fold_probabilities = np.where((folds == np.arange(n_folds)[:, None])[..., None], evaluated, nested)
    return StackFit(stack, probabilities, fold_probabilities)


def _cross_validate(by_fold: Sequence[_StackRows], folds: IntArray, n_candidates: int) -> FloatArray:
    """Return the log-probabilities of all rows by the candidates of the other folds."""
    logs = np.empty((n_candidates, *by_fold[0].raw[:, 0].shape))
    for fold in np.unique(folds):
        held_out = folds == fold
        logs[:, held_out] = by_fold[fold].held_out_logs(held_out, ~held_out, n_candidates)
    return logs


def _nested_probabilities(rows: _StackRows, folds: IntArray, fold: int, best: int) -> FloatArray:
    """Return the probabilities that a fold has for the others, each from stacks that have seen neither."""
    probabilities = np.zeros(rows.raw[:, 0].shape)
    for other in np.setdiff1d(folds, fold):
        held_out = folds == other
        logs = rows.held_out_logs(held_out, ~held_out & (folds != fold), best + 1)
        probabilities[held_out] = np.exp(logs[best])
    return probabilities


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
