"""Columns of prices in tables, and what a model file tells of them."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from capo.cli.rows import price_sources
from capo.exceptions import InvalidInputError, ModelFileError, TableError
from capo.io.source import Batch
from capo.io.table_schema import ColumnRoles, infer_features, parse_prices, read_prices

BATCH = Batch(
    pl.DataFrame({"y": ["0", "1"], "amount": ["$1,200.50", "$3"], "plain": ["2", "4.5"], "8": ["1", "1"]}), 1
)


def test_a_text_is_a_column_or_else_a_number():
    found = parse_prices({"cost_fn": "amount", "cost_fp": "8", "benefit_tp": "7.5"}, BATCH)
    assert found == {"cost_fn": "amount", "cost_fp": "8", "benefit_tp": 7.5}
    with pytest.raises(InvalidInputError, match="--cost-fn must be a column or a number"):
        parse_prices({"cost_fn": "inf"}, BATCH)


def test_money_is_read_as_the_feature_is():
    features = infer_features(BATCH, ColumnRoles("y"))
    found = read_prices({"cost_fn": "amount", "cost_fp": "plain"}, BATCH, features)
    np.testing.assert_array_equal(found["cost_fn"], [1200.5, 3.0])
    np.testing.assert_array_equal(found["cost_fp"], [2.0, 4.5])


def test_a_missing_price_is_refused_with_its_row():
    batch = Batch(pl.DataFrame({"y": ["0", "1"], "x": ["1", "2"], "plain": ["2", ""]}), 11)
    features = infer_features(batch, ColumnRoles("y", drop=("plain",)))
    with pytest.raises(TableError, match=r"the prices in 'plain' .* row 12 contains"):
        read_prices({"cost_fn": "plain"}, batch, features)


@pytest.mark.parametrize("values", [None, [], {"cost_fn": None}, {"cost": "amount"}, {"cost_fp": [1.0]}])
def test_what_a_file_must_not_hold(values):
    loaded = SimpleNamespace(manifest=SimpleNamespace(training={"prices": values}))
    with pytest.raises(ModelFileError, match="does not contain the names of its price columns"):
        price_sources(loaded)
