"""Measures of a ranking: ROC area, a part of it, average precision.

Here the labelling y' is a ranking. Its discriminant runs over pairs of a positive i
and a negative j that the ranking puts in the wrong order,

    R(s) = max over rankings { Delta - (1/PN) sum over swapped (i, j) of (s_i - s_j) }

(for a part of the ROC curve: over the negatives in that part). Pairs of weighted
rows count with the product of their weights.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma
from sklearn.metrics import average_precision_score, roc_auc_score

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._base import Cut, Measure, Oracle, base_rate_threshold
from ._labels import ClassScores, Labels, as_positive, score_curve
from ._search import prefix_sums


class RankingMeasure(Measure):
    """A measure that sees only the order of the scores.

    `threshold` cuts the training scores where as many rows are predicted positive as are.
    """

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """1 minus the area or precision of the scores `y_pred`."""
        return 1.0 - self._area(Labels.of(y, sample_weight), np.asarray(y_pred, dtype=np.float64))

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return self._area(Labels.of(y, sample_weight), np.asarray(scores, dtype=np.float64))

    def ranking_coef(self, y: ArrayLike, order: ArrayLike) -> FloatArray:
        """A cut's coefficients for one ranking (row numbers, best first), by definition, unweighted."""
        positive = as_positive(y)[np.asarray(order)]
        n_pos, n_neg = np.count_nonzero(positive), np.count_nonzero(~positive)
        above = np.where(positive, np.cumsum(~positive), np.cumsum(positive) - n_pos)
        coef = np.empty(len(positive))
        coef[np.asarray(order)] = above / (n_pos * n_neg)
        return coef

    @abstractmethod
    def _area(self, labels: Labels, scores: FloatArray) -> float:
        """The measure between 0 and 1, ties counted as scikit-learn does."""

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return base_rate_threshold(y, scores, sample_weight)


class RocAUC(RankingMeasure):
    """Area under the ROC curve: the share of pairs in the right order, ties half.

    R is the mean of max(0, 1 - (s_i - s_j)) over pairs.
    """

    name = "roc_auc"

    def _area(self, labels: Labels, scores: FloatArray) -> float:
        Labels.check_scores(scores, len(labels.positive))
        return float(roc_auc_score(labels.positive, scores, sample_weight=labels.weight))

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        return PairOracle(Labels.of(y, sample_weight))


class PairOracle:
    """One sort of all rows, the positives moved down by the margin 1."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def __call__(self, scores: FloatArray) -> Cut:
        labels = self.labels
        labels.check_length(scores)
        coef = scores - labels.positive
        order = np.argsort(coef)
        # A positive is in error with the negatives above it, a negative with the positives below.
        coef[order] = self._mass_around(order)
        coef /= labels.n_pos * labels.n_neg
        if labels.weight is not None:
            coef *= labels.weight
        return Cut(coef, float(coef.sum(where=labels.positive)))

    def _mass_around(self, order: IntArray) -> FloatArray:
        """At each place the negative mass above a positive, or minus the positive mass below a negative."""
        negative = ~self.labels.positive[order]
        if self.labels.weight is None:
            negatives = np.cumsum(negative, dtype=np.float64)
            positives = np.arange(1.0, len(order) + 1)
            positives -= negatives
        else:
            mass = self.labels.weight[order]
            positives, negatives = np.cumsum(mass * ~negative), np.cumsum(mass * negative)
        np.subtract(self.labels.n_neg, negatives, out=negatives)
        np.negative(positives, out=negatives, where=negative)
        return negatives


class PartialAUC(RankingMeasure):
    """ROC area between two false positive rates, scaled as McClish does: 1 perfect, 0.5 chance.

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
        numbers = all(isinstance(end, (int, float, np.number)) for end in (min_fpr, max_fpr))
        if not (numbers and 0 <= min_fpr < max_fpr <= 1):
            raise InvalidInputError(
                f"the range of false positive rates must obey 0 <= min_fpr < max_fpr <= 1: got "
                f"min_fpr={min_fpr!r}, max_fpr={max_fpr!r}."
            )
        self.max_fpr, self.min_fpr = max_fpr, min_fpr

    def _area(self, labels: Labels, scores: FloatArray) -> float:
        curve = score_curve(labels, scores)
        fpr, tpr = curve.fp / labels.n_neg, curve.tp / labels.n_pos
        width = self.max_fpr - self.min_fpr
        return (_area_up_to(fpr, tpr, self.max_fpr) - _area_up_to(fpr, tpr, self.min_fpr)) / width

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        area = super().score(y, scores, sample_weight)
        chance = 0.5 * (self.max_fpr + self.min_fpr)
        return 0.5 * (1.0 + (area - chance) / (1.0 - chance)) if chance < 1 else area

    def ranking_coef(self, y: ArrayLike, order: ArrayLike) -> FloatArray:
        """As for the whole curve, with the first `max_fpr` of the negatives alone."""
        positive = as_positive(y)[np.asarray(order)]
        n_neg = np.count_nonzero(~positive)
        scale = np.count_nonzero(positive) * n_neg * (self.max_fpr - self.min_fpr)
        inside = np.where(positive, 0.0, np.clip(self.max_fpr * n_neg - np.cumsum(~positive) + 1, 0, 1))
        below = np.cumsum(positive[::-1])[::-1]
        coef = np.empty(len(positive))
        coef[np.asarray(order)] = np.where(positive, np.cumsum(inside), -inside * below) / scale
        return coef

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        return PartialPairOracle(Labels.of(y, sample_weight), self.min_fpr, self.max_fpr)


