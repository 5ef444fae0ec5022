"""``capo predict``: write predictions for the rows of a table."""

from __future__ import annotations

import gzip
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast

import numpy as np
import polars as pl

from ..._compat import FloatArray
from ...decisions import (
    MAX_MIXTURE_DISTANCE,
    Guarantee,
    PrevalenceEstimate,
    estimate_prevalence,
    sampling_error,
)
from ...estimators import CAPOClassifier, class_scores, current_shift
from ...exceptions import InvalidInputError
from ...io.formats import TableReader
from ...io.parts import TablePart
from ...io.source import Batch
from ...io.table_schema import Schema, read_profiles, require_column
from ..console import Console, Step
from ..options import ClusterOptions, ModelFileOptions
from ..output import check_file_ending, check_output, is_stdout, open_output
from .cluster import connect, divide, map_in_order, name_part, read_rows
from .kinds import model_kind
from .models import BATCH_SIZE, LoadedModel, load_model, map_in_threads, read_batches

#: Rows of a Parquet file that are kept in memory.
MAX_KEPT_ROWS = 500_000


class PredictionWriter(ABC):
    """Writes batches of predictions to a binary file."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    @abstractmethod
    def write(self, batch: pl.DataFrame) -> None:
        """Write a batch."""


class _DelimitedWriter(PredictionWriter):
    separator = ","
    has_header = False

    def write(self, batch: pl.DataFrame) -> None:
        text = batch.write_csv(separator=self.separator, include_header=not self.has_header)
        self.has_header = True
        self.file.write(text.encode())


class _TabWriter(_DelimitedWriter):
    separator = "\t"


class _JsonLinesWriter(PredictionWriter):
    def write(self, batch: pl.DataFrame) -> None:
        self.file.write(batch.write_ndjson().encode())


class _ParquetWriter(PredictionWriter):
    """Keeps the predictions, since the types of a file must be known before its first row.

    Many rows are kept in temporary files.
    """

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        super().__init__(file)
        self.folder, self.n_kept = folder, 0
        self.batches: list[pl.DataFrame] = []
        self.files: list[Path] = []

    def write(self, batch: pl.DataFrame) -> None:
        self.batches.append(batch)
        self.n_kept += batch.height
        if self.n_kept >= MAX_KEPT_ROWS:
            self.files.append(self.folder / f"{len(self.files)}.arrow")
            pl.concat(self.batches, how="vertical_relaxed").write_ipc(self.files[-1])
            self.batches, self.n_kept = [], 0

    def close(self) -> None:
        frames = [pl.scan_ipc(path) for path in self.files] + [batch.lazy() for batch in self.batches]
        pl.concat(frames, how="vertical_relaxed").sink_parquet(self.file)


#: The writer for each ending of a file.
_WRITERS: dict[str, type[PredictionWriter]] = {
    **dict.fromkeys((".csv", ".txt"), _DelimitedWriter),
    **dict.fromkeys((".tsv", ".tab"), _TabWriter),
    **dict.fromkeys((".jsonl", ".ndjson"), _JsonLinesWriter),
}
_PARQUET = (".parquet", ".pq")
#: All endings of files with predictions.
ENDINGS = [*(ending + gz for ending in _WRITERS for gz in ("", ".gz")), *_PARQUET]


@contextmanager
def open_writer(file: BinaryIO, output: Path | None) -> Iterator[PredictionWriter]:
    """A writer in the format that the name of the output asks for, compressed if it ends in .gz."""
    name = output.name.lower() if output else ""
    if name.endswith(_PARQUET):
        with TemporaryDirectory(prefix="capo-") as folder:
            writer = _ParquetWriter(file, Path(folder))
            yield writer
            writer.close()
        return
    kind = _WRITERS.get(Path(name.removesuffix(".gz")).suffix, _DelimitedWriter)
    if not name.endswith(".gz"):
        yield kind(file)
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as compressed:
        yield kind(cast(BinaryIO, compressed))


#: Scores that are kept; of more rows, every second, fourth, ... is kept.
MAX_KEPT_SCORES = 100_000
#: Columns that a line names.
MAX_NAMED_COLUMNS = 5


@dataclass(frozen=True)
class DriftReport:
    """The differences between new rows and training rows.

    Attributes
    ----------
    n_rows : int
        The number of new rows.
    prevalence : PrevalenceEstimate, optional
        The estimated share of positives, and the distance from the classes as trained, of a model of two
        classes.
    unseen_categories : dict of str to int
        For each column, the number of rows with a category that was not in training.
    newly_missing : dict of str to int
        For each column without missing values in training, the number of rows that miss it.
    adjusted_to : float, optional
        The share of positives that the model was adjusted to.
    guarantee : Guarantee, optional
        What the model's threshold guarantees, which is void in another population.
    """

    n_rows: int
    prevalence: PrevalenceEstimate | None
    unseen_categories: dict[str, int]
    newly_missing: dict[str, int]
    adjusted_to: float | None = None
    guarantee: Guarantee | None = None

    def lines(self) -> list[str]:
        """One line for the prevalence, and one for each difference."""
        lines = [] if self.prevalence is None else [self._describe_prevalence(self.prevalence)]
        if self.unseen_categories:
            lines.append(f"categories that were not in training: {_list_counts(self.unseen_categories)}")
        if self.newly_missing:
            lines.append(f"missing values in columns that had none: {_list_counts(self.newly_missing)}")
        return lines

    def _describe_prevalence(self, found: PrevalenceEstimate) -> str:
        if not _is_label_shift(found):
            guarantee = ", so that the guarantee may not hold" if self._is_at_risk else ""
            return (
                f"the scores differ from those in training by more than the share of positives (distance "
                f"{found.distance:.3f}){guarantee}: label some of these rows, and see 'capo evaluate'"
            )
        adjusted = "" if self.adjusted_to is None else f", {self.adjusted_to:.2%} in the model's population"
        return (
            f"{found.value:.2%} positive as estimated (95% interval {found.low:.2%} to {found.high:.2%}), "
            f"{found.trained:.2%} in training{adjusted}{self._advice(found)}"
        )

    def _advice(self, found: PrevalenceEstimate) -> str:
        """What to do about another share of positives than the model is for."""
        if not self._is_changed(found):
            return ""
        if self._is_at_risk:
            return "; the guarantee may not hold: 'capo guarantee' with labeled rows like these renews it"
        return "; 'capo adjust' adapts the model to it" if self.guarantee is None else ""

    @property
    def _is_at_risk(self) -> bool:
        """Whether there is a guarantee that does not hold by definition."""
        return self.guarantee is not None and self.guarantee.is_certified

    def _is_changed(self, found: PrevalenceEstimate) -> bool:
        """Whether the interval excludes the share of positives that the model is for."""
        share = found.trained if self.adjusted_to is None else self.adjusted_to
        return not found.low <= share <= found.high

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "rows": self.n_rows,
            **({} if self.prevalence is None else self._prevalence_data(self.prevalence)),
            "unseen_categories": self.unseen_categories,
            "newly_missing": self.newly_missing,
        }

    def _prevalence_data(self, found: PrevalenceEstimate) -> dict[str, Any]:
        return {
            "prevalence": {"value": found.value, "low": found.low, "high": found.high},
            "trained_prevalence": found.trained,
            "adjusted_prevalence": self.adjusted_to,
            "prevalence_changed": self._is_changed(found),
            "mixture_distance": found.distance,
            "is_label_shift": _is_label_shift(found),
        }


def _is_label_shift(found: PrevalenceEstimate) -> bool:
    """Whether the scores are a mixture of the two classes as trained, up to the sampling error."""
    return found.distance <= MAX_MIXTURE_DISTANCE + sampling_error(found.n_rows)


@dataclass(frozen=True)
class RowDifferences:
    """What a `DriftReport` needs of some rows.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    unseen, missing : Counter of str
        For each column, the rows with a new category, and those that miss a value that no training row did.
    decision : ndarray, optional
        The scores of a model of two classes.
    """

    n_rows: int
    unseen: Counter[str]
    missing: Counter[str]
    decision: FloatArray | None

    @classmethod
    def count(cls, loaded: LoadedModel, features: Any, decision: FloatArray | None) -> RowDifferences:
        """Compare rows with the training rows, which the model's file describes."""
        unseen, missing = Counter[str](), Counter[str]()
        if isinstance(features, pl.DataFrame):
            for each in read_profiles(loaded.manifest.training.get("columns")):
                unseen[each.name] = each.count_unseen(features[each.name])
                missing[each.name] = each.count_newly_missing(features[each.name])
        return cls(features.shape[0], unseen, missing, decision)


