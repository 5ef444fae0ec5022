"""Measures of a ranking: area under the ROC curve or a part of it, average precision.

Here y' is a ranking. The sum is over the pairs of a positive i and a negative j in the wrong order,

    R(s) = max over rankings { Delta - (1/PN) sum over swapped (i, j) of (s_i - s_j) }

(for a part of the ROC curve: over the negatives in that part). With weights, a pair has the product of
its weights.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import digamma

from .._compat import ArrayLike, FloatArray, IntArray
from ..engine import Cut, Oracle
from ..exceptions import InvalidInputError
from ._base import LabeledOracle, Measure
from ._binned import BinnedPairOracle
from ._labels import Labels, score_curve, shifted_keys, to_positive_mask

#: With fewer rows, a sort is as fast as bins.
MIN_BINNED_ROWS = 2_000


class RankingMeasure(Measure):
    """A measure that depends only on the order of the scores.

    `threshold` is the one with as many predicted positives as there are positives.
    """

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """1 minus the area, or average precision, of the scores `y_pred`."""
        return 1.0 - self.area(Labels.from_arrays(y, sample_weight), np.asarray(y_pred, dtype=np.float64))

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return self.area(Labels.from_arrays(y, sample_weight), np.asarray(scores, dtype=np.float64))

    def ranking_coef(self, y: ArrayLike, order: ArrayLike) -> FloatArray:
        """Coefficients of the cut of one ranking (row indices, best first), without weights."""
        positive = to_positive_mask(y)[np.asarray(order)]
        n_pos, n_neg = np.count_nonzero(positive), np.count_nonzero(~positive)
        above = np.where(positive, np.cumsum(~positive), np.cumsum(positive) - n_pos)
        coef = np.empty(len(positive))
        coef[np.asarray(order)] = above / (n_pos * n_neg)
        return coef

    @abstractmethod
    def area(self, labels: Labels, scores: FloatArray) -> float:
        """The measure, between 0 and 1, with ties treated as in scikit-learn."""

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        return score_curve(labels, scores).threshold_at_mass(labels.n_pos)


class RocAUC(RankingMeasure):
    """Area under the ROC curve: the share of pairs in the right order, with ties counted half.

    R is the mean of max(0, 1 - (s_i - s_j)) over pairs.
    """

    name = "roc_auc"

    def area(self, labels: Labels, scores: FloatArray) -> float:
        curve = score_curve(labels, scores)
        pairs = np.diff(curve.fp) @ (curve.tp[1:] + curve.tp[:-1])
        return float(0.5 * pairs / (curve.tp[-1] * curve.fp[-1]))

    def oracle_for(self, labels: Labels) -> Oracle:
        return PairOracle(labels)


class PairOracle(LabeledOracle):
    """One sort of all rows, after the margin 1 has been subtracted from the scores of the positives."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def __call__(self, scores: FloatArray) -> Cut:
        labels = self.labels
        labels.check_length(scores)
        coef = shifted_keys(scores, labels.positive)
        order = np.argsort(coef)
        # A positive is in the wrong order with the negatives above it, a negative with the positives below.
        negative = ~labels.positive[order]
        if labels.weight is None:
            negatives = np.cumsum(negative, dtype=np.float64)
            positives = np.arange(1.0, len(order) + 1)
            positives -= negatives
        else:
            mass = labels.weight[order]
            positives, negatives = np.cumsum(mass * ~negative), np.cumsum(mass * negative)
        np.subtract(labels.n_neg, negatives, out=negatives)
        np.negative(positives, out=negatives, where=negative)
        coef[order] = negatives
        coef /= labels.n_pos * labels.n_neg
        if labels.weight is not None:
            coef *= labels.weight
        return Cut(coef, float(coef.sum(where=labels.positive)))

    def within(self, error: float) -> Oracle:
        return BinnedPairOracle(self, error) if len(self.labels.positive) >= MIN_BINNED_ROWS else self


