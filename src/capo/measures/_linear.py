"""Measures that are linear in the confusion table: each row's error has a price.

With price c_i for an error in row i, the labelling that maximises
``sum_i c_i [y'_i wrong] - ...`` decides row by row: R is a sum of weighted hinges

    R(s) = sum_i max(0, c_i - w_i y_i s_i / W)

and needs no sort at all.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._base import Cut, Measure, Oracle
from ._labels import Labels, as_positive, score_curve


class LinearMeasure(Measure):
    """A measure whose loss is a sum of prices over the rows in error."""

    needs_threshold = True

    @abstractmethod
    def prices(self, labels: Labels) -> FloatArray:
        """The price of an error in each row; they sum to at most 1."""

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.of(y, sample_weight)
        return float(self.prices(labels)[labels.wrong(as_positive(y_pred))].sum())

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        values = np.asarray(scores, dtype=np.float64)
        labels = Labels.lenient(y, sample_weight)
        Labels.check_scores(values, len(labels.positive))
        return self.value(labels, (values > 0) != labels.positive)

    @abstractmethod
    def value(self, labels: Labels, wrong: np.ndarray) -> float:
        """The user's value, given which rows are in error."""

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The cut of the training scores with the least loss; 0 if none is better."""
        labels = Labels.of(y, sample_weight)
        curve = score_curve(Labels(labels.positive, self.prices(labels)), scores)
        return curve.best_cut(curve.tp - curve.fp)

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        labels = Labels.of(y, sample_weight)
        return HingeOracle(labels, self.prices(labels))


class HingeOracle:
    """Marks each row whose weighted margin is short of its price."""

    def __init__(self, labels: Labels, prices: FloatArray) -> None:
        self.labels, self.prices = labels, prices
        self.rmatvec = labels.sign * labels.mass / labels.total
        self.price_per_pull = np.divide(
            prices, self.rmatvec, out=np.zeros(len(prices)), where=self.rmatvec != 0
        )

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        short = self.rmatvec * scores < self.prices
        coef = self.rmatvec * short
        return Cut(coef, float(self.price_per_pull @ coef))


class Accuracy(LinearMeasure):
    """Share of rows predicted right: (tp + tn) / n."""

    name = "accuracy"

    def prices(self, labels: Labels) -> FloatArray:
        return labels.mass / labels.total

    def value(self, labels: Labels, wrong: np.ndarray) -> float:
        return float(1.0 - labels.mass[wrong].sum() / labels.total)


class BalancedAccuracy(LinearMeasure):
    """Mean of the two classes' recalls: (tp / P + tn / N) / 2."""

    name = "balanced_accuracy"

    def prices(self, labels: Labels) -> FloatArray:
        return 0.5 * labels.mass / np.where(labels.positive, labels.n_pos, labels.n_neg)

    def value(self, labels: Labels, wrong: np.ndarray) -> float:
        parts = [
            1.0 - labels.mass[wrong & mask].sum() / mass
            for mask, mass in ((labels.positive, labels.n_pos), (~labels.positive, labels.n_neg))
            if mass > 0
        ]
        return float(np.mean(parts))


class Youden(BalancedAccuracy):
    """Youden's J: tp / P + tn / N - 1. Its loss is that of the balanced accuracy."""

    name = "youden"

    def value(self, labels: Labels, wrong: np.ndarray) -> float:
        return 2.0 * super().value(labels, wrong) - 1.0


class Cost(LinearMeasure):
    """Minus the mean cost of a row; an error costs `cost_fp` or `cost_fn`, or its own price.

    Parameters
    ----------
    cost_fp, cost_fn : float, default=1.0
        What a false positive and a false negative cost.
    costs : array-like of shape (n,), optional
        One cost per row instead: what an error in that row costs. It belongs to the
        rows it was given for, and is checked against their number; where rows are split,
        as in cross-validation, give the costs as ``sample_weight`` to `accuracy` instead.
    """

    name = "cost"
    depends_on_confusion_only = False

    def __init__(self, cost_fp: float = 1.0, cost_fn: float = 1.0, costs: ArrayLike | None = None) -> None:
        given = np.ravel([cost_fp, cost_fn] if costs is None else np.asarray(costs))
        numbers = given.size > 0 and given.dtype.kind in "biuf"
        if not (numbers and np.isfinite(given).all() and given.min() >= 0 and given.max() > 0):
            raise InvalidInputError(
                "costs must be finite numbers, not negative and not all zero: "
                + (f"got cost_fp={cost_fp!r}, cost_fn={cost_fn!r}." if costs is None else "check `costs`.")
            )
        self.cost_fp, self.cost_fn, self.costs = cost_fp, cost_fn, costs

    def _label_params(self) -> dict[str, Any]:
        # Costs of the rows take the place of the two costs of a class.
        return super()._label_params() if self.costs is None else {"costs": np.asarray(self.costs)}

    def _per_row(self, labels: Labels) -> FloatArray:
        if self.costs is None:
            return labels.mass * np.where(labels.positive, self.cost_fn, self.cost_fp)
        costs = np.asarray(self.costs, dtype=np.float64)
        if costs.shape != labels.positive.shape:
            raise InvalidInputError(
                f"cost was given row costs of shape {costs.shape}, but y has {len(labels.positive)} rows. "
                "Give one cost for each row, in the same order."
            )
        return labels.mass * costs

    def prices(self, labels: Labels) -> FloatArray:
        costs = self._per_row(labels)
        if not costs.sum() > 0:
            raise InvalidInputError("every row with weight has cost 0: there is nothing to minimise.")
        return costs / costs.sum()

    def value(self, labels: Labels, wrong: np.ndarray) -> float:
        return -float(self._per_row(labels)[wrong].sum() / labels.total)
