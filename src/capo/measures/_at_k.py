"""Measures at a fixed number of predicted positives.

With exactly k rows marked positive, Delta is linear in tp, so that the worst
labelling is the top k of the scores after each positive has been moved down by the
price of finding it: no sort, one selection.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._base import Cut, Measure, Oracle
from ._labels import Labels, as_positive, score_curve, top_mass


class FixedCountMeasure(Measure):
    """A share of true positives among a fixed number of predicted ones."""

    @abstractmethod
    def count(self, labels: Labels) -> float:
        """How many rows (or how much mass) are predicted positive."""

    def scale(self, labels: Labels) -> float:
        """What tp is divided by in the loss ``1 - tp / scale``."""
        return self.count(labels)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.of(y, sample_weight)
        return score_curve(labels, scores).at_mass(self.count(labels)) / self.scale(labels)

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.of(y, sample_weight)
        return max(0.0, 1.0 - labels.table(as_positive(y_pred))[0] / self.scale(labels))

    def admits(self, y: ArrayLike, y_pred: ArrayLike) -> bool:
        return np.count_nonzero(as_positive(y_pred)) == self.count(Labels.of(y))

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        labels = Labels.of(y, sample_weight)
        return SelectionOracle(labels, self.count(labels), self.scale(labels))

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The cut that predicts as many positives on the training rows as the measure asks for."""
        labels = Labels.of(y, sample_weight)
        return score_curve(labels, scores).cut_at(self.count(labels))


class SelectionOracle:
    """Takes the top k after the positives have been moved down by W / scale."""

    def __init__(self, labels: Labels, count: float, scale: float) -> None:
        self.labels, self.count, self.scale = labels, count, scale
        self.shift = labels.positive * (labels.total / scale)

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        chosen = top_mass(scores - self.shift, self.count, self.labels.weight)
        return Cut(self.labels.coef_of(chosen), 1.0 - self.labels.true_mass(chosen) / self.scale)


class PRBEP(FixedCountMeasure):
    """Precision at the break-even point, where as many rows are predicted positive as are."""

    name = "prbep"

    def count(self, labels: Labels) -> float:
        return labels.n_pos


class PrecisionAtK(FixedCountMeasure):
    """Share of positives among the k highest scores.

    Ties at the k-th place count with their expected share of positives.

    Parameters
    ----------
    k : int or float, default=0.1
        How many rows: a whole number is a count, a fraction between 0 and 1 a share of
        the rows.
    """

    name = "precision_at_k"

    def __init__(self, k: int | float = 0.1) -> None:
        whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
        if not (k >= 1 if whole else isinstance(k, (float, np.floating)) and 0 < k <= 1):
            raise InvalidInputError(
                f"k must be a whole number of at least 1 or a fraction above 0 and up to 1: got {k!r}."
            )
        self.k = k

    def count(self, labels: Labels) -> float:
        if not isinstance(self.k, (int, np.integer)):
            mass = float(self.k) * labels.total
            return max(1.0, float(np.rint(mass))) if labels.whole else mass
        if self.k > labels.total:
            raise InvalidInputError(
                f"k={self.k} is larger than the number of rows, {labels.total:g}. "
                "Take a smaller k, or a fraction such as k=0.1."
            )
        return float(self.k)


class RecallAtK(PrecisionAtK):
    """Share of all positives that are among the k highest scores.

    Parameters
    ----------
    k : int or float, default=0.1
        How many rows: a whole number is a count, a fraction between 0 and 1 a share of
        the rows.
    """

    name = "recall_at_k"

    def scale(self, labels: Labels) -> float:
        return labels.n_pos


class LiftAtK(PrecisionAtK):
    """Precision among the k highest scores, divided by the share of positives in all rows.

    Its loss is that of `precision_at_k`: the lift divided by the largest there is.

    Parameters
    ----------
    k : int or float, default=0.1
        How many rows: a whole number is a count, a fraction between 0 and 1 a share of
        the rows.
    """

    name = "lift_at_k"

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.of(y, sample_weight)
        return super().score(y, scores, sample_weight) * labels.total / labels.n_pos
