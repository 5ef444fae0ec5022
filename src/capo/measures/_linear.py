"""Measures that are linear in the confusion matrix: an error in each row has a price.

With the price c_i of an error in row i, the worst labeling is found row by row, without a sort: R is a
sum of weighted hinges

    R(s) = sum_i max(0, c_i - w_i y_i s_i / W)

With exactly k rows predicted positive, Delta is linear in tp. The worst labeling marks the k highest
scores after a constant has been subtracted from those of the positives: one selection, without a sort.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np

from .._accel.threads import VectorPool, map_in_threads
from .._compat import ArrayLike, FloatArray
from ..engine import Cut, Oracle, iter_row_slices
from ..exceptions import InvalidInputError
from ._base import LabeledOracle, Measure, format_label
from ._labels import Labels, score_curve, shifted_keys, to_positive_mask, top_mass

#: Thresholds of rows with a price of 0 are limited to these log-odds.
MAX_LOG_ODDS = 1e3
#: Number of rows that a thread marks at a time.
TASK_ROWS = 2**16


class LinearMeasure(Measure):
    """Two classes: a measure whose loss is the sum of the prices of the misclassified rows."""

    needs_threshold = True

    @abstractmethod
    def prices(self, labels: Labels) -> FloatArray:
        """The price of an error in each row; the sum is at most 1."""

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        return float(self.prices(labels)[labels.error_mask(to_positive_mask(y_pred))].sum())

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight, both_classes=False)
        values = Labels.check_scores(scores, len(labels.positive))
        return self.value(labels, (values > 0) != labels.positive)

    @abstractmethod
    def value(self, labels: Labels, errors: np.ndarray) -> float:
        """The value of the measure, from a mask of the misclassified rows."""

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The threshold on the training scores with the smallest loss; 0 if no other is better."""
        labels = Labels.from_arrays(y, sample_weight)
        curve = score_curve(Labels(labels.positive, self.prices(labels)), scores)
        return curve.best_threshold(curve.tp - curve.fp)

    def oracle_for(self, labels: Labels) -> Oracle:
        return HingeOracle(labels, self.prices(labels))


