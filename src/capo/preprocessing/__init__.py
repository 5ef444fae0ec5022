"""Raw tables and labels as numbers: column kinds, encoders, feature pipelines, binary labels."""

from ._columns import ColumnKinds, infer_column_kinds, is_dataframe, is_missing
from ._encoders import DropEmptyColumns, KnownCategoryFilter
from ._features import (
    MAX_STANDARDIZED,
    check_features,
    clip_standardized,
    make_delta_features,
    make_linear_features,
    make_rbf_features,
    make_tree_features,
)
from ._labels import encode_binary_labels, positive_mask

__all__ = [
    "MAX_STANDARDIZED",
    "ColumnKinds",
    "DropEmptyColumns",
    "KnownCategoryFilter",
    "check_features",
    "clip_standardized",
    "encode_binary_labels",
    "infer_column_kinds",
    "is_dataframe",
    "is_missing",
    "make_delta_features",
    "make_linear_features",
    "make_rbf_features",
    "make_tree_features",
    "positive_mask",
]