class PartialAUC(RankingMeasure):
    """Area under a part of the ROC curve, scaled as by McClish: 1 for perfect, 0.5 for random scores.

    The score with ``max_fpr`` alone is `sklearn.metrics.roc_auc_score(..., max_fpr=max_fpr)`.
    The loss is 1 minus the mean true positive rate over the range. R is the structural
    surrogate of Narasimhan and Agarwal (2013): the hinge over pairs, on the negatives that
    rank highest.

    Parameters
    ----------
    max_fpr : float, default=0.1
        Upper end of the range.
    min_fpr : float, default=0.0
        Lower end of the range.
    """

    name = "partial_auc"

    def __init__(self, max_fpr: float = 0.1, min_fpr: float = 0.0) -> None:
        numeric = all(isinstance(end, (int, float, np.number)) for end in (min_fpr, max_fpr))
        if not (numeric and 0 <= min_fpr < max_fpr <= 1):
            raise InvalidInputError(
                f"the range of false positive rates must satisfy 0 <= min_fpr < max_fpr <= 1: got "
                f"min_fpr={min_fpr!r}, max_fpr={max_fpr!r}."
            )
        self.max_fpr, self.min_fpr = max_fpr, min_fpr

    def area(self, labels: Labels, scores: FloatArray) -> float:
        curve = score_curve(labels, scores)
        fpr, tpr = curve.fp / labels.n_neg, curve.tp / labels.n_pos
        width = self.max_fpr - self.min_fpr
        return (_area_up_to(fpr, tpr, self.max_fpr) - _area_up_to(fpr, tpr, self.min_fpr)) / width

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        area = super().score(y, scores, sample_weight)
        chance = 0.5 * (self.max_fpr + self.min_fpr)
        return 0.5 * (1.0 + (area - chance) / (1.0 - chance)) if chance < 1 else area

    def ranking_coef(self, y: ArrayLike, order: ArrayLike) -> FloatArray:
        """As for the whole curve, with the share `max_fpr` of the highest-ranked negatives."""
        positive = to_positive_mask(y)[np.asarray(order)]
        n_neg = np.count_nonzero(~positive)
        scale = np.count_nonzero(positive) * n_neg * (self.max_fpr - self.min_fpr)
        inside = np.where(positive, 0.0, np.clip(self.max_fpr * n_neg - np.cumsum(~positive) + 1, 0, 1))
        below = np.cumsum(positive[::-1])[::-1]
        coef = np.empty(len(positive))
        coef[np.asarray(order)] = np.where(positive, np.cumsum(inside), -inside * below) / scale
        return coef

    def oracle_for(self, labels: Labels) -> Oracle:
        return PartialPairOracle(labels, self.min_fpr, self.max_fpr)


def _area_up_to(fpr: FloatArray, tpr: FloatArray, end: float) -> float:
    stop = int(np.searchsorted(fpr, end, side="right"))
    x = np.append(fpr[:stop], end)
    height = np.append(tpr[:stop], np.interp(end, fpr, tpr))
    return float(np.trapezoid(height, x))


class PartialPairOracle(LabeledOracle):
    """Finds for each positive the mass r of negatives ranked above it.

    With the negatives in descending order and S(r) the integral of their scores over the first mass
    r, positive i contributes ``S(r) - r s_i + max(0, r - low)`` for 0 <= r <= high. That is
    concave on [0, low] and on [low, high], with the maxima where the negative's score equals s_i and
    s_i - 1.
    """

    def __init__(self, labels: Labels, low: float, high: float) -> None:
        self.labels = labels
        self.low, self.high = low * labels.n_neg, high * labels.n_neg
        self.scale = labels.n_pos * (self.high - self.low)

    def __call__(self, scores: FloatArray) -> Cut:
        labels = self.labels
        labels.check_length(scores)
        pos, neg = labels.pos.index, labels.neg.index
        order = np.argsort(-scores[neg], kind="stable")
        s, ranked, mass = scores[pos], scores[neg][order], labels.mass[neg][order]
        ends = np.concatenate([[0.0], np.cumsum(mass)])
        # The number of negatives above s - 1; ties that result from rounding are broken by the rounding
        # error.
        moved = s - 1.0
        sides = [np.searchsorted(-ranked, -moved, side=side) for side in ("left", "right")]
        r = np.clip(ends[np.where(s - moved < 1.0, sides[1], sides[0])], self.low, self.high)
        if self.low > 0.0:  # else every negative up to there gains, which sums of huge scores may not show
            sums = np.concatenate([[0.0], np.cumsum(mass * ranked)])
            first = np.minimum(ends[np.searchsorted(-ranked, -s)], self.low)
            gains = [
                np.interp(each, ends, sums) - each * s + np.maximum(0.0, each - self.low)
                for each in (first, r)
            ]
            r = np.where(gains[1] > gains[0], r, first)

        # For each end x, the sum over the positives of mass * min(r, x).
        row_mass, by_r = labels.mass[pos], np.argsort(r)
        total = np.concatenate([[0.0], np.cumsum(row_mass[by_r])])
        inside = np.concatenate([[0.0], np.cumsum((row_mass * r)[by_r])])
        k = np.searchsorted(r[by_r], ends)
        covered = inside[k] + (total[-1] - total[k]) * ends

        coef = np.zeros(len(scores))
        coef[pos] = row_mass * r / self.scale
        coef[neg[order]] = -np.diff(covered) / self.scale
        return Cut(coef, float(row_mass @ np.maximum(0.0, r - self.low) / self.scale))


