"""The models of the built-in sets of auxiliaries.

They take data frames with text, categories
and missing values as they are. For a sparse matrix the trees use the columns that separate the classes
best, and a second boosting uses its leading singular directions in place of the kernel machine.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from ..exceptions import InvalidInputError
from ..preprocessing import (
    FeatureSchema,
    make_linear_features,
    make_rbf_features,
    make_tree_features,
    n_ordinal_columns,
)

#: Random trees with larger leaves, fully grown ones, and those for many classes.
N_TREES, N_FULL_TREES, N_CLASS_TREES = 40, 60, 100
#: Rows that each leaf of a random tree needs, unless it is fully grown.
MIN_SAMPLES_LEAF = 2
#: A split of a fully grown tree sees this share of the columns, but no more than so many.
FULL_TREES_MAX_FEATURES, FULL_TREES_MAX_COLUMNS = 0.5, 30
#: From so many rows on, each random tree of two classes sees a sample of them.
MIN_ROWS_FOR_TREE_SAMPLES = 15_000
#: Rows of such a sample, and the share of the rows that it has of larger tables.
N_TREE_SAMPLES, TREE_SAMPLES_SHARE = 12_000, 1 / 8
#: Boosting of two classes: smaller trees than scikit-learn's, whose splits each see a random half of the
#: columns. Without a penalty, the leaves diverge where there are few positive rows. With early stopping,
#: scikit-learn's default above 10,000 rows, a tenth of the rows would not be learned from.
BOOSTING = {
    "learning_rate": 0.1,
    "max_iter": 80,
    "early_stopping": False,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 10,
    "l2_regularization": 1.0,
    "max_features": 0.5,
}
#: Boosting with fewer and larger steps, for the set that costs less.
QUICK_BOOSTING = {
    "learning_rate": 0.15,
    "max_iter": 60,
    "early_stopping": False,
    "max_leaf_nodes": 15,
    "l2_regularization": 1.0,
}
#: Boosting of each label of a label matrix.
LABEL_BOOSTING = {"learning_rate": 0.15, "max_iter": 60, "l2_regularization": 1.0}
#: Penalty on the leaves of boosted trees of many classes.
CLASS_BOOSTING_L2 = 1.0
#: Rows that each leaf of a boosted tree of many classes needs.
CLASS_BOOSTING_MIN_SAMPLES_LEAF = 5
#: Columns of the kernel's basis, for two classes and for more.
N_KERNEL_COMPONENTS, N_CLASS_KERNEL_COMPONENTS = 200, 500
#: Columns of a sparse matrix that trees use.
MAX_SPARSE_COLUMNS = 300
#: Components of the truncated singular value decomposition.
N_LATENT_COMPONENTS = 60


def make_boosting(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return boosted trees for data like X, whose columns `schema` describes."""
    return _make_boosting(X, schema, BOOSTING)


