"""Measures that are linear in the confusion matrix: each row has a price of an error.

With the price c_i of an error in row i, the worst labeling is found row by row, without a sort: R is a
sum of weighted hinges

    R(s) = sum_i max(0, c_i - w_i y_i s_i / W)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._base import Cut, LabeledOracle, Measure, Oracle
from ._labels import Labels, to_positive_mask
from ._score_curve import score_curve


class LinearMeasure(Measure):
    """A measure whose loss is the sum of the prices of the misclassified rows."""

    needs_threshold = True

    @abstractmethod
    def prices(self, labels: Labels) -> FloatArray:
        """The price of an error in each row; the sum is at most 1."""

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        return float(self.prices(labels)[labels.error_mask(to_positive_mask(y_pred))].sum())

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        values = np.asarray(scores, dtype=np.float64)
        labels = Labels.from_arrays(y, sample_weight, both_classes=False)
        Labels.check_scores(values, len(labels.positive))
        return self.value(labels, (values > 0) != labels.positive)

    @abstractmethod
    def value(self, labels: Labels, errors: np.ndarray) -> float:
        """The value of the measure, from a mask of the misclassified rows."""

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The threshold on the training scores with the smallest loss; 0 if no other is better."""
        labels = Labels.from_arrays(y, sample_weight)
        curve = score_curve(Labels(labels.positive, self.prices(labels)), scores)
        return curve.best_threshold(curve.tp - curve.fp)

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        labels = Labels.from_arrays(y, sample_weight)
        return HingeOracle(labels, self.prices(labels))


class HingeOracle(LabeledOracle):
    """Marks each row whose weighted margin is below its price as an error."""

    def __init__(self, labels: Labels, prices: FloatArray) -> None:
        self.labels, self.prices = labels, prices
        self.slope = labels.sign * labels.mass / labels.total
        self.price_per_slope = np.divide(prices, self.slope, out=np.zeros(len(prices)), where=self.slope != 0)

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        short = self.slope * scores < self.prices
        coef = self.slope * short
        return Cut(coef, float(self.price_per_slope @ coef))


class Accuracy(LinearMeasure):
    """Share of correct predictions: (tp + tn) / n."""

    name = "accuracy"

    def prices(self, labels: Labels) -> FloatArray:
        return labels.mass / labels.total

    def value(self, labels: Labels, errors: np.ndarray) -> float:
        return float(1.0 - labels.mass[errors].sum() / labels.total)


class BalancedAccuracy(LinearMeasure):
    """Mean of the two classes' recalls: (tp / P + tn / N) / 2."""

    name = "balanced_accuracy"

    def prices(self, labels: Labels) -> FloatArray:
        return 0.5 * labels.mass / np.where(labels.positive, labels.n_pos, labels.n_neg)

    def value(self, labels: Labels, errors: np.ndarray) -> float:
        parts = [
            1.0 - labels.mass[errors & mask].sum() / mass
            for mask, mass in ((labels.positive, labels.n_pos), (~labels.positive, labels.n_neg))
            if mass > 0
        ]
        return float(np.mean(parts))


class Youden(BalancedAccuracy):
    """Youden's J: tp / P + tn / N - 1. Its loss is that of the balanced accuracy."""

    name = "youden"

    def value(self, labels: Labels, errors: np.ndarray) -> float:
        return 2.0 * super().value(labels, errors) - 1.0


class Cost(LinearMeasure):
    """Negative mean cost per row, with a cost of errors per class or per row.

    Parameters
    ----------
    cost_fp, cost_fn : float, default=1.0
        Cost of a false positive and of a false negative.
    costs : array-like of shape (n,), optional
        Cost of an error in each row, in place of the other two. It applies to these rows only; where
        rows are split, as in cross-validation, use `accuracy` with the costs as ``sample_weight``.
    """

    name = "cost"
    depends_on_confusion_only = False

    def __init__(self, cost_fp: float = 1.0, cost_fn: float = 1.0, costs: ArrayLike | None = None) -> None:
        values = np.ravel([cost_fp, cost_fn] if costs is None else np.asarray(costs))
        numeric = values.size > 0 and values.dtype.kind in "biuf"
        if not (numeric and np.isfinite(values).all() and values.min() >= 0 and values.max() > 0):
            raise InvalidInputError(
                "costs must be finite numbers, not negative and not all zero: "
                + (f"got cost_fp={cost_fp!r}, cost_fn={cost_fn!r}." if costs is None else "check `costs`.")
            )
        self.cost_fp, self.cost_fn, self.costs = cost_fp, cost_fn, costs

    def _label_params(self) -> dict[str, Any]:
        # Costs of the rows take the place of the two costs of a class.
        return super()._label_params() if self.costs is None else {"costs": np.asarray(self.costs)}

    def _row_costs(self, labels: Labels) -> FloatArray:
        if self.costs is None:
            return labels.mass * np.where(labels.positive, self.cost_fn, self.cost_fp)
        costs = np.asarray(self.costs, dtype=np.float64)
        if costs.shape != labels.positive.shape:
            raise InvalidInputError(
                f"costs has the shape {costs.shape}, but y has {len(labels.positive)} rows. Give one cost "
                "per row, in the same order."
            )
        return labels.mass * costs

    def prices(self, labels: Labels) -> FloatArray:
        costs = self._row_costs(labels)
        if not costs.sum() > 0:
            raise InvalidInputError(
                "every row with a weight above 0 has the cost 0: there is nothing to minimize."
            )
        return costs / costs.sum()

    def value(self, labels: Labels, errors: np.ndarray) -> float:
        return -float(self._row_costs(labels)[errors].sum() / labels.total)
