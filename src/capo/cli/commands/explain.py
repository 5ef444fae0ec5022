"""``capo explain``: what the measure of a model depends on, and why single rows are predicted as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...inspection import Importance, RowExplanation, explain_rows, importance
from ...io.formats import TableReader
from ...io.source import Batch, SparseRows
from ...io.table_schema import LabelMatrixSchema, Schema, TableSchema
from ...learning.folds import TimeFolds
from ..console import Console, check_file_ending, check_output, to_json, write_output
from ..inputs import LoadedModel, join_groups, load_model, training_table_notes
from .kinds import PricedKind, model_kind


def run_explain(
    path: str,
    trusted: Sequence[str] | None,
    table: TableReader,
    rows: Sequence[int] | None,
    columns: Sequence[str] | None,
    folds: int | None,
    max_rows: int,
    output: Path | None,
    seed: int,
    console: Console,
) -> None:
    """Show the importance of the columns, the effects of the strongest ones, and explanations of rows."""
    check_file_ending(output, [".json"], "explanations are written to a JSON file, whose name ends in .json")
    check_output(output, *table.paths, path)
    loaded = load_model(path, trusted, console)
    with console.step(f"reading {table.name}"):
        batch = table.read()
        X = loaded.schema.features(batch)
    positions = _row_positions(rows or (), len(batch))
    has_labels = _has_labels(loaded.schema, batch)
    if not has_labels and not rows:
        raise InvalidInputError(
            f"{table.name} has no labels, and the importance of columns needs them: add the target column, "
            "or name rows to explain with --row."
        )
    explained: list[RowExplanation] = []
    if positions:
        _note_threshold(loaded.model, console)
        with console.step("explaining rows") as step:
            explained = explain_rows(
                loaded.model,
                X[positions],
                X,
                columns=columns,
                random_state=seed,
                on_progress=step.progress,
            )
    found: Importance | None = None
    if has_labels:
        if folds is None:
            training_table_notes(loaded.manifest, table, console)
        found = _importance(loaded, batch, X, columns, folds, max_rows, seed, console)
    data = _to_data(table.name, found, positions, explained)
    if output is not None:
        write_output(to_json(data).encode(), output, console)
    texts = [] if found is None else [f"{table.name}: {found}"]
    texts += [f"row {position + 1:,}: {each}" for position, each in zip(positions, explained, strict=True)]
    console.result("\n\n".join(texts), data)


def _row_positions(rows: Sequence[int], n_rows: int) -> list[int]:
    """The positions of rows that are counted from 1."""
    for row in rows:
        if not 1 <= row <= n_rows:
            raise InvalidInputError(f"--row counts from 1, and the table has {n_rows:,} rows: got {row}.")
    return [row - 1 for row in rows]


def _has_labels(schema: Schema, batch: Batch) -> bool:
    """Whether a table has the columns of the labels; predictions of new rows can be explained without."""
    if isinstance(batch.rows, SparseRows):
        return True
    names: Sequence[str] = ()
    if isinstance(schema, LabelMatrixSchema):
        names = [schema.target] if schema.separator else schema.label_names
    elif isinstance(schema, TableSchema):
        names = [schema.target]
    return all(name in batch.frame.columns for name in names)


def _importance(
    loaded: LoadedModel,
    batch: Batch,
    X: Any,
    columns: Sequence[str] | None,
    folds: int | None,
    max_rows: int,
    seed: int,
    console: Console,
) -> Importance:
    schema, model = loaded.schema, loaded.model
    if folds is not None and isinstance(model.cv, TimeFolds):
        raise InvalidInputError(
            "--folds cannot train a model in the order of time again: leave it out, and explain the model on "
            "rows that are later than its training rows."
        )
    if model.prices_ is not None:
        if folds is not None:
            raise InvalidInputError("--folds cannot train a model with prices again: leave it out.")
        console.note("The model has prices: their means and one threshold are used for all rows.")
    groups = schema.groups(batch) if folds else join_groups([schema.known_groups(batch)], loaded, console)
    with console.step("explaining") as step:
        return importance(
            model,
            X,
            np.asarray(schema.labels(batch)),
            sample_weight=schema.weights(batch),
            groups=groups,
            cv=folds,
            columns=columns,
            max_rows=max_rows,
            random_state=seed,
            on_progress=step.progress,
        )


def _note_threshold(model: CAPOClassifier, console: Console) -> None:
    """Log a note if rows have thresholds of their own, which explanations do not use."""
    if isinstance(model_kind(model), PricedKind):
        console.note(
            f"The model has prices: rows are explained at one threshold, {model.threshold_:.4g}; "
            "'capo predict' uses the threshold of each row."
        )


def _to_data(
    name: str, found: Importance | None, positions: Sequence[int], explained: Sequence[RowExplanation]
) -> dict[str, Any]:
    return {
        "table": name,
        **({} if found is None else found.to_dict()),
        "rows": [
            {**each.to_dict(), "row": position + 1}
            for position, each in zip(positions, explained, strict=True)
        ],
    }
