"""Slopes A'c of cuts, from the rows in which one cut differs from the one before.

Near the solution the worst labeling changes in few rows from cut to cut. The slope of a cut is then that of
the last one plus a product with these rows. Rounding errors add up, so that the slope is computed anew after
a number of such updates, from the rows that have a coefficient if they are few.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..design import BoundedDesign
from ._vectors import find_changes

#: Slopes in a row that are computed from the one before.
MAX_UPDATES = 16
#: Factor of the rounding error of the last of them: each adds a product with the difference of two cuts.
UPDATE_ERROR_FACTOR = 2.0 * MAX_UPDATES + 2.0
#: With a larger share of changed rows, a product with all rows is as fast.
MAX_CHANGED_SHARE = 0.25
#: A product with fewer numbers is cheaper than a comparison of cuts.
MIN_SIZE = 2**17
#: Rows that are compared to decide whether to compare all.
N_SAMPLED = 512
#: All rows are compared if the share among these is at most this many times as large.
SAMPLE_TOLERANCE = 1.3


class SlopeUpdates:
    """The slopes of one cut after the other; from all rows each time after `stop`."""

    def __init__(self, design: BoundedDesign) -> None:
        self.design = design
        self.enabled = design.shape[0] * design.shape[1] >= MIN_SIZE
        self.n_updates = 0
        self.coef: FloatArray | None = None
        self.slope: FloatArray

    @property
    def error_factor(self) -> float:
        """How many times larger the rounding error of a slope can be than that of a product with all rows."""
        return UPDATE_ERROR_FACTOR if self.enabled else 1.0

    def stop(self) -> None:
        """From now on compute all slopes from all rows."""
        self.enabled, self.coef = False, None

    def __call__(self, coef: FloatArray) -> FloatArray:
        """The slope of the cut with these coefficients, which must not change later on."""
        if not self.enabled:
            return self.design.rmatvec(coef)
        slope = self._update(coef)
        self.n_updates = 0 if slope is None else self.n_updates + 1
        self.coef, self.slope = coef, self._compute(coef) if slope is None else slope
        return self.slope

    def _update(self, coef: FloatArray) -> FloatArray | None:
        """The slope from that of the last cut, unless too many rows have changed."""
        if self.coef is None or self.n_updates >= MAX_UPDATES:
            return None
        changes = _few_changes(coef, self.coef)
        return None if changes is None else self.slope + self.design.rmatvec_rows(*changes)

    def _compute(self, coef: FloatArray) -> FloatArray:
        """The slope from all rows that have a coefficient."""
        changes = _few_changes(coef, None)
        return self.design.rmatvec(coef) if changes is None else self.design.rmatvec_rows(*changes)


def _few_changes(coef: FloatArray, other: FloatArray | None) -> tuple[IntArray, FloatArray] | None:
    """The rows in which the coefficients differ from others, or from 0, and by how much; None if many do."""
    limit, step = MAX_CHANGED_SHARE * len(coef), -(-len(coef) // N_SAMPLED)
    sample = slice(None, None, step)
    if (
        step * np.count_nonzero(coef[sample] != (0.0 if other is None else other[sample]))
        > SAMPLE_TOLERANCE * limit
    ):
        return None
    changes = find_changes(coef, other)
    return changes if len(changes[0]) <= limit else None
