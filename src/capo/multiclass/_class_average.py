"""Averages over the classes of a binary measure, each class against all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray
from ..measures import ConfusionMeasure, FunctionMeasure, ratio
from ._base import MAX_ROWS_FOR_START, ConfusionMatrixMeasure
from ._rules import DecisionRule, ExpectedRows

#: Masses are varied by this share of all mass for the gradient.
GRADIENT_STEP = 1e-6


@dataclass(frozen=True)
class ClassAverage(ConfusionMatrixMeasure):
    """Average over the classes of a binary measure, each class against all others.

    Classes that are neither among the true nor among the predicted ones do not count.

    Parameters
    ----------
    measure : ConfusionMeasure
        The binary measure.
    average : "macro" or "weighted", default="macro"
        Whether all classes count the same, or as their number of rows.
    """

    measure: ConfusionMeasure
    average: str = "macro"

    @property
    def name(self) -> str:
        """The name of the binary measure and of the average."""
        return f"{self.measure.name}_{self.average}"

    @property
    def label(self) -> str:
        """The label of the binary measure and the average."""
        return f"{self.measure.label}_{self.average}"

    def value(self, confusion: FloatArray) -> FloatArray:
        hits = np.diagonal(confusion, axis1=-2, axis2=-1)
        true, predicted = confusion.sum(axis=-1), confusion.sum(axis=-2)
        values = self._class_values(hits, predicted - hits, true, confusion.sum(axis=(-2, -1))[..., None])
        share = self._class_weights(true, predicted)
        return np.asarray((share * values).sum(axis=-1))

    def _class_weights(self, true: FloatArray, predicted: FloatArray) -> FloatArray:
        counts = true if self.average == "weighted" else ((true > 0) | (predicted > 0)).astype(np.float64)
        return ratio(counts, counts.sum(axis=-1, keepdims=True))

    def _class_values(self, tp: FloatArray, fp: FloatArray, true: FloatArray, total: Any) -> FloatArray:
        return binary_values(self.measure, tp, fp, true, total)

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return ``diag(a) - 1 b'``: only the hits and the other predictions of each class matter."""
        tp, true = np.diag(confusion), confusion.sum(axis=1)
        predicted = confusion.sum(axis=0)
        return self._gain(tp, predicted - tp, true, self._class_weights(true, predicted))

    def _gain(self, tp: FloatArray, fp: FloatArray, true: FloatArray, share: FloatArray) -> FloatArray:
        total = float(true.sum())
        step = GRADIENT_STEP * total

        def slope(vary_tp: float, vary_fp: float) -> FloatArray:
            high = np.minimum(tp + vary_tp, true), fp + vary_fp
            low = np.maximum(tp - vary_tp, 0.0), np.maximum(fp - vary_fp, 0.0)
            difference = self._class_values(*high, true, total) - self._class_values(*low, true, total)
            return ratio(share * difference, high[0] - low[0] + high[1] - low[1])

        by_hits, by_errors = slope(step, 0.0), slope(0.0, step)
        return np.diag(by_hits - by_errors) + by_errors

    def starts(self, rows: ExpectedRows) -> list[DecisionRule]:
        return [*super().starts(rows), *self._separate_rules(rows.sample(MAX_ROWS_FOR_START))]

    def _separate_rules(self, rows: ExpectedRows) -> list[DecisionRule]:
        """Return rules from the threshold that is best for each class by itself."""
        best = self._best_cuts(rows)
        thresholds, tp, fp = (np.array(part) for part in list(zip(*best, strict=True))[1:])
        share = self._class_weights(rows.true_mass, tp + fp)
        ratio_rule = DecisionRule.from_multipliers(1.0 / np.maximum(thresholds, 1e-9))
        return [ratio_rule, DecisionRule(self._gain(tp, fp, rows.true_mass, share))]

    def bound(self, rows: ExpectedRows) -> float:
        """Return the average of the best values that each class could have by itself."""
        if isinstance(self.measure, FunctionMeasure):
            return np.inf  # the best labeling of a class need not be a threshold
        if not (self.measure.is_monotone or rows.true_mass.all()):
            return self.measure.best  # a class without mass may raise the average where it is predicted
        best = np.array([cut.bound for cut in self._best_cuts(rows)])
        # A class without mass counts only where it is predicted, with the value 0 of a class without hits.
        return float(best @ self._class_weights(rows.true_mass, np.zeros(rows.n_classes)))

    def _best_cuts(self, rows: ExpectedRows) -> list[BestCut]:
        return [best_cut(self.measure, column, rows.weight) for column in rows.probabilities.T]


class BestCut(NamedTuple):
    """A bound on the expected value of a binary measure, and the threshold that comes next to it.

    Attributes
    ----------
    bound : float
        No labeling of the rows has a higher expected value.
    threshold : float
        Of all thresholds the one with the best value: rows of a higher probability are positive.
    tp, fp : float
        Its expected true and false positives.
    """

    bound: float
    threshold: float
    tp: float
    fp: float


def best_cut(
    measure: ConfusionMeasure, probabilities: FloatArray, weight: FloatArray | None = None
) -> BestCut:
    """Return the best threshold on the probabilities of a class, and a bound on any labeling.

    Of the labelings with a given number of positive rows, the one of the most probable rows has the most
    true positives, so that the best one is a threshold. With weights this holds for ratios of linear
    functions; for other measures that rise with tp and fall with fp, what lies between two thresholds is
    bounded by the hits of one and the errors of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import measures
    >>> from capo.multiclass import best_cut
    >>> best_cut(measures.get("jaccard"), np.array([0.75, 0.25]))
    BestCut(bound=0.6, threshold=0.25, tp=0.75, fp=0.25)
    """
    row_mass = np.ones(len(probabilities)) if weight is None else weight
    order = np.argsort(-probabilities, kind="stable")
    ranked, mass = probabilities[order], row_mass[order]
    hits = np.append(0.0, np.cumsum(ranked * mass))
    errors = np.maximum(np.append(0.0, np.cumsum(mass)) - hits, 0.0)
    true, total = hits[-1], float(mass.sum())
    values = binary_values(measure, hits, errors, true, total)
    best = int(values.argmax())
    bound = float(values[best])
    if weight is not None and not measure.is_monotone:
        bound = measure.best
    elif weight is not None and not measure.is_fractional:
        bound = max(bound, float(binary_values(measure, hits[1:], errors[:-1], true, total).max()))
    threshold = float(ranked[min(best, len(ranked) - 1)])
    return BestCut(bound, threshold, float(hits[best]), float(errors[best]))


def binary_values(
    measure: ConfusionMeasure, tp: FloatArray, fp: FloatArray, true: Any, total: Any
) -> FloatArray:
    """Return the values for true and false positives, the mass of the class and that of all rows."""
    fp = np.maximum(fp, 0.0)
    return np.asarray(measure.value(tp, fp, np.maximum(true - tp, 0.0), np.maximum(total - true - fp, 0.0)))
