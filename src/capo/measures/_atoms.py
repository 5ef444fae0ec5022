"""The sorted atoms of a class, and the prefix sums of their scores that the searches maximize.

`AtomArray` holds one score per atom. `AtomRuns` holds runs of equal scores with their masses, so that its
size is the number of runs whatever the number of atoms is.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray


class Gains(Protocol):
    """A concave sequence: the prefix sums of some atoms, up to a constant."""

    def __len__(self) -> int:
        """Number of atoms plus 1."""

    def __getitem__(self, index: IntArray) -> FloatArray:
        """The sums of the first ``index`` atoms."""

    def item(self, index: int, /) -> float:
        """The sum of the first `index` atoms."""

    def tilt(self, slope: float) -> None:
        """Add `slope` for each atom, in place."""

    def peak(self) -> int:
        """Index of the largest sum."""

    def to_array(self) -> FloatArray:
        """All sums."""


class Atoms(Protocol):
    """The atoms of a class in descending order of their scores, one value per atom or run."""

    values: FloatArray

    def count_above_zero(self) -> tuple[int, int]:
        """Numbers of atoms that are entirely, and at least partly, above 0."""

    def gains(self, start: int, stop: int | None, factor: float) -> Gains:
        """The prefix sums of the atoms from `start` to `stop`, times a factor."""


class ArrayGains:
    """Prefix sums in an array."""

    def __init__(self, sums: FloatArray) -> None:
        self.sums = sums
        self.item: Any = sums.item

    def __len__(self) -> int:
        return len(self.sums)

    def __getitem__(self, index: IntArray) -> FloatArray:
        return self.sums[index]

    def tilt(self, slope: float) -> None:
        np.add(self.sums, slope * np.arange(len(self.sums)), out=self.sums)

    def peak(self) -> int:
        return int(np.argmax(self.sums))

    def to_array(self) -> FloatArray:
        return self.sums


class AtomArray:
    """One score per atom, in descending order."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def count_above_zero(self) -> tuple[int, int]:
        count = _count_positive(self.values)
        return count, count

    def gains(self, start: int, stop: int | None, factor: float) -> ArrayGains:
        return ArrayGains(sums_from_peak(self.values[start:stop], factor))


class RunGains:
    """Prefix sums of runs: linear between the ends of the runs.

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

    def __getitem__(self, index: IntArray) -> FloatArray:
        return np.interp(index, self.ends, self.sums)

    def item(self, index: int, /) -> float:
        return float(np.interp(index, self.ends, self.sums))

    def tilt(self, slope: float) -> None:
        self.sums = self.sums + slope * self.ends

    def peak(self) -> int:
        end = self.ends[np.argmax(self.sums)]
        near = np.clip(np.array([np.floor(end), np.ceil(end)]), 0, self.n_atoms).astype(np.intp)
        return int(near[np.argmax(self[near])])

    def to_array(self) -> FloatArray:
        return self[np.arange(len(self))]


class AtomRuns:
    """Runs of equal scores, in descending order, with their masses in atoms."""

    def __init__(self, values: FloatArray, masses: FloatArray, n_atoms: int) -> None:
        self.values, self.n_atoms = values, n_atoms
        self.ends = np.append(0.0, np.cumsum(masses))
        self.ends[-1] = n_atoms  # without the rounding error of the sum

    def count_above_zero(self) -> tuple[int, int]:
        end = float(self.ends[_count_positive(self.values)])
        return int(np.floor(end)), int(np.ceil(end))

    def gains(self, start: int, stop: int | None, factor: float) -> RunGains:
        n_atoms = (self.n_atoms if stop is None else stop) - start
        sums = sums_from_peak(self.values, factor * np.diff(self.ends))
        return RunGains(self.ends - start, sums, n_atoms)


def _count_positive(descending: FloatArray) -> int:
    """The number of values above 0."""
    return len(descending) - int(np.searchsorted(descending[::-1], 0.0, side="right"))


def sums_from_peak(descending: FloatArray, factor: float | FloatArray) -> FloatArray:
    """Sums of the first 0, 1, 2, ... values times a factor, minus the largest of these sums.

    They are accumulated from the peak, where values change their sign, to both sides. A sum that is near
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
