"""A stratified sample of the rows, and two halves of the others.

Which rows these are depends on the number of the partition and on the seed alone, so that a partition that is
computed again is divided as before.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from .._sklearn_compat import safe_indexing
from .._typing import BoolArray, IntArray
from ._blocks import check_labels, check_same_columns, check_same_length, find_columns

#: The groups of rows.
SAMPLE, FIRST_HALF, SECOND_HALF = 0, 1, 2


def count_classes(y: Any, classes: NDArray[Any], number: int) -> IntArray:
    """Numbers of negative and positive rows of a partition, as one row of a table."""
    positive = check_labels(y, number) == classes[1]
    return np.array([[np.count_nonzero(~positive), np.count_nonzero(positive)]])


def stack_rows(parts: list[IntArray]) -> IntArray:
    """The rows of all parts, in their order."""
    return np.concatenate(parts)


def allocate_sample(counts: IntArray, size: int) -> IntArray:
    """How many rows of each partition and class are sampled, in proportion to their numbers."""
    share = min(1.0, size / counts.sum())
    ends = np.floor(np.cumsum(counts, axis=0) * share + 0.5)
    return np.diff(ends, axis=0, prepend=0.0).astype(np.intp)


def assign_groups(positive: BoolArray, n_sampled: IntArray, seed: int, number: int) -> IntArray:
    """The group of each row of a partition: `n_sampled` rows of both classes, and two random halves."""
    rng = np.random.default_rng([seed, number])
    groups = rng.integers(FIRST_HALF, SECOND_HALF + 1, len(positive))
    for count, mask in zip(n_sampled.tolist(), (~positive, positive), strict=True):
        groups[rng.permutation(np.flatnonzero(mask))[:count]] = SAMPLE
    return groups


def take_group(
    X: Any, y: Any, classes: NDArray[Any], n_sampled: IntArray, seed: int, number: int, group: int
) -> tuple[Any, NDArray[Any]]:
    """The rows and labels of a group of a partition."""
    labels = check_labels(y, number)
    check_same_length(X, labels, number)
    rows = np.flatnonzero(assign_groups(labels == classes[1], n_sampled, seed, number) == group)
    return safe_indexing(X, rows), labels[rows]


def concatenate_tables(tables: list[Any]) -> Any:
    """One table of the rows of many."""
    check_same_columns([find_columns(table) for table in tables])
    if issparse(tables[0]):
        return vstack(tables, format="csr")
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.maybe_reset_index(nw.concat(frames, how="vertical")).to_native()
