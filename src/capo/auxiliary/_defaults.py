"""The default auxiliaries: a small set that errs in different ways."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from ..preprocessing import infer_column_kinds, make_linear_features, make_rbf_features, make_tree_features

#: Trees, the rows a leaf needs, and columns of the kernel's basis.
N_TREES, MIN_SAMPLES_LEAF, N_KERNEL_COMPONENTS = 100, 2, 500
#: Rows up to which a support vector machine with the kernel itself costs no more than the rest.
MAX_ROWS_FOR_SVM = 10_000
#: Columns of a sparse matrix that trees see, and latent ones.
MAX_SPARSE_COLUMNS, N_LATENT_COMPONENTS = 300, 60


def default_auxiliaries(X: Any, *, svm: bool = False) -> list[tuple[str, Any]]:
    """Boosted trees, random trees, a linear and a kernel machine, for tables like X.

    They take data frames with text, categories and missing values as they are. For a sparse matrix
    the trees see the columns that tell most, and a second boosting sees its leading directions in
    place of the kernel. Up to 10,000 rows of a dense table a support vector machine joins them, or
    whatever its size with `svm`.
    """
    return _sparse(X) if issparse(X) else _dense(X, svm or X.shape[0] <= MAX_ROWS_FOR_SVM)


def _dense(X: Any, svm: bool) -> list[tuple[str, Any]]:
    _, categorical, text = infer_column_kinds(X)
    encoded = list(range(len(categorical) + len(text)))
    boosting = HistGradientBoostingClassifier(categorical_features=encoded or None)
    models = [
        ("boosting", make_pipeline(make_tree_features(X), boosting)),
        ("trees", make_pipeline(make_tree_features(X), _trees())),
        ("linear", make_pipeline(make_linear_features(X), LogisticRegression(max_iter=1000))),
        (
            "kernel",
            make_pipeline(make_rbf_features(X, N_KERNEL_COMPONENTS), LogisticRegression(C=0.3, max_iter=300)),
        ),
    ]
    if svm:
        models.append(("svm", make_pipeline(make_linear_features(X), SVC(C=10.0))))
    return models


def _sparse(X: Any) -> list[tuple[str, Any]]:
    best = SelectKBest(class_separation, k=min(MAX_SPARSE_COLUMNS, X.shape[1]))
    dense = FunctionTransformer(to_dense, accept_sparse=True)
    models = [
        ("boosting", make_pipeline(best, dense, HistGradientBoostingClassifier())),
        ("trees", make_pipeline(best, _trees())),
        ("linear", make_pipeline(make_linear_features(X), LogisticRegression(max_iter=1000))),
    ]
    if X.shape[1] > 2:
        latent = TruncatedSVD(min(N_LATENT_COMPONENTS, X.shape[1] - 1))
        models.append(("latent", make_pipeline(latent, HistGradientBoostingClassifier())))
    return models


def _trees() -> ExtraTreesClassifier:
    return ExtraTreesClassifier(N_TREES, min_samples_leaf=MIN_SAMPLES_LEAF)


def class_separation(X: Any, y: Any) -> tuple[Any, Any]:
    """How far the classes' means are apart; columns that are constant in a fold come last, without a word."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f_classif(X, y)


def to_dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X
