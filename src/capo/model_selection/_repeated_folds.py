"""Folds that are drawn several times, so that every row is held out several times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from .._typing import IntArray
from ..exceptions import InvalidInputError
from ._folds import split_folds


class RepeatedFolds(BaseEstimator, BaseCrossValidator):
    """Stratified folds of shuffled rows or groups, drawn several times.

    Like scikit-learn's `RepeatedStratifiedKFold`, but groups are held out together if ``groups`` are given.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds of each repeat.
    n_repeats : int, default=3
        Number of repeats: how often each row is held out.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling. Pass an int for reproducible folds.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.model_selection import RepeatedFolds
    >>> y = np.array([0, 1, 0, 1])
    >>> [test.tolist() for _, test in RepeatedFolds(2, 2, random_state=0).split(y, y)]
    [[1, 2], [0, 3], [0, 3], [1, 2]]
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int = 5, n_repeats: int = 3, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds of all repeats."""
        return self.n_splits * self.n_repeats

    def split(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training rows and the held-out rows of each fold, one repeat after the other.

        Parameters
        ----------
        X : array-like
            Not used.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Yields
        ------
        train, test : ndarray of int
            Positions of the rows.
        """
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) != 2:
            raise InvalidInputError(f"RepeatedFolds is for labels of two classes: got {len(classes)}.")
        random = check_random_state(self.random_state)
        params = {} if groups is None else {"groups": groups}
        for _ in range(self.n_repeats):
            yield from split_folds(self.n_splits, codes, codes == 1, params, random)
