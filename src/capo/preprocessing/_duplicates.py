"""Rows that are equal in all columns.

In a table of a few discrete columns, equal rows are to be expected. A row counts as a copy only if equal rows
would be rare by chance: if its values were drawn independently, each with its frequency in its column.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .._typing import BoolArray, FloatArray, IntArray
from ._columns import is_dataframe, is_missing

#: A row is a copy only if fewer rows equal to it than this are expected by chance.
MAX_EXPECTED_COPIES = 0.1
#: An odd number without structure: a product with it spreads a column's bits over the hash.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_HASHABLE_TYPES = {str, int, float, bool, type(None)}


def duplicate_share(X: Any, folds: IntArray) -> float:
    """Return the share of the rows that are copies of a row in another fold.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The rows.
    folds : ndarray of shape (n_samples,)
        The number of the fold of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.preprocessing import duplicate_share
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:10] = X[10:20]
    >>> duplicate_share(X, np.arange(100) // 10)
    0.2
    >>> duplicate_share(X.round() > 0, np.arange(100) // 10)
    0.0
    """
    columns = _sparse_hashes(X) if issparse(X) else _column_codes(X)
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    for column in columns:
        hashes = _mix(hashes ^ column)
    in_other_fold = _has_equal_row_elsewhere(hashes, folds)
    if not in_other_fold.any():
        return 0.0
    return float((in_other_fold & (_expected_copies(columns) < MAX_EXPECTED_COPIES)).mean())


def _has_equal_row_elsewhere(hashes: NDArray[np.uint64], folds: IntArray) -> BoolArray:
    _, row_group = np.unique(hashes, return_inverse=True)
    lowest = np.full(row_group.max() + 1, folds.max() + 1)
    highest = np.full(row_group.max() + 1, -1)
    np.minimum.at(lowest, row_group, folds)
    np.maximum.at(highest, row_group, folds)
    return np.asarray((lowest < highest)[row_group])


def _expected_copies(columns: list[NDArray[np.uint64]]) -> FloatArray:
    """The number of rows that would equal each row by chance."""
    n_rows = len(columns[0])
    expected = np.full(n_rows, float(n_rows))
    for column in columns:
        if (expected < MAX_EXPECTED_COPIES).all():
            break
        _, row_value, counts = np.unique(column, return_inverse=True, return_counts=True)
        expected *= (counts / n_rows)[row_value]
    return expected


def _column_codes(X: Any) -> list[NDArray[np.uint64]]:
    """A code of each value, column by column; equal values of a column have equal codes."""
    if is_dataframe(X):
        return [_series_codes(column) for column in nw.from_native(X, eager_only=True).iter_columns()]
    return [_bits(column) for column in np.asarray(X, dtype=np.float64).T]


def _series_codes(column: nw.Series[Any]) -> NDArray[np.uint64]:
    if column.dtype.is_float():
        return _bits(column.fill_null(np.nan).to_numpy().astype(np.float64))
    return _value_codes(column.to_list())


def _value_codes(values: list[Any]) -> NDArray[np.uint64]:
    """The number of each value in the order of first occurrence; all missing values are the same."""
    if not set(map(type, values)) <= _HASHABLE_TYPES:
        values = [_hashable(value) for value in values]
    codes = {value: number for number, value in enumerate(dict.fromkeys(values))}
    numbers = np.array(list(map(codes.__getitem__, values)), dtype=np.uint64)
    missing = [number for value, number in codes.items() if is_missing(value)]
    numbers[np.isin(numbers, missing)] = missing[0] if missing else 0
    return numbers


def _hashable(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    return None if is_missing(value) else repr(value)


def _bits(values: FloatArray) -> NDArray[np.uint64]:
    values = np.where(np.isnan(values), np.nan, values)  # NaN has many patterns of bits
    return np.asarray((values + 0.0).view(np.uint64))  # adding 0.0 turns -0.0 into 0.0


def _mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (hashes + np.uint64(1)) * _MULTIPLIER
    return np.asarray((mixed ^ (mixed >> _SHIFT)) * _MULTIPLIER)


def _sparse_hashes(X: Any) -> list[NDArray[np.uint64]]:
    """One column: the sum over the hashes of a row's entries, which does not depend on their order."""
    X = csr_array(X).copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    entries = _mix(_bits(X.data.astype(np.float64)) ^ _mix(X.indices.astype(np.uint64)))
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)))
    return [totals[X.indptr[1:]] - totals[X.indptr[:-1]]]
