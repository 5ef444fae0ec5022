"""The choice between the rule with the best expected value and the most probable class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..model_selection import CVScore
from ._ascent import evaluate_rule
from ._base import ConfusionMatrixMeasure, MulticlassMeasure, RuleSearch
from ._rules import DecisionRule, ExpectedRows

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
