"""Faster forms of what fitted classifiers compute, with the same results.

Random trees of two classes visit the rows in the order of the leaves of their first tree: rows that are alike
take the same branches one after the other, which a processor predicts. Where compiled code is available, it
needs no order (`capo.auxiliary._tree_nodes`). The sums are those of scikit-learn, in the same order.

Behind the kernel, a logistic regression on a standardized Nystroem basis is linear: its coefficients, the
standardization and the normalization of the basis are one vector, so that a row costs its kernel and one
product. The exponents of a Gaussian kernel are one product as well, of rows with their squared norm and 1 as
further columns.

Boosted trees of two classes are looked up in tables (`capo.auxiliary._leaf_tables`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array

from .._typing import FloatArray, IntArray
from ._leaf_tables import MIN_TABLE_ROWS, find_leaf_tables, has_leaf_tables
from ._tree_nodes import find_tree_nodes

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
