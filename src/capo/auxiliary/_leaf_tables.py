"""Boosted trees of two classes by tables in place of branches (Lucchese et al., "QuickScorer", 2015).

The leaves of a tree are numbered from left to right, and a set of leaves is an integer with a bit for each.
Where a row goes to the right, the leaves below the left child are out of reach; of the leaves that all nodes
leave over, the row reaches the first. The thresholds of a column divide its values into bins, and for each
bin a table has the leaves that the nodes of the column leave over in each tree. A row is then a conjunction
of one table row for each column, without a branch that a processor could mispredict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from .._typing import FloatArray, IntArray

#: Rows that are looked up at once: their sets of leaves stay in the cache of the processor.
TABLE_BLOCK_ROWS = 1_000
#: Fewer rows are not worth the tables.
MIN_TABLE_ROWS = 2_000
#: With more columns, looking all of them up costs more than following the branches of a few.
MAX_TABLE_COLUMNS = 60
#: Multiplied by a power of two, this number has its exponent, permuted, in the leading bits (De Bruijn).
_DE_BRUIJN = {np.dtype(np.uint16): (0x09AF, 12), np.dtype(np.uint32): (0x077CB531, 27)}


@dataclass(frozen=True)
class _Column:
    """The thresholds of a column, and the leaves that each bin leaves over in each tree; the last for NaN."""

    number: int
    thresholds: FloatArray
    leaves: NDArray[Any]

    def bins(self, values: FloatArray) -> IntArray:
        """Return the bin of each value: the number of thresholds below it."""
        found = np.searchsorted(self.thresholds, values)
        found[np.isnan(values)] = len(self.thresholds) + 1
        return found


@dataclass(frozen=True)
class LeafTables:
    """The trees of a boosting of two classes.

    Attributes
    ----------
    columns : list of _Column
        The columns that some tree splits.
    values : ndarray of shape (n_trees * n_bits,)
        The values of each tree's leaves, in the order of `_leaf_positions`.
    baseline : float
        The prediction without trees.
    dtype : dtype
        The type of sets of leaves.
    n_trees : int
        Number of trees.
    """

    columns: list[_Column]
    values: FloatArray
    baseline: float
    dtype: np.dtype[Any]
    n_trees: int

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the decision function of each row."""
        bins = [column.bins(X[:, column.number]) for column in self.columns]
        result = np.empty(len(X))
        for start in range(0, len(X), TABLE_BLOCK_ROWS):
            rows = slice(start, start + TABLE_BLOCK_ROWS)
            result[rows] = self._sum_leaves([each[rows] for each in bins], len(result[rows]))
        return result

    def _sum_leaves(self, bins: list[IntArray], n_rows: int) -> FloatArray:
        leaves = np.full((n_rows, self.n_trees), np.iinfo(self.dtype).max, dtype=self.dtype)
        left_over = np.empty_like(leaves)
        for column, each in zip(self.columns, bins, strict=True):
            column.leaves.take(each, axis=0, out=left_over, mode="clip")
            leaves &= left_over
        first_leaf = np.bitwise_and(leaves, np.negative(leaves, out=left_over), out=leaves)
        positions = _leaf_positions(first_leaf) + np.arange(self.n_trees) * 8 * self.dtype.itemsize
        return self.values.take(positions).sum(axis=1) + self.baseline


#: The tables of boostings that are in use, with the trees that they were made from.
_known_tables: WeakKeyDictionary[Any, tuple[Any, LeafTables | None]] = WeakKeyDictionary()


def find_leaf_tables(boosting: Any) -> LeafTables | None:
    """Return the tables of boosted trees as `make_leaf_tables`, which is called once for each fit."""
    trees, tables = _known_tables.get(boosting, (None, None))
    if trees is not boosting._predictors or boosting.warm_start:
        tables = make_leaf_tables(boosting)
        _known_tables[boosting] = boosting._predictors, tables
    return tables


