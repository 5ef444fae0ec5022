"""Transformers for empty columns and unknown categories."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from capo.tables.features import (
    MAX_KNOTS,
    CategoryOneHotEncoder,
    DropEmptyColumns,
    KnownCategoryFilter,
    ScoreScaler,
)


def test_values_that_were_not_in_training_become_missing():
    train = pd.DataFrame({"a": ["x", None, "y"], "b": pd.Categorical(["u", "v", None])})
    known = KnownCategoryFilter().fit(train)
    assert known.categories_ == [["x", "y"], ["u", "v"]]
    found = known.transform(pd.DataFrame({"a": ["y", "z", None], "b": ["v", 1, np.nan]}))
    assert found[0].tolist() == ["y", "v"]
    assert pd.isna(found[1:]).all()


def test_columns_without_values_in_training_are_dropped():
    selector = DropEmptyColumns().fit(np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 3.0]]))
    assert selector.support_.tolist() == [True, False, True]
    np.testing.assert_array_equal(selector.transform([[4.0, 5.0, np.nan]]), [[4.0, np.nan]])


@given(
    columns=st.integers(1, 30).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([*"abcdefgh", np.nan]), min_size=n, max_size=n), min_size=1, max_size=3
        )
    ),
    min_frequency=st.integers(1, 6),
    max_categories=st.integers(2, 9),
)
def test_one_hot_columns_are_those_of_scikit_learn(columns, min_frequency, max_categories):
    X = np.array(columns, dtype=object).T
    params = {"min_frequency": min_frequency, "max_categories": max_categories}
    found = CategoryOneHotEncoder(**params).fit(X)
    expected = OneHotEncoder(handle_unknown="infrequent_if_exist", **params).fit(X)
    for own, other in zip(found.infrequent_categories_, expected.infrequent_categories_, strict=True):
        assert (own is None) == (other is None)
        assert own is None or own.tolist() == other.tolist()
    new = np.full((1, X.shape[1]), "unknown", dtype=object)
    for rows in (X, new):
        np.testing.assert_array_equal(found.transform(rows).toarray(), expected.transform(rows).toarray())
    assert list(found.get_feature_names_out()) == list(expected.get_feature_names_out())


def test_one_hot_encoders_can_be_copied_and_take_data_frames():
    table = pd.DataFrame({"color": ["red"] * 5 + ["blue"] * 4})
    encoder = clone(CategoryOneHotEncoder(min_frequency=5)).fit(table)
    assert encoder.infrequent_categories_[0].tolist() == ["blue"]
    assert list(encoder.get_feature_names_out()) == ["color_red", "color_infrequent_sklearn"]


def test_scores_keep_their_order_and_get_normal_quantiles():
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.standard_cauchy(1000), rng.integers(0, 3, 1000), np.full(1000, np.nan)))
    X[:100, 0], X[100:120, 0] = -999.0, np.nan
    scaler = ScoreScaler().fit(X)
    found = scaler.transform(X)
    assert list(scaler.get_feature_names_out(["a", "b", "c"])) == [
        "a",
        "b",
        "c",
        "a=-999",
        "b=0",
        "b=1",
        "b=2",
    ]
    assert len(scaler.knots_[0][0]) <= MAX_KNOTS < len(np.unique(X[:, 0]))
    values, quantiles = X[120:, 0], found[120:, 0]
    np.testing.assert_array_equal(np.argsort(quantiles, kind="stable"), np.argsort(values, kind="stable"))
    assert abs(np.median(quantiles)) < 0.2
    assert np.ptp(found[:100, 0]) == 0
    np.testing.assert_array_equal(found[:, 3], X[:, 0] == -999.0)
    np.testing.assert_array_equal(np.isnan(found[:, :3]), np.isnan(X))
    beyond = scaler.transform([[value, 5.0, 1.0] for value in (-1e300, -1e6, 1e6, 1e300)])
    assert (np.diff(beyond[:, 0]) > 0).all()
    assert np.isfinite(beyond).all()
