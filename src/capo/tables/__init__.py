"""Files as tables: what a file holds, read in batches, and what a model needs of it."""

from .batch import Batch, SparseRows
from .reading import Reading, open_table
from .schema import Schema, SparseSchema, TableSchema, read_schema

__all__ = [
    "Batch",
    "Reading",
    "Schema",
    "SparseRows",
    "SparseSchema",
    "TableSchema",
    "open_table",
    "read_schema",
]