def _area_up_to(fpr: FloatArray, tpr: FloatArray, end: float) -> float:
    stop = int(np.searchsorted(fpr, end, side="right"))
    x = np.append(fpr[:stop], end)
    height = np.append(tpr[:stop], np.interp(end, fpr, tpr))
    return float(np.trapezoid(height, x))


class PartialPairOracle:
    """Each positive chooses how much negative mass r ranks above it.

    With the negatives sorted down and S(r) the integral of their scores over the first r of
    mass, positive i gains ``S(r) - r s_i + max(0, r - low)`` for 0 <= r <= high. That is
    concave on [0, low] and on [low, high], so that each part has its maximum where the
    negative's score meets s_i, or s_i - 1.
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
        ranked, mass = scores[neg][order], labels.mass[neg][order]
        ends = np.concatenate([[0.0], np.cumsum(mass)])
        sums = np.concatenate([[0.0], np.cumsum(mass * ranked)])
        r = self._choose(scores[pos], ranked, ends, sums)

        coef = np.zeros(len(scores))
        coef[pos] = labels.mass[pos] * r / self.scale
        coef[neg[order]] = -self._chosen_mass(r, labels.mass[pos], ends) / self.scale
        loss = float(labels.mass[pos] @ np.maximum(0.0, r - self.low) / self.scale)
        return Cut(coef, loss)

    def _choose(self, s: FloatArray, ranked: FloatArray, ends: FloatArray, sums: FloatArray) -> FloatArray:
        first = np.minimum(ends[np.searchsorted(-ranked, -s)], self.low)
        second = np.clip(ends[np.searchsorted(-ranked, -(s - 1.0))], self.low, self.high)

        def gain(r: FloatArray) -> FloatArray:
            return np.interp(r, ends, sums) - r * s + np.maximum(0.0, r - self.low)

        return np.where(gain(second) > gain(first), second, first)

    def _chosen_mass(self, r: FloatArray, mass: FloatArray, ends: FloatArray) -> FloatArray:
        """For each negative, the positive mass below it times its own mass (part of it at an edge)."""
        order = np.argsort(r)
        upto = np.concatenate([[0.0], np.cumsum(mass[order])])
        first = np.concatenate([[0.0], np.cumsum((mass * r)[order])])

        def covered(x: FloatArray) -> FloatArray:
            # sum over positives of mass * min(r, x)
            k = np.searchsorted(r[order], x)
            return first[k] + (upto[-1] - upto[k]) * x

        return np.diff(covered(ends))


class AveragePrecision(RankingMeasure):
    """Average precision: the mean, over the positives, of the precision at their rank."""

    name = "average_precision"

    def _area(self, labels: Labels, scores: FloatArray) -> float:
        Labels.check_scores(scores, len(labels.positive))
        return float(average_precision_score(labels.positive, scores, sample_weight=labels.weight))

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        return PrecisionOracle(Labels.of(y, sample_weight))


class PrecisionOracle:
    """The worst ranking for average precision in O(n log n).

    Positives and negatives keep their own order; the j-th negative is put before the i-th
    positive and all after it. With p and q the masses of an atom of either class, that
    gains, for each positive k >= i,

        (1/P) k p (1 / (k p + (j - 1) q) - 1 / (k p + j q)) - (p q / PN) (s_k - s_j) / p

    per unit of positive mass. The best i rises with j (Yue et al., 2007), so that all of
    them are found by divide and conquer: the middle negative first, then both halves
    within the bounds it sets, level by level.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        pos, neg = labels.pos, labels.neg
        self.step = neg.unit / pos.unit
        self.plan = _halving_plan(neg.levels)
        self.harmonic = None
        if self.step == 1.0:
            self.harmonic = prefix_sums(1.0 / np.arange(1, pos.levels + neg.levels + 1))

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        pos, neg = self.labels.pos, self.labels.neg
        s_pos, s_neg = scores[pos.index], scores[neg.index]
        place = self._places(pos.atoms(s_pos), neg.atoms(s_neg))
        # place[j] positives stay above negative j; swapped[i] negatives go above positive i.
        swapped = np.searchsorted(place, np.arange(pos.levels), side="right")
        rank = np.arange(1, pos.levels + 1)
        loss = 1.0 - float(np.mean(rank / (rank + self.step * swapped)))
        coef = np.zeros(len(scores))
        scale = pos.levels * neg.levels
        coef[pos.index] = self._rows(pos, s_pos, swapped / scale)
        coef[neg.index] = self._rows(neg, s_neg, (place - pos.levels) / scale)
        return Cut(coef, loss)

    def _rows(self, side: ClassScores, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        rows = side.spread(values, per_atom)
        if self.labels.weight is not None:
            rows *= self.labels.weight[side.index] / side.unit
        return rows

    def _places(self, pos: FloatArray, neg: FloatArray) -> IntArray:
        n_pos, n_neg = len(pos), len(neg)
        tail = np.append(np.cumsum(pos[::-1])[::-1], 0.0)
        place = np.full(n_neg + 2, 0, dtype=np.intp)
        place[n_neg + 1] = n_pos
        for middle, left, right in self.plan:
            low, high = place[left], place[right]
            place[middle] = self._best(middle, low, high, pos, neg, tail)
        return place[1:-1]

    def _best(
        self,
        j: IntArray,
        low: IntArray,
        high: IntArray,
        pos: FloatArray,
        neg: FloatArray,
        tail: FloatArray,
    ) -> IntArray:
        """For each negative j (from 1) the best number of positives above it in [low, high]."""
        lengths = high - low + 1
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        row = np.repeat(np.arange(len(j)), lengths)
        i = np.arange(len(row)) - starts[row] + low[row]
        gain = self._gain(i, j[row], pos, neg, tail)
        best = np.maximum.reduceat(gain, starts)
        hits = np.flatnonzero(gain == best[row])
        _, first = np.unique(row[hits], return_index=True)
        return i[hits[first]]

    def _gain(
        self, i: IntArray, j: IntArray, pos: FloatArray, neg: FloatArray, tail: FloatArray
    ) -> FloatArray:
        """What putting negative j below i positives gains over putting it last."""
        n_pos, n_neg = len(pos), len(neg)
        lost = self._precision_lost(i, j) - (tail[i] - (n_pos - i) * neg[j - 1]) / n_neg
        return lost / n_pos

    def _precision_lost(self, i: IntArray, j: IntArray) -> FloatArray:
        """Sum over k > i of k / (k + (j - 1) r) - k / (k + j r), by harmonic numbers."""
        n_pos, r = self.labels.pos.levels, self.step
        if self.harmonic is not None:
            between = self.harmonic[n_pos + j - 1] - self.harmonic[i + j - 1]
            return between + j / (n_pos + j) - j / (i + j)
        before, after = (j - 1) * r, j * r
        return after * (digamma(n_pos + 1 + after) - digamma(i + 1 + after)) - before * (
            digamma(n_pos + 1 + before) - digamma(i + 1 + before)
        )


def _halving_plan(count: int) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Levels of (middle, left, right) that visit 1..count, neighbours before what lies between."""
    plan = []
    left, right = np.array([0]), np.array([count + 1])
    while left.size:
        middle = (left + right) // 2
        inside = middle > left
        left, right, middle = left[inside], right[inside], middle[inside]
        if middle.size:
            plan.append((middle, left, right))
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        wide = right - left > 1
        left, right = left[wide], right[wide]
    return plan
