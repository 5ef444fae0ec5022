"""Columns that number the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo.tables.kinds import find_index_reason, find_numbered_columns
from capo.tables.schema import infer_schema

N = 60
SCATTERED = np.random.default_rng(0).choice(10**6, N, replace=False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", SCATTERED),
        ("column_1", SCATTERED),
        ("", SCATTERED),
        ("id", SCATTERED),
        ("customer_id", SCATTERED),
        ("CustomerID", SCATTERED),
        ("orderId", SCATTERED),
        ("row number", SCATTERED),
        ("x", np.arange(N)),
        ("x", np.arange(N)[::-1] + 1000),
        ("x", np.random.default_rng(1).permutation(N * 5 // 4)[:N]),
    ],
)
def test_an_index_is_recognized(name, values):
    assert find_index_reason(name, values.astype(float))


@pytest.mark.parametrize("name", ["income", "paid", "valid", "grid", "monkey", "arrow"])
def test_other_different_numbers_are_only_reported(name):
    assert find_index_reason(name, SCATTERED.astype(float)) == ""


@pytest.mark.parametrize(
    "values", [SCATTERED / 7, np.append(SCATTERED[1:], SCATTERED[1]), np.append(SCATTERED[1:], np.nan)]
)
def test_other_numbers_are_features(values):
    assert find_index_reason("id", values.astype(float)) is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_an_index_of_a_data_frame_is_not_a_feature(make):
    frame = make({"id": SCATTERED, "rooms": np.arange(N) // 2, "income": SCATTERED[::-1].copy()})
    found = find_numbered_columns(frame)
    assert {name: bool(reason) for name, reason in found.items()} == {"id": True, "income": False}
    assert [column.kind.name for column in infer_schema(frame).columns] == ["identifier", "number", "number"]
    alone = infer_schema(frame[["id"]])
    assert alone.columns[0].kind.name == "identifier"
    assert alone.with_features().columns[0].kind.name == "number"  # nothing else to learn from
    assert find_numbered_columns(frame[:19]) == find_numbered_columns(np.arange(N)[:, None]) == {}