class AveragePrecision(RankingMeasure):
    """Average precision: the mean, over the positives, of the precision at their rank."""

    name = "average_precision"

    def area(self, labels: Labels, scores: FloatArray) -> float:
        curve = score_curve(labels, scores)
        precision = curve.tp[1:] / (curve.tp[1:] + curve.fp[1:])
        return float(np.diff(curve.tp) @ precision / curve.tp[-1])

    def oracle_for(self, labels: Labels) -> Oracle:
        return PrecisionOracle(labels)


class PrecisionOracle(LabeledOracle):
    """The worst ranking for average precision in O(n log n).

    Positives and negatives keep their own order; the j-th negative is put before the i-th
    positive and all after it. With p and q the masses of an atom of the two classes, this contributes, for
    each positive k >= i,

        (1/P) k p (1 / (k p + (j - 1) q) - 1 / (k p + j q)) - (p q / PN) (s_k - s_j) / p

    per unit of positive mass. The best i increases with j (Yue et al., 2007), so that divide and conquer
    finds all of them: first for the middle negative, then for both halves within its bounds.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        pos, neg = labels.pos, labels.neg
        self.step = neg.atom_mass / pos.atom_mass
        # Steps of divide and conquer over 1..n: arrays (middle, left, right), with known ends.
        self.plan: list[tuple[IntArray, IntArray, IntArray]] = []
        left, right = np.array([0]), np.array([neg.n_atoms + 1])
        while (right - left > 1).any():
            wide = right - left > 1
            left, right = left[wide], right[wide]
            middle = (left + right) // 2
            self.plan.append((middle, left, right))
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        self.harmonic = None
        if self.step == 1.0:
            self.harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, pos.n_atoms + neg.n_atoms + 1)))

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        pos, neg = self.labels.pos, self.labels.neg
        s_pos, s_neg = scores[pos.index], scores[neg.index]
        place = self._places(pos.atoms(s_pos), neg.atoms(s_neg))
        # place[j] positives rank above negative j; swapped[i] negatives rank above positive i.
        swapped = np.searchsorted(place, np.arange(pos.n_atoms), side="right")
        rank = np.arange(1, pos.n_atoms + 1)
        loss = 1.0 - float(np.mean(rank / (rank + self.step * swapped)))
        coef = np.zeros(len(scores))
        scale = pos.n_atoms * neg.n_atoms
        coef[pos.index] = pos.atoms_to_rows(s_pos, swapped / scale)
        coef[neg.index] = neg.atoms_to_rows(s_neg, (place - pos.n_atoms) / scale)
        return Cut(coef, loss)

    def _places(self, pos: FloatArray, neg: FloatArray) -> IntArray:
        """For each negative, the best number of positives above it."""
        n_pos, n_neg = len(pos), len(neg)
        tail = np.append(np.cumsum(pos[::-1])[::-1], 0.0)

        def gain(i: IntArray, j: IntArray) -> FloatArray:
            """The contribution of negative j (from 1) at place i, relative to the last place."""
            lost = self._precision_lost(i, j) - (tail[i] - (n_pos - i) * neg[j - 1]) / n_neg
            return lost / n_pos

        place = np.full(n_neg + 2, 0, dtype=np.intp)
        place[n_neg + 1] = n_pos
        for middle, left, right in self.plan:
            # All places between the known ones of each middle; the first with the largest gain is its own.
            low, lengths = place[left], place[right] - place[left] + 1
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            row = np.repeat(np.arange(len(middle)), lengths)
            i = np.arange(len(row)) - starts[row] + low[row]
            gains = gain(i, middle[row])
            hits = np.flatnonzero(gains == np.maximum.reduceat(gains, starts)[row])
            _, first = np.unique(row[hits], return_index=True)
            place[middle] = i[hits[first]]
        return place[1:-1]

    def _precision_lost(self, i: IntArray, j: IntArray) -> FloatArray:
        """Sum over k > i of k / (k + (j - 1) r) - k / (k + j r), by harmonic numbers."""
        n_pos, r = self.labels.pos.n_atoms, self.step
        if self.harmonic is not None:
            between = self.harmonic[n_pos + j - 1] - self.harmonic[i + j - 1]
            return between + j / (n_pos + j) - j / (i + j)
        before, after = (j - 1) * r, j * r
        return after * (digamma(n_pos + 1 + after) - digamma(i + 1 + after)) - before * (
            digamma(n_pos + 1 + before) - digamma(i + 1 + before)
        )
