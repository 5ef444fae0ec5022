"""Schemas from the values that a model file holds."""

from __future__ import annotations

from typing import Any

from ._label_matrix import label_matrix_schema_from_dict
from ._schema import Schema, SparseSchema, TableSchema, parse_table_dict


def schema_from_dict(values: dict[str, Any]) -> Schema:
    """Restore a schema from the values of `Schema.to_dict`; a ValueError if they are not valid."""
    match values:
        case {"kind": "svmlight", "n_features": int() as n_features} if n_features > 0:
            return SparseSchema(n_features)
        case {"kind": "table"}:
            return TableSchema(*parse_table_dict(values))
        case {"kind": "label matrix"}:
            return label_matrix_schema_from_dict(values)
    raise ValueError("its schema is missing or not valid")
