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


def test_columns_without_values_in_training_are_dropped():
    selector = DropEmptyColumns().fit(np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 3.0]]))
    assert selector.support_.tolist() == [True, False, True]
    np.testing.assert_array_equal(selector.transform([[4.0, 5.0, np.nan]]), [[4.0, np.nan]])
