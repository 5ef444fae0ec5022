"""Measures of the confusion matrix.

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

from .._compat import FloatArray
from . import _search as search
from ._base import Cells, Cut, LabeledOracle, Measure, Oracle, check_positive_number
from ._binned import BinnedConfusionOracle
from ._labels import Labels, Share, score_curve, to_positive_mask

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


class F1(ConfusionMeasure):
    """F1, the harmonic mean of precision and recall: 2 tp / (2 tp + fn + fp)."""

    name = "f1"
    strategy = search.ConvexConcave
    is_fractional = True
    _square = 1.0

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        weighted = (1 + self._square) * tp
        return ratio(weighted, weighted + self._square * fn + fp)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        # The same with tp + fn = P > 0 substituted: half the work in the innermost loop.
        return 1.0 - (1 + self._square) * tp / (tp + fp + self._square * n_pos)


class FBeta(F1):
    """F-beta: (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp).

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall relative to precision.
    """

    name = "fbeta"

    def __init__(self, beta: float = 1.0) -> None:
        self._square = check_positive_number(beta, "beta") ** 2
        self.beta = beta


class Jaccard(ConfusionMeasure):
    """Jaccard index: tp / (tp + fp + fn)."""

    name = "jaccard"
    strategy = search.ConvexConcave
    is_fractional = True

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fp + fn)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        return 1.0 - tp / (n_pos + fp)


class GMean(ConfusionMeasure):
    """Geometric mean of the two classes' recalls: sqrt(tp / P * tn / N)."""

    name = "gmean"

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return np.sqrt(ratio(tp, tp + fn) * ratio(tn, tn + fp))


class MCC(ConfusionMeasure):
    """Matthews' correlation coefficient, from -1 to 1; its loss is (1 - MCC) / 2.

    With P and N fixed it is (tp N - fp P) / sqrt(P N m (n - m)) for m = tp + fp, and
    rises with tp and falls with fp over all matrices: the derivative in tp has the
    sign of 2 N m (n - m) - (tp N - fp P)(n - 2 m), and tp N - fp P lies between
    -N (n - m) and N m.
    """

    name = "mcc"
    worst = -1.0

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        # Two square roots: the product of all four margins can overflow.
        root = np.sqrt((tp + fn) * (fp + tn)) * np.sqrt((tp + fp) * (fn + tn))
        return ratio(tp * tn - fp * fn, root)


class CohenKappa(ConfusionMeasure):
    """Cohen's kappa, agreement beyond chance, from -1 to 1; its loss is (1 - kappa) / 2."""

    name = "cohen_kappa"
    worst = -1.0
    is_fractional = True

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
        return ratio(2.0 * (tp * tn - fp * fn), chance)


class KLD(ConfusionMeasure):
    """Quantification: agreement of the predicted share of positives with the true one.

    The loss is the normalized Kullback-Leibler divergence 2 / (1 + exp(-KLD)) - 1 between
    the true and the predicted class shares, smoothed by 1 / (2 n) as Forman and QuaPy do;
    the score is 1 minus that. Only tp + fp matters.
    """

    name = "kld"
    strategy = search.Bounded
    is_monotone = False

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        total = tp + fp + fn + tn
        smooth = 0.5 / total
        true = ((tp + fn) / total + smooth) / (1 + 2 * smooth)
        guess = ((tp + fp) / total + smooth) / (1 + 2 * smooth)
        divergence = true * np.log(true / guess) + (1 - true) * np.log((1 - true) / (1 - guess))
        return 1.0 - np.tanh(np.maximum(divergence, 0.0) / 2.0)

    def delta_bound(self, tp: Range, fp: Range, n_pos: float, n_neg: float) -> Cells:
        # It grows with the distance of tp + fp from P, to either side.
        ends = (self.delta(tp[i], fp[i], n_pos, n_neg) for i in (0, 1))
        return np.maximum(*ends)


class QMeasure(ConfusionMeasure):
    """Quantification and classification at once: the F-beta mean of recall and agreement.

    Agreement is 1 - abs(fn - fp) / max(P, N), as in Barranquero, Diez and del Coz (2015).

    Parameters
    ----------
    beta : float, default=1.0
        Weight of agreement relative to recall.
    """

    name = "q_measure"
    strategy = search.Bounded
    is_monotone = False

    def __init__(self, beta: float = 1.0) -> None:
        check_positive_number(beta, "beta")
        self.beta = beta

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        agreement = 1.0 - np.abs(fn - fp) / np.maximum(tp + fn, fp + tn)
        return self._mean(ratio(tp, tp + fn), agreement)

    def _mean(self, recall: Cells, agreement: Cells) -> Cells:
        square = self.beta**2
        return ratio((1 + square) * recall * agreement, square * recall + agreement)

    def delta_bound(self, tp: Range, fp: Range, n_pos: float, n_neg: float) -> Cells:
        # The mean rises with recall and agreement: bound both by their smallest values in the block.
        error = np.maximum(np.abs(n_pos - tp[0] - fp[0]), np.abs(n_pos - tp[1] - fp[1]))
        return 1.0 - self._mean(tp[0] / n_pos, 1.0 - error / max(n_pos, n_neg))
