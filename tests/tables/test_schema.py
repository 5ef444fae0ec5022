"""Schemas of data frames: data types, texts, and kinds that a user gives."""

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo.exceptions import InvalidInputError
from capo.tables.schema import infer_schema

N = 30
TYPED = {
    "number": pl.Series(np.linspace(0, 1, N)),
    "nullable": pl.Series([1, None, 3] * 10),
    "flag": pl.Series([True, False, None] * 10),
    "category": pl.Series(["1", "2", None] * 10, dtype=pl.Categorical),
    "moment": pl.Series([datetime(2024, 1, 1) + timedelta(hours=7 * i) for i in range(N)]),
    "zoned": pl.Series([datetime(2024, 1, 1)] * N).dt.replace_time_zone("Europe/Berlin"),
    "day": pl.Series([date(2024, 1, 31)] * N),
    "length": pl.Series([timedelta(minutes=i) for i in range(N)]),
    "tags": pl.Series([["a", "b"], ["c"], None] * 10),
}
KINDS = ["number", "number", "boolean", "category", "date", "date", "date", "duration", "tags"]


def kinds(frame, **given):
    return [column.kind.name for column in infer_schema(frame, given).columns]


def test_data_types_of_polars_decide():
    assert kinds(pl.DataFrame(TYPED)) == KINDS


def test_data_types_of_pandas_decide():
    frame = pd.DataFrame(
        {
            "number": np.linspace(0, 1, N),
            "nullable": pd.array([1, None, 3] * 10, dtype="Int64"),
            "flag": pd.array([True, False, None] * 10, dtype="boolean"),
            "category": pd.Categorical(["1", "2", None] * 10),
            "moment": pd.date_range("2024-01-01", periods=N, freq="7h"),
            "zoned": pd.date_range("2024-01-01", periods=N, tz="Europe/Berlin"),
            "length": pd.to_timedelta(np.arange(N), "min"),
            "texts": ["7 kg", None, "8 kg"] * 10,
            "string": pd.array(["a", None, "b"] * 10, dtype="string"),
        }
    )
    assert kinds(frame) == [*KINDS[:6], "duration", "quantity", "category"]
    frame.columns = range(frame.shape[1])
    assert [column.key for column in infer_schema(frame).columns] == list(range(9))


def test_arrays_are_numbers():
    assert {column.kind.name for column in infer_schema(np.eye(3)).columns} == {"number"}


def test_given_kinds_overrule():
    frame = pd.DataFrame({"zip": ["01067", "80331"] * N, "code": [1, 2] * N, "note": ["x y", "z"] * N})
    assert kinds(frame) == ["code", "number", "category"]
    assert kinds(frame, zip="number", code="category", note="text") == ["number", "category", "text"]
    with pytest.raises(InvalidInputError, match="the column 'zap', which does not exist"):
        kinds(frame, zap="number")
    with pytest.raises(InvalidInputError, match="unknown kind 'zip code': choose one of boolean, code"):
        kinds(frame, zip="zip code")


def test_schemas_print_reasons_and_doubts():
    shown = str(infer_schema(pd.DataFrame({"n": ["1,234", None], "a long text": ["word " * 20, "x"]})))
    assert "n            number    1,234" in shown
    assert "50.0%" in shown
    assert "please check: ',' is read as a separator of thousands" in shown
    assert "word word word word w..." in shown


def test_arrow_types_of_pandas_decide():
    """The same kinds as with the types of polars, which are those of Arrow."""
    pa = pytest.importorskip("pyarrow")
    types = {
        "nullable": pa.int64(),
        "flag": pa.bool_(),
        "category": pa.dictionary(pa.int32(), pa.string()),
        "moment": pa.timestamp("us"),
        "zoned": pa.timestamp("ns", tz="UTC"),
        "day": pa.date32(),
        "length": pa.duration("us"),
        "tags": pa.list_(pa.string()),
    }
    columns = {name: pd.array(TYPED[name].to_list(), dtype=pd.ArrowDtype(types[name])) for name in types}
    frame = pd.DataFrame(columns).iloc[1:]
    frame["price"] = pd.array(["$1.50", None] * 14 + ["$2"], dtype=pd.ArrowDtype(pa.string()))
    schema = infer_schema(frame)
    assert [column.kind.name for column in schema.columns] == [*KINDS[1:], "money"]
    assert schema.columns[0].example == "3"
    assert schema.columns[0].missing_share == pytest.approx(10 / 29)
