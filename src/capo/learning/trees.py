"""Fast evaluation of tree ensembles.

The leaves of a tree are numbered from left to right, and a set of leaves is an integer with a bit for each.
Where a row goes to the right, the leaves below the left child are out of reach; of the leaves that all nodes
leave over, the row reaches the first. The thresholds of a column divide its values into bins, and for each
bin a table has the leaves that the nodes of the column leave over in each tree. A row is then a conjunction
of one table row for each column, without a branch that a processor could mispredict.

Children of the same node are neighbors, level by level, so that a step needs the position of the left one
only, and the nodes near the root, which all rows pass, share the cache of the processor.

Random trees of two classes visit the rows in the order of the leaves of their first tree: rows that are alike
take the same branches one after the other, which a processor predicts. Where compiled code is available, it
needs no order (`capo.learning.trees`). The sums are those of scikit-learn, in the same order.

Behind the kernel, a logistic regression on a standardized Nystroem basis is linear: its coefficients, the
standardization and the normalization of the basis are one vector, so that a row costs its kernel and one
product. The exponents of a Gaussian kernel are one product as well, of rows with their squared norm and 1 as
further columns.

Boosted trees of two classes are looked up in tables (`capo.learning.trees`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from joblib import hash as content_hash
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array

from .._accel.loader import load_kernels
from .._compat import FloatArray, IntArray

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
        kernels = load_kernels(STEPS_PER_NODE * use.n_passed, same_bits=True)
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


#: Fewer rows are not worth ordering.
MIN_ORDERED_ROWS = 2_000
#: Rows whose kernel is computed at once: it stays in the cache of the processor.
KERNEL_BLOCK_ROWS = 1_000
#: Steps of a pipeline that are evaluated together.
KERNEL_MACHINE = (Nystroem, StandardScaler, LogisticRegression)
FORESTS = (ExtraTreesClassifier, RandomForestClassifier)

#: Returns one number per row: the score, or the probability of the second class.
Evaluator = Callable[[Any, Any], FloatArray]


def evaluate(estimator: Any, method: str, X: Any) -> Any:
    """Return what the estimator's method returns; for two classes it may be the column of the second one."""
    evaluator = _find_evaluator(estimator, method, X)
    return getattr(estimator, method)(X) if evaluator is None else evaluator(estimator, X)


def is_binary_forest(estimator: Any) -> bool:
    """Whether an estimator consists of random trees of one target with two classes."""
    return type(estimator) in FORESTS and estimator.n_outputs_ == 1 and len(estimator.classes_) == 2


def is_kernel_machine(steps: list[Any]) -> bool:
    """Whether fitted steps are a Gaussian kernel machine of two classes on a standardized basis."""
    if tuple(map(type, steps)) != KERNEL_MACHINE:
        return False
    nystroem, scaler, classifier = steps
    is_gaussian = nystroem.kernel == "rbf" and nystroem.kernel_params is None
    is_standardized = scaler.with_mean and scaler.with_std
    return bool(is_gaussian and is_standardized and classifier.coef_.shape[0] == 1)


def forest_probability(forest: Any, X: Any) -> FloatArray:
    """Return the forest's probability of the second of two classes, from an array of numbers or NaN."""
    X = check_array(X, dtype=np.float32, order="C", ensure_all_finite="allow-nan")
    nodes = find_tree_nodes(forest, len(X))
    total = _sum_leaf_values(forest, X) if nodes is None else nodes.sum_leaf_values(X)
    return total / len(forest.estimators_)


def _sum_leaf_values(forest: Any, X: NDArray[np.float32]) -> FloatArray:
    """The sum of the leaf values of each row, by scikit-learn's trees."""
    trees = [each.tree_ for each in forest.estimators_]
    order: slice | IntArray = slice(None)
    if len(X) >= MIN_ORDERED_ROWS:
        order = np.argsort(trees[0].apply(X), kind="stable")
        X = X[order]
    ordered = np.zeros(len(X))
    for tree in trees:
        ordered += np.ascontiguousarray(tree.value[:, 0, 1]).take(tree.apply(X))
    total = np.empty(len(X))
    total[order] = ordered
    return total