def make_leaf_tables(boosting: Any) -> LeafTables | None:
    """Return the tables of boosted trees; None if they have more leaves than bits, or too many columns."""
    trees = [trees[0].nodes for trees in boosting._predictors]
    n_leaves = max(int(nodes["is_leaf"].sum()) for nodes in trees)
    columns = np.unique(np.concatenate([nodes["feature_idx"][~_is_leaf(nodes)] for nodes in trees]))
    if n_leaves > 32 or len(columns) > MAX_TABLE_COLUMNS or not all(map(_is_preorder, trees)):
        return None
    dtype = np.dtype(np.uint16 if n_leaves <= 16 else np.uint32)
    splits = _Splits.collect(trees, dtype)
    return LeafTables(
        [splits.make_column(int(number), len(trees)) for number in columns],
        np.concatenate([_leaf_values(nodes, dtype) for nodes in trees]),
        float(np.ravel(boosting._baseline_prediction)[0]),
        dtype,
        len(trees),
    )


def has_leaf_tables(estimator: Any) -> bool:
    """Whether an estimator is a boosting of two classes without splits by categories."""
    return (
        type(estimator) is HistGradientBoostingClassifier
        and estimator.n_trees_per_iteration_ == 1
        and estimator.is_categorical_ is None
        and estimator.n_iter_ > 0
    )


@dataclass(frozen=True)
class _Splits:
    """The inner nodes of all trees; `left_over` are the leaves that remain where a row goes to the right."""

    trees: IntArray
    nodes: NDArray[Any]
    left_over: NDArray[Any]

    @classmethod
    def collect(cls, trees: list[NDArray[Any]], dtype: np.dtype[Any]) -> _Splits:
        inner = [nodes[~_is_leaf(nodes)] for nodes in trees]
        return cls(
            np.repeat(np.arange(len(trees)), [len(nodes) for nodes in inner]),
            np.concatenate(inner),
            np.concatenate([_leaves_without_left(nodes, dtype) for nodes in trees]),
        )

    def make_column(self, number: int, n_trees: int) -> _Column:
        """Return the table of a column."""
        own = self.nodes["feature_idx"] == number
        nodes, trees, left_over = self.nodes[own], self.trees[own], self.left_over[own]
        thresholds, positions = np.unique(nodes["num_threshold"], return_inverse=True)
        leaves = np.full((len(thresholds) + 2, n_trees), np.iinfo(left_over.dtype).max, left_over.dtype)
        np.bitwise_and.at(leaves, (positions + 1, trees), left_over)
        np.bitwise_and.accumulate(leaves[:-1], axis=0, out=leaves[:-1])
        goes_right = nodes["missing_go_to_left"] == 0
        np.bitwise_and.at(leaves[-1], trees[goes_right], left_over[goes_right])
        return _Column(number, thresholds, leaves)


def _is_leaf(nodes: NDArray[Any]) -> NDArray[np.bool_]:
    return nodes["is_leaf"].astype(bool)


def _is_preorder(nodes: NDArray[Any]) -> bool:
    """Whether each left child follows its parent, as scikit-learn stores trees: leaves are then in order."""
    inner = np.flatnonzero(~_is_leaf(nodes))
    return bool((nodes["left"][inner] == inner + 1).all())


def _leaves_without_left(nodes: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """For each inner node, the set of all leaves but those below its left child."""
    n_before = np.cumsum(nodes["is_leaf"]) - nodes["is_leaf"]
    inner = np.flatnonzero(~_is_leaf(nodes))
    one = np.uint64(1)
    first, end = (n_before[each].astype(np.uint64) for each in (inner, nodes["right"][inner]))
    return np.asarray(~((one << end) - (one << first))).astype(dtype)


def _leaf_values(nodes: NDArray[Any], dtype: np.dtype[Any]) -> FloatArray:
    """The values of a tree's leaves, at the positions that `_leaf_positions` finds."""
    leaf_values = nodes["value"][_is_leaf(nodes)]
    values = np.zeros(8 * dtype.itemsize)
    values[_leaf_positions(dtype.type(1) << np.arange(len(leaf_values), dtype=dtype))] = leaf_values
    return values


def _leaf_positions(single_leaves: NDArray[Any]) -> NDArray[Any]:
    """A number below the number of bits for each set of one leaf, different for different leaves."""
    factor, shift = _DE_BRUIJN[single_leaves.dtype]
    positions = np.multiply(single_leaves, single_leaves.dtype.type(factor))
    return np.right_shift(positions, shift, out=positions)
