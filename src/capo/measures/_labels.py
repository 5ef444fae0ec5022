"""Two classes and their weights, told apart once; rows in the order of their scores.

A row of weight w counts as w rows. A labelling may split such a row, as it may
split w copies of it, so that a class is a sorted line of mass that is cut at one
point. `ClassScores` gives that line as atoms of equal mass: one a row without weights,
one a copy where the weights are whole numbers, and otherwise as many as there
are rows. The set of labellings is then the same whatever the scores, which is
what makes R convex, and integer weights are exactly repeated rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError

#: What part of each row is marked positive: booleans for whole rows, numbers from 0 to 1 with weights.
Share = NDArray[Any]

#: Beyond this many copies in a class, whole-number weights are treated as any others.
MOST_COPIES = 2**24
#: Points of a curve that are looked at together.
CURVE_CHUNK = 2**16


@dataclass(frozen=True)
class Labels:
    """Which rows are positive, and what each weighs.

    `weight` is None when all rows count the same. Masses (`n_pos`, `n_neg`,
    `total`) are counts of rows, or sums of weights.
    """

    positive: NDArray[np.bool_]
    weight: FloatArray | None

    @classmethod
    def of(cls, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Labels:
        """Check labels and weights; both classes must carry weight."""
        labels = cls.lenient(y, sample_weight)
        for mass, name in ((labels.n_pos, "positive"), (labels.n_neg, "negative")):
            if mass <= 0:
                raise InvalidInputError(
                    f"y has only one class: no {name} row"
                    f"{' with a weight above 0' if sample_weight is not None else ''} among "
                    f"{len(labels.positive)}. A measure needs both classes; check the labels or the split."
                )
        return labels

    @classmethod
    def lenient(cls, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Labels:
        """Check labels and weights; one class alone will do, as for scoring."""
        positive = as_positive(y)
        return cls(positive, as_weight(sample_weight, len(positive)))

    @staticmethod
    def check_scores(scores: FloatArray, n_rows: int) -> None:
        """Refuse scores of another length, and NaN or infinity."""
        if scores.ndim != 1 or len(scores) != n_rows:
            raise InvalidInputError(
                f"scores must be one number per row: got shape {scores.shape} for {n_rows} rows of y."
            )
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise InvalidInputError(
                f"scores contain NaN or infinity (first at row {bad}: {scores[bad]}). "
                "Remove or impute these rows before scoring."
            )

    def check_length(self, scores: FloatArray) -> None:
        """Refuse scores of other rows than these labels'; cheap enough for every search."""
        if len(scores) != len(self.positive):
            raise InvalidInputError(
                f"there are {len(scores)} rows to score but {len(self.positive)} labels: the design and y "
                "must have the same rows."
            )

    @cached_property
    def mass(self) -> FloatArray:
        """The weight of each row, ones where there are none."""
        return np.ones(len(self.positive)) if self.weight is None else self.weight

    @cached_property
    def n_pos(self) -> float:
        """Mass of the positives."""
        if self.weight is None:
            return float(np.count_nonzero(self.positive))
        return float(self.weight[self.positive].sum())

    @cached_property
    def n_neg(self) -> float:
        """Mass of the negatives."""
        if self.weight is None:
            return float(len(self.positive) - np.count_nonzero(self.positive))
        return float(self.weight[~self.positive].sum())

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return self.n_pos + self.n_neg

    @cached_property
    def sign(self) -> FloatArray:
        """+1 for a positive, -1 for a negative."""
        return np.where(self.positive, 1.0, -1.0)

    @cached_property
    def whole(self) -> bool:
        """Whether each row counts a whole number of times."""
        return self.weight is None or bool((self.weight == np.rint(self.weight)).all())

    @cached_property
    def pos(self) -> ClassScores:
        """The positives as a line of mass."""
        return self._side(self.positive)

    @cached_property
    def neg(self) -> ClassScores:
        """The negatives as a line of mass."""
        return self._side(~self.positive)

    def _side(self, mask: NDArray[np.bool_]) -> ClassScores:
        if self.weight is None:
            return ClassScores(np.flatnonzero(mask))
        index = np.flatnonzero(mask & (self.weight > 0))
        return WeightedClassScores(index, self.weight[index])

    @property
    def share_dtype(self) -> type:
        """How the share of each row that a labelling marks is written: whole rows as booleans."""
        return bool if self.weight is None else float

    def coef_of(self, chosen: Share) -> FloatArray:
        """The coefficients of the cut that marks these shares of the rows as positive.

        They are ``w_i (y_i - y'_i) / 2W``; whole rows are subtracted as bytes, which is much faster.
        """
        if self.weight is None:
            return np.subtract(self.positive.view(np.int8), chosen.view(np.int8)) * (1.0 / self.total)
        return (self.positive - chosen) * (self.weight / self.total)

    def true_mass(self, chosen: Share) -> float:
        """The positive mass among these shares of the rows."""
        if self.weight is None:
            return float(np.count_nonzero(chosen & self.positive))
        return float((self.weight * self.positive) @ chosen)

    def wrong(self, predicted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rows a labelling has in error."""
        if len(predicted) != len(self.positive):
            raise InvalidInputError(f"y_pred has {len(predicted)} labels, but y has {len(self.positive)}.")
        return np.asarray(predicted != self.positive)

    def table(self, predicted: NDArray[np.bool_]) -> tuple[float, float, float, float]:
        """(tp, fp, fn, tn) of a labelling."""
        wrong = self.wrong(predicted)
        tp, fp = self._mass_of(predicted & ~wrong), self._mass_of(predicted & wrong)
        return tp, fp, max(self.n_pos - tp, 0.0), max(self.n_neg - fp, 0.0)

    def _mass_of(self, mask: NDArray[np.bool_]) -> float:
        return float(np.count_nonzero(mask) if self.weight is None else self.weight[mask].sum())


def as_positive(y: ArrayLike) -> NDArray[np.bool_]:
    """Labels as a mask of the positives."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInputError(f"y must be one label per row: got an array of shape {labels.shape}.")
    if labels.size == 0:
        raise InvalidInputError("y has no rows.")
    if labels.dtype == bool:
        return labels
    if labels.dtype.kind not in "iuf" or not np.isin(labels, (-1, 0, 1)).all():
        _refuse_labels(labels)
    positive = labels == 1
    if positive.any() and (labels == 0).any() and (labels == -1).any():
        _refuse_labels(labels)
    return positive


def _refuse_labels(labels: NDArray[np.generic]) -> None:
    found = ", ".join(str(value) for value in np.unique(labels.astype(str))[:5])
    raise InvalidInputError(
        f"y must hold two classes, written as 0/1, -1/+1 or booleans: found {found}. "
        "An estimator takes any two labels; a measure on its own does not."
    )


def as_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Weights as an array; None where every row counts the same once."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must be one number per row: got shape {weight.shape} for {n_rows} rows."
        )
    if not np.isfinite(weight).all():
        raise InvalidInputError("sample_weight contains NaN or infinity.")
    if (weight < 0).any():
        raise InvalidInputError(
            f"sample_weight must not be negative: the smallest is {weight.min():g}. "
            "Drop those rows, or give them weight 0."
        )
    if not (weight > 0).any():
        raise InvalidInputError("sample_weight is zero for every row: nothing is left to learn from.")
    return None if (weight == 1).all() else weight


