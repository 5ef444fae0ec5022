"""Folds of rows and of groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import RandomState

from capo.learning.folds import split_folds


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


@given(st.lists(COUNTS, min_size=2, max_size=8), st.integers(2, 6), st.integers(0, 3), st.booleans())
def test_rows_of_weight_0_have_no_influence_on_the_folds_of_others(counts, n_folds, seed, by_group):
    positive, groups = rows_of_groups(counts)
    weight = RandomState(seed).randint(2, size=len(positive)).astype(float)
    counted = weight > 0
    params = {"groups": groups if by_group else None}
    params_counted = {"groups": groups[counted] if by_group else None}
    units = (groups if by_group else np.arange(len(groups)))[counted]
    if min(len(np.unique(units[rows])) for rows in (positive[counted], ~positive[counted])) < 2:
        return
    expected = split_folds(n_folds, units, positive[counted], params_counted, RandomState(seed))
    splits = split_folds(n_folds, groups, positive, params, RandomState(seed), weight=weight)
    assert len(splits) == len(expected)
    for (train, test), (train_counted, test_counted) in zip(splits, expected, strict=True):
        assert np.flatnonzero(counted)[train_counted].tolist() == train[counted[train]].tolist()
        assert np.flatnonzero(counted)[test_counted].tolist() == test[counted[test]].tolist()
        assert not (by_group and set(groups[train]) & set(groups[test]))
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(groups)))
