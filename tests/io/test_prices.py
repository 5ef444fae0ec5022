"""Columns of prices in tables, and what a model file tells of them."""

import numpy as np
import polars as pl
import pytest

from capo.exceptions import InvalidInputError, TableError
from capo.io.source import Batch
from capo.io.table_schema import ColumnRoles, PriceColumns, infer_table_schema

BATCH = Batch(
    pl.DataFrame({"y": ["0", "1"], "amount": ["$1,200.50", "$3"], "plain": ["2", "4.5"], "8": ["1", "1"]}), 1
)


def test_a_text_is_a_column_or_else_a_number():
    found = PriceColumns.parse({"cost_fn": "amount", "cost_fp": "8", "benefit_tp": "7.5"}, BATCH)
    assert found.sources == {"cost_fn": "amount", "cost_fp": "8", "benefit_tp": 7.5}
    assert found.columns == ["amount", "8"]
    with pytest.raises(InvalidInputError, match="--cost-fn must be a column or a number"):
        PriceColumns.parse({"cost_fn": "inf"}, BATCH)


def test_money_is_read_as_the_feature_is():
    schema = infer_table_schema(BATCH, ColumnRoles("y")).schema
    found = PriceColumns({"cost_fn": "amount", "cost_fp": "plain"}).read(BATCH, schema)
    np.testing.assert_array_equal(found["cost_fn"], [1200.5, 3.0])
    np.testing.assert_array_equal(found["cost_fp"], [2.0, 4.5])


def test_a_missing_price_is_refused_with_its_row():
    batch = Batch(pl.DataFrame({"y": ["0", "1"], "x": ["1", "2"], "plain": ["2", ""]}), 11)
    schema = infer_table_schema(batch, ColumnRoles("y", drop=("plain",))).schema
    with pytest.raises(TableError, match=r"the prices in 'plain' .* row 12 contains"):
        PriceColumns({"cost_fn": "plain"}).read(batch, schema)


@pytest.mark.parametrize("values", [None, [], {"cost_fn": None}, {"cost": "amount"}, {"cost_fp": [1.0]}])
def test_what_a_file_must_not_hold(values):
    with pytest.raises(ValueError, match="its prices are not valid"):
        PriceColumns.from_dict(values)