class ClassScores:
    """The rows of one class without weights: a line of atoms, one a row."""

    unit = 1.0

    def __init__(self, index: IntArray) -> None:
        self.index = index
        self.levels = len(index)

    def atoms(self, values: FloatArray) -> FloatArray:
        """Values of the atoms, descending."""
        return np.sort(values)[::-1]

    def top(self, values: FloatArray, atoms: FloatArray, level: int) -> Share:
        """What share of each row is among the first `level` atoms."""
        if level == 0:
            return np.zeros(len(values), dtype=bool)
        return _fill(values, atoms[level - 1], level)

    def spread(self, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        """Hand what each atom got to the rows it is made of."""
        out = np.empty(len(values))
        out[np.argsort(values)[::-1]] = per_atom
        return out


class WeightedClassScores(ClassScores):
    """The rows of one class with weights: a line of mass, cut into equal atoms."""

    def __init__(self, index: IntArray, weight: FloatArray) -> None:
        super().__init__(index)
        self.weight = weight
        total = float(weight.sum())
        copies = bool((weight == np.rint(weight)).all()) and total <= MOST_COPIES
        self.levels = int(total) if copies else len(index)
        self.unit = 1.0 if copies else total / len(index)

    def _line(self, values: FloatArray) -> tuple[IntArray, FloatArray]:
        order = np.argsort(-values, kind="stable")
        return order, np.concatenate([[0.0], np.cumsum(self.weight[order])])

    @property
    def _cuts(self) -> FloatArray:
        return np.arange(self.levels + 1, dtype=np.float64) * self.unit

    def atoms(self, values: FloatArray) -> FloatArray:
        order, ends = self._line(values)
        sums = np.concatenate([[0.0], np.cumsum((self.weight * values)[order])])
        means = np.diff(np.interp(self._cuts, ends, sums)) / self.unit
        # Rounding in the sums must not disturb the order.
        return np.asarray(np.minimum.accumulate(means), dtype=np.float64)

    def top(self, values: FloatArray, atoms: FloatArray, level: int) -> Share:
        return top_mass(values, level * self.unit, self.weight)

    def spread(self, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        order, ends = self._line(values)
        sums = np.concatenate([[0.0], np.cumsum(per_atom * self.unit)])
        out = np.empty(len(values))
        out[order] = np.diff(np.interp(ends, self._cuts, sums)) / self.weight[order]
        return out


def top_mass(values: FloatArray, mass: float, weight: FloatArray | None = None) -> Share:
    """What share of each row is among the highest values that together weigh `mass`."""
    if weight is not None:
        order = np.argsort(-values, kind="stable")
        ends = np.cumsum(weight[order])
        safe = np.where(weight[order] > 0, weight[order], 1.0)
        share = np.zeros(len(values))
        share[order] = np.clip((mass - (ends - weight[order])) / safe, 0.0, 1.0)
        return np.where(weight > 0, share, 0.0)
    count = int(mass)
    if count == 0 or count == len(values):
        return np.full(len(values), count > 0)
    return _fill(values, np.partition(values, -count)[-count], count)


def _fill(values: FloatArray, last: float, count: int) -> NDArray[np.bool_]:
    """True for the `count` highest values, of which `last` is the lowest."""
    chosen = values >= last
    surplus = int(np.count_nonzero(chosen)) - count
    if surplus:
        chosen[np.flatnonzero(values == last)[-surplus:]] = False
    return np.asarray(chosen)


@dataclass(frozen=True)
class ScoreCurve:
    """Masses at or above each distinct score, from the highest down.

    `tp[i]` and `fp[i]` are what a threshold just below `scores[i - 1]` predicts as
    positive; index 0 is the threshold above all scores.
    """

    scores: FloatArray
    tp: FloatArray
    fp: FloatArray

    def evaluate(
        self, function: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Any]
    ) -> FloatArray:
        """A function of (tp, fp, fn, tn) at every threshold, some at a time to save memory."""
        values = np.empty(len(self.tp))
        n_pos, n_neg = self.tp[-1], self.fp[-1]
        for start in range(0, len(values), CURVE_CHUNK):
            tp, fp = self.tp[start : start + CURVE_CHUNK], self.fp[start : start + CURVE_CHUNK]
            values[start : start + CURVE_CHUNK] = function(tp, fp, n_pos - tp, n_neg - fp)
        return values

    def at_mass(self, mass: float) -> float:
        """Expected tp among the top `mass`, ties broken at random."""
        return float(np.interp(mass, self.tp + self.fp, self.tp))

    def cut_below(self, i: int) -> float:
        """A threshold t such that exactly the first `i` distinct scores are above t."""
        if i == 0:
            return float(np.nextafter(self.scores[0], np.inf))
        if i == len(self.scores):
            return float(np.nextafter(self.scores[-1], -np.inf))
        middle = 0.5 * (self.scores[i - 1] + self.scores[i])
        return float(middle if middle < self.scores[i - 1] else self.scores[i])

    def best_cut(self, values: FloatArray) -> float:
        """The threshold with the highest of `values`, one for each of tp; 0 if that is as good."""
        at_zero = int(np.count_nonzero(self.scores > 0))
        best = int(np.argmax(values))
        return 0.0 if values[at_zero] >= values[best] - 1e-12 else self.cut_below(best)

    def cut_at(self, mass: float) -> float:
        """The threshold whose number of positives is nearest to `mass`."""
        return self.cut_below(int(np.argmin(np.abs(self.tp + self.fp - mass))))


def score_curve(labels: Labels, scores: ArrayLike) -> ScoreCurve:
    """All tables that a threshold on the scores can give."""
    values = np.asarray(scores, dtype=np.float64)
    Labels.check_scores(values, len(labels.positive))
    order = np.argsort(-values)
    if labels.weight is not None:
        order = order[labels.weight[order] > 0]
    ranked, positive = values[order], labels.positive[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    if labels.weight is None:
        tp = np.cumsum(positive)[last].astype(np.float64)
        fp = last + 1.0 - tp
    else:
        # Each class by itself: a difference of sums would not be monotone to the last digit.
        mass = labels.weight[order]
        tp, fp = np.cumsum(mass * positive)[last], np.cumsum(mass * ~positive)[last]
    return ScoreCurve(ranked[last], np.append(0.0, tp), np.append(0.0, fp))
