"""The nodes of random trees in one array, for the compiled search of each row's leaf.

Children of the same node are neighbors, level by level, so that a step needs the position of the left one
only, and the nodes near the root, which all rows pass, share the cache of the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .._compiled import load_kernels
from .._typing import FloatArray, IntArray

#: About how many additions a node costs that a row passes in scikit-learn's trees.
STEPS_PER_NODE = 8
#: With more columns, their numbers do not fit in a node.
MAX_COLUMNS = 2**16 - 1


@dataclass
class TreeNodes:
    """The nodes of all trees of a forest of two classes.

    Attributes
    ----------
    kernels : module
        The compiled code.
    nodes : ndarray
        The nodes of one tree after the other.
    values : ndarray of shape (n_nodes,)
        The share of the second class in each node.
    roots : ndarray of shape (n_trees,)
        The position of each tree's root.
    """

    kernels: ModuleType
    nodes: NDArray[Any]
    values: FloatArray
    roots: NDArray[np.uint32]

    @classmethod
    def from_forest(cls, kernels: ModuleType, forest: Any) -> TreeNodes:
        """Collect the nodes of a fitted forest."""
        trees = [each.tree_ for each in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])
        parts = [_make_nodes(kernels.NODE, tree, int(root)) for tree, root in zip(trees, roots, strict=False)]
        nodes, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(kernels, nodes, values, roots[:-1].astype(np.uint32))

    def sum_leaf_values(self, X: NDArray[np.float32]) -> FloatArray:
        """Return the sum of the leaf values of each row of an array in C order, tree after tree."""
        total = np.zeros(len(X))
        self.kernels.add_leaf_values(self.nodes, self.values, self.roots, X.reshape(-1), X.shape[1], total)
        return total


@dataclass
class _ForestUse:
    """How many nodes rows have passed in a forest so far, and its nodes once that pays."""

    n_passed: float = 0.0
    nodes: TreeNodes | None = None


#: The forests that are in use, with the trees that their nodes come from.
_known_uses: WeakKeyDictionary[Any, tuple[list[Any], _ForestUse]] = WeakKeyDictionary()


def find_tree_nodes(forest: Any, n_rows: int) -> TreeNodes | None:
    """Return the nodes of a forest if compiled code is available and the work so far is worth loading it.

    A table is predicted in blocks: no single one of them would be.
    """
    trees, use = _known_uses.get(forest, ([], _ForestUse()))
    if list(map(id, trees)) != list(map(id, forest.estimators_)):
        use = _ForestUse()
        _known_uses[forest] = list(forest.estimators_), use
    if use.nodes is None and forest.n_features_in_ <= MAX_COLUMNS:
        use.n_passed += n_rows * sum(np.log2(each.tree_.n_leaves + 1) for each in forest.estimators_)
        kernels = load_kernels("trees", STEPS_PER_NODE * use.n_passed, same_bits=True)
        use.nodes = None if kernels is None else TreeNodes.from_forest(kernels, forest)
    return use.nodes


def _make_nodes(dtype: np.dtype[Any], tree: Any, offset: int) -> tuple[NDArray[Any], FloatArray]:
    """The nodes of a tree and their values; `offset` is the position of its root."""
    positions, is_leaf = _level_order(tree), tree.children_left < 0
    nodes, values = np.zeros(tree.node_count, dtype), np.empty(tree.node_count)
    nodes["threshold"][positions] = np.where(is_leaf, np.inf, _round_down(tree.threshold))
    nodes["column"][positions] = np.where(is_leaf, 0, tree.feature)
    nodes["nan_right"][positions] = ~is_leaf & (tree.missing_go_to_left == 0)
    nodes["left"][positions] = offset + np.where(is_leaf, positions, positions[tree.children_left])
    values[positions] = tree.value[:, 0, 1]
    return nodes, values


def _level_order(tree: Any) -> IntArray:
    """The position of each node if nodes are ordered by their depth, and children are neighbors."""
    positions, level, n_before = np.zeros(tree.node_count, dtype=np.intp), np.zeros(1, dtype=np.intp), 1
    while len(level):
        inner = level[tree.children_left[level] >= 0]
        level = np.column_stack((tree.children_left[inner], tree.children_right[inner])).ravel()
        positions[level] = n_before + np.arange(len(level))
        n_before += len(level)
    return positions


def _round_down(thresholds: FloatArray) -> NDArray[np.float32]:
    """The largest number in single precision that is not above: no such number is between the two."""
    rounded = thresholds.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > thresholds, below, rounded)
