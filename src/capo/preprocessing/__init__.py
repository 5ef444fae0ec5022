"""Raw tables and labels as numbers: column kinds, encoders, feature pipelines, binary labels."""

from ._class_labels import class_positions, encode_class_labels
from ._columns import ColumnKinds, infer_column_kinds, is_dataframe, is_missing
from ._data_warnings import warn_of_data, warn_of_majority_class
from ._duplicates import duplicate_share
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
from ._identifiers import (
    MIN_IDENTIFIER_ROWS,
    NumberedColumn,
    describe_numbered_column,
    infer_feature_kinds,
    numbered_columns,
)
from ._label_matrix import encode_label_matrix
from ._labels import MAX_POSITIVE_SHARE, encode_binary_labels, positive_mask
from ._table_checks import check_numbers

__all__ = [
    "MAX_POSITIVE_SHARE",
    "MAX_STANDARDIZED",
    "MIN_IDENTIFIER_ROWS",
    "ColumnKinds",
    "DropEmptyColumns",
    "KnownCategoryFilter",
    "NumberedColumn",
    "check_features",
    "check_numbers",
    "class_positions",
    "clip_standardized",
    "describe_numbered_column",
    "duplicate_share",
    "encode_binary_labels",
    "encode_class_labels",
    "encode_label_matrix",
    "infer_column_kinds",
    "infer_feature_kinds",
    "is_dataframe",
    "is_missing",
    "make_delta_features",
    "make_linear_features",
    "make_rbf_features",
    "make_tree_features",
    "numbered_columns",
    "positive_mask",
    "warn_of_data",
    "warn_of_majority_class",
]
