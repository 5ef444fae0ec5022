"""Labels with their weights, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._class_scores import ClassScores, GroupedClassScores, Share, WeightedClassScores, count_atoms

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
    def check_scores(scores: FloatArray, n_rows: int) -> None:
        """Raise an error for scores of another length, NaN or infinity."""
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

    def check_length(self, scores: FloatArray) -> None:
        """Raise an error for scores of another length; cheap enough for every search."""
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
    def has_integer_weights(self) -> bool:
        """Whether all weights are integers."""
        return self.weight is None or bool((self.weight == np.rint(self.weight)).all())

    @cached_property
    def pos(self) -> ClassScores:
        """The positive rows."""
        return self._class_scores(self.positive)

    @cached_property
    def neg(self) -> ClassScores:
        """The negative rows."""
        return self._class_scores(~self.positive)

    def _class_scores(self, mask: NDArray[np.bool_]) -> ClassScores:
        if self.weight is None:
            return ClassScores(np.flatnonzero(mask))
        index = np.flatnonzero(mask & (self.weight > 0))
        return WeightedClassScores(index, self.weight[index])

    @property
    def share_dtype(self) -> type:
        """The dtype of a `Share`: bool without weights."""
        return bool if self.weight is None else float

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
    """What a group of rows needs to know of all rows: the masses and numbers of atoms of both classes.

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
        cls, masses: Sequence[float], n_rows: Sequence[float], integer: Sequence[bool], *, weighted: bool
    ) -> ClassTotals:
        """The totals from those of the negatives and the positives: (negative, positive).

        `n_rows` counts the rows with a weight above 0; `integer` tells whether all weights of a class are
        integers.
        """
        neg, pos = (
            count_atoms(mass, int(count), whole) if weighted else int(count)
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
        Those of the rows.

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
        object.__setattr__(self, "totals", totals)

    totals: ClassTotals

    @property
    def n_pos(self) -> float:
        """Mass of the positives."""
        return self.totals.n_pos

    @property
    def n_neg(self) -> float:
        """Mass of the negatives."""
        return self.totals.n_neg

    @property
    def has_integer_weights(self) -> bool:
        """Whether the weights of all rows are integers."""
        return self.totals.has_integer_weights

    @cached_property
    def pos(self) -> ClassScores:
        """The positive groups."""
        index = np.flatnonzero(self.positive)
        return GroupedClassScores(index, self.mass[index], self.totals.pos_atoms, self.totals.n_pos)

    @cached_property
    def neg(self) -> ClassScores:
        """The negative groups."""
        index = np.flatnonzero(~self.positive)
        return GroupedClassScores(index, self.mass[index], self.totals.neg_atoms, self.totals.n_neg)


def to_positive_mask(y: ArrayLike) -> NDArray[np.bool_]:
    """A mask of the positive labels."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInputError(f"y must have one label per row: got an array of shape {labels.shape}.")
    if labels.size == 0:
        raise InvalidInputError("y has no rows.")
    if labels.dtype == bool:
        return labels
    if labels.dtype.kind not in "iuf" or not np.isin(labels, (-1, 0, 1)).all():
        _raise_for_labels(labels)
    positive = labels == 1
    if positive.any() and (labels == 0).any() and (labels == -1).any():
        _raise_for_labels(labels)
    return positive


def _raise_for_labels(labels: NDArray[np.generic]) -> None:
    found = ", ".join(str(value) for value in np.unique(labels.astype(str))[:5])
    raise InvalidInputError(
        f"y must have two classes, encoded as 0/1, -1/+1 or booleans: found {found}. "
        "Estimators accept any two labels, measures do not."
    )


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
            f"sample_weight holds {weight.max():g}, too large to be summed over {n_rows} rows. Divide all "
            "weights by their mean."
        )
    return None if (weight == 1).all() else weight
