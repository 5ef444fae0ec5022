"""Checks of a table's numbers, and of its agreement with the training table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..exceptions import InvalidInputError
from ._columns import is_dataframe, is_missing
from ._schema import ColumnInfo, FeatureSchema

#: Larger numbers are rejected like infinite ones: sums of their squares could overflow.
MAX_MAGNITUDE = 1e100
#: Columns that an error names.
MAX_NAMED_COLUMNS = 5


def check_numbers(X: Any) -> None:
    """Raise if X holds a number that would overflow, or a missing value in a sparse matrix.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        Only columns of floating-point numbers are checked.
    """
    if issparse(X):
        _check_sparse(X)
    elif is_dataframe(X):
        for name, values in _float_columns(X):
            _check_column(values, f"the column {name!r} of X")
    elif _has_large_number(X):
        column = int(np.nanargmax(np.fmax.reduce(np.abs(X), axis=0)))
        _check_column(X[:, column], f"column {column} of X (counted from 0)")


def _float_columns(X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    columns = nw.from_native(X, eager_only=True).iter_columns()  # names may be numbers
    return ((column.name, column.to_numpy()) for column in columns if column.dtype.is_float())


def _check_sparse(X: Any) -> None:
    if X.dtype.kind == "f" and np.isnan(X.data).any():
        raise InvalidInputError(
            "X is a sparse matrix with missing values (NaN), which only data frames and arrays may have: "
            "fill them in, or pass an array."
        )
    if _has_large_number(X.data):
        entries = X.tocoo()
        position = int(np.argmax(np.abs(entries.data)))
        column = f"column {entries.col[position]} of X (counted from 0)"
        _raise_large_number(entries.data[position], column, entries.row[position])


def _has_large_number(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "f" or not values.size:
        return False
    largest, smallest = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
    return max(float(largest), -float(smallest)) > MAX_MAGNITUDE


def _check_column(values: NDArray[Any], name: str) -> None:
    if _has_large_number(values):
        row = int(np.nanargmax(np.abs(values)))
        _raise_large_number(values[row], name, row)


def _raise_large_number(value: Any, column: str, row: int) -> None:
    found = "infinity" if np.isinf(value) else f"{value:.3g}"
    raise InvalidInputError(
        f"{column} contains {found} in row {row}: numbers beyond {MAX_MAGNITUDE:g} overflow. Scale or "
        "clip the column, or remove the row."
    )


def describe_mismatch(X: Any, schema: FeatureSchema) -> str:
    """Return how X differs from the training table, with what to do; empty if no difference was found."""
    names = [column.key for column in schema.columns if isinstance(column.key, str)]
    if not is_dataframe(X):
        return _describe_array(names) if names else ""
    numeric = [column for column in schema.of_role("numeric") if column.is_typed]
    return next(filter(None, (_describe_text(X, column) for column in numeric)), "")


def _describe_array(names: list[str]) -> str:
    more = ", ..." if len(names) > MAX_NAMED_COLUMNS else ""
    return (
        "X is an array, but the model was trained on a data frame, whose columns it takes by name "
        f"({', '.join(map(repr, names[:MAX_NAMED_COLUMNS]))}{more}): pass a data frame with these columns, "
        "such as pandas.DataFrame(X, columns=model.feature_names_in_)."
    )


def _describe_text(X: Any, column: ColumnInfo) -> str:
    """A sentence if a column of numbers contains text in X."""
    frame = nw.from_native(X, eager_only=True)
    position = frame.columns.index(column.key) if isinstance(column.key, str) else column.key
    series = frame[:, position]
    if series.dtype.is_numeric():
        return ""
    texts = [value for value in series.to_list() if not (is_missing(value) or _is_number(value))]
    if not texts:
        return ""
    return (
        f"the column {column.key!r} of X had only numbers when the model was trained, but has {texts[0]!r} "
        f"now, in {len(texts):,} of {len(series):,} rows: correct such values, or leave them missing."
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
