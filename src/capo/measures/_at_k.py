"""Measures at a fixed number of predicted positives.

With exactly k rows predicted positive, Delta is linear in tp. The worst labeling marks the k highest
scores after a constant has been subtracted from those of the positives: one selection, without a sort.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from .._compat import FloatArray
from ..exceptions import InvalidInputError
from ._base import Cut, LabeledOracle, Measure, Oracle
from ._labels import Labels, score_curve, shifted_keys, to_positive_mask, top_mass


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
        return score_curve(labels, scores).tp_at_mass(self.count(labels)) / self.scale(labels)

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
    """Precision at the break-even point, where the number of predicted positives is that of positives."""

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
