"""Feature pipelines: raw tables as numeric features for linear models, trees, kernels and the delta function.

Each function returns an unfitted transformer that suits the column kinds of the given table; none of them
looks at labels.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils.validation import check_array

from .._sklearn_compat import safe_indexing
from ._encoders import DropEmptyColumns, KnownCategoryFilter
from ._identifiers import infer_feature_kinds

#: Standardized values are clipped to this many standard deviations from the mean.
MAX_STANDARDIZED = 5.0
#: Nystroem components of ``delta="rbf"``.
N_DELTA_COMPONENTS = 300
#: Columns with a smaller range are standardized for trees, which treat differences below 1e-7 as ties.
MIN_TREE_RANGE = 1e-4
#: Categories with fewer training rows share one one-hot column.
MIN_CATEGORY_COUNT = 5
#: One-hot columns per categorical column.
MAX_ONE_HOT_COLUMNS = 50
#: Ordinal codes per categorical column.
MAX_ORDINAL_CODES = 250


def make_linear_features(X: Any) -> Any:
    """Make an unfitted transformer of tables like X for linear models.

    Numeric columns: missing values are replaced by the median and marked in an indicator column; then all
    are standardized and clipped to 5 standard deviations. Categorical and text columns: one-hot encoded,
    with one column for all rare categories; a missing value is a category of its own, and a category that
    was not in the training data counts as missing. Sparse matrices are scaled to at most 1 and stay sparse.
    """
    if issparse(X):
        return MaxAbsScaler()
    numeric, categorical, text = infer_feature_kinds(X)
    scaler = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True),
        StandardScaler(),
        FunctionTransformer(clip_standardized, feature_names_out="one-to-one"),
    )
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=MIN_CATEGORY_COUNT,
        max_categories=MAX_ONE_HOT_COLUMNS,
    )
    return _column_transformer(
        [("numeric", scaler, numeric), *_category_encoders(one_hot, categorical, text)]
    )


def make_tree_features(X: Any) -> Any:
    """Make an unfitted transformer of tables like X for trees, with the ordinal codes of categories first.

    Missing values stay missing, and so do categories that were not in the training data. Numeric columns
    are passed through, with two exceptions that scikit-learn's trees cannot handle: columns without any
    value are dropped, and columns whose range is so small that they look constant are standardized.
    """
    numeric, categorical, text = infer_feature_kinds(X)
    ordinal = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MAX_ORDINAL_CODES,
    )
    encoders = _category_encoders(ordinal, categorical, text)
    return _column_transformer([*encoders, ("numeric", _numeric_tree_steps(X, numeric), numeric)])


def make_rbf_features(X: Any, max_components: int) -> Pipeline:
    """Make an unfitted transformer of tables like X to a random basis of the RBF kernel's feature space.

    The basis has at most half as many components as X has rows, so that a fold has enough rows for it.
    """
    basis = Nystroem(n_components=max(1, min(max_components, X.shape[0] // 2)))
    return make_pipeline(make_linear_features(X), basis, StandardScaler())


def make_delta_features(name: str, X: Any) -> Any:
    """Make the unfitted transformer for ``delta="linear"`` or ``delta="rbf"``."""
    return make_linear_features(X) if name == "linear" else make_rbf_features(X, N_DELTA_COMPONENTS)


def clip_standardized(values: Any) -> Any:
    """Clip standardized values to the range that linear models get."""
    return np.clip(values, -MAX_STANDARDIZED, MAX_STANDARDIZED)


def check_features(features: Any) -> Any:
    """Validate a delta transformer's output: an array or CSR matrix of finite numbers."""
    return check_array(
        features, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="delta's features"
    )


def _column_transformer(transformers: list[Any]) -> Any:
    """A column transformer that returns arrays even where scikit-learn is set to return data frames."""
    combined = ColumnTransformer(transformers, verbose_feature_names_out=False)
    if get_config()["transform_output"] == "default":
        return combined
    return combined.set_output(transform="default")


def _category_encoders(encoder: Any, categorical: list[Any], text: list[Any]) -> list[Any]:
    """The encoder for categorical columns and for text columns, where there are any."""
    parts = [
        ("categorical", KnownCategoryFilter(), categorical),
        ("text", KnownCategoryFilter(as_text=True), text),
    ]
    return [
        (name, make_pipeline(known, clone(encoder)), columns) for name, known, columns in parts if columns
    ]


def _numeric_tree_steps(X: Any, numeric: list[Any]) -> Any:
    values = [np.asarray(safe_indexing(X, name, axis=1), dtype=np.float64) for name in numeric]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
        ranges = np.array([np.nanmax(column) - np.nanmin(column) for column in values])
    steps: list[Any] = []
    if any(np.isnan(column).any() for column in values):
        steps.append(DropEmptyColumns())
    if ((ranges > 0) & (ranges < MIN_TREE_RANGE)).any():
        steps.append(StandardScaler())
    return make_pipeline(*steps) if steps else "passthrough"
