"""Non-linear measures of the confusion matrix, such as F1 and MCC, and measures of quantification."""

from __future__ import annotations

import numpy as np

from . import _search as search
from ._base import Cells, check_positive_number
from ._confusion_base import ConfusionMeasure, Range, ratio


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
