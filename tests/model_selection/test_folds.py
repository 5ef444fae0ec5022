"""Folds of rows and of groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import RandomState

from capo.model_selection import split_folds


def rows_of_groups(counts):
    """Labels and groups of rows, from the numbers of positive and negative rows of each group."""
    positive = np.concatenate([np.arange(p + n) < p for p, n in counts])
    return positive, np.repeat(np.arange(len(counts)), [p + n for p, n in counts])


COUNTS = st.tuples(st.integers(0, 5), st.integers(0, 30))


@given(st.lists(COUNTS, min_size=2, max_size=8), st.integers(2, 6), st.integers(0, 3))
def test_folds_of_groups_train_on_both_classes_wherever_that_is_possible(counts, n_folds, seed):
    positive, groups = rows_of_groups(counts)
    if min(len(np.unique(groups[rows])) for rows in (positive, ~positive)) < 2:
        return
    splits = split_folds(n_folds, positive[:, None], positive, {"groups": groups}, RandomState(seed))
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(groups)))
    for train, test in splits:
        assert set(positive[train]) == {True, False}
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("counts", [[(7, 0), (0, 2), (2, 2)], [(1, 2), (24, 2), (0, 2), (0, 35)]])
def test_groups_that_stratified_folds_put_into_one_fold(counts):
    positive, groups = rows_of_groups(counts)
    splits = split_folds(5, positive[:, None], positive, {"groups": groups}, RandomState(0))
    assert len(splits) == 2
    assert all(len(set(positive[rows])) == 2 for split in splits for rows in split)
