"""Folds in the order of time: rows are predicted from earlier ones only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from .._typing import IntArray
from ..exceptions import InvalidInputError


class TimeFolds(BaseEstimator, BaseCrossValidator):
    """Hold out periods, one after the other, and train on the rows before each of them.

    The rows are cut into `n_splits` + 1 periods of about equally many rows; the first is never held out. Rows
    of the same time stay in one period. Unlike for scikit-learn's `TimeSeriesSplit`, the rows need not be
    sorted: their times are given as ``groups``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of periods that are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.model_selection import TimeFolds
    >>> times = np.array(["2024-03", "2024-01", "2024-02", "2024-02", "2024-04", "2024-01"])
    >>> for train, test in TimeFolds(2).split(times, groups=times):
    ...     print(train, test)
    [1 5] [2 3]
    [1 2 3 5] [0 4]
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = n_splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training rows and the held-out rows of each fold.

        Parameters
        ----------
        X, y : array-like
            Not used.
        groups : array-like of shape (n_samples,)
            The time of each row: numbers, dates or texts that sort by time.

        Yields
        ------
        train, test : ndarray of int
            Positions of the rows.
        """
        if groups is None:
            raise InvalidInputError("TimeFolds needs the time of each row: pass it to fit as groups.")
        _, moments = np.unique(np.asarray(groups), return_inverse=True)
        edges = self._edges(moments)
        for start, end in pairwise(edges.tolist()):
            yield np.flatnonzero(moments < start), np.flatnonzero((moments >= start) & (moments < end))

    def _edges(self, moments: IntArray) -> IntArray:
        """The first moment of each period that is held out, and the end of the last."""
        ends = np.cumsum(np.bincount(moments))
        targets = np.arange(1, self.n_splits + 1) * len(moments) / (self.n_splits + 1)
        edges = np.append(np.searchsorted(ends, targets - 1e-9) + 1, len(ends))
        if len(np.unique(edges)) < self.n_splits + 1:
            raise InvalidInputError(
                f"{self.n_splits} folds need more different times than the {len(ends)} there are, or times "
                "with fewer rows: use fewer folds."
            )
        return edges
