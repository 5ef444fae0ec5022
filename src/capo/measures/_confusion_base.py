"""Measures of the confusion matrix, and the search that they share.

Sort the positives and the negatives by score. The worst labeling marks the top
``a`` positives and the top ``b`` negatives as positive, for some (a, b); its value
is

    V(a, b) = Delta(a, b) + Gp(a) + Gn(b)

with Gp and Gn concave prefix sums of the sorted scores. `capo.measures._search` finds the best (a, b).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from . import _search as search
from ._base import Cells, Cut, LabeledOracle, Measure, Oracle
from ._binned import BinnedConfusionOracle
from ._class_scores import Share
from ._labels import Labels, to_positive_mask
from ._score_curve import score_curve

#: With fewer rows, sorts are as fast as bins.
MIN_BINNED_ROWS = 30_000
#: The smallest and the largest number in each block.
Range = tuple[Cells, Cells]


class ConfusionMeasure(Measure):
    """A measure that is a function of (tp, fp, fn, tn), for scores at the threshold 0.

    A subclass defines `value` and, if its values are not between 0 and 1, `best` and `worst`. `strategy`
    is the search, which depends on the properties of the loss. For given numbers of positive and negative
    rows, `is_monotone` says whether the value rises with tp and falls with fp, and `is_fractional` whether
    it is a ratio of linear functions of tp and fp.
    """

    needs_threshold: ClassVar[bool] = True
    best: ClassVar[float] = 1.0
    worst: ClassVar[float] = 0.0
    strategy: ClassVar[type[search.Strategy]] = search.Monotone
    is_monotone: ClassVar[bool] = True
    is_fractional: ClassVar[bool] = False

    @abstractmethod
    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """The measure of each confusion matrix; the arguments broadcast."""

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        """The loss of each confusion matrix, between 0 and 1."""
        value = self.value(tp, fp, n_pos - tp, n_neg - fp)
        return (self.best - value) / (self.best - self.worst)

    def delta_bound(self, tp: Range, fp: Range, n_pos: float, n_neg: float) -> Cells:
        """An upper bound of `delta` over blocks of matrices, from the (smallest, largest) tp and fp.

        For a loss that falls with tp and rises with fp it is the value at one corner.
        """
        return self.delta(tp[0], fp[1], n_pos, n_neg)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight, both_classes=False)
        values = np.asarray(scores, dtype=np.float64)
        Labels.check_scores(values, len(labels.positive))
        return self._labeling_value(labels, values > 0)

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        tp, fp, _, _ = labels.confusion(to_positive_mask(y_pred))
        return float(self.delta(np.asarray(tp), np.asarray(fp), labels.n_pos, labels.n_neg))

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The threshold on the training scores with the best value; 0 if no other is better."""
        curve = score_curve(Labels.from_arrays(y, sample_weight), scores)
        return curve.best_threshold(curve.evaluate(self.value))

    def _labeling_value(self, labels: Labels, predicted: np.ndarray) -> float:
        return float(self.value(*(np.asarray(cell) for cell in labels.confusion(predicted))))

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        return self.oracle_for(Labels.from_arrays(y, sample_weight))

    def oracle_for(self, labels: Labels) -> Oracle:
        return ConfusionOracle(self, labels)


class ConfusionOracle(LabeledOracle):
    """Sorts the scores of both classes and finds (a, b) by the measure's strategy."""

    def __init__(self, measure: ConfusionMeasure, labels: Labels) -> None:
        self.measure, self.labels = measure, labels
        self.strategy = measure.strategy(measure, labels.pos, labels.neg)

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        pos, neg, total = self.labels.pos, self.labels.neg, self.labels.total
        s_pos, s_neg = scores[pos.index], scores[neg.index]
        atoms_pos, atoms_neg = pos.sorted_atoms(s_pos), neg.sorted_atoms(s_neg)
        a, b, loss = self.strategy(atoms_pos, atoms_neg, 1.0 / total)
        share: Share = np.zeros(len(scores), dtype=self.labels.share_dtype)
        share[pos.index] = pos.top(s_pos, a, atoms_pos)
        share[neg.index] = neg.top(s_neg, b, atoms_neg)
        return Cut(self.labels.cut_coef(share), loss)

    def within(self, error: float) -> Oracle:
        large = len(self.labels.positive) >= MIN_BINNED_ROWS and not isinstance(
            self.strategy, search.Exhaustive
        )
        return BinnedConfusionOracle(self, error, self.measure) if large else self


def ratio(numerator: Cells, denominator: Cells) -> FloatArray:
    """The quotient, and 0 where the denominator is 0."""
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom != 0)
