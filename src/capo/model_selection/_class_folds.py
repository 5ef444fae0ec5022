"""Folds for many classes, some of which may have fewer rows than there are folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold, StratifiedKFold, check_cv

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._folds import (
    DEFAULT_N_FOLDS,
    Split,
    check_groups,
    check_splits,
    is_fold_number,
    place_other_rows,
    take_counted_rows,
)


def split_class_folds(
    cv: Any,
    X: Any,
    codes: IntArray,
    split_params: Mapping[str, Any],
    random: RandomState | None,
    *,
    weight: FloatArray | None = None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold.

    An integer means stratified folds of shuffled rows, or of shuffled groups if `split_params` has groups. A
    class with fewer rows than folds is missing from some of the folds, and one with a single row from the
    training rows of the fold that holds it out. Rows of weight 0 have no influence on these.
    """
    if is_fold_number(cv) and weight is not None and not weight.all():
        has_weight, params = take_counted_rows(weight, split_params)
        splits = split_class_folds(cv, codes[has_weight], codes[has_weight], params, random)
        return place_other_rows(splits, has_weight, split_params.get("groups"))
    if is_fold_number(cv):
        cv = _make_splitter(int(cv or DEFAULT_N_FOLDS), codes, split_params, random)
    splitter = check_cv(cv, codes, classifier=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = splitter.split(X, codes, **split_params)
        splits = [(np.asarray(train), np.asarray(test)) for train, test in parts]
    check_splits(splits, codes)
    return splits


def _make_splitter(
    n_folds: int, codes: IntArray, split_params: Mapping[str, Any], random: RandomState | None
) -> BaseCrossValidator:
    largest = int(np.bincount(codes).max())
    if largest < 2:
        raise InvalidInputError(
            "each class of y has a single row: cross-fitting needs at least 2 rows of some class."
        )
    if len(codes) - largest < 2:
        raise InvalidInputError(
            "all rows of y but one have the same class: cross-fitting needs at least 2 rows of other classes."
        )
    if (groups := split_params.get("groups")) is None:
        return StratifiedKFold(min(n_folds, largest), shuffle=True, random_state=random)
    n_groups = len(np.unique(check_groups(groups, len(codes))))
    if n_groups < 2:
        raise InvalidInputError("all rows are in one group: cross-fitting needs at least 2 groups.")
    return StratifiedGroupKFold(min(n_folds, n_groups, largest), shuffle=True, random_state=random)
