"""The cuts found so far: R(v) >= offset_i - slope_i'v for every v.

Neither C nor v0 enters a cut, so that one bundle serves a whole path of problems. Cuts
that have had no multiplier for a number of rounds give their place to new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ._qp import cut_multipliers

#: Rounds without a multiplier after which a cut may be dropped.
PATIENCE = 15
#: A multiplier below this share of C counts as none.
ACTIVE = 1e-7


class Bundle:
    """Cuts with their Gram matrix, grown and reused in place; the first is R >= 0.

    `multipliers` are those of the last problem that was solved, by place.
    """

    def __init__(self, n_coef: int, bounded: NDArray[np.intp], capacity: int = 64) -> None:
        self.bounded = bounded
        self.slopes = np.zeros((capacity, n_coef))
        self.offsets = np.zeros(capacity)
        self.gram = np.zeros((capacity, capacity))
        self.idle = np.zeros(capacity, dtype=np.intp)
        self.live = np.zeros(capacity, dtype=bool)
        self.live[0] = True
        self.used = 1
        self.multipliers: dict[int, float] = {}

    @property
    def n_cuts(self) -> int:
        """Cuts in use."""
        return int(self.live.sum())

    def add(self, slope: FloatArray, offset: float) -> int:
        """One more cut, in the place of a dead one if there is any; returns the place."""
        if self.live.all():
            self._grow()
        at = int(np.argmin(self.live))
        self.used = max(self.used, at + 1)
        self.slopes[at], self.offsets[at] = slope, offset
        row = self.slopes[: self.used] @ slope
        self.gram[at, : self.used] = self.gram[: self.used, at] = row
        self.live[at], self.idle[at] = True, 0
        return at

    def _grow(self) -> None:
        more = len(self.offsets)
        self.slopes = np.pad(self.slopes, ((0, more), (0, 0)))
        self.gram = np.pad(self.gram, (0, more))
        self.offsets, self.idle = np.pad(self.offsets, (0, more)), np.pad(self.idle, (0, more))
        self.live = np.pad(self.live, (0, more))

    def solve(self, C: float, v0: FloatArray) -> tuple[FloatArray, float]:
        """Minimise the model 1/2 ||v - v0||^2 + C max_i (offset_i - slope_i'v) over the bounds.

        Returns the minimiser and a lower bound of the minimum: for any multipliers x of the cuts the
        least value of ``1/2 ||v - v0||^2 + x'(offsets - slopes v)``, which ``v0 + slopes'x`` has once
        it is cut off at the bounds.
        """
        at = np.flatnonzero(self.live)
        slopes = self.slopes[: self.used] if len(at) == self.used else self.slopes[at]
        offsets = self.offsets[at]
        x = cut_multipliers(slopes, offsets, lambda: self.gram[np.ix_(at, at)], v0, self.bounded, C)
        v = v0 + x @ slopes
        v[self.bounded] = np.maximum(v[self.bounded], 0.0)
        self.multipliers = dict(zip(at.tolist(), x.tolist(), strict=True))
        self._age(at, x > ACTIVE * C)
        move = v - v0
        return v, float(0.5 * (move @ move) + x @ (offsets - slopes @ v))

    def _age(self, at: NDArray[np.intp], active: NDArray[np.bool_]) -> None:
        self.idle[at] += 1
        self.idle[at[active]] = 0
        self.live &= self.idle <= PATIENCE
        self.live[0] = True
