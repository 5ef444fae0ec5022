"""Fast evaluation of fitted classifiers, and of pipelines that share features.

Boosted trees of two classes are looked up in tables. The leaves of a tree are numbered from left to right,
and a set of leaves is an integer with a bit for each. Where a row goes to the right, the leaves below the
left child are out of reach; of the leaves that all nodes leave over, the row reaches the first. The
thresholds of a column divide its values into bins, and for each bin a table has the leaves that the nodes of
the column leave over in each tree. A row is then a conjunction of one table row for each column, without a
branch that a processor could mispredict.

For random trees of two classes, only the probability of the second class is summed, in scikit-learn's order.
Rows are visited in the order of the leaves of the first tree: rows that are alike take the same branches one
after the other, which a processor predicts.

Behind the kernel, a logistic regression on a standardized Nystroem basis is linear: its coefficients, the
standardization and the normalization of the basis are one vector, so that a row costs its kernel and one
product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from joblib import hash as content_hash
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array

from .._accel.threads import count_threads, map_in_threads
from .._compat import FloatArray, IntArray, NDArray
from ..kernels import Kernel, KernelExpansion

#: Number of rows looked up at once, so that their sets of leaves stay in the processor's cache.
TABLE_BLOCK_ROWS = 1_000
#: With fewer rows, building the tables takes longer than it saves.
MIN_TABLE_ROWS = 2_000
#: With more columns, looking all of them up costs more than following the branches of a few.
MAX_TABLE_COLUMNS = 60
#: Multiplied by a power of two, this number has its exponent, permuted, in the leading bits (De Bruijn).
_DE_BRUIJN = {np.dtype(np.uint16): (0x09AF, 12), np.dtype(np.uint32): (0x077CB531, 27)}
#: Steps of a pipeline that are evaluated together.
KERNEL_MACHINE = (Nystroem, StandardScaler, LogisticRegression)
FORESTS = (ExtraTreesClassifier, RandomForestClassifier)


class _Column(NamedTuple):
    """The thresholds of a column, and the leaves that each bin leaves over in each tree; the last for NaN."""

    number: int
    thresholds: FloatArray
    leaves: NDArray[Any]


@dataclass(frozen=True)
class LeafTables:
    """The trees of a boosting of two classes.

    Attributes
    ----------
    columns : list of _Column
        The columns that some tree splits.
    values : ndarray of shape (n_trees, n_bits)
        The values of each tree's leaves, at the positions of `_leaf_positions`.
    baseline : float
        The prediction without trees.
    dtype : dtype
        The type of sets of leaves.
    """

    columns: list[_Column]
    values: FloatArray
    baseline: float
    dtype: np.dtype[Any]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the decision function of each row."""
        bins = []
        for number, thresholds, _ in self.columns:
            values = X[:, number]
            bins.append(np.where(np.isnan(values), len(thresholds) + 1, np.searchsorted(thresholds, values)))
        result = np.empty(len(X))
        for start in range(0, len(X), TABLE_BLOCK_ROWS):
            rows = slice(start, start + TABLE_BLOCK_ROWS)
            result[rows] = self._sum_leaves([each[rows] for each in bins], len(result[rows]))
        return result

    def _sum_leaves(self, bins: list[IntArray], n_rows: int) -> FloatArray:
        n_trees, n_bits = self.values.shape
        leaves = np.full((n_rows, n_trees), np.iinfo(self.dtype).max, dtype=self.dtype)
        left_over = np.empty_like(leaves)
        for column, each in zip(self.columns, bins, strict=True):
            column.leaves.take(each, axis=0, out=left_over, mode="clip")
            leaves &= left_over
        first_leaf = np.bitwise_and(leaves, np.negative(leaves, out=left_over), out=leaves)
        positions = _leaf_positions(first_leaf) + np.arange(n_trees) * n_bits
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
    dtype = np.dtype(np.uint16 if n_leaves <= 16 else np.uint32)
    inner = [np.flatnonzero(nodes["is_leaf"] == 0) for nodes in trees]
    splits = np.concatenate([nodes[each] for nodes, each in zip(trees, inner, strict=True)])
    columns = np.unique(splits["feature_idx"])
    # Leaves are in order if each left child follows its parent, as scikit-learn stores trees.
    in_order = all((nodes["left"][each] == each + 1).all() for nodes, each in zip(trees, inner, strict=True))
    if n_leaves > 32 or len(columns) > MAX_TABLE_COLUMNS or not in_order:
        return None
    numbers = np.repeat(np.arange(len(trees)), [len(each) for each in inner])
    left_over = np.concatenate([_leaves_without_left(nodes, dtype) for nodes in trees])
    return LeafTables(
        [
            _make_column(int(column), splits[own], numbers[own], left_over[own], len(trees))
            for column in columns
            for own in [splits["feature_idx"] == column]
        ],
        np.array([_leaf_values(nodes, dtype) for nodes in trees]),
        float(np.ravel(boosting._baseline_prediction)[0]),
        dtype,
    )


