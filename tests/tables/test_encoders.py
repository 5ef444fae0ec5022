"""Transformers for empty columns and unknown categories."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from capo.tables.features import CategoryOneHotEncoder, DropEmptyColumns, KnownCategoryFilter


def test_categories_are_compared_as_text_or_unchanged():
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", None, "2020-01-02"]), "mixed": [1, "1", 2.5]})
    as_text = KnownCategoryFilter(as_text=True).fit(dates)
    assert as_text.categories_ == [["2020-01-01 00:00:00", "2020-01-02 00:00:00"], ["1", "2.5"]]
    found = as_text.transform(pd.DataFrame({"day": ["2020-01-02 00:00:00", "?"], "mixed": ["2.5", None]}))
    assert found[0].tolist() == ["2020-01-02 00:00:00", "2.5"]
    assert pd.isna(found[1]).all()
    unchanged = KnownCategoryFilter().fit(np.array([[1, "x"], [2, "y"], [np.nan, None]], dtype=object))
    assert unchanged.categories_ == [[1, 2], ["x", "y"]]
    assert pd.isna(unchanged.transform(np.array([["1", "z"]], dtype=object))).all()


def test_values_that_are_equal_but_have_different_texts():
    """1, 1.0 and True are equal; of those that are not known themselves, each is compared by its own text."""
    column = np.array([["True"], ["1.0"], ["2"]], dtype=object)
    known = KnownCategoryFilter(as_text=True).fit(column)
    values = [True, 1, 1.0, 2, "2", None, float("nan"), True]
    found = known.transform(np.array([[value] for value in values], dtype=object))[:, 0].tolist()
    assert found[0] == found[7] == "True"
    assert found[2:5] == ["1.0", "2", "2"]
    assert all(pd.isna(found[position]) for position in (1, 5, 6))


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


@pytest.mark.parametrize("as_text", [False, True])
def test_categories_are_found_and_kept_in_one_pass(as_text):
    for values in ([1.0, np.nan, 2.0, 1.0, None], ["b", "a", None, "b"], [1, 1.0, True, "1", np.nan]):
        column = np.array([[value] for value in values], dtype=object)
        found, expected = KnownCategoryFilter(as_text=as_text), KnownCategoryFilter(as_text=as_text)
        result, reference = found.fit_transform(column), expected.fit(column).transform(column)
        assert list(map(repr, result[:, 0])) == list(map(repr, reference[:, 0]))
        assert list(map(repr, found.categories_)) == list(map(repr, expected.categories_))
