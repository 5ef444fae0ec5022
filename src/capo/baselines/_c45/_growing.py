"""Growing the tree: which feature to split on, and where."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ._entries import TIE, Entries, NodeSplit, Rows
from ._tree import Tree, total_entropy

#: A feature competes if its gain lacks less than this to the average.
NEAR_AVERAGE = 1e-3


def grow(entries: Entries, rows: Rows, min_samples_leaf: int) -> Tree:
    """Split until no split is useful."""
    tree, whole = Tree(), entries
    stack = [(entries, np.flatnonzero(rows.weight), -1, tree.left)]
    while stack:
        entries, here, parent, side = stack.pop()
        W, P = rows.totals(here)
        node = tree.add_leaf(W, P, here)
        if parent >= 0:
            side[parent] = node
        split = _best_split(entries, rows, W, P, min_samples_leaf)
        if split is None:
            continue
        tree.column[node] = split.column
        tree.threshold[node] = threshold = whole.largest_not_above(split)
        goes_left = entries.goes_left(split.column, threshold, len(rows.weight))
        del tree.rows[node]
        stack.append((*entries.branch(~goes_left, here), node, tree.right))
        stack.append((*entries.branch(goes_left, here), node, tree.left))
    return tree


def _best_split(entries: Entries, rows: Rows, W: float, P: float, min_samples_leaf: int) -> NodeSplit | None:
    """The feature with the best gain ratio among those of at least average gain."""
    if min_samples_leaf > W / 2 or min(P, W - P) <= TIE or not len(entries.column):
        return None
    position, W_left, P_left = entries.cuts(rows, W, P, _least(W, min_samples_leaf))
    if not len(position):
        return None
    gain = (total_entropy(W, P) - total_entropy(W_left, P_left) - total_entropy(W - W_left, P - P_left)) / W
    column = entries.column[position]
    best, n_cuts = _first_best(gain, column)
    reduced = gain[best] - np.log2(n_cuts) / W
    useful = reduced >= TIE
    if not useful.any():
        return None
    competes = useful & (reduced >= reduced[useful].mean() - NEAR_AVERAGE)
    ratio = np.where(competes, reduced * W / total_entropy(W, W_left[best]), 0.0)
    chosen = best[np.flatnonzero(ratio >= ratio.max() - TIE)[0]]
    at = position[chosen]
    return NodeSplit(int(column[chosen]), float(entries.value[at]), float(entries.value[at + 1]))


def _first_best(gain: FloatArray, column: IntArray) -> tuple[IntArray, IntArray]:
    """For each column that has cuts its best one, the first among equals, and the number of its cuts."""
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    n_cuts = np.diff(starts, append=len(column))
    top = np.flatnonzero(gain >= np.repeat(np.maximum.reduceat(gain, starts), n_cuts) - TIE)
    return top[np.flatnonzero(np.diff(column[top], prepend=-1))], n_cuts


def _least(W: float, min_samples_leaf: int) -> float:
    """Least weight on each side of a cut: J48's rule, for two classes."""
    return max(min_samples_leaf, min(0.1 * W / 2, 25.0))
