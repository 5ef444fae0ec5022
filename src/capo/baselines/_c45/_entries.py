"""The training rows, and the features as the non-zero entries sorted by (column, value) once.

A node owns the entries of its rows, still sorted, and one stand-in for the rows that are zero in a
column. Cumulative sums over them give the weights of the left branch for all cuts of all columns at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._typing import BoolArray, FloatArray, IntArray

Reader = Callable[[int, IntArray], FloatArray]

#: C4.5's constants: values closer than this are one value; gains, weights and errors closer than this are
#: equal.
RESOLUTION, TIE = 1e-5, 1e-6


class Rows(NamedTuple):
    """The training rows: how to read them, their weights, and the weights of the positive ones."""

    read: Reader
    weight: FloatArray
    positive: FloatArray

    def totals(self, rows: IntArray) -> tuple[float, float]:
        return float(self.weight[rows].sum()), float(self.positive[rows].sum())


class NodeSplit(NamedTuple):
    """A cut of a column between two neighbouring values."""

    column: int
    lower: float
    upper: float


class Entries(NamedTuple):
    """Entries sorted by (column, value); row n stands for all rows that are zero in the column."""

    column: IntArray
    value: FloatArray
    row: IntArray

    def of(self, chosen: BoolArray) -> Entries:
        return Entries(self.column[chosen], self.value[chosen], self.row[chosen])

    def starts(self) -> IntArray:
        """Where each column begins."""
        return np.flatnonzero(np.diff(self.column, prepend=-1))

    def part(self, column: int) -> slice:
        return slice(*np.searchsorted(self.column, [column, column + 1]))

    def without_idle(self, n_rows: int, stand_in: int) -> Entries:
        """Drop the stand-ins that stand for no row, or for all of them."""
        zeros = self.row == stand_in
        if not zeros.any():
            return self
        starts = self.starts()
        length = np.diff(starts, append=len(self.column))
        n_nonzero = length - np.add.reduceat(zeros, starts, dtype=np.intp)
        idle = (n_nonzero == 0) | (n_nonzero == n_rows)
        return self.of(~(zeros & np.repeat(idle, length)))

    def cuts(self, rows: Rows, W: float, P: float, least: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """After which entries a column may be cut, and the weights up to them."""
        starts = self.starts()
        W_left = self._cumulated(rows.weight, W, starts)[:-1]
        apart = (np.diff(self.column) == 0) & (np.diff(self.value) > RESOLUTION)
        position = np.flatnonzero(apart & (W_left >= least - TIE) & (W - W_left >= least - TIE))
        P_left = self._cumulated(rows.positive, P, starts)[position]
        return position, W_left[position], np.clip(P_left, 0.0, P)

    def _cumulated(self, weight: FloatArray, total: float, starts: IntArray) -> FloatArray:
        """Weights summed up within each column; a stand-in weighs what the other entries leave."""
        w = np.append(weight, 0.0)[self.row]
        zeros = np.flatnonzero(self.row == len(weight))
        rest = np.maximum(total - np.add.reduceat(w, starts), 0.0)
        w[zeros] = rest[np.searchsorted(starts, zeros, side="right") - 1]
        summed = np.cumsum(w)
        return summed - np.repeat(summed[starts] - w[starts], np.diff(starts, append=len(w)))

    def largest_not_above(self, split: NodeSplit) -> float:
        """The largest value of the column that is not above the middle of the cut."""
        values = self.value[self.part(split.column)]
        middle = (split.lower + split.upper) / 2
        middle = middle if middle < split.upper else split.lower
        return float(values[np.searchsorted(values, middle, side="right") - 1])

    def goes_left(self, column: int, threshold: float, n: int) -> BoolArray:
        """Whether the column is at most the threshold, for the rows that the entries are of."""
        left = np.full(n + 1, threshold >= 0.0)
        part = self.part(column)
        left[self.row[part]] = self.value[part] <= threshold
        return left

    def branch(self, chosen: BoolArray, rows: IntArray) -> tuple[Entries, IntArray]:
        """The entries of the chosen rows, and these rows."""
        rows = rows[chosen[rows]]
        stand_in = len(chosen) - 1
        chosen[stand_in] = True
        return self.of(chosen[self.row]).without_idle(len(rows), stand_in), rows


def sorted_entries(X: Any, counted: BoolArray) -> Entries:
    """The non-zero entries of the rows that count, and a stand-in for the zeros of each column."""
    X = _by_columns(X)
    n, d = X.shape
    entries = Entries(np.repeat(np.arange(d), np.diff(X.indptr)), X.data, X.indices.astype(np.intp))
    entries = entries.of(counted[entries.row] & (entries.value != 0))
    column = np.concatenate([entries.column, np.arange(d)])
    value = np.concatenate([entries.value, np.zeros(d)])
    row = np.concatenate([entries.row, np.full(d, n)])
    order = np.lexsort((value, column))
    return Entries(column[order], value[order], row[order]).without_idle(int(counted.sum()), n)


def reader(X: Any) -> Reader:
    """A function that reads some rows of a column."""
    if not sparse.issparse(X):
        return lambda column, rows: X[rows, column]
    X = _by_columns(X)
    dense = np.zeros(X.shape[0])

    def read(column: int, rows: IntArray) -> FloatArray:
        part = slice(X.indptr[column], X.indptr[column + 1])
        dense[X.indices[part]] = X.data[part]
        values = dense[rows]
        dense[X.indices[part]] = 0.0
        return values

    return read


def _by_columns(X: Any) -> Any:
    """CSC with each entry once."""
    X = sparse.csc_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
