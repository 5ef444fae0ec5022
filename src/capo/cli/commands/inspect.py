"""``capo inspect``: what each column of a table is taken for, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import InvalidInputError
from ...io.formats import TableReader
from ...io.source import Batch
from ...io.table_schema import ColumnRoles, infer_features, infer_table_schema
from ...tables.checks import DataFinding, check_data
from ...tables.schema import ColumnInfo
from ..console import Console
from ..output import check_output, write_output
from .training_data import format_column_types

_OVERRULE = (
    "To change a kind, write all of them to a file with -o types.toml, edit it, and train with "
    "'capo fit --types types.toml'."
)


def run_inspect(table: TableReader, target: str | None, output: Path | None, console: Console) -> None:
    """Show the columns of a table, and write their kinds to a file."""
    check_output(output, *table.paths)
    with console.step(f"reading {table.name}"):
        batch = table.read()
        roles = ColumnRoles(target or "")
        if target:
            roles.check(batch.frame.columns)
        features, notes = infer_features(batch, roles)
        findings = _check_target(batch, roles, console) if target else []
    for note in [*notes, *(finding.message for finding in findings)]:
        console.note(note)
    if output is not None:
        write_output(format_column_types(features, table.name).encode(), output, console)
    n_columns = len(features.columns)
    heading = f"{table.name}: {len(batch):,} rows, {n_columns:,} column{'' if n_columns == 1 else 's'}"
    console.result(
        f"{heading}\n\n{features}\n\n{_OVERRULE}",
        {
            "table": table.name,
            "rows": len(batch),
            "columns": list(map(_column_data, features.columns)),
            "findings": [finding._asdict() for finding in findings],
        },
    )


def _check_target(batch: Batch, roles: ColumnRoles, console: Console) -> list[DataFinding]:
    """What may mislead in training for the target; a note if the table cannot be trained on."""
    try:
        inference = infer_table_schema(batch, roles)
        labels, X = inference.schema.labels(batch), inference.schema.features(batch)
    except InvalidInputError as error:
        console.note(f"A model cannot be trained on this table: {error}")
        return []
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    main_class = 1 if len(classes) == 2 else int(counts.argmax())
    return check_data(X, codes == main_class, inference.features, target=roles.target)


def _column_data(column: ColumnInfo) -> dict[str, Any]:
    return {
        "name": str(column.key),
        "kind": column.kind.name,
        "reason": column.reason,
        "doubt": column.doubt,
        "example": column.example,
        "missing_share": column.missing_share,
        "is_used": column.kind.role != "none",
    }