class HingeOracle(LabeledOracle):
    """Marks each row whose weighted margin is below its price as an error.

    For a positive row, this is a score below ``price / slope``; for a negative one, a score above it. A
    negative row at the limit is marked too, which changes neither R nor whether the cut is a lower bound.
    """

    def __init__(self, labels: Labels, prices: FloatArray) -> None:
        n_rows = len(prices)
        self.labels, self.negative = labels, ~labels.positive
        self.slope = labels.sign * labels.mass / labels.total
        self.limit = np.divide(prices, self.slope, out=np.zeros(n_rows), where=self.slope != 0)
        self._vectors = VectorPool(n_rows, size=4)  # cuts of the line search, and that of the best point

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        coef = self._vectors.take()

        def mark(rows: slice) -> float:
            """Put the coefficients of some rows in `coef`, and return their loss."""
            out, errors = coef[rows], scores[rows] < self.limit[rows]
            np.not_equal(errors, self.negative[rows], out=errors)
            np.copyto(out, errors)
            out *= self.slope[rows]
            return float(np.dot(self.limit[rows], out))

        return Cut(coef, math.fsum(map_in_threads(mark, list(iter_row_slices(len(coef), 1, TASK_ROWS)))))


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
    """Mean money per row: (benefit_tp tp - cost_fp fp - cost_fn fn) / n, with prices per class or per row.

    Parameters
    ----------
    cost_fp, cost_fn : float or array-like of shape (n,), default=1.0
        Cost of a false positive and of a false negative: a number, or one number per row.
    benefit_tp : float or array-like of shape (n,), default=0.0
        Benefit of a true positive: a number, or one number per row.

    Notes
    -----
    Prices per row apply to these rows only. `CAPOClassifier` takes them as arguments of `fit` and `predict`.
    """

    name = "cost"
    depends_on_confusion_only = False

    def __init__(
        self,
        cost_fp: float | ArrayLike = 1.0,
        cost_fn: float | ArrayLike = 1.0,
        benefit_tp: float | ArrayLike = 0.0,
    ) -> None:
        self.cost_fp, self.cost_fn, self.benefit_tp = cost_fp, cost_fn, benefit_tp
        arrays = [np.ravel(np.asarray(value)) for value in self.params.values()]
        if not (
            all(each.size > 0 and each.dtype.kind in "biuf" for each in arrays)
            and all(np.isfinite(each).all() and each.min() >= 0 for each in arrays)
            and any(each.any() for each in arrays)
        ):
            found = ", ".join(
                f"{name}={f'<{np.size(value)} values>' if np.ndim(value) else repr(value)}"
                for name, value in self.params.items()
            )
            raise InvalidInputError(
                f"costs must be finite numbers, not negative and not all zero: got {found}."
            )

    @property
    def label(self) -> str:
        """The name with the prices, as printed for users; a benefit of 0 is omitted."""
        shown = {key: value for key, value in self.params.items() if key != "benefit_tp" or np.any(value)}
        arrays = {key: np.asarray(value) if np.ndim(value) else value for key, value in shown.items()}
        return format_label(self.name, arrays)

    def for_rows(self, rows: Any) -> Cost:
        if not self.per_row:
            return self
        chosen = copy(self)
        for name in self.per_row:
            setattr(chosen, name, np.asarray(getattr(self, name), dtype=np.float64)[rows])
        return chosen

    @property
    def per_row(self) -> tuple[str, ...]:
        """The names of the parameters that have one number per row."""
        return tuple(name for name, value in self.params.items() if np.ndim(value) > 0)

    @property
    def row_log_odds(self) -> FloatArray | None:
        if not self.per_row:
            return None
        return cost_log_odds(self.cost_fp, np.add(self.cost_fn, self.benefit_tp))

    def _row_costs(self, labels: Labels) -> FloatArray:
        """The cost of an error in each row, compared with the correct label."""
        stakes = _per_row(self.cost_fn, "cost_fn", labels) + _per_row(self.benefit_tp, "benefit_tp", labels)
        return labels.mass * np.where(labels.positive, stakes, _per_row(self.cost_fp, "cost_fp", labels))

    def prices(self, labels: Labels) -> FloatArray:
        costs = self._row_costs(labels)
        if not costs.sum() > 0:
            raise InvalidInputError(
                "every row with a weight above 0 has the cost 0: there is nothing to minimize."
            )
        return costs / costs.sum()

    def value(self, labels: Labels, errors: np.ndarray) -> float:
        benefits = _per_row(self.benefit_tp, "benefit_tp", labels)
        earned = np.sum(np.where(labels.positive, labels.mass * benefits, 0.0))
        return float((earned - self._row_costs(labels)[errors].sum()) / labels.total)


def cost_log_odds(cost_fp: ArrayLike, stakes: ArrayLike) -> FloatArray:
    """The log-odds above which calling a row positive has the higher expected value.

    Parameters
    ----------
    cost_fp : array-like
        The cost of a false positive, for each row.
    stakes : array-like
        The difference in value between a true positive and a false negative, for each row.

    Returns
    -------
    ndarray
        ``log(cost_fp / stakes)``, finite also where one of the two is 0. Where nothing is at stake, calling a
        row positive saves nothing, and the threshold is beyond any score.

    Examples
    --------
    >>> from capo.measures import cost_log_odds
    >>> cost_log_odds([5, 5, 0], [5, 0, 5])
    array([    0.,  1000., -1000.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log(np.asarray(cost_fp, dtype=np.float64)) - np.log(stakes)
    return np.clip(np.where(np.asarray(stakes) > 0, log_odds, np.inf), -MAX_LOG_ODDS, MAX_LOG_ODDS)


def _per_row(values: Any, name: str, labels: Labels) -> FloatArray:
    """One number per row, or an error with the lengths."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim and array.shape != labels.positive.shape:
        raise InvalidInputError(
            f"{name} has the shape {array.shape}, but y has {len(labels.positive)} rows. Give one number per "
            "row, in the same order."
        )
    return np.broadcast_to(array, labels.positive.shape)


