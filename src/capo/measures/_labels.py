"""Labels with their weights, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._compat import ArrayLike, FloatArray, IntArray, NDArray
from ..exceptions import InvalidInputError


class AtomArray:
    """The atoms of a class in descending order of their scores: one score per atom."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def count_above_zero(self) -> tuple[int, int]:
        """Numbers of atoms that are entirely, and at least partly, above 0."""
        count = _count_positive(self.values)
        return count, count

    def gains(self, start: int, stop: int | None, factor: float, slope: float) -> Gains:
        """Prefix sums of the atoms from `start` to `stop`, times a factor, and of a slope for each atom."""
        sums = sums_from_peak(self.values[start:stop], factor)
        return sums + slope * np.arange(len(sums)) if slope else sums


class RunGains:
    """Prefix sums of runs, linear between the ends of the runs: like an array of one sum per atom.

    Parameters
    ----------
    ends : ndarray
        Mass up to the end of each run, from 0, in atoms from the first one.
    sums : ndarray
        The sums at the ends.
    n_atoms : int
        Number of atoms.
    """

    def __init__(self, ends: FloatArray, sums: FloatArray, n_atoms: int) -> None:
        self.ends, self.sums, self.n_atoms = ends, sums, n_atoms

    def __len__(self) -> int:
        return self.n_atoms + 1

    def __getitem__(self, index: Any) -> Any:
        return np.interp(index, self.ends, self.sums)

    def item(self, index: int, /) -> float:
        return float(np.interp(index, self.ends, self.sums))

    def argmax(self) -> int:
        end = self.ends[np.argmax(self.sums)]
        near = np.clip(np.array([np.floor(end), np.ceil(end)]), 0, self.n_atoms).astype(np.intp)
        return int(near[np.argmax(self[near])])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return self[np.arange(len(self))]


#: One sum per atom: a concave sequence, up to a constant.
Gains = FloatArray | RunGains


class AtomRuns(AtomArray):
    """Runs of equal scores, in descending order, with their masses in atoms."""

    def __init__(self, values: FloatArray, masses: FloatArray, n_atoms: int) -> None:
        super().__init__(values)
        self.n_atoms, self.ends = n_atoms, np.append(0.0, np.cumsum(masses))
        self.ends[-1] = n_atoms  # without the rounding error of the sum

    def count_above_zero(self) -> tuple[int, int]:
        end = float(self.ends[_count_positive(self.values)])
        return int(np.floor(end)), int(np.ceil(end))

    def gains(self, start: int, stop: int | None, factor: float, slope: float) -> RunGains:
        n_atoms, ends = (self.n_atoms if stop is None else stop) - start, self.ends - start
        sums = sums_from_peak(self.values, factor * np.diff(self.ends))
        return RunGains(ends, sums + slope * ends if slope else sums, n_atoms)


def _count_positive(descending: FloatArray) -> int:
    """The number of values above 0."""
    return len(descending) - int(np.searchsorted(descending[::-1], 0.0, side="right"))


def sums_from_peak(descending: FloatArray, factor: float | FloatArray) -> FloatArray:
    """Sums of the first 0, 1, 2, ... values times a factor, minus the largest of these sums.

    They are accumulated from the peak, where values change their sign, in both directions. A sum that is near
    the peak is then exact to the last digits however large the values further away are.
    """
    peak = _count_positive(descending)
    values = descending * factor
    sums = np.empty(len(values) + 1)
    sums[peak] = 0.0
    np.cumsum(values[peak:], out=sums[peak + 1 :])
    np.cumsum(values[:peak][::-1], out=sums[:peak][::-1])
    np.negative(sums[:peak], out=sums[:peak])
    return sums


#: The share of each row that is marked positive: booleans without weights, numbers from 0 to 1 with them.
Share = NDArray[Any]

#: With more copies in a class than this, integer weights are treated like other weights.
MAX_COPIES = 2**24
#: Up to this size, a score minus a margin of order 1 is exact enough for comparisons.
MAX_EXACT_SCORE = 2.0**20


