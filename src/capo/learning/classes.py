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
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import ClassDecision, fit_softmax, normalize_weights
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
#: The correction is not tried if it has more coefficients than this.
MAX_CORRECTION_COEFFICIENTS = 2_000


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
        The effect of the log-probabilities of each auxiliary and class on the scores of all classes, with an
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
            scores = scores + center_inputs(inputs) @ self.correction[:-1] + self.correction[-1]
        return np.asarray(log_softmax(scores, axis=1))

    def inputs(self, raw: Sequence[FloatArray]) -> FloatArray:
        """Return the calibrated log-probabilities of each auxiliary."""
        pairs = zip(self.calibrators, raw, strict=True)
        return np.stack([calibrator.log_probabilities(each) for calibrator, each in pairs])

    @property
    def is_used(self) -> list[bool]:
        """The auxiliaries that the probabilities depend on."""
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


def fit_class_stack(
    raw: FloatArray,
    codes: IntArray,
    sample_weight: FloatArray | None,
    folds: IntArray,
    pair_raw: FloatArray | None = None,
) -> tuple[ProbabilityStack, FloatArray, FloatArray]:
    """Fit the stack to raw outputs that are out of fold.

    A correction is used if it lowers the log loss out of fold by more than one standard error. `pair_raw` are
    the raw outputs of auxiliaries trained without pairs of folds, as in
    `capo.learning.cross_fit.CrossFitResult`.

    Returns
    -------
    stack : ProbabilityStack
        The stack.
    probabilities : ndarray of shape (n_samples, n_classes)
        The probabilities of each row from a stack that has not seen its label. A decision rule is learned
        from them.
    fold_probabilities : ndarray of shape (n_folds, n_samples, n_classes)
        For each fold, the probabilities with which it is evaluated: the correction was chosen without the
        fold. Where there are outputs of auxiliaries without pairs of folds, neither the auxiliaries nor the
        stack have seen the row or the fold.
    """
    n_rows, n_auxiliaries, n_classes = raw.shape
    n_coef, numbers = n_auxiliaries * n_classes**2, np.unique(folds)
    is_affordable = n_coef <= MAX_CORRECTION_COEFFICIENTS and n_rows * n_coef <= MAX_CORRECTION_WORK
    n_candidates = 1 + len(RIDGES) * is_affordable

    def fit(raw: FloatArray, rows: BoolArray | slice, n_candidates: int) -> list[ProbabilityStack]:
        """Return the stack of some rows without a correction, and with the first penalties."""
        data = raw[rows], codes[rows], None if sample_weight is None else sample_weight[rows]
        stack = ProbabilityStack.fit(*data)
        return [stack, *(stack.with_corrections(*data) if n_candidates > 1 else [])][:n_candidates]

    def cross_validate(by_fold: Sequence[FloatArray], n_candidates: int, without: int = -1) -> FloatArray:
        """Return the log-probabilities of the rows by the candidates of the other folds, but for one fold."""
        logs = np.zeros((n_candidates, n_rows, n_classes))
        for fold in numbers[numbers != without]:
            held_out, outputs = folds == fold, by_fold[fold]
            candidates = fit(outputs, ~held_out & (folds != without), n_candidates)
            columns = list(np.moveaxis(outputs[held_out], 1, 0))
            logs[:, held_out] = np.stack([each.log_probabilities(columns) for each in candidates])
        return logs

    def choose(logs: FloatArray, rows: IntArray) -> int:
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        return _choose_correction(logs[:, rows, codes[rows]], weight, folds[rows])

    def evaluate(fold: int, logs: FloatArray, others: FloatArray) -> FloatArray:
        """Return the probabilities with which a fold is evaluated: its own, and those of the others."""
        held_out = folds == fold
        best = choose(others, np.flatnonzero(~held_out))
        return np.exp(np.where(held_out[:, None], logs[best], others[best]))

    if pair_raw is None:
        logs = cross_validate([raw] * len(numbers), n_candidates)
        evaluated = np.empty((n_rows, n_classes))
        for fold in numbers:
            evaluated[folds == fold] = evaluate(fold, logs, logs)[folds == fold]
        nested = np.broadcast_to(evaluated, (len(numbers), n_rows, n_classes))
    else:
        logs = cross_validate(list(pair_raw), n_candidates)
        inner = (cross_validate([pair_raw[fold]] * len(numbers), n_candidates, fold) for fold in numbers)
        nested = np.stack([evaluate(fold, logs, each) for fold, each in zip(numbers, inner, strict=True)])
    best = choose(logs, np.arange(n_rows))
    if pair_raw is not None:
        logs = cross_validate([raw] * len(numbers), best + 1)
    return fit(raw, slice(None), best + 1)[best], np.exp(logs[best]), nested


