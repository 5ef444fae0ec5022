"""Many classes: the stack of probabilities and the choice of the decision rule.

One weight per auxiliary treats all classes alike. Where an auxiliary confuses some classes more than others,
a matrix B of coefficients can use that:

    log P(k | x) = stack_k(x) + sum over j, l of z_jl(x) B[j, l, k] - log(normalizer)

with the auxiliaries' centered log-probabilities z. It is fitted with a ridge penalty, which is chosen by the
log loss out of fold; no correction is among the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import fit_softmax, normalize_weights
from ..measures import DecisionRule, ExpectedRows, evaluate_rule
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure, RuleSearch
from .outputs import ClassCalibrator
from .path import CVScore

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
    the raw outputs of auxiliaries trained without pairs of folds, as in
    `capo.learning.cross_fit.CrossFitResult`.
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


#: The rule is used if its gain over the most probable class exceeds this many standard errors.
MIN_GAIN_STD_ERRORS = 1.0


@dataclass(frozen=True)
class RuleChoice:
    """The rule that is used, with its out-of-fold value and that of the most probable class.

    Attributes
    ----------
    search : RuleSearch
        The rule that is used, the value that it is expected to reach and a bound on what any can reach.
    is_adapted : bool
        Whether the rule with the best expected value is used; else the most probable class is predicted.
    score, most_probable_score : CVScore
        The out-of-fold values of the rule with the best expected value and of the most probable class.
    labels : ndarray of int, shape (n_samples,)
        The out-of-fold labels by the kind of rule that is used.
    """

    search: RuleSearch
    is_adapted: bool
    score: CVScore
    most_probable_score: CVScore
    labels: IntArray

    @property
    def used_score(self) -> CVScore:
        """The out-of-fold value of the rule that is used."""
        return self.score if self.is_adapted else self.most_probable_score


@dataclass(frozen=True)
class RuleChooser:
    """Chooses the rule for one measure on out-of-fold probabilities.

    Attributes
    ----------
    measure : MulticlassMeasure
        The measure.
    codes : ndarray of int, shape (n_samples,)
        The position of each row's class.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold in which each row is held out.
    """

    measure: MulticlassMeasure
    codes: IntArray
    sample_weight: FloatArray | None
    folds: IntArray

    def __call__(self, probabilities: FloatArray, fold_probabilities: FloatArray | None = None) -> RuleChoice:
        """Return the rule; that of the most probable class unless another has proven itself out of fold.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_classes)
            The out-of-fold probabilities from which the rule is learned.
        fold_probabilities : ndarray of shape (n_folds, n_samples, n_classes), optional
            For each fold, the probabilities with which it is evaluated (see `StackFit`); `probabilities` if
            they are not given.
        """
        search = self.measure.search(ExpectedRows(probabilities, self.sample_weight))
        if fold_probabilities is None:
            n_folds = int(self.folds.max()) + 1
            fold_probabilities = np.broadcast_to(probabilities, (n_folds, *probabilities.shape))
        held_out = fold_probabilities[self.folds, np.arange(len(self.folds))]
        most_probable = held_out.argmax(axis=1)
        labels = self._held_out_labels(fold_probabilities)
        score, baseline = self.evaluate(labels, held_out), self.evaluate(most_probable, held_out)
        gain = score.value - baseline.value
        if gain > MIN_GAIN_STD_ERRORS * score.gain_std_error(baseline):
            return RuleChoice(search, True, score, baseline, labels)
        return RuleChoice(self._without_rule(search, probabilities), False, score, baseline, most_probable)

    def evaluate(self, labels: IntArray, probabilities: FloatArray) -> CVScore:
        """Return the value of out-of-fold labels and probabilities."""
        leave_one_out = [
            self._value(labels, probabilities, self.folds != fold) for fold in np.unique(self.folds)
        ]
        return CVScore(self._value(labels, probabilities, slice(None)), np.array(leave_one_out))

    def _value(self, labels: IntArray, probabilities: FloatArray, rows: BoolArray | slice) -> float:
        weight = self._weight(rows)
        return self.measure.score(self.codes[rows], labels[rows], probabilities[rows], weight)

    def _weight(self, rows: BoolArray | slice) -> FloatArray | None:
        return None if self.sample_weight is None else self.sample_weight[rows]

    def _held_out_labels(self, fold_probabilities: FloatArray) -> IntArray:
        """Return the labels of each fold's rows by the rule of the other folds."""
        labels = np.empty(len(self.codes), dtype=np.intp)
        for fold in np.unique(self.folds):
            others, probabilities = self.folds != fold, fold_probabilities[fold]
            rows = ExpectedRows(probabilities[others], self._weight(others))
            labels[~others] = self.measure.find_rule(rows).predict(probabilities[~others])
        return labels

    def _without_rule(self, search: RuleSearch, probabilities: FloatArray) -> RuleSearch:
        """Return the most probable class as the rule, with the bound of the search."""
        rule = DecisionRule.most_probable(probabilities.shape[1])
        if not isinstance(self.measure, ConfusionMatrixMeasure):
            return search
        rows = ExpectedRows(probabilities, self.sample_weight)
        return RuleSearch(rule, evaluate_rule(self.measure, rows, rule).value, search.bound, search.is_exact)


def calibration_error(
    probabilities: FloatArray, codes: IntArray, sample_weight: FloatArray | None = None, n_bins: int = 15
) -> float:
    """Return the expected calibration error of the most probable class.

    Rows are put into bins of equal size by the probability of their most probable class; the error is the
    mean distance between that probability and the share of correct rows in the bins.
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    bins = np.array_split(np.argsort(confidence, kind="stable"), min(n_bins, len(codes)))
    distance = [abs(float(weight[rows] @ (confidence[rows] - correct[rows]))) for rows in bins]
    return sum(distance) / float(weight.sum())
