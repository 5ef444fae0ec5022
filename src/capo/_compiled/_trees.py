"""Random trees: the sum of the leaf values of each row. Each sum has the bits that NumPy gives."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from .._typing import FloatArray
from ._compile import FLOAT64, FLOAT64_OUT, kernel, read_only

#: A node: rows with a larger value than the threshold go to the right child, which follows the left one. The
#: children of a leaf are the leaf itself. NaN goes to the right where `nan_right` is 1.
NODE = np.dtype(
    [("threshold", np.float32), ("column", np.uint16), ("nan_right", np.uint16), ("left", np.uint32)]
)
_NODES = read_only(numba.from_dtype(NODE))
_COUNTS = read_only(types.uint32)
_ROWS = read_only(types.float32)


def _choose_child(nodes: Any, X: Any, row: Any, position: Any) -> Any:
    """The child that a row goes to, without a branch; `row` is where its values begin."""
    node = nodes[position]
    value = X[row + np.uint64(node.column)]
    return node.left + np.uint32((value > node.threshold) | (np.isnan(value) & (node.nan_right != 0)))


_next_node: Any = numba.njit(inline="always")(_choose_child)


@kernel(types.void(_NODES, FLOAT64, _COUNTS, _ROWS, types.uint64, FLOAT64_OUT))
def add_leaf_values(
    nodes: NDArray[Any],
    values: FloatArray,
    roots: NDArray[np.uint32],
    X: NDArray[np.float32],
    n_columns: int,
    out: FloatArray,
) -> None:
    """Add the value of each row's leaf in each tree; X is flat, row by row.

    Eight rows descend at the same time, so that the processor need not wait for one node after the other.
    """
    n_rows = len(out)
    for root in roots:
        for first in range(0, n_rows, 8):
            last = n_rows - 1
            r0 = np.uint64(first) * n_columns
            r1 = np.uint64(min(first + 1, last)) * n_columns
            r2 = np.uint64(min(first + 2, last)) * n_columns
            r3 = np.uint64(min(first + 3, last)) * n_columns
            r4 = np.uint64(min(first + 4, last)) * n_columns
            r5 = np.uint64(min(first + 5, last)) * n_columns
            r6 = np.uint64(min(first + 6, last)) * n_columns
            r7 = np.uint64(min(first + 7, last)) * n_columns
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = root
            moved = True
            while moved:
                b0, b1 = _next_node(nodes, X, r0, a0), _next_node(nodes, X, r1, a1)
                b2, b3 = _next_node(nodes, X, r2, a2), _next_node(nodes, X, r3, a3)
                b4, b5 = _next_node(nodes, X, r4, a4), _next_node(nodes, X, r5, a5)
                b6, b7 = _next_node(nodes, X, r6, a6), _next_node(nodes, X, r7, a7)
                changed = (a0 ^ b0) | (a1 ^ b1) | (a2 ^ b2) | (a3 ^ b3)
                changed |= (a4 ^ b4) | (a5 ^ b5) | (a6 ^ b6) | (a7 ^ b7)
                moved = changed != 0
                a0, a1, a2, a3, a4, a5, a6, a7 = b0, b1, b2, b3, b4, b5, b6, b7
            leaves = (a0, a1, a2, a3, a4, a5, a6, a7)
            for k in range(min(8, n_rows - first)):
                out[first + k] += values[leaves[k]]
