"""Growth of the tree: the choice of the feature and the threshold of each split."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ._entries import TIE, Entries, NodeSplit, TrainingRows
from ._tree import Tree, total_entropy

#: A feature is considered if its gain is at least the average minus this.
AVERAGE_SLACK = 1e-3


def grow(entries: Entries, rows: TrainingRows, min_samples_leaf: int) -> Tree:
    """Split the nodes until no split is useful."""
    tree, all_entries = Tree(), entries
    stack = [(entries, np.flatnonzero(rows.weight), -1, tree.left)]
    while stack:
        entries, node_rows, parent, children = stack.pop()
        W, P = rows.totals(node_rows)
        node = tree.add_leaf(W, P, node_rows)
        if parent >= 0:
            children[parent] = node
        split = _best_split(entries, rows, W, P, min_samples_leaf)
        if split is None:
            continue
        tree.column[node] = split.column
        tree.threshold[node] = threshold = all_entries.threshold_for(split)
        goes_left = entries.goes_left(split.column, threshold, len(rows.weight))
        del tree.rows[node]
        stack.append((*entries.branch(~goes_left, node_rows), node, tree.right))
        stack.append((*entries.branch(goes_left, node_rows), node, tree.left))
    return tree


def _best_split(
    entries: Entries, rows: TrainingRows, W: float, P: float, min_samples_leaf: int
) -> NodeSplit | None:
    """The feature with the best gain ratio among those of at least average gain."""
    if min_samples_leaf > W / 2 or min(P, W - P) <= TIE or not len(entries.column):
        return None
    position, W_left, P_left = entries.cuts(rows, W, P, _min_branch_weight(W, min_samples_leaf))
    if not len(position):
        return None
    gain = (total_entropy(W, P) - total_entropy(W_left, P_left) - total_entropy(W - W_left, P - P_left)) / W
    column = entries.column[position]
    best, n_cuts = _best_cuts(gain, column)
    reduced = gain[best] - np.log2(n_cuts) / W
    useful = reduced >= TIE
    if not useful.any():
        return None
    eligible = useful & (reduced >= reduced[useful].mean() - AVERAGE_SLACK)
    ratio = np.where(eligible, reduced * W / total_entropy(W, W_left[best]), 0.0)
    chosen = best[np.flatnonzero(ratio >= ratio.max() - TIE)[0]]
    at = position[chosen]
    return NodeSplit(int(column[chosen]), float(entries.value[at]), float(entries.value[at + 1]))


def _best_cuts(gain: FloatArray, column: IntArray) -> tuple[IntArray, IntArray]:
    """For each column with cuts the position of its best one, the first in a tie, and their number."""
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    n_cuts = np.diff(starts, append=len(column))
    top = np.flatnonzero(gain >= np.repeat(np.maximum.reduceat(gain, starts), n_cuts) - TIE)
    return top[np.flatnonzero(np.diff(column[top], prepend=-1))], n_cuts


def _min_branch_weight(W: float, min_samples_leaf: int) -> float:
    """Smallest weight on each side of a cut: J48's rule, for two classes."""
    return max(min_samples_leaf, min(0.1 * W / 2, 25.0))
