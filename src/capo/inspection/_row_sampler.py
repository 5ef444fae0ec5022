"""Rows drawn with replacement for the bootstrap, one by one or in whole groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._typing import IntArray
from ..model_selection import check_groups

#: With fewer groups the intervals are called uncertain.
MIN_GROUPS = 20


class RowSampler:
    """Draws rows with replacement.

    Rows of one group depend on each other, so that single rows would vary less than new rows do: with groups,
    as many whole groups are drawn as there are.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    groups : array-like of shape (n_rows,), optional
        The group of each row.
    """

    def __init__(self, n_rows: int, groups: ArrayLike | None = None) -> None:
        self._n_rows, self._has_groups = n_rows, groups is not None
        names = np.arange(0) if groups is None else check_groups(groups, n_rows)
        _, codes = np.unique(names, return_inverse=True)
        self._by_group, self._sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
        self._starts = np.cumsum(self._sizes) - self._sizes

    @property
    def has_groups(self) -> bool:
        """Whether whole groups are drawn."""
        return self._has_groups

    @property
    def caution(self) -> str:
        """What limits the trust in intervals from few groups; empty if there is nothing."""
        if not self._has_groups or len(self._sizes) >= MIN_GROUPS:
            return ""
        count = "a single group" if len(self._sizes) == 1 else f"only {len(self._sizes)} groups"
        return f"the rows are from {count}, and intervals are uncertain"

    def draw(self, seed: int) -> IntArray:
        """Return the positions of the rows of one draw."""
        generator = np.random.default_rng(seed)
        if not self._has_groups:
            return generator.integers(self._n_rows, size=self._n_rows)
        drawn = generator.integers(len(self._sizes), size=len(self._sizes))
        sizes = self._sizes[drawn]
        offsets = self._starts[drawn] - (np.cumsum(sizes) - sizes)
        return np.asarray(self._by_group[np.arange(sizes.sum()) + np.repeat(offsets, sizes)])


def join_cautions(*cautions: str) -> str:
    """Return the cautions that are not empty as one text."""
    return "; ".join(filter(None, cautions))
