"""Feature pipelines for linear models, trees and kernels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from capo.tables.features import make_linear_features, make_rbf_features, make_tree_features


def test_linear_features_are_imputed_standardized_and_one_hot_encoded():
    frame = pd.DataFrame(
        {"n": [0.0] * 50 + [1.0] * 49 + [np.nan], "word": ["a"] * 60 + ["b"] * 37 + ["c"] * 3}
    )
    transformer = make_linear_features(frame)
    found = pd.DataFrame(transformer.fit_transform(frame), columns=transformer.get_feature_names_out())
    assert list(found) == ["n", "missingindicator_n", "word_a", "word_b", "word_infrequent_sklearn"]
    assert found["n"].std(ddof=0) == pytest.approx(1.0)
    assert found["missingindicator_n"].iloc[-1] == 5.0  # clipped
    assert found[["word_a", "word_b", "word_infrequent_sklearn"]].sum(axis=1).eq(1).all()
    unseen = transformer.transform(pd.DataFrame({"n": [np.nan], "word": ["z"]}))
    assert np.isfinite(unseen).all()


def test_sparse_stays_sparse():
    X = sparse.random_array((30, 8), density=0.2, random_state=0, format="csr") * 100
    found = make_linear_features(X).fit_transform(X)
    assert sparse.issparse(found)
    assert abs(found).max() <= 1.0


def test_tree_features_pass_numeric_columns_and_encode_categories():
    frame = pd.DataFrame({"n": [1.0, np.nan, 3.0], "word": ["b", None, "a"], "empty": [np.nan] * 3})
    transformer = make_tree_features(frame).fit(frame)
    np.testing.assert_array_equal(transformer.transform(frame), [[1, 1], [np.nan, np.nan], [0, 3]])
    unseen = transformer.transform(frame.assign(word="z"))
    assert np.isnan(unseen[:, 0]).all()


def test_tree_features_standardize_columns_with_a_tiny_range():
    tiny = np.column_stack([np.arange(9.0), 1e-12 * np.arange(9.0)])
    assert make_tree_features(tiny).fit_transform(tiny)[:, 1].std() == pytest.approx(1.0)
    plain = np.arange(18.0).reshape(9, 2)
    np.testing.assert_array_equal(make_tree_features(plain).fit_transform(plain), plain)


def test_rbf_features_have_fewer_components_than_the_rows_of_three_folds_of_five():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert make_rbf_features(X, 300).fit_transform(X).shape == (20, 8)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("features", [make_linear_features, make_tree_features])
def test_an_unknown_category_counts_as_missing(make, features):
    frame = make({"word": ["a"] * 20 + ["b"] * 20 + ["rare"] * 2 + [None] * 6, "n": np.arange(48.0)})
    transformer = features(frame).fit(frame)
    rows = [
        transformer.transform(make({"word": [word], "n": [1.0]})) for word in ("never seen", None, "rare")
    ]
    unseen, missing, rare = (row.toarray() if sparse.issparse(row) else row for row in rows)
    np.testing.assert_array_equal(unseen, missing)
    assert not np.array_equal(missing, rare, equal_nan=True)
