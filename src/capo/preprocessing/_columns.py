"""The kinds of a table's columns, decided by their data types alone, and access to their values.

A data frame may hold numeric, Boolean, categorical, text and date columns, with missing values; an array
or a sparse matrix holds numeric columns only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from .._sklearn_compat import is_pandas_na, is_scalar_nan
from ..exceptions import InvalidInputError


class ColumnKinds(NamedTuple):
    """The columns of a table by kind: their names, or their positions where the names are not strings."""

    numeric: list[Any]
    categorical: list[Any]
    text: list[Any]


def is_dataframe(X: object) -> bool:
    """Whether X is a data frame of pandas, polars or any other library that narwhals supports."""
    return isinstance(nw.from_native(X, pass_through=True, eager_only=True), nw.DataFrame)


def infer_column_kinds(X: Any) -> ColumnKinds:
    """Group the columns of X: numeric or Boolean, categorical, and text (dates and objects included)."""
    if not is_dataframe(X):
        return ColumnKinds(list(range(X.shape[1])), [], [])
    schema = nw.from_native(X, eager_only=True).schema
    kinds, has_names = ColumnKinds([], [], []), all(isinstance(name, str) for name in schema)
    for position, (name, dtype) in enumerate(schema.items()):
        _check_single_values(X, position, name, dtype)
        _columns_of_kind(kinds, dtype).append(name if has_names else position)
    return kinds


def _check_single_values(X: Any, position: int, name: Any, dtype: Any) -> None:
    """Raise if the values of a column are lists or other collections."""
    nested = dtype.is_nested()
    if dtype == nw.Object:
        values = nw.from_native(X, eager_only=True)[:, position].to_list()
        nested = any(isinstance(value, list | dict | set | np.ndarray) for value in values)
    if nested:
        raise InvalidInputError(
            f"the column {name!r} of X contains lists or other collections, not single values: convert it to "
            "columns of numbers or text, or leave it out."
        )


def _columns_of_kind(kinds: ColumnKinds, dtype: Any) -> list[Any]:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return kinds.numeric
    return kinds.categorical if dtype in (nw.Categorical, nw.Enum) else kinds.text


def iter_columns(X: Any) -> Iterator[list[Any]]:
    """Yield the values of each column."""
    if is_dataframe(X):
        return (column.to_list() for column in nw.from_native(X, eager_only=True).iter_columns())
    return (column.tolist() for column in np.asarray(X, dtype=object).T)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, ``pandas.NA`` or ``NaT``."""
    return value is None or is_scalar_nan(value) or is_pandas_na(value) or str(value) == "NaT"
