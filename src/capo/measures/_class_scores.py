"""The scores of one class, divided into atoms of equal mass.

A row of weight w is equivalent to w copies of the row. A labeling may split such a row, as it may
split its copies: it marks the part of a class above some point of the sorted scores as positive.
`ClassScores` divides the mass of a class, its number of rows or sum of weights, into atoms of equal
mass: one per row without weights, one per copy with integer weights, and otherwise as many as there
are rows. The set of labelings is then independent of the scores, so that R is convex, and integer
weights are exactly equivalent to repeated rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._atoms import AtomArray, AtomRuns, Atoms

#: The share of each row that is marked positive: booleans without weights, numbers from 0 to 1 with them.
Share = NDArray[Any]

#: With more copies in a class than this, integer weights are treated like any others.
MAX_COPIES = 2**24
#: Up to this size, a score minus a margin of order 1 is exact enough for comparisons.
MAX_EXACT_SCORE = 2.0**20


class ClassScores:
    """The rows of one class without weights: one atom per row."""

    atom_mass = 1.0

    def __init__(self, index: IntArray) -> None:
        self.index = index
        self.n_atoms = len(index)

    def atoms(self, values: FloatArray) -> FloatArray:
        """The scores of the atoms in descending order, from those of the rows."""
        return np.sort(values)[::-1]

    def sorted_atoms(self, values: FloatArray) -> Atoms:
        """The atoms in descending order, for a search."""
        return AtomArray(self.atoms(values))

    def top(self, values: FloatArray, n_top: int, atoms: Atoms) -> Share:
        """The share of each row that is among the `n_top` highest atoms."""
        if n_top == 0:
            return np.zeros(len(values), dtype=bool)
        return _select_highest(values, atoms.values[n_top - 1], n_top)

    def atoms_to_rows(self, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        """Distribute numbers of the sorted atoms to the rows that they are made of."""
        out = np.empty(len(values))
        out[np.argsort(values)[::-1]] = per_atom
        return out


def count_atoms(mass: float, n_rows: int, integer: bool) -> int:
    """The number of atoms of rows with weights."""
    return int(mass) if integer and mass <= MAX_COPIES else n_rows


class WeightedClassScores(ClassScores):
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
        sums = _sums_from_zero((self.weight * values)[order])
        means = np.diff(np.interp(self._atom_ends, ends, sums)) / self.atom_mass
        # Rounding errors in the sums must not change the order.
        return np.asarray(np.minimum.accumulate(means), dtype=np.float64)

    def top(self, values: FloatArray, n_top: int, atoms: Atoms) -> Share:
        return top_mass(values, n_top * self.atom_mass, self.weight)

    def atoms_to_rows(self, values: FloatArray, per_atom: FloatArray) -> FloatArray:
        order, ends = self._sort(values)
        sums = np.concatenate([[0.0], np.cumsum(per_atom * self.atom_mass)])
        out = np.empty(len(values))
        out[order] = np.diff(np.interp(ends, self._atom_ends, sums)) / self.weight[order]
        return out


class GroupedClassScores(WeightedClassScores):
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


def _sums_from_zero(values: FloatArray) -> FloatArray:
    """Sums of the first 0, 1, 2, ... values, less a constant: accumulated from where the sign changes.

    The differences of sums of small values are then not lost beside large ones.
    """
    middle = int(np.count_nonzero(values > 0))
    below = np.cumsum(values[:middle][::-1])[::-1]
    return np.concatenate([-below, [0.0], np.cumsum(values[middle:])])


def shifted_keys(scores: FloatArray, shift: NDArray[Any]) -> FloatArray:
    """Numbers in the order of ``scores - shift``.

    Where scores are so large that the shift is lost in rounding they are ranks, by the difference and then
    by the part of it that was rounded off.
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
