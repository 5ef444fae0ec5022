"""The rows that auxiliaries are trained on, in folds and without pairs of folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..model_selection import Split, fold_numbers, pairs_of_folds

#: Models without pairs of folds are trained up to this many rows times classes or labels.
MAX_OUTPUTS_FOR_PAIRS = 10_000


@dataclass(frozen=True)
class TrainingSet:
    """The rows that auxiliaries are trained on.

    Attributes
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The table.
    targets : ndarray of int, shape (n_samples,) or (n_samples, n_labels)
        What auxiliaries are trained on: the position of each row's class, or a label matrix of 0 and 1.
    classes : ndarray of shape (n_classes,) or (n_labels,)
        The user's labels, which auxiliaries that came fitted may know, or the names of the labels.
    splits : list of tuple
        Training and held-out rows of each fold; together the folds hold out a row at most once.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows: those of weight 0 are not counted.
    further_splits : sequence of list of tuple
        The folds of further repeats, if every row is held out several times.
    """

    X: Any
    targets: NDArray[np.int64]
    classes: NDArray[Any]
    splits: Sequence[Split]
    weight: FloatArray | None = None
    further_splits: Sequence[Sequence[Split]] = ()

    @property
    def repeats(self) -> list[TrainingSet]:
        """The rows with the folds of each repeat."""
        return [replace(self, splits=each, further_splits=()) for each in (self.splits, *self.further_splits)]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.targets)

    @property
    def held_out_rows(self) -> IntArray:
        """The rows that a fold holds out, in their order."""
        return np.sort(np.concatenate([test for _, test in self.splits]))

    def rows_without(self, j: int, k: int) -> IntArray:
        """Return the rows that are trained on in both of two folds."""
        return np.intersect1d(self.splits[j][0], self.splits[k][0], assume_unique=True)

    @property
    def fold_pairs(self) -> list[tuple[int, int]]:
        """The pairs of folds that models are trained without; none if a model would lack a class.

        For label matrices it is enough that they can be learned for one label.
        """
        if self.n_rows * len(self.classes) > MAX_OUTPUTS_FOR_PAIRS:
            return []
        folds = fold_numbers(self.splits, self.n_rows)
        columns = np.atleast_2d(self.targets.T)
        pairs = next(
            (found for column in columns if (found := pairs_of_folds(folds, column, self.weight))), []
        )
        return pairs if all(self._has_two_classes(self.rows_without(*pair)) for pair in pairs) else []

    def _has_two_classes(self, rows: IntArray) -> bool:
        return len(np.unique(self.targets[rows])) > 1