def make_quick_boosting(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return fewer boosted trees, for data like X."""
    return _make_boosting(X, schema, QUICK_BOOSTING)


def make_class_boosting(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return boosted trees of many classes for data like X.

    Without a penalty, the trees of a class with a few rows diverge and spoil all probabilities.
    """
    params = {"l2_regularization": CLASS_BOOSTING_L2, "min_samples_leaf": CLASS_BOOSTING_MIN_SAMPLES_LEAF}
    return _make_boosting(X, schema, params)


def make_label_boosting(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return boosted trees of one label of a label matrix, for data like X."""
    return _make_boosting(X, schema, LABEL_BOOSTING)


def make_trees(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return random trees of two classes for data like X, whose columns `schema` describes."""
    return _make_trees(X, schema, N_TREES, criterion="entropy", **_row_samples(X))


def make_full_trees(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return fully grown random trees of two classes, whose splits see more of the columns, for data like X.

    They follow details that the average of larger leaves misses, and more of the noise.
    """
    n_columns = min(X.shape[1], MAX_SPARSE_COLUMNS) if issparse(X) else X.shape[1]
    share = min(FULL_TREES_MAX_FEATURES, FULL_TREES_MAX_COLUMNS / n_columns)
    params = {"min_samples_leaf": 1, "max_features": share, **_row_samples(X)}
    return _make_trees(X, schema, N_FULL_TREES, criterion="entropy", **params)


def make_class_trees(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return random trees for many classes or labels, and data like X."""
    return _make_trees(X, schema, N_CLASS_TREES)


def make_linear(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return a logistic regression for data like X, whose columns `schema` describes."""
    return make_pipeline(make_linear_features(X, schema, uses_labels=True), LogisticRegression(max_iter=1000))


def make_kernel_machine(X: Any, schema: FeatureSchema, n_components: int = N_KERNEL_COMPONENTS) -> Pipeline:
    """Return a logistic regression on a Nystroem basis, for data like X, whose columns `schema` describes."""
    _check_dense(X, "kernel")
    features = make_rbf_features(X, n_components, schema, uses_labels=True)
    return make_pipeline(features, LogisticRegression(C=0.3, max_iter=300))


def make_class_kernel_machine(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return a kernel machine with a larger basis, for many classes and data like X."""
    return make_kernel_machine(X, schema, N_CLASS_KERNEL_COMPONENTS)


def make_svm(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return a support vector machine with the Gaussian kernel for data like X, described by `schema`."""
    _check_dense(X, "svm")
    return make_pipeline(make_linear_features(X, schema, uses_labels=True), SVC(C=10.0))


def make_latent(X: Any, schema: FeatureSchema) -> Pipeline:
    """Return boosted trees on the leading singular directions of a sparse matrix like X."""
    if not issparse(X) or X.shape[1] <= 2:
        raise InvalidInputError(
            "the auxiliary 'latent' requires a sparse matrix with more than 2 columns: remove it."
        )
    svd = TruncatedSVD(min(N_LATENT_COMPONENTS, X.shape[1] - 1))
    return make_pipeline(svd, HistGradientBoostingClassifier())


def class_separation(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the F statistic of each column; columns that are constant in a fold come last, silently.

    For a label matrix it is the largest one over the labels.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if np.ndim(y) == 1:
            return f_classif(X, y)
        found = [f_classif(X, column) for column in np.asarray(y).T if column.min() < column.max()]
    statistics, p_values = (np.array(part) for part in zip(*found, strict=True))
    return np.nan_to_num(statistics).max(axis=0), p_values.min(axis=0)


def to_dense(X: Any) -> Any:
    """Return a sparse matrix as an array."""
    return X.toarray() if issparse(X) else X


def _make_boosting(X: Any, schema: FeatureSchema, params: dict[str, Any]) -> Pipeline:
    if issparse(X):
        return make_pipeline(_best_columns(X), _densifier(), HistGradientBoostingClassifier(**params))
    encoded = list(range(n_ordinal_columns(schema)))
    boosting = HistGradientBoostingClassifier(categorical_features=encoded or None, **params)
    return make_pipeline(make_tree_features(X, schema), boosting)


def _make_trees(X: Any, schema: FeatureSchema, n_trees: int, **params: Any) -> Pipeline:
    features = _best_columns(X) if issparse(X) else make_tree_features(X, schema)
    trees = ExtraTreesClassifier(n_trees, **{"min_samples_leaf": MIN_SAMPLES_LEAF, **params})
    return make_pipeline(features, trees)


def _row_samples(X: Any) -> dict[str, Any]:
    """Parameters of random trees that each see a sample of the rows, if there are many."""
    n_rows = X.shape[0]
    if n_rows < MIN_ROWS_FOR_TREE_SAMPLES:
        return {}
    return {"bootstrap": True, "max_samples": max(N_TREE_SAMPLES / n_rows, TREE_SAMPLES_SHARE)}


def _best_columns(X: Any) -> SelectKBest:
    return SelectKBest(class_separation, k=min(MAX_SPARSE_COLUMNS, X.shape[1]))


def _densifier() -> FunctionTransformer:
    return FunctionTransformer(to_dense, accept_sparse=True)


def _check_dense(X: Any, name: str) -> None:
    if issparse(X):
        raise InvalidInputError(f"the auxiliary {name!r} does not support sparse matrices: remove it.")
