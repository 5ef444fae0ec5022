"""Transformers for empty columns and unknown categories."""

import numpy as np
import pandas as pd

from capo.preprocessing import DropEmptyColumns, KnownCategoryFilter


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