class FixedCountMeasure(Measure):
    """A measure that is proportional to tp, for a fixed number of predicted positives."""

    @abstractmethod
    def count(self, labels: Labels) -> float:
        """The number (or mass) of predicted positives."""

    def scale(self, labels: Labels) -> float:
        """The divisor of tp in the loss ``1 - tp / scale``."""
        return self.count(labels)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        curve = score_curve(labels, scores)
        # The expected tp among the highest scores, with ties broken at random.
        tp = float(np.interp(self.count(labels), curve.tp + curve.fp, curve.tp))
        return tp / self.scale(labels)

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        return max(0.0, 1.0 - labels.confusion(to_positive_mask(y_pred))[0] / self.scale(labels))

    def admits(self, y: ArrayLike, y_pred: ArrayLike) -> bool:
        return np.count_nonzero(to_positive_mask(y_pred)) == self.count(Labels.from_arrays(y))

    def oracle_for(self, labels: Labels) -> Oracle:
        return SelectionOracle(labels, self.count(labels), self.scale(labels))

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The threshold with the measure's number of predicted positives on the training rows."""
        labels = Labels.from_arrays(y, sample_weight)
        return score_curve(labels, scores).threshold_at_mass(self.count(labels))


class SelectionOracle(LabeledOracle):
    """Marks the k highest scores after W / scale has been subtracted from those of the positives."""

    def __init__(self, labels: Labels, count: float, scale: float) -> None:
        self.labels, self.count, self.scale = labels, count, scale
        self.shift = labels.positive * (labels.total / scale)

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        share = top_mass(shifted_keys(scores, self.shift), self.count, self.labels.weight)
        return Cut(self.labels.cut_coef(share), 1.0 - self.labels.positive_mass(share) / self.scale)


class PRBEP(FixedCountMeasure):
    """Precision at the break-even point, where the number of predicted positives equals that of positives."""

    name = "prbep"

    def count(self, labels: Labels) -> float:
        return labels.n_pos


class PrecisionAtK(FixedCountMeasure):
    """Share of positives among the k highest scores.

    Rows tied at the k-th place count by their expected share of positives.

    Parameters
    ----------
    k : int or float, default=0.1
        Number of rows if it is an integer, share of the rows if it is a float.
    """

    name = "precision_at_k"

    def __init__(self, k: int | float = 0.1) -> None:
        is_count = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
        if not (k >= 1 if is_count else isinstance(k, (float, np.floating)) and 0 < k <= 1):
            raise InvalidInputError(
                f"k must be an integer of at least 1, or a float above 0 and at most 1: got {k!r}."
            )
        self.k = k

    def count(self, labels: Labels) -> float:
        if not isinstance(self.k, (int, np.integer)):
            mass = float(self.k) * labels.total
            return max(1.0, float(np.rint(mass))) if labels.has_integer_weights else mass
        self.check_size(labels.total)
        return float(self.k)

    def check_size(self, n_rows: float, what: str = "the number of rows") -> None:
        if isinstance(self.k, (int, np.integer)) and self.k > n_rows:
            raise InvalidInputError(
                f"k={self.k} is larger than {what}, {n_rows:g}. Use a smaller k, or a share of the rows such "
                "as k=0.1."
            )


class RecallAtK(PrecisionAtK):
    """Share of all positives that are among the k highest scores.

    Parameters
    ----------
    k : int or float, default=0.1
        Number of rows if it is an integer, share of the rows if it is a float.
    """

    name = "recall_at_k"

    def scale(self, labels: Labels) -> float:
        return labels.n_pos


class LiftAtK(PrecisionAtK):
    """Precision among the k highest scores, divided by the share of positives in all rows.

    Its loss is that of `precision_at_k`.

    Parameters
    ----------
    k : int or float, default=0.1
        Number of rows if it is an integer, share of the rows if it is a float.
    """

    name = "lift_at_k"

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        return super().score(y, scores, sample_weight) * labels.total / labels.n_pos
