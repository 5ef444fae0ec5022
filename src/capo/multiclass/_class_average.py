"""Averages over the classes of a binary measure, each class against all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        fp = np.maximum(fp, 0.0)
        return np.asarray(
            self.measure.value(tp, fp, np.maximum(true - tp, 0.0), np.maximum(total - true - fp, 0.0))
        )

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
        best = [self._best_cut(rows, k) for k in range(rows.n_classes)]
        thresholds, tp, fp = (np.array(part) for part in list(zip(*best, strict=True))[1:])
        share = self._class_weights(rows.true_mass, tp + fp)
        ratio_rule = DecisionRule.from_multipliers(1.0 / np.maximum(thresholds, 1e-9))
        return [ratio_rule, DecisionRule(self._gain(tp, fp, rows.true_mass, share))]

    def bound(self, rows: ExpectedRows) -> float:
        """Return the average of the best values that each class could have by itself."""
        if isinstance(self.measure, FunctionMeasure):
            return np.inf  # the best labeling of a class need not be a threshold
        best = np.array([self._best_cut(rows, k)[0] for k in range(rows.n_classes)])
        # A class without mass counts only where it is predicted, with the value 0 of a class without hits.
        return float(best @ self._class_weights(rows.true_mass, np.zeros(rows.n_classes)))

    def _best_cut(self, rows: ExpectedRows, k: int) -> tuple[float, float, float, float]:
        """Return the best value of class k against all others, with its threshold, tp and fp.

        With weights, the mass between two thresholds is bounded by the hits of one and the errors of the
        other.
        """
        order = np.argsort(-rows.probabilities[:, k], kind="stable")
        hits = np.append(0.0, np.cumsum(rows.mass[order, k]))
        errors = np.append(0.0, np.cumsum(rows.row_mass[order])) - hits
        true, total = rows.true_mass[k], rows.true_mass.sum()
        hits = np.minimum(hits, true)
        values = self._class_values(hits, errors, true, total)
        best = int(values.argmax())
        bound = float(values[best])
        if rows.weight is not None:
            bound = max(bound, float(self._class_values(hits[1:], errors[:-1], true, total).max()))
        ranked = rows.probabilities[order, k]
        threshold = float(ranked[min(best, len(ranked) - 1)])
        return bound, threshold, float(hits[best]), float(max(errors[best], 0.0))
