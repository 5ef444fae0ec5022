"""Shares of rows with copies in other folds, against a comparison of all pairs of rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from capo.tables import checks
from capo.tables.checks import duplicate_share

CELLS = st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan, 1e-300])


def share_of_pairs(rows, folds):
    equal = np.array([[np.array_equal(x, y, equal_nan=True) for y in rows] for x in rows])
    return float((equal & (folds[:, None] != folds)).any(axis=1).mean())


@given(st.lists(st.tuples(CELLS, CELLS, CELLS, st.integers(0, 2)), min_size=1, max_size=12))
def test_share_equals_the_share_over_all_pairs(rows):
    X, folds = np.array([row[:3] for row in rows]), np.array([row[3] for row in rows])
    expected = share_of_pairs(X.tolist(), folds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "MAX_EXPECTED_COPIES", np.inf)
        assert duplicate_share(X, folds) == expected
        assert duplicate_share(pd.DataFrame(X, columns=list("abc")), folds) == expected
        assert duplicate_share(csr_array(np.nan_to_num(X, nan=7.0)), folds) == expected


def test_copies_are_found_and_discrete_columns_are_not_reported():
    rng = np.random.default_rng(0)
    X, folds = rng.normal(size=(400, 4)), np.arange(400) % 5
    X[:40] = X[41:81]
    assert duplicate_share(X, folds) == 80 / 400
    assert duplicate_share(X, np.zeros(400, dtype=int)) == 0.0
    assert duplicate_share(rng.integers(0, 3, size=(400, 4)), folds) < 0.05
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word=rng.choice(["red", "blue", None], 400))
    frame.loc[:39, "word"] = frame["word"][41:81].to_numpy()
    assert duplicate_share(frame, folds) == 80 / 400


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_missing_values_of_a_frame_are_equal_whatever_their_type(make):
    columns = {
        "text": ["a", None, "a", None],
        "number": [1.5, float("nan"), 1.5, None],
        "count": [3, None, 3, None],
    }
    X = make(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "MAX_EXPECTED_COPIES", np.inf)
        assert duplicate_share(X, np.array([0, 0, 1, 1])) == 1.0
        assert duplicate_share(X, np.array([0, 1, 0, 1])) == 0.0
