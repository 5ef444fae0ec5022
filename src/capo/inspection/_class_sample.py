"""Samples of rows in which a rare class keeps its rows."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray

#: Rows of each class that a sample has, if there are as many.
MIN_CLASS_ROWS = 200


def sample_by_class(
    classes: IntArray, n_rows: int, random: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Draw rows without replacement, with at least 200 rows of each class if there are as many.

    Parameters
    ----------
    classes : ndarray of int, shape (n,)
        The number of the class of each row.
    n_rows : int
        The number of rows to draw.
    random : RandomState
        Draws the rows.

    Returns
    -------
    rows : ndarray of int, shape (n_rows,)
        Their positions, in ascending order.
    weight : ndarray of shape (n_rows,)
        How many rows each one stands for, divided by the mean of these numbers.
    """
    counts = np.bincount(classes)
    sizes = _sample_sizes(counts, n_rows)
    shuffled = random.permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    rank = np.arange(len(classes)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(by_class[rank < np.repeat(sizes, counts)])
    weight = (counts / np.maximum(sizes, 1))[classes[rows]]
    return rows, weight * len(rows) / len(classes)


def _sample_sizes(counts: IntArray, n_rows: int) -> IntArray:
    """The number of rows to draw of each class: its share, but no fewer than the smallest number."""
    n_classes = np.count_nonzero(counts)
    floor = np.minimum(counts, min(MIN_CLASS_ROWS, n_rows // int(n_classes)))
    sizes = floor.copy()
    for position in np.argsort(counts):  # the rarest class first; what it exceeds its share by, others lose
        n_left = n_rows - sizes[counts < counts[position]].sum()
        share = n_left * counts[position] / counts[counts >= counts[position]].sum()
        sizes[position] = max(floor[position], int(share))
    largest = int(np.argmax(counts))
    sizes[largest] = min(counts[largest], sizes[largest] + n_rows - sizes.sum())
    return sizes
