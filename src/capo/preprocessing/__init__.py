"""Raw tables and labels as numbers: column kinds, encoders, features."""

from ._features import (
    MAX_STANDARDIZED,
    ColumnKinds,
    DropEmptyColumns,
    KnownCategoryFilter,
    check_features,
    clip_standardized,
    column_kinds,
    is_dataframe,
    is_missing,
    linear_features,
    make_delta,
    rbf_features,
    tree_features,
)
from ._labels import encode_binary_labels, positive_mask

__all__ = [
    "MAX_STANDARDIZED",
    "ColumnKinds",
    "DropEmptyColumns",
    "KnownCategoryFilter",
    "check_features",
    "clip_standardized",
    "column_kinds",
    "encode_binary_labels",
    "is_dataframe",
    "is_missing",
    "linear_features",
    "make_delta",
    "positive_mask",
    "rbf_features",
    "tree_features",
]
