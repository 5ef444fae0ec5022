"""Shares of rows with copies in other folds, against a comparison of all pairs of rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from capo.tables import checks
from capo.tables.checks import SeenRows, duplicate_share

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


def test_copies_of_seen_rows_are_counted_in_any_kind_of_table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    seen, days = SeenRows.from_rows(numbers[:200]), pd.date_range("2020", periods=300)
    assert seen.count_copies(numbers[100:]) == 100
    assert seen.count_copies(numbers[200:]) == 0
    assert seen.count_copies(numbers[rng.permutation(200)]) == 200
    sparse = csr_array(numbers * (numbers > -2))
    assert SeenRows.from_rows(sparse[:200]).count_copies(sparse[150:]) == 50
    frame = pd.DataFrame(
        {"n": np.arange(300), "t": rng.choice(["a", None], 300), "day": days, "x": numbers[:, 0]}
    )
    seen = SeenRows.from_rows(frame[:200])
    assert seen.count_copies(frame[50:150]) == 100
    assert seen.count_copies(pl.from_pandas(frame.astype({"n": float}))[50:150]) == 100


def test_a_sample_of_the_fingerprints_is_enough(monkeypatch):
    monkeypatch.setattr(checks, "MAX_FINGERPRINTS", 500)
    numbers = np.random.default_rng(0).normal(size=(10_000, 2))
    seen = SeenRows.from_rows(numbers[:8_000])
    assert len(seen.fingerprints) == 500
    assert 2_000 < seen.count_copies(numbers[5_000:]) < 4_000
    assert seen.count_copies(numbers[8_000:]) == 0


def test_rows_that_repeat_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 8, size=(4_000, 3)).astype(float)
    for training in (few[:400], np.unique(few[:400], axis=0)):
        seen = SeenRows.from_rows(training)
        assert len(seen.fingerprints) == 0
        assert [seen.count_copies(few[start : start + 400]) for start in range(400, 4_000, 400)] == [0] * 9
        assert seen.count_copies(training[::-1]) == len(training)
    one_column = rng.normal(size=(300, 1))
    assert SeenRows.from_rows(one_column[:200]).count_copies(one_column[100:]) == 100
    # Rows that are rare by their columns, and repeat all the same.
    few[:, 1] = few[:, 2] = few[:, 0] + rng.integers(0, 500, 4_000)
    seen = SeenRows.from_rows(few[:400])
    assert 0.1 < seen.share_repeated < 0.9
    assert [seen.count_copies(few[start : start + 400]) for start in range(400, 4_000, 400)] == [0] * 9
    assert seen.count_copies(few[100:500]) > 200
