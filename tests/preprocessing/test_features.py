"""Raw tables as numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from capo.preprocessing._features import (
    KnownCategoryFilter,
    column_kinds,
    is_dataframe,
    linear_features,
    rbf_features,
    tree_features,
)

FRAME = {
    "n": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0],
    "flag": [True, False, True, True, False, False],
    "word": ["a", "b", "a", "b", "a", "b"],
}


@pytest.mark.parametrize("frame", [pd.DataFrame(FRAME), pl.DataFrame(FRAME)], ids=["pandas", "polars"])
def test_columns_by_kind(frame):
    assert is_dataframe(frame)
    assert column_kinds(frame) == (["n", "flag"], [], ["word"])
    dated = pd.DataFrame(
        {"day": pd.date_range("2020-01-01", periods=3), "i": pd.array([1, None, 2], "Int64")}
    )
    assert column_kinds(dated) == (["i"], [], ["day"])
    unnamed = pd.DataFrame({3: [1.0, 2.0], 0: pd.Categorical(["a", "b"])})
    assert column_kinds(unnamed) == ([0], [1], [])


def test_arrays_are_numbers():
    assert not is_dataframe(np.eye(2))
    assert not is_dataframe([[1, 2]])
    assert column_kinds(np.eye(3)) == ([0, 1, 2], [], [])


def test_linear_features_are_standardised_filled_and_one_hot():
    frame = pd.DataFrame(
        {"n": [0.0] * 50 + [1.0] * 49 + [np.nan], "word": ["a"] * 60 + ["b"] * 37 + ["c"] * 3}
    )
    transformer = linear_features(frame)
    found = pd.DataFrame(transformer.fit_transform(frame), columns=transformer.get_feature_names_out())
    assert list(found) == ["n", "missingindicator_n", "word_a", "word_b", "word_infrequent_sklearn"]
    assert found["n"].std(ddof=0) == pytest.approx(1.0)
    assert found["missingindicator_n"].iloc[-1] == 5.0  # cut off
    assert found[["word_a", "word_b", "word_infrequent_sklearn"]].sum(axis=1).eq(1).all()
    unseen = transformer.transform(pd.DataFrame({"n": [np.nan], "word": ["z"]}))
    assert np.isfinite(unseen).all()


def test_sparse_stays_sparse():
    X = sparse.random_array((30, 8), density=0.2, random_state=0, format="csr") * 100
    found = linear_features(X).fit_transform(X)
    assert sparse.issparse(found)
    assert abs(found).max() <= 1.0


def test_tree_features_leave_numbers_and_code_categories():
    frame = pd.DataFrame({"n": [1.0, np.nan, 3.0], "word": ["b", None, "a"], "empty": [np.nan] * 3})
    transformer = tree_features(frame).fit(frame)
    np.testing.assert_array_equal(transformer.transform(frame), [[1, 1], [np.nan, np.nan], [0, 3]])
    unseen = transformer.transform(frame.assign(word="z"))
    assert np.isnan(unseen[:, 0]).all()


def test_tree_features_scale_up_what_trees_would_not_see():
    tiny = np.column_stack([np.arange(9.0), 1e-12 * np.arange(9.0)])
    assert tree_features(tiny).fit_transform(tiny)[:, 1].std() == pytest.approx(1.0)
    plain = np.arange(18.0).reshape(9, 2)
    np.testing.assert_array_equal(tree_features(plain).fit_transform(plain), plain)


def test_the_kernels_basis_is_no_larger_than_the_rows_allow():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert rbf_features(X, 300).fit_transform(X).shape == (20, 10)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("features", [linear_features, tree_features])
def test_a_value_that_was_not_there_is_missing(make, features):
    frame = make({"word": ["a"] * 20 + ["b"] * 20 + ["rare"] * 2 + [None] * 6, "n": np.arange(48.0)})
    transformer = features(frame).fit(frame)
    rows = [
        transformer.transform(make({"word": [word], "n": [1.0]})) for word in ("never seen", None, "rare")
    ]
    unseen, missing, rare = (row.toarray() if sparse.issparse(row) else row for row in rows)
    np.testing.assert_array_equal(unseen, missing)
    assert not np.array_equal(missing, rare, equal_nan=True)


def test_known_values_are_compared_as_text_or_as_they_are():
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", None, "2020-01-02"]), "mixed": [1, "1", 2.5]})
    as_text = KnownCategoryFilter(text=True).fit(dates)
    assert as_text.values_ == [["2020-01-01 00:00:00", "2020-01-02 00:00:00"], ["1", "2.5"]]
    found = as_text.transform(pd.DataFrame({"day": ["2020-01-02 00:00:00", "?"], "mixed": ["2.5", None]}))
    assert found[0].tolist() == ["2020-01-02 00:00:00", "2.5"]
    assert pd.isna(found[1]).all()
    as_they_are = KnownCategoryFilter().fit(np.array([[1, "x"], [2, "y"], [np.nan, None]], dtype=object))
    assert as_they_are.values_ == [[1, 2], ["x", "y"]]
    assert pd.isna(as_they_are.transform(np.array([["1", "z"]], dtype=object))).all()