def kernel_machine_scores(machine: Pipeline, X: Any) -> FloatArray:
    """Return the decision function of a kernel machine, from the features before the kernel."""
    nystroem, scaler, classifier = (step for _, step in machine.steps)
    coef = classifier.coef_[0] / scaler.scale_
    intercept = float(classifier.intercept_[0]) - float(coef @ scaler.mean_)
    weights = nystroem.normalization_.T @ coef
    kernel = _make_kernel(nystroem, X)
    starts = range(0, X.shape[0], KERNEL_BLOCK_ROWS)
    blocks = (X[start : start + KERNEL_BLOCK_ROWS] for start in starts)
    return np.concatenate([kernel(block) @ weights for block in blocks]) + intercept


def boosting_scores(boosting: Any, X: Any) -> FloatArray:
    """Return the decision function of boosted trees of two classes, from an array of numbers or NaN."""
    tables = find_leaf_tables(boosting)
    return np.asarray(boosting.decision_function(X) if tables is None else tables(np.asarray(X, np.float64)))


def _make_kernel(nystroem: Nystroem, X: Any) -> Callable[[Any], FloatArray]:
    """The Gaussian kernel of rows like X with the components."""
    gamma, components = nystroem.gamma, nystroem.components_
    gamma = 1.0 / components.shape[1] if gamma is None else gamma
    if issparse(X) or issparse(components):
        return lambda block: np.asarray(rbf_kernel(block, components, gamma=gamma))
    norms = _squared_norms(components)
    factor = np.vstack((2.0 * gamma * components.T, -gamma * norms, np.full_like(norms, -gamma)))

    def kernel(block: Any) -> FloatArray:
        block = np.asarray(block, dtype=np.float64)
        exponents = np.column_stack((block, np.ones(len(block)), _squared_norms(block))) @ factor
        return np.asarray(np.exp(np.minimum(exponents, 0.0, out=exponents), out=exponents))

    return kernel


def _squared_norms(X: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _find_evaluator(estimator: Any, method: str, X: Any) -> Evaluator | None:
    if method == "predict_proba" and is_binary_forest(estimator) and not issparse(X):
        return forest_probability
    if method != "decision_function":
        return None
    if has_leaf_tables(estimator) and type(X) is np.ndarray and len(X) >= MIN_TABLE_ROWS:
        return boosting_scores if X.shape[1:] == (estimator.n_features_in_,) else None
    if type(estimator) is Pipeline and is_kernel_machine([step for _, step in estimator.steps]):
        return kernel_machine_scores
    return None


class SharedFeatures:
    """The features of some rows, computed once for each sequence of equal transformers.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The rows.
    key : callable
        Returns what is equal for equal transformers.
    """

    def __init__(self, X: Any, key: Callable[[Any], Any] = id) -> None:
        self._X, self._key = X, key
        # With the transformers: an id is unique only as long as its object lives.
        self._known: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def transform(self, transformers: Sequence[Any]) -> Any:
        """Return the rows after all transformers."""
        features = self._X
        path: tuple[Any, ...] = ()
        for transformer in transformers:
            path = (*path, self._key(transformer))
            if path not in self._known:
                self._known[path] = transformer, transformer.transform(features)
            features = self._known[path][1]
        return features


def content_key(transformer: Any) -> Any:
    """Return a hash of the content of a transformer, or its id if it cannot be pickled."""
    try:
        return content_hash(transformer)
    except Exception:  # a transformer of the user
        return id(transformer)


class ContentKeys:
    """The `content_key` of transformers that do not change meanwhile, each computed once."""

    def __init__(self) -> None:
        # With the transformers: an id is unique only as long as its object lives.
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, transformer: Any) -> Any:
        """Return the key of a transformer."""
        if id(transformer) not in self._known:
            self._known[id(transformer)] = transformer, content_key(transformer)
        return self._known[id(transformer)][1]


def split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a fitted pipeline, and the classifier after them."""
    if type(model) is not Pipeline:
        return [], model
    steps = list(iter_steps(model))
    if is_kernel_machine([step for _, step in steps[-len(KERNEL_MACHINE) :]]):
        n_last = len(KERNEL_MACHINE)
        return [step for _, step in steps[:-n_last]], Pipeline(steps[-n_last:])
    return [step for _, step in steps[:-1]], steps[-1][1]


def iter_steps(pipeline: Pipeline) -> Iterator[tuple[str, Any]]:
    """Yield the named steps of a pipeline and of those inside it, without those that change nothing."""
    for name, step in pipeline.steps:
        if type(step) is Pipeline:
            yield from iter_steps(step)
        elif not is_passthrough(step):
            yield name, step


def is_passthrough(step: Any) -> bool:
    """Whether a step of a pipeline changes nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")
