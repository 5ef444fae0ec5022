"""Tables in files: reading in batches, and the schema that turns batches into features and labels."""

from ._batch import Batch, NoRowsError, SparseRows
from ._inference import SchemaInference, infer_features, infer_table_schema
from ._label_matrix import LabelMatrixSchema, infer_label_matrix_schema
from ._parts import TablePart, divide_table
from ._prices import PriceColumns
from ._profile import ColumnProfile, profile_columns, read_profiles
from ._reader import TableReader, open_table
from ._restore import schema_from_dict
from ._roles import ColumnRoles, require_column
from ._schema import Schema, SparseSchema, TableSchema
from ._size import TableSize, estimate_size
from ._times import read_times

__all__ = [
    "Batch",
    "ColumnProfile",
    "ColumnRoles",
    "LabelMatrixSchema",
    "NoRowsError",
    "PriceColumns",
    "Schema",
    "SchemaInference",
    "SparseRows",
    "SparseSchema",
    "TablePart",
    "TableReader",
    "TableSchema",
    "TableSize",
    "divide_table",
    "estimate_size",
    "infer_features",
    "infer_label_matrix_schema",
    "infer_table_schema",
    "open_table",
    "profile_columns",
    "read_profiles",
    "read_times",
    "require_column",
    "schema_from_dict",
]
