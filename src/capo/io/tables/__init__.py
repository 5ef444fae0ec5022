"""Files as tables: what a file holds, read in batches, and what a model needs of it."""

from ._batch import Batch, SparseRows
from ._reader import TableReader, open_table
from ._schema import (
    Roles,
    Schema,
    SchemaInference,
    SparseSchema,
    TableSchema,
    require_column,
    schema_from_dict,
)

__all__ = [
    "Batch",
    "Roles",
    "Schema",
    "SchemaInference",
    "SparseRows",
    "SparseSchema",
    "TableReader",
    "TableSchema",
    "open_table",
    "require_column",
    "schema_from_dict",
]