class DriftMonitor:
    """Collects, batch by batch, what a `DriftReport` needs, in constant memory.

    Parameters
    ----------
    model : CAPOClassifier
        The model.
    """

    def __init__(self, model: CAPOClassifier) -> None:
        self._model = model
        self._unseen: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._scores: list[FloatArray] = []
        self._n_rows, self._step = 0, 1

    def observe(self, rows: RowDifferences) -> None:
        """Take the next rows into account."""
        self._unseen.update(rows.unseen)
        self._missing.update(rows.missing)
        first = -self._n_rows % self._step
        self._n_rows += rows.n_rows
        if rows.decision is None:
            return
        self._scores.append(rows.decision[first :: self._step])
        if sum(map(len, self._scores)) > MAX_KEPT_SCORES:
            self._scores = [np.concatenate(self._scores)[::2]]
            self._step *= 2

    def report(self) -> DriftReport:
        """Compare the rows so far with the training rows."""
        population = self._model.population_
        is_adjusted = population is not None and population.log_odds_shift != 0
        return DriftReport(
            self._n_rows,
            self._estimate_prevalence(),
            +self._unseen,
            +self._missing,
            adjusted_to=population.prevalence if population is not None and is_adjusted else None,
            guarantee=self._model.guarantee_,
        )

    def _estimate_prevalence(self) -> PrevalenceEstimate | None:
        if not self._scores:
            return None
        model = self._model
        log_odds = np.concatenate(self._scores) + model.decision_.log_odds - current_shift(model)
        return estimate_prevalence(log_odds, class_scores(model))


def _list_counts(counts: dict[str, int]) -> str:
    named = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name!r} ({count:,} rows)" for name, count in named[:MAX_NAMED_COLUMNS])
    more = len(named) - MAX_NAMED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown


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
