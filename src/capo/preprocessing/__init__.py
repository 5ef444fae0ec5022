"""Raw tables and labels as numbers: column kinds, encoders, feature pipelines, binary labels."""
# Imports from `testing` and the layers below.

from ._class_labels import class_positions, encode_class_labels, ordered_categories
from ._columns import is_dataframe, is_missing, is_number
from ._data_checks import ColumnCodes, DataFinding, check_data
from ._data_warnings import (
    warn_of_alphabetical_order,
    warn_of_copies,
    warn_of_data,
    warn_of_majority_class,
)
from ._date_parts import DateParts
from ._duplicates import duplicate_share
from ._encoders import CategoryOneHotEncoder, DropEmptyColumns, KnownCategoryFilter
from ._features import (
    MAX_STANDARDIZED,
    check_features,
    clip_standardized,
    make_delta_features,
    make_linear_features,
    make_rbf_features,
    make_tree_features,
    n_ordinal_columns,
)
from ._identifiers import (
    MIN_IDENTIFIER_ROWS,
    NumberedColumn,
    describe_numbered_column,
    numbered_columns,
)
from ._kinds import (
    KINDS,
    BooleanKind,
    CategoryKind,
    CodeKind,
    ColumnKind,
    ColumnValues,
    DateKind,
    DurationKind,
    IdentifierKind,
    MoneyKind,
    NumberKind,
    ParsedKind,
    PercentageKind,
    QuantityKind,
    TagsKind,
    TextKind,
    find_yes_label,
    has_pointed_thousands,
    is_time_name,
    kind_from_dict,
    may_have_pointed_thousands,
)
from ._label_matrix import check_labels_vary, encode_label_matrix, match_label_matrix
from ._labels import MAX_POSITIVE_SHARE, check_no_missing_labels, encode_binary_labels, positive_mask
from ._parsing import ColumnParser, parse_column, parse_texts
from ._schema import (
    MIN_TIME_COUNT,
    ColumnInfo,
    DemandedKind,
    FeatureSchema,
    impose_kind,
    infer_schema,
    recognize_column,
)
from ._table_checks import check_numbers, describe_mismatch
from ._tag_indicators import TagIndicators
from ._word_features import WordFeatures

__all__ = [
    "KINDS",
    "MAX_POSITIVE_SHARE",
    "MAX_STANDARDIZED",
    "MIN_IDENTIFIER_ROWS",
    "MIN_TIME_COUNT",
    "BooleanKind",
    "CategoryKind",
    "CategoryOneHotEncoder",
    "CodeKind",
    "ColumnCodes",
    "ColumnInfo",
    "ColumnKind",
    "ColumnParser",
    "ColumnValues",
    "DataFinding",
    "DateKind",
    "DateParts",
    "DemandedKind",
    "DropEmptyColumns",
    "DurationKind",
    "FeatureSchema",
    "IdentifierKind",
    "KnownCategoryFilter",
    "MoneyKind",
    "NumberKind",
    "NumberedColumn",
    "ParsedKind",
    "PercentageKind",
    "QuantityKind",
    "TagIndicators",
    "TagsKind",
    "TextKind",
    "WordFeatures",
    "check_data",
    "check_features",
    "check_labels_vary",
    "check_no_missing_labels",
    "check_numbers",
    "class_positions",
    "clip_standardized",
    "describe_mismatch",
    "describe_numbered_column",
    "duplicate_share",
    "encode_binary_labels",
    "encode_class_labels",
    "encode_label_matrix",
    "find_yes_label",
    "has_pointed_thousands",
    "impose_kind",
    "infer_schema",
    "is_dataframe",
    "is_missing",
    "is_number",
    "is_time_name",
    "kind_from_dict",
    "make_delta_features",
    "make_linear_features",
    "make_rbf_features",
    "make_tree_features",
    "match_label_matrix",
    "may_have_pointed_thousands",
    "n_ordinal_columns",
    "numbered_columns",
    "ordered_categories",
    "parse_column",
    "parse_texts",
    "positive_mask",
    "recognize_column",
    "warn_of_alphabetical_order",
    "warn_of_copies",
    "warn_of_data",
    "warn_of_majority_class",
]
