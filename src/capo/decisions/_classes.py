"""Decisions about classes and labels, and their expected values."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from .._compat import FloatArray, NDArray
from ..exceptions import ConstraintWarning
from ..measures import ConfusionMeasure, DecisionRule, FunctionMeasure, Measure
from ..measures.multiclass import best_cut
from ..measures.multilabel import EntryAverage, LabelAverage, MultilabelMeasure, RowAverage
from ._threshold import Decision


@dataclass(frozen=True)
class ClassDecision(Decision):
    """Each row gets the class with the largest expected gain.

    Attributes
    ----------
    rule : DecisionRule
        The gain of each predicted class for each true class.
    """

    rule: DecisionRule

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the expected gain of each class; for two classes, the second one's minus the first one's."""
        gains = self.rule.decision(scores)
        return gains[:, 1] - gains[:, 0] if gains.shape[1] == 2 else gains

    def decide(self, scores: FloatArray) -> NDArray[Any]:
        """Return the position of each row's class."""
        return self.rule.predict(scores)

    def describe(self) -> str:
        """Return the decision in one sentence."""
        best = (
            "is most probable"
            if np.array_equal(self.rule.gain, np.eye(len(self.rule.gain)))
            else "has the largest expected gain"
        )
        return f"the class that {best}"


@dataclass(frozen=True)
class LabelThresholds(Decision):
    """Each label is positive if its log-odds are above its threshold.

    Attributes
    ----------
    log_odds : ndarray of shape (n_labels,)
        The log-odds at the threshold of each label.
    """

    log_odds: FloatArray

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those at the thresholds."""
        return scores - self.log_odds

    def describe(self) -> str:
        """Return the decision in one sentence."""
        low, high = expit(self.log_odds.min()), expit(self.log_odds.max())
        return f"the labels above their thresholds, which are probabilities from {low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class RowCuts(Decision):
    """Each row gets the set of labels with the best expected value of a measure.

    Attributes
    ----------
    measure : RowAverage
        The measure.
    """

    measure: RowAverage

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus the cut of each row."""
        decision = np.empty(scores.shape)
        for start in range(0, len(scores), CUT_BLOCK_ROWS):
            rows = slice(start, start + CUT_BLOCK_ROWS)
            decision[rows] = _cut_block(self.measure, scores[rows])
        return decision

    def describe(self) -> str:
        """Return the decision in one sentence."""
        return f"the labels of each row with the best expected {self.measure.label}"


#: A row's cut lies halfway between its last predicted label and the next one, or this far beyond an end.
CUT_MARGIN = 1.0
#: Rows that are cut at once: they are sorted, which takes several times their memory.
CUT_BLOCK_ROWS = 10_000


def _cut_block(measure: RowAverage, log_odds: FloatArray) -> FloatArray:
    """Return log-odds minus the cut of each row: positive for the labels that are best to predict."""
    counts, _ = measure.cut(expit(log_odds))
    n_labels = log_odds.shape[1]
    order = np.argsort(-log_odds, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(n_labels)[None, :], axis=1)
    ranked = np.take_along_axis(log_odds, order, axis=1)
    padded = np.column_stack((ranked[:, 0] + CUT_MARGIN, ranked, ranked[:, -1] - CUT_MARGIN))
    rows = np.arange(len(log_odds))
    cut = 0.5 * (padded[rows, counts] + padded[rows, counts + 1])
    decision = log_odds - cut[:, None]
    # Where the last label and the next one are equally probable, the order of the labels decides.
    chosen, tiny = ranks < counts[:, None], np.finfo(float).tiny
    return np.where(chosen, np.maximum(decision, tiny), np.minimum(decision, 0.0))


def expected_value(
    measure: MultilabelMeasure,
    log_odds: FloatArray,
    decision: FloatArray,
    weight: FloatArray | None = None,
) -> tuple[float, float]:
    """Return the expected value of a decision, and a bound on the expected value of any labeling.

    Both are for labels that follow their probabilities, and for averages over rows independently of each
    other. The bound is infinite if none is known.
    """
    probabilities = expit(log_odds)
    n_rows, n_labels = probabilities.shape
    row_mass = np.ones(n_rows) if weight is None else weight
    if isinstance(measure, RowAverage):
        best = float(np.average(measure.cut(probabilities)[1], weights=row_mass))
        return best, best
    if isinstance(measure, EntryAverage):
        entry_mass = np.repeat(row_mass, n_labels)
        return _expected_binary(measure.measure, probabilities.ravel(), decision.ravel(), entry_mass)
    assert isinstance(measure, LabelAverage)
    columns = zip(probabilities.T, decision.T, strict=True)
    values = [_expected_binary(measure.measure, p, scores, row_mass) for p, scores in columns]
    shares = row_mass @ probabilities if measure.average == "weighted" else None
    value, bound = np.average(values, axis=0, weights=shares)
    return float(value), float(bound)


def _expected_binary(
    measure: Measure, probabilities: FloatArray, decision: FloatArray, row_mass: FloatArray
) -> tuple[float, float]:
    both = np.repeat((True, False), len(probabilities))
    mass = np.concatenate((probabilities * row_mass, (1.0 - probabilities) * row_mass))
    value = measure.score(both, np.tile(decision, 2), mass)
    if isinstance(measure, FunctionMeasure):
        return value, np.inf  # the best labeling need not be a threshold
    if isinstance(measure, ConfusionMeasure):
        weight = None if np.ptp(row_mass) == 0 else row_mass
        return value, max(value, best_cut(measure, probabilities, weight).bound)
    best = np.tile(probabilities, 2)
    if measure.needs_threshold:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            best = best - measure.threshold(both, best, mass)
    return value, max(value, measure.score(both, best, mass))
