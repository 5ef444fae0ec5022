"""Prices of rows: a column of a table for each, or a number for all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...exceptions import InvalidInputError, TableError
from ...preprocessing import ColumnKind, ParsedKind
from ...preprocessing.canonical_values import canonical_features, clean_columns, to_numeric
from ...prices import PRICE_NAMES
from ._batch import Batch, SparseRows
from ._roles import require_column
from ._schema import Schema, TableSchema


@dataclass(frozen=True)
class PriceColumns:
    """Where the prices of rows are found.

    Attributes
    ----------
    sources : dict of str to str or float
        For each price, the column that has it, or the number that it is in all rows.
    """

    sources: dict[str, str | float]

    @classmethod
    def parse(cls, texts: Mapping[str, str], batch: Batch) -> PriceColumns:
        """Interpret each text as a column of the table, or else as a number."""
        columns = [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
        return cls({name: _parse_source(name, text, columns) for name, text in texts.items()})

    @classmethod
    def from_dict(cls, values: Any) -> PriceColumns:
        """Restore what a model file holds; a ValueError if it is not valid."""
        if not isinstance(values, dict) or not all(
            name in PRICE_NAMES and isinstance(source, str | float) for name, source in values.items()
        ):
            raise ValueError("its prices are not valid")
        return cls(dict(values))

    @property
    def columns(self) -> list[str]:
        """The columns that hold prices."""
        return [source for source in self.sources.values() if isinstance(source, str)]

    def missing_columns(self, batch: Batch) -> list[str]:
        """The columns of prices that a table does not have."""
        found = [] if isinstance(batch.rows, SparseRows) else batch.frame.columns
        return [name for name in self.columns if name not in found]

    def read(self, batch: Batch, schema: Schema) -> dict[str, FloatArray | float]:
        """Read the prices of a batch, all of which must be numbers of at least 0."""
        kinds = schema.columns if isinstance(schema, TableSchema) else {}
        return {
            name: _read_prices(batch, source, kinds) if isinstance(source, str) else source
            for name, source in self.sources.items()
        }


def _parse_source(name: str, text: str, columns: list[str]) -> str | float:
    if text in columns:
        return text
    option = f"--{name.replace('_', '-')}"
    try:
        number = float(text)
    except ValueError:
        require_column(text, columns, option)
        raise
    if not (np.isfinite(number) and number >= 0):
        raise InvalidInputError(f"{option} must be a column or a number of at least 0: got {text!r}.")
    return number


def _read_prices(batch: Batch, name: str, kinds: Mapping[str, ColumnKind]) -> FloatArray:
    require_column(name, batch.frame.columns, "prices")
    kind = kinds.get(name)
    if isinstance(kind, ParsedKind):
        frame = canonical_features(
            batch.frame, {name: kind}, decimal_comma=batch.decimal_comma, first_row=batch.first_row
        )
        prices = frame[name].cast(float).to_numpy()
    else:
        numeric = to_numeric(clean_columns(batch.frame, [name]), batch.decimal_comma)
        prices = numeric[name].fill_null(float("nan")).to_numpy()
    invalid = ~(np.isfinite(prices) & (prices >= 0))
    if invalid.any():
        position = int(np.argmax(invalid))
        raise TableError(
            f"the prices in {name!r} must be numbers of at least 0 without missing values: row "
            f"{batch.first_row + position:,} contains {batch.frame[name][position]!r}."
        )
    return np.asarray(prices, dtype=np.float64)
