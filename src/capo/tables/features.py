"""Feature pipelines: raw tables as numeric features for linear models, trees, kernels and the delta function.

Each function returns an unfitted transformer that suits the schema of the given table. Labels are used only
by the cross-fitted target encoding of columns with many categories.
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
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_array

from .._compat import make_target_encoder, safe_indexing
from .encoders import (
    CategoryOneHotEncoder,
    DateParts,
    DropEmptyColumns,
    KnownCategoryFilter,
    TagIndicators,
    WordFeatures,
)
from .parsing import ColumnParser
from .schema import ColumnInfo, FeatureSchema, infer_schema

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
#: Singular directions of a column of free text, for trees.
N_WORD_COMPONENTS = 30
#: Folds of the cross-fitted target encoding.
N_TARGET_FOLDS = 5
#: Ordinal codes per categorical column.
MAX_ORDINAL_CODES = 250


def make_linear_features(X: Any, schema: FeatureSchema | None = None, *, uses_labels: bool = False) -> Any:
    """Make an unfitted transformer of tables like X for linear models.

    Numeric columns, and those that are parsed to numbers or parts of dates: missing values are replaced by
    the median and marked in an indicator column; then all are standardized and clipped to 5 standard
    deviations.
    Categories: one-hot encoded, with one column for all rare categories; a missing value is a category of its
    own, and a category that was not in the training data counts as missing. Many categories are also target
    encoded if `uses_labels`. Lists of tags: an indicator for each tag. Free text: TF-IDF of its words. Sparse
    matrices are scaled to at most 1 and stay sparse.
    """
    if issparse(X):
        return MaxAbsScaler()
    schema = schema or infer_schema(X)
    one_hot = CategoryOneHotEncoder(min_frequency=MIN_CATEGORY_COUNT, max_categories=MAX_ONE_HOT_COLUMNS)
    categories = schema.of_role("category")
    many = (
        [column for column in categories if column.n_different > MAX_ONE_HOT_COLUMNS] if uses_labels else []
    )
    return _column_transformer(
        [
            ("numeric", _make_scaler(), _plain_numbers(schema)),
            *_category_encoders(one_hot, categories),
            *_target_encoders(many, [_make_scaler()]),
            *_parsers(schema, [_make_scaler()]),
            *_tag_indicators(schema),
            *_word_features(schema, None),
        ]
    )


def make_tree_features(X: Any, schema: FeatureSchema | None = None) -> Any:
    """Make an unfitted transformer of tables like X for trees, with the ordinal codes of categories first.

    Missing values stay missing, and so do categories that were not in the training data. Numeric columns, and
    those that are parsed to numbers or parts of dates, are passed through, with two exceptions that
    scikit-learn's trees cannot handle: columns without any value are dropped, and columns whose range is so
    small that they look constant are standardized. Columns of many categories are target encoded, lists of
    tags are indicators, and of free text the leading singular directions of its TF-IDF are used.
    """
    schema = schema or infer_schema(X)
    few, numeric = _ordinal_columns(schema), _plain_numbers(schema)
    ordinal = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        # A limit makes the encoder count the rows of each category, which takes longer than all else it does.
        max_categories=None if all(column.n_different for column in few) else MAX_ORDINAL_CODES,
    )
    many = [column for column in schema.of_role("category") if column not in few]
    return _column_transformer(
        [
            *_category_encoders(ordinal, few),
            ("numeric", _numeric_tree_steps(X, numeric), numeric),
            *_target_encoders(many, []),
            *_parsers(schema, [DropEmptyColumns()]),
            *_tag_indicators(schema),
            *_word_features(schema, N_WORD_COMPONENTS),
        ]
    )


def n_ordinal_columns(schema: FeatureSchema) -> int:
    """The number of columns with ordinal codes, which come first in the features for trees."""
    return len(_ordinal_columns(schema))


def make_rbf_features(
    X: Any, max_components: int, schema: FeatureSchema | None = None, *, uses_labels: bool = False
) -> Pipeline:
    """Make an unfitted transformer of tables like X to a random basis of the RBF kernel's feature space.

    The basis has at most 40% as many components as X has rows, so that training without two folds of five
    has enough rows for it.
    """
    basis = Nystroem(n_components=max(1, min(max_components, X.shape[0] * 2 // 5)))
    return make_pipeline(make_linear_features(X, schema, uses_labels=uses_labels), basis, StandardScaler())


def make_delta_features(name: str, X: Any, schema: FeatureSchema | None = None) -> Any:
    """Make the unfitted transformer for ``delta="linear"`` or ``delta="rbf"``, which does not see labels."""
    if name == "linear":
        return make_linear_features(X, schema)
    return make_rbf_features(X, N_DELTA_COMPONENTS, schema)


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


def _make_scaler() -> Pipeline:
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True),
        StandardScaler(),
        FunctionTransformer(clip_standardized, feature_names_out="one-to-one"),
    )


def _plain_numbers(schema: FeatureSchema) -> list[Any]:
    return [column.key for column in schema.of_role("numeric") if column.is_typed]


def _ordinal_columns(schema: FeatureSchema) -> list[ColumnInfo]:
    return [column for column in schema.of_role("category") if column.n_different <= MAX_ORDINAL_CODES]


def _by_type(columns: list[ColumnInfo]) -> list[tuple[str, Any, list[Any]]]:
    """The filter for columns with a data type of categories and for columns of text, where there are any."""
    parts = [("categorical", KnownCategoryFilter(), True), ("text", KnownCategoryFilter(as_text=True), False)]
    found = [
        (name, known, [each.key for each in columns if each.is_typed == typed])
        for name, known, typed in parts
    ]
    return [part for part in found if part[2]]


def _category_encoders(encoder: Any, columns: list[ColumnInfo]) -> list[Any]:
    return [(name, make_pipeline(known, clone(encoder)), keys) for name, known, keys in _by_type(columns)]


def _target_encoders(columns: list[ColumnInfo], steps: list[Any]) -> list[Any]:
    """Cross-fitted target encoding: the code of a training row does not use the row's own label."""
    return [
        (f"many {name}", make_pipeline(known, make_target_encoder(N_TARGET_FOLDS), *map(clone, steps)), keys)
        for name, known, keys in _by_type(columns)
    ]


def _parsers(schema: FeatureSchema, steps: list[Any]) -> list[Any]:
    """Parsed numbers, and parts of dates."""
    groups = [
        ("parsed", [column for column in schema.of_role("numeric") if not column.is_typed], []),
        ("dates", schema.of_role("date"), [DateParts()]),
    ]
    return [
        (name, make_pipeline(ColumnParser(_kinds(columns)), *parts, *map(clone, steps)), _keys(columns))
        for name, columns, parts in groups
        if columns
    ]


def _tag_indicators(schema: FeatureSchema) -> list[Any]:
    columns = schema.of_role("tags")
    return [("tags", TagIndicators(_kinds(columns)), _keys(columns))] if columns else []


def _word_features(schema: FeatureSchema, n_components: int | None) -> list[Any]:
    columns = schema.of_role("text")
    return [("words", WordFeatures(n_components), _keys(columns))] if columns else []


def _kinds(columns: list[ColumnInfo]) -> list[Any]:
    return [column.kind for column in columns]


def _keys(columns: list[ColumnInfo]) -> list[Any]:
    return [column.key for column in columns]


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
