"""From a model and a table to predictions, figures, a page; and to ONNX."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..estimators import CAPOClassifier
from ..exceptions import InvalidInputError, ModelFileError
from ..inspection import Comparison, Evaluation
from ..inspection import evaluate as evaluate_measures
from ..io.model_files import Manifest, open_model
from ..io.tables import Batch, Schema, TableReader, require_column, schema_from_dict
from ..preprocessing import positive_mask
from ._console import Console, Step
from ._output import check_output, sink, size, to_stdout
from ._training import fingerprint

#: Rows that are predicted at once.
ROWS = 10_000
OUTPUTS = ("label", "score", "threshold")


@dataclass(frozen=True)
class LoadedModel:
    """A model file that knows its table."""

    model: Any
    card: Manifest
    schema: Schema

    def decisions(self, batch: Batch) -> NDArray[np.float64]:
        """One number a row, above 0 positive."""
        return self.model.decision_function(self.schema.features(batch))

    def predictions(self, batch: Batch) -> pl.DataFrame:
        """Label, score and threshold of each row, after the columns that are kept."""
        decision = self.decisions(batch)
        labels = self.model.classes_[(decision > 0).astype(int)]
        threshold = np.full(len(decision), self.model.threshold_)
        columns = zip(OUTPUTS, (labels, self.model.as_probability(decision), threshold), strict=True)
        outputs = [pl.Series(name, values) for name, values in columns]
        return pl.DataFrame([*self.schema.kept(batch).get_columns(), *outputs])


@dataclass(frozen=True)
class ScoredRows:
    """Decisions on labelled rows."""

    positive: NDArray[np.bool_]
    decision: NDArray[np.float64]
    weight: NDArray[np.float64] | None


def open_trained(path: str, trust: Sequence[str] | None, screen: Console) -> LoadedModel:
    """A model that was trained on a table."""
    with screen.step(f"opening {path}"):
        opened = open_model(path, trusted=trust or ())
    if opened.card.schema.get("kind", "names") == "names":
        raise ModelFileError(
            f"{path} does not say which columns its model needs, since it was saved from Python: use it "
            "there, with capo.load, or train it with 'capo fit'."
        )
    try:
        schema = schema_from_dict(opened.card.schema)
        _check_features(opened.model, schema)
    except ValueError as error:
        raise ModelFileError(f"{path} is not a model that 'capo fit' wrote: {error}.") from error
    return LoadedModel(opened.model, opened.card, schema)


def _check_features(model: Any, schema: Schema) -> None:
    if not isinstance(model, CAPOClassifier) or model.n_features_in_ != schema.n_features:
        raise ValueError("its model is of another kind, or of other columns")
    if schema.names is not None and schema.names != list(model.feature_names_in_):
        raise ValueError("its model is of other columns")


def run_predict(
    path: str,
    table: TableReader,
    output: Path | None,
    ids: list[str] | None,
    trust: list[str] | None,
    screen: Console,
) -> None:
    """Write predictions batch by batch."""
    _check_ending(output)
    check_output(output, table.path, path)
    trained = open_trained(path, trust, screen)
    if ids is not None:
        trained = replace(trained, schema=trained.schema.with_ids(ids))
    name = output.name.removesuffix(".gz") if output else ""
    separator = "\t" if name.endswith((".tsv", ".tab")) else ","
    with screen.step("predicting") as step, sink(output) as file, _packed(file, output) as packed:
        for number, batch in enumerate(_batches(table, step)):
            if number == 0:
                _check_ids(trained.schema, batch, ids)
            text = trained.predictions(batch).write_csv(separator=separator, include_header=number == 0)
            packed.write(text.encode())


def run_evaluate(path: str, table: TableReader, trust: list[str] | None, seed: int, screen: Console) -> None:
    """Show every measure."""
    trained = open_trained(path, trust, screen)
    judged = _judged(trained, table, screen)
    _note_known_rows(trained, table, screen)
    found = _evaluated(trained, judged, seed, screen)
    n = len(judged.positive)
    screen.result(f"{table.name}: {n:,} rows\n\n{found}", {"table": table.name, "rows": n, **found.to_dict()})


def run_report(
    path: str,
    table: TableReader,
    output: Path,
    comparison: Path | None,
    trust: list[str] | None,
    seed: int,
    screen: Console,
) -> None:
    """Write the page."""
    from ..report import page  # noqa: PLC0415 (only here)

    compared = None if comparison is None else _comparison(comparison)
    check_output(output, table.path, path, comparison)
    trained = open_trained(path, trust, screen)
    judged = _judged(trained, table, screen)
    notes = _note_known_rows(trained, table, screen)
    evaluation = _evaluated(trained, judged, seed, screen)
    with screen.step("drawing"):
        html = page(
            trained.model,
            trained.model.classes_[judged.positive.astype(int)],
            judged.decision,
            sample_weight=judged.weight,
            table=table.name,
            comparison=compared,
            evaluation=evaluation,
            notes=notes,
        )
    _write(html.encode(errors="backslashreplace"), output, screen)


def run_export(path: str, output: Path, trust: list[str] | None, screen: Console) -> None:
    """Write the model as ONNX."""
    from ..export import to_onnx  # noqa: PLC0415 (only here)

    check_output(output, path)
    trained = open_trained(path, trust, screen)
    with screen.step("converting"):
        converted = to_onnx(trained.model, trained.schema.example())
    _write(converted.SerializeToString(), output, screen)


def _write(data: bytes, output: Path, screen: Console) -> None:
    with sink(output) as file:
        file.write(data)
    if not to_stdout(output):
        screen.say(f"wrote {output} ({size(output)})")


def _check_ids(schema: Schema, batch: Batch, asked: list[str] | None) -> None:
    """Refuse columns that were asked for and are not there, or have a name that is taken."""
    for name in asked or ():
        require_column(name, batch.rows.columns, "identifier")
    taken = [name for name in schema.kept(batch).columns if name in OUTPUTS]
    if taken:
        raise InvalidInputError(
            f"the column {taken[0]!r} cannot be kept: predictions have {', '.join(OUTPUTS)} of their own."
        )


def _check_ending(output: Path | None) -> None:
    if output is None or not output.suffix:
        return
    known = output.name.removesuffix(".gz").endswith((".csv", ".tsv", ".tab", ".txt"))
    if not known and not (output.exists() and not output.is_file()):
        raise InvalidInputError(f"predictions are written as .csv or .tsv, also with .gz: got {output.name}.")


@contextmanager
def _packed(file: Any, output: Path | None) -> Iterator[Any]:
    if output is None or output.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as packed:
        yield packed


def _batches(table: TableReader, step: Step) -> Iterator[Batch]:
    """The table in pieces that fit, with a word on how far it is."""
    for large in table.batches():
        for batch in large.slices(ROWS):
            yield batch
            step.progress(f"{batch.first + len(batch) - 1:,} rows")


def _judged(trained: LoadedModel, table: TableReader, screen: Console) -> ScoredRows:
    positive, decisions, weights = [], [], []
    with screen.step("predicting") as step:
        for batch in _batches(table, step):
            positive.append(positive_mask(trained.schema.labels(batch), trained.model.classes_))
            decisions.append(trained.decisions(batch))
            weights.append(trained.schema.weights(batch))
    weight = None if weights[0] is None else np.concatenate([each for each in weights if each is not None])
    return ScoredRows(np.concatenate(positive), np.concatenate(decisions), weight)


def _evaluated(trained: LoadedModel, judged: ScoredRows, seed: int, screen: Console) -> Evaluation:
    classes = trained.model.classes_.tolist()
    with screen.step("bootstrap") as step:
        return evaluate_measures(
            trained.model.measure_,
            judged.positive,
            judged.decision,
            sample_weight=judged.weight,
            class_names=(str(classes[0]), str(classes[1])),
            random_state=seed,
            on_progress=step.progress,
        )


def _note_known_rows(trained: LoadedModel, table: TableReader, screen: Console) -> list[str]:
    """A caution, if these are the rows that the model was trained on."""
    if not trained.card.training.get("sha256") or fingerprint(table) != trained.card.training["sha256"]:
        return []
    caution = "these are the rows that the model was trained on: the figures are too good."
    screen.note(caution)
    return [caution[0].upper() + caution[1:]]


def _comparison(path: Path) -> Comparison:
    """What ``capo compare --json`` wrote."""
    try:
        return Comparison.from_dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInputError(f"{path} is not what 'capo compare --json' writes: {reason}.") from error
