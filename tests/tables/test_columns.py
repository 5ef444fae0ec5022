"""Data frames and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo.tables.kinds import is_dataframe, is_missing


def test_data_frames():
    assert is_dataframe(pd.DataFrame({"n": [1.0]}))
    assert is_dataframe(pl.DataFrame({"n": [1.0]}))
    assert not is_dataframe(np.eye(2))
    assert not is_dataframe([[1, 2]])


@pytest.mark.parametrize("value", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing_values(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, "", "nan", False, np.inf])
def test_values_that_are_not_missing(value):
    assert not is_missing(value)
