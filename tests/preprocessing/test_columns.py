"""Column kinds of data frames and arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo.preprocessing import infer_column_kinds, is_dataframe, is_missing

FRAME = {
    "n": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0],
    "flag": [True, False, True, True, False, False],
    "word": ["a", "b", "a", "b", "a", "b"],
}


@pytest.mark.parametrize("frame", [pd.DataFrame(FRAME), pl.DataFrame(FRAME)], ids=["pandas", "polars"])
def test_columns_by_kind(frame):
    assert is_dataframe(frame)
    assert infer_column_kinds(frame) == (["n", "flag"], [], ["word"])
    dated = pd.DataFrame(
        {"day": pd.date_range("2020-01-01", periods=3), "i": pd.array([1, None, 2], "Int64")}
    )
    assert infer_column_kinds(dated) == (["i"], [], ["day"])
    unnamed = pd.DataFrame({3: [1.0, 2.0], 0: pd.Categorical(["a", "b"])})
    assert infer_column_kinds(unnamed) == ([0], [1], [])


def test_array_columns_are_numeric():
    assert not is_dataframe(np.eye(2))
    assert not is_dataframe([[1, 2]])
    assert infer_column_kinds(np.eye(3)) == ([0, 1, 2], [], [])


@pytest.mark.parametrize("value", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing_values(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, "", "nan", False, np.inf])
def test_values_that_are_not_missing(value):
    assert not is_missing(value)
