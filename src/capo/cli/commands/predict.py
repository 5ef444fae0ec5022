"""``capo predict``: write predictions for the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ...exceptions import InvalidInputError
from ...io.tables import Batch, Schema, TableReader, require_column
from .._console import Console
from .._output import check_file_ending, check_output, is_stdout, open_output
from ._drift import DriftMonitor
from ._loaded_model import load_model, read_batches
from ._model_kinds import model_kind
from ._prediction_files import ENDINGS, open_writer

#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10


def run_predict(
    path: str,
    table: TableReader,
    output: Path | None,
    ids: Sequence[str] | None,
    trusted: Sequence[str] | None,
    console: Console,
) -> None:
    """Write predictions batch by batch."""
    content = "predictions are written to .csv, .tsv or .jsonl files, also with .gz, or to .parquet files"
    check_file_ending(output, ENDINGS, content)
    check_output(output, *table.paths, path)
    loaded = load_model(path, trusted, console)
    schema = loaded.schema if ids is None else loaded.schema.with_ids(ids)
    kind = model_kind(loaded.model)
    if console.as_json and (output is None or is_stdout(output)):
        raise InvalidInputError(
            "--json prints the drift report, so that the predictions need a file: name one with --output."
        )
    drift = DriftMonitor(loaded)
    with console.step("predicting") as step, open_output(output) as file, open_writer(file, output) as writer:
        for number, batch in enumerate(read_batches(table, step)):
            if number == 0:
                _check_ids(schema, batch, ids or (), kind.prediction_columns(loaded))
            features = schema.features(batch)
            for note in kind.notes(loaded, batch) if number == 0 else ():
                console.note(note)
            outputs = kind.batch_outputs(loaded, batch, features)
            drift.observe(features, kind.drift_scores(outputs))
            writer.write(pl.DataFrame([*schema.id_columns(batch), *kind.prediction_series(loaded, outputs)]))
    _show_drift(drift, console)


def _show_drift(drift: DriftMonitor, console: Console) -> None:
    """Log how the rows differ from the training rows, or write it as JSON."""
    if console.quiet and not console.as_json:
        return
    with console.step("comparing with the training rows"):
        report = drift.report()
    for line in report.lines():
        console.log(f"new rows: {line}")
    if console.as_json:
        console.result("", report.to_dict())


def _check_ids(schema: Schema, batch: Batch, requested: Sequence[str], columns: Sequence[str]) -> None:
    for name in requested:
        require_column(name, batch.frame.columns, "identifier")
    for name in schema.id_columns(batch).columns:
        if name in columns:
            raise InvalidInputError(
                f"the identifier {name!r} has the name of a column of the predictions "
                f"({', '.join(columns[:MAX_LISTED_COLUMNS])}): rename it in the table."
            )