class ClassAtoms:
    """The rows of one class without weights: one atom per row."""

    atom_mass = 1.0

    def __init__(self, index: IntArray) -> None:
        self.index = index
        self.n_atoms = len(index)

    def atoms(self, values: FloatArray) -> FloatArray:
        """The scores of the atoms in descending order, from those of the rows."""
        return np.sort(values)[::-1]

    def sorted_atoms(self, values: FloatArray) -> AtomArray:
        """The atoms in descending order, for a search."""
        return AtomArray(self.atoms(values))

    def top(self, values: FloatArray, n_top: int, atoms: AtomArray) -> Share:
        """The share of each row that is among the `n_top` highest atoms."""
        if n_top == 0:
            return np.zeros(len(values), dtype=bool)
        return _select_highest(values, atoms.values[n_top - 1], n_top)

    def atoms_to_rows(self, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        """Distribute numbers of the sorted atoms to the rows of the atoms, by their weights."""
        out = np.empty(len(values))
        out[np.argsort(values)[::-1]] = per_atom
        return out


def count_atoms(mass: float, n_rows: int, integer: bool) -> int:
    """The number of atoms of rows with weights."""
    return int(mass) if integer and mass <= MAX_COPIES else n_rows


class WeightedClassAtoms(ClassAtoms):
    """The rows of one class with weights, divided into atoms of equal mass."""

    def __init__(self, index: IntArray, weight: FloatArray) -> None:
        super().__init__(index)
        self.weight = weight
        total = float(weight.sum())
        integer = bool((weight == np.rint(weight)).all())
        self.copies = integer and total <= MAX_COPIES
        self.n_atoms = count_atoms(total, len(index), integer)
        self.atom_mass = 1.0 if self.copies else total / len(index)

    def _sort(self, values: FloatArray) -> tuple[IntArray, FloatArray]:
        order = np.argsort(-values, kind="stable")
        return order, np.concatenate([[0.0], np.cumsum(self.weight[order])])

    @property
    def _atom_ends(self) -> FloatArray:
        return np.arange(self.n_atoms + 1, dtype=np.float64) * self.atom_mass

    def atoms(self, values: FloatArray) -> FloatArray:
        order, ends = self._sort(values)
        if self.copies:
            return np.repeat(values[order], self.weight[order].astype(np.intp))
        sums = sums_from_peak(values[order], self.weight[order])
        means = np.diff(np.interp(self._atom_ends, ends, sums)) / self.atom_mass
        # Rounding errors in the sums must not change the order.
        return np.asarray(np.minimum.accumulate(means), dtype=np.float64)

    def top(self, values: FloatArray, n_top: int, atoms: AtomArray) -> Share:
        return top_mass(values, n_top * self.atom_mass, self.weight)

    def atoms_to_rows(self, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        order, ends = self._sort(values)
        sums = np.concatenate([[0.0], np.cumsum(per_atom * self.atom_mass)])
        out = np.empty(len(values))
        out[order] = np.diff(np.interp(ends, self._atom_ends, sums)) / self.weight[order]
        out *= self.weight / self.atom_mass
        return out


class GroupedClassAtoms(WeightedClassAtoms):
    """Groups of rows of one class, which are divided into the atoms of the rows."""

    def __init__(self, index: IntArray, weight: FloatArray, n_atoms: int, mass: float) -> None:
        self.index, self.weight, self.n_atoms = index, weight, n_atoms
        self.copies, self.atom_mass = False, mass / n_atoms

    def sorted_atoms(self, values: FloatArray) -> AtomRuns:
        order = np.argsort(-values, kind="stable")
        return AtomRuns(values[order], self.weight[order] / self.atom_mass, self.n_atoms)

    def atoms(self, values: FloatArray) -> FloatArray:
        if self.n_atoms > MAX_COPIES:
            raise InvalidInputError(
                f"average precision takes one number per row, and a class with {self.n_atoms:,} rows has "
                f"more than {MAX_COPIES:,}. Use 'roc_auc' or 'partial_auc', or a sample of the rows."
            )
        return super().atoms(values)


def shifted_keys(scores: FloatArray, shift: NDArray[Any]) -> FloatArray:
    """Numbers with the same order as ``scores - shift``.

    If scores are so large that rounding would lose the shift, they are ranks by the difference and, among
    ties, by its rounding error.
    """
    keys = scores - shift
    if max(keys.max(), -keys.min()) <= MAX_EXACT_SCORE:
        return keys
    # The error of a difference is a float64 itself (Knuth's two-sum).
    part = keys - scores
    error = (scores - (keys - part)) - (shift + part)
    order = np.lexsort((error, keys))
    keys[order] = np.arange(len(keys))
    return keys


def top_mass(values: FloatArray, mass: float, weight: FloatArray | None = None) -> Share:
    """The share of each row that is among the highest values with a total weight of `mass`."""
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
    return _select_highest(values, np.partition(values, -count)[-count], count)


def _select_highest(values: FloatArray, lowest: float, count: int) -> NDArray[np.bool_]:
    """A mask of the `count` highest values, given the lowest of them."""
    mask = values >= lowest
    surplus = int(np.count_nonzero(mask)) - count
    if surplus:
        mask[np.flatnonzero(values == lowest)[-surplus:]] = False
    return np.asarray(mask)


#: The largest sum of weights: products of two sums must not overflow.
MAX_TOTAL_WEIGHT = 1e150


@dataclass(frozen=True)
class Labels:
    """A mask of the positive rows, and the weights.

    `weight` is None if all weights are 1. Masses (`n_pos`, `n_neg`, `total`) are numbers of rows, or
    sums of weights.
    """

    positive: NDArray[np.bool_]
    weight: FloatArray | None

    @classmethod
    def from_arrays(
        cls, y: ArrayLike, sample_weight: ArrayLike | None = None, *, both_classes: bool = True
    ) -> Labels:
        """Check labels and weights; with `both_classes`, each class must have rows of positive weight."""
        positive = to_positive_mask(y)
        labels = cls(positive, check_weight(sample_weight, len(positive)))
        if not both_classes:
            return labels
        for mass, name in ((labels.n_pos, "positive"), (labels.n_neg, "negative")):
            if mass <= 0:
                raise InvalidInputError(
                    f"y has only one class: no {name} row"
                    f"{' with a weight above 0' if sample_weight is not None else ''} among "
                    f"{len(labels.positive)}. A measure needs both classes; check the labels or the split."
                )
        return labels

    @staticmethod
    def check_scores(scores: ArrayLike, n_rows: int) -> FloatArray:
        """Return scores as an array, or raise an error for a wrong length, NaN or infinity."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if scores.ndim != 1 or len(scores) != n_rows:
            raise InvalidInputError(
                f"scores must have one number per row: got shape {scores.shape} for {n_rows} rows of y."
            )
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise InvalidInputError(
                f"scores contain NaN or infinity (first at row {bad}: {scores[bad]}). "
                "Remove or impute these rows before scoring."
            )
        return scores

    def check_length(self, scores: FloatArray) -> None:
        """Raise an error for a wrong number of scores; cheap enough for every search."""
        if len(scores) != len(self.positive):
            raise InvalidInputError(
                f"there are {len(scores)} rows to score but {len(self.positive)} labels: the design and y "
                "must have the same rows."
            )

    @cached_property
    def mass(self) -> FloatArray:
        """The weight of each row, 1 without weights."""
        return np.ones(len(self.positive)) if self.weight is None else self.weight

    @cached_property
    def n_pos(self) -> float:
        """Mass of the positives."""
        return self._total_mass(self.positive)

    @cached_property
    def n_neg(self) -> float:
        """Mass of the negatives."""
        return self._total_mass(~self.positive)

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return self.n_pos + self.n_neg

    @cached_property
    def sign(self) -> FloatArray:
        """+1 for a positive, -1 for a negative."""
        return np.where(self.positive, 1.0, -1.0)

    @cached_property
    def has_integer_weights(self) -> bool:
        """Whether all weights are integers."""
        return self.weight is None or bool((self.weight == np.rint(self.weight)).all())

    @cached_property
    def pos(self) -> ClassAtoms:
        """The positive rows, or groups of rows."""
        return self._class_atoms(is_positive=True)

    @cached_property
    def neg(self) -> ClassAtoms:
        """The negative rows, or groups of rows."""
        return self._class_atoms(is_positive=False)

    def _class_atoms(self, is_positive: bool) -> ClassAtoms:
        mask = self.positive == is_positive
        if self.weight is None:
            return ClassAtoms(np.flatnonzero(mask))
        index = np.flatnonzero(mask & (self.weight > 0))
        return WeightedClassAtoms(index, self.weight[index])

    def cut_coef(self, share: Share) -> FloatArray:
        """Coefficients ``w_i (y_i - y'_i) / 2W`` of the cut whose labeling marks `share` as positive.

        Without weights the labels are subtracted as bytes, which is much faster.
        """
        if self.weight is None:
            return np.subtract(self.positive.view(np.int8), share.view(np.int8)) * (1.0 / self.total)
        return (self.positive - share) * (self.weight / self.total)

    def positive_mass(self, share: Share) -> float:
        """Mass of the positives within the share of each row."""
        if self.weight is None:
            return float(np.count_nonzero(share & self.positive))
        return float((self.weight * self.positive) @ share)

    def error_mask(self, predicted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A mask of the rows with wrong labels."""
        if len(predicted) != len(self.positive):
            raise InvalidInputError(f"y_pred has {len(predicted)} labels, but y has {len(self.positive)}.")
        return np.asarray(predicted != self.positive)

    def confusion(self, predicted: NDArray[np.bool_]) -> tuple[float, float, float, float]:
        """The confusion matrix of a labeling, as (tp, fp, fn, tn)."""
        errors = self.error_mask(predicted)
        tp, fp = self._total_mass(predicted & ~errors), self._total_mass(predicted & errors)
        return tp, fp, max(self.n_pos - tp, 0.0), max(self.n_neg - fp, 0.0)

    def _total_mass(self, mask: NDArray[np.bool_]) -> float:
        return float(np.count_nonzero(mask) if self.weight is None else self.weight[mask].sum())


@dataclass(frozen=True)
class ClassTotals:
    """Totals of all rows that a group of rows needs: masses and numbers of atoms of both classes.

    Parameters
    ----------
    n_pos, n_neg : float
        Mass of the positives and of the negatives.
    pos_atoms, neg_atoms : int
        Number of atoms of equal mass that each class is divided into.
    has_integer_weights : bool
        Whether the weights of all rows are integers.
    """

    n_pos: float
    n_neg: float
    pos_atoms: int
    neg_atoms: int
    has_integer_weights: bool

    @classmethod
    def from_labels(cls, labels: Labels) -> ClassTotals:
        """The totals of the rows themselves."""
        pos, neg = labels.pos.n_atoms, labels.neg.n_atoms
        return cls(labels.n_pos, labels.n_neg, pos, neg, labels.has_integer_weights)

    @classmethod
    def from_counts(
        cls, masses: Sequence[float], n_rows: Sequence[float], integer: Sequence[bool]
    ) -> ClassTotals:
        """The totals from pairs of numbers for the negatives and the positives.

        `n_rows` counts the rows with a weight above 0; `integer` states whether all weights of a class are
        integers.
        """
        neg, pos = (
            count_atoms(mass, int(count), whole)
            for mass, count, whole in zip(masses, n_rows, integer, strict=True)
        )
        return cls(masses[1], masses[0], pos, neg, all(integer))


class GroupedLabels(Labels):
    """Labels of groups of rows that share a label and a score; the weight of a group is its mass.

    An oracle for them finds the same cut as one for the rows, with the sum of the rows' coefficients in each
    group, in time and memory that depend on the number of groups.

    Parameters
    ----------
    positive : ndarray of bool
        The label of each group.
    weight : ndarray
        The mass of each group.
    totals : ClassTotals
        The totals of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import measures
    >>> from capo.measures import ClassTotals, GroupedLabels, Labels
    >>> rows = Labels.from_arrays([1, 1, 1, 0, 0])
    >>> f1 = measures.get("f1")
    >>> scores = np.array([1.0, 1.0, 0.2, 0.2, 0.2])
    >>> round(f1.oracle_for(rows)(scores).value(scores), 12)
    0.64
    >>> groups = GroupedLabels(
    ...     np.array([True, True, False]), np.array([2.0, 1.0, 2.0]), ClassTotals.from_labels(rows)
    ... )
    >>> scores = np.array([1.0, 0.2, 0.2])
    >>> round(f1.oracle_for(groups)(scores).value(scores), 12)
    0.64
    """

    def __init__(self, positive: NDArray[np.bool_], weight: FloatArray, totals: ClassTotals) -> None:
        super().__init__(positive, weight)
        vars(self).update(
            totals=totals,
            n_pos=totals.n_pos,
            n_neg=totals.n_neg,
            has_integer_weights=totals.has_integer_weights,
        )

    totals: ClassTotals

    def _class_atoms(self, is_positive: bool) -> ClassAtoms:
        index = np.flatnonzero(self.positive == is_positive)
        n_atoms = self.totals.pos_atoms if is_positive else self.totals.neg_atoms
        mass = self.n_pos if is_positive else self.n_neg
        return GroupedClassAtoms(index, self.mass[index], n_atoms, mass)


def to_positive_mask(y: ArrayLike) -> NDArray[np.bool_]:
    """A mask of the positive labels."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInputError(f"y must have one label per row: got an array of shape {labels.shape}.")
    if labels.size == 0:
        raise InvalidInputError("y has no rows.")
    if labels.dtype == bool:
        return labels
    is_known = labels.dtype.kind in "iuf" and np.isin(labels, (-1, 0, 1)).all()
    if not is_known or all((labels == value).any() for value in (-1, 0, 1)):
        found = ", ".join(str(value) for value in np.unique(labels.astype(str))[:5])
        raise InvalidInputError(
            f"y must have two classes, encoded as 0/1, -1/+1 or booleans: found {found}. "
            "Estimators accept any two labels, measures do not."
        )
    return labels == 1


def check_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Weights as an array; None if all are 1."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must have one number per row: got shape {weight.shape} for {n_rows} rows."
        )
    if not np.isfinite(weight).all():
        raise InvalidInputError("sample_weight contains NaN or infinity.")
    if (weight < 0).any():
        raise InvalidInputError(
            f"sample_weight must not be negative: the smallest is {weight.min():g}. "
            "Remove those rows, or give them weight 0."
        )
    if not (weight > 0).any():
        raise InvalidInputError("sample_weight is zero for every row: at least one must be above 0.")
    if weight.max() > MAX_TOTAL_WEIGHT / n_rows:
        raise InvalidInputError(
            f"sample_weight contains {weight.max():g}, which is too large to be summed over {n_rows} rows. "
            "Divide all weights by their mean."
        )
    return None if (weight == 1).all() else weight


#: Number of points of a curve that are evaluated together.
CURVE_CHUNK_SIZE = 2**16


@dataclass(frozen=True)
class ScoreCurve:
    """True and false positives at all thresholds, for the distinct scores in descending order.

    `tp[i]` and `fp[i]` are the masses predicted positive by a threshold just below `scores[i - 1]`;
    index 0 is a threshold above all scores.
    """

    scores: FloatArray
    tp: FloatArray
    fp: FloatArray

    def evaluate(
        self, function: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Any]
    ) -> FloatArray:
        """A function of (tp, fp, fn, tn) at every threshold, computed in chunks to save memory."""
        values = np.empty(len(self.tp))
        n_pos, n_neg = self.tp[-1], self.fp[-1]
        for start in range(0, len(values), CURVE_CHUNK_SIZE):
            tp, fp = self.tp[start : start + CURVE_CHUNK_SIZE], self.fp[start : start + CURVE_CHUNK_SIZE]
            values[start : start + CURVE_CHUNK_SIZE] = function(tp, fp, n_pos - tp, n_neg - fp)
        return values

    def threshold_below(self, i: int) -> float:
        """A threshold that exactly the first `i` distinct scores exceed."""
        if i == 0:
            return float(np.nextafter(self.scores[0], np.inf))
        if i == len(self.scores):
            return float(np.nextafter(self.scores[-1], -np.inf))
        middle = 0.5 * self.scores[i - 1] + 0.5 * self.scores[i]
        return float(middle if middle < self.scores[i - 1] else self.scores[i])

    def best_threshold(self, values: FloatArray) -> float:
        """The threshold with the highest of `values`, one per index of `tp`; 0 if it is as good."""
        at_zero = int(np.count_nonzero(self.scores > 0))
        best = int(np.argmax(values))
        return 0.0 if values[at_zero] >= values[best] - 1e-12 else self.threshold_below(best)

    def threshold_at_mass(self, mass: float) -> float:
        """The threshold whose mass of predicted positives is nearest to `mass`."""
        return self.threshold_below(int(np.argmin(np.abs(self.tp + self.fp - mass))))


def score_curve(labels: Labels, scores: ArrayLike) -> ScoreCurve:
    """The confusion matrices of all thresholds on the scores."""
    values = Labels.check_scores(scores, len(labels.positive))
    order = np.argsort(-values)
    if labels.weight is not None:
        order = order[labels.weight[order] > 0]
    ranked, positive = values[order], labels.positive[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    if labels.weight is None:
        tp = np.cumsum(positive)[last].astype(np.float64)
        fp = last + 1.0 - tp
    else:
        # One sum per class: rounding could make a difference of sums non-monotone.
        mass = labels.weight[order]
        tp, fp = np.cumsum(mass * positive)[last], np.cumsum(mass * ~positive)[last]
    return ScoreCurve(ranked[last], np.append(0.0, tp), np.append(0.0, fp))