def has_leaf_tables(estimator: Any) -> bool:
    """Whether an estimator is a boosting of two classes without splits by categories."""
    return (
        type(estimator) is HistGradientBoostingClassifier
        and estimator.n_trees_per_iteration_ == 1
        and estimator.is_categorical_ is None
        and estimator.n_iter_ > 0
    )


def _make_column(
    column: int, nodes: NDArray[Any], trees: IntArray, left_over: NDArray[Any], n_trees: int
) -> _Column:
    """The table of a column that these nodes of these trees split.

    `left_over` are the leaves that remain where a row goes to the right.
    """
    thresholds, positions = np.unique(nodes["num_threshold"], return_inverse=True)
    leaves = np.full((len(thresholds) + 2, n_trees), np.iinfo(left_over.dtype).max, left_over.dtype)
    np.bitwise_and.at(leaves, (positions + 1, trees), left_over)
    np.bitwise_and.accumulate(leaves[:-1], axis=0, out=leaves[:-1])
    goes_right = nodes["missing_go_to_left"] == 0
    np.bitwise_and.at(leaves[-1], trees[goes_right], left_over[goes_right])
    return _Column(column, thresholds, leaves)


def _leaves_without_left(nodes: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """For each inner node, the set of all leaves but those below its left child."""
    n_before = np.cumsum(nodes["is_leaf"]) - nodes["is_leaf"]
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    one = np.uint64(1)
    first, end = (n_before[each].astype(np.uint64) for each in (inner, nodes["right"][inner]))
    return np.asarray(~((one << end) - (one << first))).astype(dtype)


def _leaf_values(nodes: NDArray[Any], dtype: np.dtype[Any]) -> FloatArray:
    """The values of a tree's leaves, at the positions that `_leaf_positions` finds."""
    leaf_values = nodes["value"][nodes["is_leaf"] == 1]
    values = np.zeros(8 * dtype.itemsize)
    values[_leaf_positions(dtype.type(1) << np.arange(len(leaf_values), dtype=dtype))] = leaf_values
    return values


def _leaf_positions(single_leaves: NDArray[Any]) -> NDArray[Any]:
    """A number below the number of bits for each set of one leaf, different for different leaves."""
    factor, shift = _DE_BRUIJN[single_leaves.dtype]
    positions = np.multiply(single_leaves, single_leaves.dtype.type(factor))
    return np.right_shift(positions, shift, out=positions)


def compute_output(estimator: Any, method: str, X: Any) -> Any:
    """Return what the estimator's method returns; for two classes it may be the column of the second one."""
    if method == "predict_proba" and is_binary_forest(estimator) and not issparse(X):
        return _forest_probability(estimator, X)
    if method == "decision_function":
        if type(estimator) is Pipeline and is_kernel_machine([step for _, step in estimator.steps]):
            return _kernel_machine_scores(estimator, X)
        is_table = type(X) is np.ndarray and X.shape[1:] == (getattr(estimator, "n_features_in_", None),)
        is_large = is_table and len(X) >= MIN_TABLE_ROWS and has_leaf_tables(estimator)
        if is_large and (tables := find_leaf_tables(estimator)):
            return tables(np.asarray(X, dtype=np.float64))
    return getattr(estimator, method)(X)


def is_binary_forest(estimator: Any) -> bool:
    """Whether an estimator consists of random trees of one target with two classes."""
    return type(estimator) in FORESTS and estimator.n_outputs_ == 1 and len(estimator.classes_) == 2


def is_kernel_machine(steps: Sequence[Any]) -> bool:
    """Whether fitted steps are a Gaussian kernel machine of two classes on a standardized basis."""
    if tuple(map(type, steps)) != KERNEL_MACHINE:
        return False
    nystroem, scaler, classifier = steps
    is_gaussian = nystroem.kernel == "rbf" and nystroem.kernel_params is None
    is_standardized = scaler.with_mean and scaler.with_std
    return bool(is_gaussian and is_standardized and classifier.coef_.shape[0] == 1)


def _forest_probability(forest: Any, X: Any) -> FloatArray:
    X = check_array(X, dtype=np.float32, order="C", ensure_all_finite="allow-nan")
    trees = [each.tree_ for each in forest.estimators_]
    shares = [np.ascontiguousarray(tree.value[:, 0, 1]) for tree in trees]

    def sum_shares(rows: IntArray) -> FloatArray:
        """Return the sum over trees of the share of the second class in each row's leaf."""
        block, total = X[rows], np.zeros(len(rows))
        for tree, values in zip(trees, shares, strict=True):
            total += values.take(tree.apply(block))
        return total

    parts = np.array_split(np.argsort(trees[0].apply(X), kind="stable"), count_threads())
    probability = np.empty(len(X))
    probability[np.concatenate(parts)] = np.concatenate(map_in_threads(sum_shares, parts)) / len(trees)
    return probability


def _kernel_machine_scores(machine: Pipeline, X: Any) -> FloatArray:
    nystroem, scaler, classifier = (step for _, step in machine.steps)
    coef = classifier.coef_[0] / scaler.scale_
    intercept = float(classifier.intercept_[0]) - float(coef @ scaler.mean_)
    gamma = 1.0 / X.shape[1] if nystroem.gamma is None else nystroem.gamma
    expansion = KernelExpansion(Kernel("rbf", gamma), nystroem.components_, nystroem.normalization_.T @ coef)
    return expansion(X) + intercept


class SharedFeatures:
    """The features of some rows, computed once for each sequence of equal transformers.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The rows.
    keys : dict of int to object
        For the id of a transformer, what is equal for equal transformers; the id itself by default.
    """

    def __init__(self, X: Any, keys: Mapping[int, Any] | None = None) -> None:
        self._X, self._keys = X, keys or {}
        # With the transformers: an id is unique only as long as its object lives.
        self._known: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def transform(self, transformers: Sequence[Any]) -> Any:
        """Return the rows after all transformers."""
        features = self._X
        path: tuple[Any, ...] = ()
        for transformer in transformers:
            path = (*path, self._keys.get(id(transformer), id(transformer)))
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


def split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a fitted pipeline, and the classifier after them."""
    if type(model) is not Pipeline:
        return [], model
    steps = active_steps(model)
    n_last = len(KERNEL_MACHINE)
    if is_kernel_machine([step for _, step in steps[-n_last:]]):
        return [step for _, step in steps[:-n_last]], Pipeline(steps[-n_last:])
    return [step for _, step in steps[:-1]], steps[-1][1]


def active_steps(pipeline: Pipeline) -> list[tuple[str, Any]]:
    """Return the named steps of a pipeline without those that change nothing."""
    return [step for step in pipeline.steps if step[1] is not None and not isinstance(step[1], str)]