def _choose_correction(values: FloatArray, weight: FloatArray, folds: IntArray) -> int:
    """Return the candidate with the largest mean log-likelihood; 0 unless another is clearly better."""

    def score(values: FloatArray) -> CVScore:
        return CVScore.jackknife(lambda rows: float(np.average(values[rows], weights=weight[rows])), folds)

    scores = [score(each) for each in values]
    best = max(range(len(scores)), key=lambda position: scores[position].value)
    gain = scores[best].value - scores[0].value
    return best if gain > MIN_CORRECTION_STD_ERRORS * scores[best].gain_std_error(scores[0]) else 0


#: The rule is used if its gain over the most probable class exceeds this many standard errors.
MIN_GAIN_STD_ERRORS = 1.0


@dataclass(frozen=True)
class ClassScorer:
    """Computes the `CVScore` of out-of-fold labels for one measure, one set of rows and their folds.

    Attributes
    ----------
    measure : MulticlassMeasure
        The measure.
    codes : ndarray of int, shape (n_samples,)
        The position of each row's class.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold in which each row is held out.
    """

    measure: MulticlassMeasure
    codes: IntArray
    weight: FloatArray | None
    folds: IntArray

    def __call__(self, labels: IntArray, probabilities: FloatArray) -> CVScore:
        """Return the value of out-of-fold labels and probabilities."""

        def value(rows: BoolArray | slice) -> float:
            return self.measure.score(self.codes[rows], labels[rows], probabilities[rows], self._weight(rows))

        return CVScore.jackknife(value, self.folds)

    def choose_rule(
        self, probabilities: FloatArray, fold_probabilities: FloatArray, *, nested: bool = False
    ) -> dict[str, Any]:
        """Choose the rule.

        It predicts the most probable class unless another rule is significantly better out of fold. A fold
        is evaluated by the rule that is chosen without it.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_classes)
            The out-of-fold probabilities from which the rule is learned.
        fold_probabilities : ndarray of shape (n_folds, n_samples, n_classes)
            For each fold, the probabilities with which it is evaluated (see `fit_class_stack`).
        nested : bool, default=False
            Whether these differ from fold to fold.

        Returns
        -------
        dict of str to object
            The rule as ``"decision_"``, the positions of the out-of-fold labels as ``"oof_labels_"``, and
            other fitted attributes of a classifier.
        """
        measure, folds = self.measure, self.folds
        search = measure.search(ExpectedRows(probabilities, self.weight))
        held_out = fold_probabilities[folds, np.arange(len(folds))]
        labels = self._held_out_labels(fold_probabilities)
        is_adapted, score, baseline = self._compare(labels, held_out)
        oof_labels = held_out.argmax(axis=1)
        for fold in np.unique(folds):
            others = folds != fold
            scorer = replace(self, codes=self.codes[others], folds=folds[others], weight=self._weight(others))
            seen, known = held_out[others], labels[others]
            if nested:
                seen = fold_probabilities[fold, others]
                known = scorer._held_out_labels(np.broadcast_to(seen, (len(fold_probabilities), *seen.shape)))
            if scorer._compare(known, seen)[0]:
                oof_labels[~others] = labels[~others]
        used = self(oof_labels, held_out)
        if not is_adapted and isinstance(measure, ConfusionMatrixMeasure):
            rule = DecisionRule.most_probable(probabilities.shape[1])
            value = evaluate_rule(measure, ExpectedRows(probabilities, self.weight), rule).value
            search = RuleSearch(rule, value, search.bound, search.is_exact)
        return {
            "decision_": ClassDecision(search.rule),
            "uses_rule_": is_adapted,
            "value_": search.value,
            "bound_": search.bound,
            "gap_": search.gap,
            "is_exact_": search.is_exact,
            "score_": used.value,
            "score_std_": used.std,
            "rule_score_": score,
            "most_probable_score_": baseline,
            "oof_labels_": oof_labels,
        }

    def _weight(self, rows: BoolArray | slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[rows]

    def _compare(self, labels: IntArray, probabilities: FloatArray) -> tuple[bool, CVScore, CVScore]:
        """Return whether labels gain over the most probable class, and the values of both."""
        score, baseline = self(labels, probabilities), self(probabilities.argmax(axis=1), probabilities)
        least_gain = MIN_GAIN_STD_ERRORS * score.gain_std_error(baseline)
        return score.value - baseline.value > least_gain, score, baseline

    def _held_out_labels(self, fold_probabilities: FloatArray) -> IntArray:
        """Return the labels of each fold's rows by the rule of the other folds."""
        labels = np.empty(len(self.codes), dtype=np.intp)
        for fold in np.unique(self.folds):
            others, probabilities = self.folds != fold, fold_probabilities[fold]
            rule = self.measure.best_rule(ExpectedRows(probabilities[others], self._weight(others))).rule
            labels[~others] = rule.predict(probabilities[~others])
        return labels


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
