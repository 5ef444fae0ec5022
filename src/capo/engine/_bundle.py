"""The cuts found so far: R(v) >= offset_i - slope_i'v for every v.

Neither C nor v0 enters a cut, so that one bundle serves a whole path of problems. Cuts
whose multiplier has been 0 for a number of iterations are replaced by new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compat import FloatArray
from ._qp import solve_multipliers
from ._rounding import UNIT_ROUNDOFF, RoundingErrors, relative_error

#: Iterations with a multiplier of 0 after which a cut is dropped.
MAX_INACTIVE_ITER = 15
#: A multiplier below this share of C counts as 0.
MIN_MULTIPLIER = 1e-7


class Bundle:
    """Cuts with their Gram matrix, in arrays that grow and whose slots are used again; the first is R >= 0.

    `multipliers` are those of the last problem that was solved, by slot. `slope_errors` are bounds of the
    slopes' rounding errors, None as long as one bound serves for all of them.
    """

    def __init__(self, rounding: RoundingErrors, bounded: NDArray[np.intp], capacity: int = 64) -> None:
        self.rounding, self.bounded = rounding, bounded
        n_coef = len(rounding.column_sums)
        self.slope_errors: FloatArray | None = None
        self.slopes = np.zeros((capacity, n_coef))
        self.offsets = np.zeros(capacity)
        self.gram = np.zeros((capacity, capacity))
        self.n_inactive = np.zeros(capacity, dtype=np.intp)
        self.in_use = np.zeros(capacity, dtype=bool)
        self.in_use[0] = True
        self.n_slots = 1
        self.multipliers = np.zeros(1)

    @property
    def n_cuts(self) -> int:
        """Number of cuts in use."""
        return int(self.in_use.sum())

    def restart(self) -> None:
        """Drop all cuts but the first, and keep the slope errors of those to come."""
        self.in_use[1:] = False
        self.slope_errors = np.zeros_like(self.slopes)

    def add(self, slope: FloatArray, offset: float, coef: FloatArray) -> int:
        """Add a cut, in the slot of a dropped one if there is any; returns the slot."""
        if self.in_use.all():
            self._grow()
        slot = int(np.argmin(self.in_use))
        self.n_slots = max(self.n_slots, slot + 1)
        self.slopes[slot], self.offsets[slot] = slope, offset
        if self.slope_errors is not None:
            self.slope_errors[slot] = self.rounding.slope_error(coef)
        row = self.slopes[: self.n_slots] @ slope
        self.gram[slot, : self.n_slots] = self.gram[: self.n_slots, slot] = row
        self.in_use[slot], self.n_inactive[slot] = True, 0
        return slot

    def _grow(self) -> None:
        more = len(self.offsets)
        self.slopes = np.pad(self.slopes, ((0, more), (0, 0)))
        if self.slope_errors is not None:
            self.slope_errors = np.pad(self.slope_errors, ((0, more), (0, 0)))
        self.gram = np.pad(self.gram, (0, more))
        self.offsets = np.pad(self.offsets, (0, more))
        self.n_inactive = np.pad(self.n_inactive, (0, more))
        self.in_use = np.pad(self.in_use, (0, more))

    def solve(self, C: float, v0: FloatArray, tol: float) -> tuple[FloatArray, float]:
        """Minimize the model 1/2 ||v - v0||^2 + C max_i (offset_i - slope_i'v) over the bounds.

        Returns the minimizer and a lower bound on the minimum: for any multipliers x of the cuts the
        least value of ``1/2 ||v - v0||^2 + x'(offsets - slopes v)``, which ``v0 + slopes'x`` has once
        it is cut off at the bounds. Rounding errors are subtracted from it. `tol` is the accuracy that
        the minimum of the risk is wanted with, in units of the risk.
        """
        slots, slopes = np.flatnonzero(self.in_use), self.slopes[: self.n_slots]
        offsets = self.offsets[slots]
        x = solve_multipliers(
            lambda: slopes if len(slots) == self.n_slots else slopes[slots],
            offsets,
            lambda: self.gram[np.ix_(slots, slots)],
            v0,
            self.bounded,
            C,
            tol,
        )
        self.multipliers = np.zeros(self.n_slots)
        self.multipliers[slots] = x
        v = v0 + self.multipliers @ slopes
        if len(self.bounded):
            v[self.bounded] = np.maximum(v[self.bounded], 0.0)
        self.n_inactive[slots] += 1
        self.n_inactive[slots[x > MIN_MULTIPLIER * C]] = 0
        self.in_use &= self.n_inactive <= MAX_INACTIVE_ITER
        self.in_use[0] = True
        move = v - v0
        bound = 0.5 * (move @ move) + x @ (offsets - (slopes @ v)[slots])
        return v, float(bound - self._bound_error(slots, x, v, v0))

    def _bound_error(self, slots: NDArray[np.intp], x: FloatArray, v: FloatArray, v0: FloatArray) -> float:
        """How far the lower bound can be off: by the slopes' errors, and by those of its own sums."""
        total = float(x.sum())
        if self.slope_errors is None:
            sizes = total * self.rounding.max_slopes
            errors = self.rounding.slope_factor * self.rounding.row_sum_error * sizes
        else:
            sizes, errors = x @ np.abs(self.slopes[slots]), x @ self.slope_errors[slots]
        size, move = np.abs(v), v - v0
        off = relative_error(len(x)) * (sizes + np.abs(v0)) + UNIT_ROUNDOFF * size
        own = 0.5 * (move @ move) + x @ np.abs(self.offsets[slots]) + sizes @ size
        first_order = errors @ size + self.rounding.row_sum_error * total
        second_order = 0.5 * (errors @ errors + off @ off)
        return float(first_order + second_order + relative_error(len(x) + len(v)) * own)
