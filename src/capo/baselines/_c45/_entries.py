"""The training data as non-zero entries, sorted once by (column, value).

Each node of the tree holds the entries of its rows, still sorted, and for each column one placeholder for
all rows that are zero there. Cumulative sums give the weights of the left branch for all cuts of all columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._typing import BoolArray, FloatArray, IntArray

Reader = Callable[[int, IntArray], FloatArray]

#: C4.5's tolerance for values of a feature.
RESOLUTION = 1e-5
#: C4.5's tolerance for gains, weights and errors.
TIE = 1e-6


class TrainingRows(NamedTuple):
    """Access to the training rows, with their weights; `positive` has 0 for rows of the negative class."""

    read: Reader
    weight: FloatArray
    positive: FloatArray

    def totals(self, rows: IntArray) -> tuple[float, float]:
        """Total weight, and that of the positive class, of some rows."""
        return float(self.weight[rows].sum()), float(self.positive[rows].sum())


class NodeSplit(NamedTuple):
    """A cut of a column between two neighboring values."""

    column: int
    lower: float
    upper: float


class Entries(NamedTuple):
    """Entries sorted by (column, value); an entry of row n is the placeholder for the zeros of its column."""

    column: IntArray
    value: FloatArray
    row: IntArray

    def select(self, mask: BoolArray) -> Entries:
        return Entries(self.column[mask], self.value[mask], self.row[mask])

    def starts(self) -> IntArray:
        """Position of the first entry of each column."""
        return np.flatnonzero(np.diff(self.column, prepend=-1))

    def column_slice(self, column: int) -> slice:
        return slice(*np.searchsorted(self.column, [column, column + 1]))

    def drop_idle_zeros(self, n_rows: int, placeholder: int) -> Entries:
        """Drop the placeholders of columns without zeros, or with nothing but zeros."""
        zeros = self.row == placeholder
        if not zeros.any():
            return self
        starts = self.starts()
        length = np.diff(starts, append=len(self.column))
        n_nonzero = length - np.add.reduceat(zeros, starts, dtype=np.intp)
        idle = (n_nonzero == 0) | (n_nonzero == n_rows)
        return self.select(~(zeros & np.repeat(idle, length)))

    def cuts(
        self, rows: TrainingRows, W: float, P: float, min_weight: float
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Positions of the entries after which a column may be cut, and the weights up to them."""
        starts = self.starts()
        W_left = self._cumulative_weights(rows.weight, W, starts)[:-1]
        distinct = (np.diff(self.column) == 0) & (np.diff(self.value) > RESOLUTION)
        position = np.flatnonzero(distinct & (W_left >= min_weight - TIE) & (W - W_left >= min_weight - TIE))
        P_left = self._cumulative_weights(rows.positive, P, starts)[position]
        return position, W_left[position], np.clip(P_left, 0.0, P)

    def _cumulative_weights(self, weight: FloatArray, total: float, starts: IntArray) -> FloatArray:
        """Cumulative weights within each column; a placeholder has the weight of the rows without entries."""
        w = np.append(weight, 0.0)[self.row]
        zeros = np.flatnonzero(self.row == len(weight))
        rest = np.maximum(total - np.add.reduceat(w, starts), 0.0)
        w[zeros] = rest[np.searchsorted(starts, zeros, side="right") - 1]
        sums = np.cumsum(w)
        return sums - np.repeat(sums[starts] - w[starts], np.diff(starts, append=len(w)))

    def threshold_for(self, split: NodeSplit) -> float:
        """The largest value of the column that is not above the midpoint of the split."""
        values = self.value[self.column_slice(split.column)]
        middle = (split.lower + split.upper) / 2
        middle = middle if middle < split.upper else split.lower
        return float(values[np.searchsorted(values, middle, side="right") - 1])

    def goes_left(self, column: int, threshold: float, n: int) -> BoolArray:
        """Mask over the n rows and the placeholder: whether the column is at most the threshold."""
        left = np.full(n + 1, threshold >= 0.0)
        here = self.column_slice(column)
        left[self.row[here]] = self.value[here] <= threshold
        return left

    def branch(self, mask: BoolArray, rows: IntArray) -> tuple[Entries, IntArray]:
        """The entries of a branch and its rows: those of `rows` where the mask is true."""
        rows = rows[mask[rows]]
        placeholder = len(mask) - 1
        mask[placeholder] = True
        return self.select(mask[self.row]).drop_idle_zeros(len(rows), placeholder), rows


def sort_entries(X: Any, mask: BoolArray) -> Entries:
    """The sorted non-zero entries of the rows in the mask, and a placeholder for the zeros of each column."""
    X = _to_csc(X)
    n, d = X.shape
    entries = Entries(np.repeat(np.arange(d), np.diff(X.indptr)), X.data, X.indices.astype(np.intp))
    entries = entries.select(mask[entries.row] & (entries.value != 0))
    column = np.concatenate([entries.column, np.arange(d)])
    value = np.concatenate([entries.value, np.zeros(d)])
    row = np.concatenate([entries.row, np.full(d, n)])
    order = np.lexsort((value, column))
    return Entries(column[order], value[order], row[order]).drop_idle_zeros(int(mask.sum()), n)


def column_reader(X: Any) -> Reader:
    """A function that returns the values of a column for some rows."""
    if not sparse.issparse(X):
        return lambda column, rows: X[rows, column]
    X = _to_csc(X)
    dense = np.zeros(X.shape[0])

    def read(column: int, rows: IntArray) -> FloatArray:
        here = slice(X.indptr[column], X.indptr[column + 1])
        dense[X.indices[here]] = X.data[here]
        values = dense[rows]
        dense[X.indices[here]] = 0.0
        return values

    return read


def _to_csc(X: Any) -> Any:
    """The matrix in CSC format, without duplicate entries."""
    X = sparse.csc_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
