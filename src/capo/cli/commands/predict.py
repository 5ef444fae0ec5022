"""``capo predict``: write predictions for the rows of a table."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ...exceptions import InvalidInputError
from ...io.tables import Batch, Schema, TablePart, TableReader, require_column
from .._console import Console, Step
from .._options import ClusterOptions, ModelFileOptions
from .._output import check_file_ending, check_output, is_stdout, open_output
from ._cluster import connect, divide, map_in_order, name_part, read_rows
from ._drift import DriftMonitor, RowDifferences
from ._loaded_model import BATCH_SIZE, LoadedModel, load_model, read_batches
from ._model_kinds import model_kind
from ._prediction_files import ENDINGS, open_writer
from ._threads import map_in_threads

#: Columns that an error message lists at most.
MAX_LISTED_COLUMNS = 10


@dataclass(frozen=True)
class PredictedRows:
    """The predictions for some rows, and how these differ from the training rows."""

    frame: pl.DataFrame
    differences: RowDifferences


@dataclass(frozen=True)
class Predictor:
    """A model, and the schema of the tables to predict."""

    loaded: LoadedModel
    schema: Schema

    def check(self, batch: Batch, ids: Sequence[str], console: Console) -> None:
        """Check the identifiers, and show what a user should know about the predictions."""
        kind = model_kind(self.loaded.model)
        _check_ids(self.schema, batch, ids, kind.prediction_columns(self.loaded))
        for note in kind.notes(self.loaded, batch):
            console.note(note)

    def predict(self, batch: Batch) -> PredictedRows:
        """Predict a batch."""
        loaded, kind = self.loaded, model_kind(self.loaded.model)
        features = self.schema.features(batch)
        outputs = kind.batch_outputs(loaded, batch, features)
        series = [*self.schema.id_columns(batch), *kind.prediction_series(loaded, outputs)]
        return PredictedRows(
            pl.DataFrame(series), RowDifferences.count(loaded, features, kind.drift_scores(outputs))
        )


def run_predict(
    file: ModelFileOptions,
    table: TableReader,
    output: Path | None,
    ids: Sequence[str] | None,
    cluster: ClusterOptions,
    console: Console,
) -> None:
    """Write predictions batch by batch, or part by part those of the workers of a cluster."""
    content = "predictions are written to .csv, .tsv or .jsonl files, also with .gz, or to .parquet files"
    check_file_ending(output, ENDINGS, content)
    check_output(output, *table.paths, file.path)
    loaded = load_model(file, console)
    predictor = Predictor(loaded, loaded.schema if ids is None else loaded.schema.with_ids(ids))
    if console.as_json and (output is None or is_stdout(output)):
        raise InvalidInputError(
            "--json prints the drift report, so that the predictions need a file: name one with --output."
        )
    drift = DriftMonitor(loaded.model)
    parts = None if cluster.address is None else divide(table, cluster, console)
    with (
        console.step("predicting") as step,
        open_output(output) as stream,
        open_writer(stream, output) as writer,
    ):
        if parts is None:
            rows = _predict_batches(predictor, table, ids or (), console, step)
        else:
            predictor.check(next(table.batches()), ids or (), console)
            rows = _predict_parts(predictor, parts, cluster, step, console)
        with closing(rows):
            for predicted in rows:
                drift.observe(predicted.differences)
                writer.write(predicted.frame)
    _show_drift(drift, console)


def _predict_batches(
    predictor: Predictor, table: TableReader, ids: Sequence[str], console: Console, step: Step
) -> Generator[PredictedRows]:
    def checked_batches() -> Iterator[Batch]:
        for number, batch in enumerate(read_batches(table, step)):
            if number == 0:
                predictor.check(batch, ids, console)
            yield batch

    yield from map_in_threads(predictor.predict, checked_batches())


def _predict_parts(
    predictor: Predictor, parts: Sequence[TablePart], cluster: ClusterOptions, step: Step, console: Console
) -> Generator[PredictedRows]:
    n_rows = 0
    with connect(cluster, console) as client:
        for batches in map_in_order(client, _predict_part, parts, predictor):
            for predicted in batches:
                n_rows += predicted.differences.n_rows
                yield predicted
            step.progress(f"{n_rows:,} rows")


def _predict_part(part: TablePart, predictor: Predictor) -> list[PredictedRows]:
    """The predictions for a part, in batches; none if it has no rows."""
    with name_part(part):
        rows = read_rows(part)
        return [] if rows is None else [predictor.predict(batch) for batch in rows.split(BATCH_SIZE)]


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
