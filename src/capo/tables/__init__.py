"""Files as tables: what a file holds, read in batches, and what a model needs of it."""

from .batch import Batch, SparseRows
from .reading import Reading, open_table
from .schema import Learned, Roles, Schema, SparseSchema, TableSchema, find, read_schema

__all__ = [
    "Batch",
    "Learned",
    "Reading",
    "Roles",
    "Schema",
    "SparseRows",
    "SparseSchema",
    "TableSchema",
    "find",
    "open_table",
    "read_schema",
]
