"""Access to the values of a table's columns."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._sklearn_compat import is_pandas_na, is_scalar_nan


def is_dataframe(X: object) -> bool:
    """Whether X is a data frame of pandas, polars or any other library that narwhals supports."""
    return isinstance(nw.from_native(X, pass_through=True, eager_only=True), nw.DataFrame)


def iter_columns(X: Any) -> Iterator[list[Any]]:
    """Yield the values of each column."""
    if is_dataframe(X):
        return (column.to_list() for column in nw.from_native(X, eager_only=True).iter_columns())
    return (column.tolist() for column in np.asarray(X, dtype=object).T)


def is_number(value: object) -> bool:
    """Whether a value is a number and not missing; True and False are none."""
    if isinstance(value, bool) or is_missing(value):
        return False
    return isinstance(value, Real | Decimal)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, ``pandas.NA`` or ``NaT``."""
    return value is None or is_scalar_nan(value) or is_pandas_na(value) or str(value) == "NaT"
