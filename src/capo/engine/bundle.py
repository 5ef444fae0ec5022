"""The cuts found so far: R(v) >= offset_i - slope_i'v for every v.

Neither C nor v0 enters a cut, so that one bundle serves a whole path of problems. Cuts
that have had no multiplier for a number of rounds give their place to new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .qp import solve_simplex_qp

FloatArray = NDArray[np.float64]

#: Rounds without a multiplier after which a cut may be dropped.
PATIENCE = 15
#: A multiplier below this share of C counts as none.
ACTIVE = 1e-9


class Bundle:
    """Cuts and bounds with their Gram matrix, grown and reused in place.

    The first rows are the bounds ``v_j >= 0`` (slope e_j, offset 0), then the trivial cut
    R >= 0, then the cuts.
    """

    def __init__(self, n_coef: int, bounded: NDArray[np.intp], capacity: int = 64) -> None:
        self.bounded, self.fixed = bounded, len(bounded)
        size = self.fixed + capacity
        self.slopes = np.zeros((size, n_coef))
        self.slopes[np.arange(self.fixed), bounded] = 1.0
        self.offsets = np.zeros(size)
        self.gram = np.zeros((size, size))
        self.gram[: self.fixed, : self.fixed] = np.eye(self.fixed)
        self.idle = np.zeros(size, dtype=np.intp)
        self.live = np.zeros(size, dtype=bool)
        self.used = self.fixed + 1  # the bounds, and R >= 0
        self.live[: self.used] = True

    @property
    def n_cuts(self) -> int:
        """Cuts in use."""
        return int(self.live.sum()) - self.fixed

    def add(self, slope: FloatArray, offset: float) -> None:
        """One more cut, in the place of a dead one if there is any."""
        if self.live.all():
            self._grow()
        at = int(np.argmin(self.live))
        self.used = max(self.used, at + 1)
        self.slopes[at], self.offsets[at] = slope, offset
        row = self.slopes[: self.used] @ slope
        self.gram[at, : self.used] = self.gram[: self.used, at] = row
        self.live[at], self.idle[at] = True, 0

    def _grow(self) -> None:
        more = len(self.offsets)
        self.slopes = np.pad(self.slopes, ((0, more), (0, 0)))
        self.gram = np.pad(self.gram, (0, more))
        self.offsets, self.idle = np.pad(self.offsets, (0, more)), np.pad(self.idle, (0, more))
        self.live = np.pad(self.live, (0, more))

    def solve(self, C: float, v0: FloatArray) -> tuple[FloatArray, float]:
        """Minimise the model 1/2 ||v - v0||^2 + C max_i (offset_i - slope_i'v) over the bounds.

        Returns the minimiser and a lower bound of the minimum.
        """
        live = np.flatnonzero(self.live)
        at = np.concatenate([live[self.fixed :], live[: self.fixed]])
        slopes = self.slopes[: self.used]
        q = self.offsets[at] - (slopes @ v0)[at]
        x = solve_simplex_qp(self.gram[np.ix_(at, at)], q, C, len(at) - self.fixed)
        full = np.zeros(len(slopes))
        full[at] = x
        move = full @ slopes
        self._age(at, x > ACTIVE * C)
        v = v0 + move
        v[self.bounded] = np.maximum(v[self.bounded], 0.0)
        return v, float(q @ x - 0.5 * (move @ move))

    def _age(self, at: NDArray[np.intp], active: NDArray[np.bool_]) -> None:
        self.idle[at] += 1
        self.idle[at[active]] = 0
        self.live &= self.idle <= PATIENCE
        self.live[: self.fixed + 1] = True
