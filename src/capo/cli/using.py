"""From a model and a table to predictions, figures, a page; and to ONNX."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..evaluation import Evaluation
from ..evaluation import evaluate as evaluate_measures
from ..exceptions import InvalidInputError, ModelFileError
from ..files import Card, open_model, written
from ..tables import Batch, Reading, Schema, TableSchema, read_schema
from ..validation import which_positive
from .screen import Screen, Step, until_enough
from .training import fingerprint

#: Rows that are predicted at once.
ROWS = 10_000
OUTPUTS = ("label", "score", "threshold")


@dataclass(frozen=True)
class Trained:
    """A model file that knows its table."""

    model: Any
    card: Card
    schema: Schema

    def decisions(self, batch: Batch) -> NDArray[np.float64]:
        """One number a row, above 0 positive."""
        return self.model.decision_function(self.schema.features(batch))

    def predictions(self, batch: Batch) -> pl.DataFrame:
        """Label, score and threshold of each row, after the columns that are kept."""
        decision = self.decisions(batch)
        labels = self.model.classes_[(decision > 0).astype(int)]
        score, threshold = self.model.on_scale(decision)
        columns = zip(OUTPUTS, (labels, score, np.full(len(score), threshold)), strict=True)
        outputs = [pl.Series(name, values) for name, values in columns]
        return pl.DataFrame([*self.schema.kept(batch).get_columns(), *outputs])


@dataclass(frozen=True)
class Judged:
    """Decisions on labelled rows."""

    y: NDArray[np.generic]
    decision: NDArray[np.float64]
    weight: NDArray[np.float64] | None


def open_trained(path: str, trust: Sequence[str] | None, screen: Screen) -> Trained:
    """A model that was trained on a table."""
    with screen.step(f"opening {path}"):
        opened = open_model(path, trusted=trust or ())
    if opened.card.schema.get("kind") not in ("table", "svmlight"):
        raise ModelFileError(
            f"{path} does not say which columns its model needs, since it was saved from Python: use it "
            "there, with capo.load, or train it with 'capo fit'."
        )
    return Trained(opened.model, opened.card, read_schema(opened.card.schema))


def run_predict(
    path: str,
    table: Reading,
    output: Path | None,
    ids: list[str] | None,
    trust: list[str] | None,
    screen: Screen,
) -> None:
    """Write predictions batch by batch."""
    trained = open_trained(path, trust, screen)
    if isinstance(trained.schema, TableSchema) and ids is not None:
        trained = replace(trained, schema=replace(trained.schema, ids=tuple(ids)))
    _check_names(trained.schema)
    separator = "\t" if output and output.name.removesuffix(".gz").endswith((".tsv", ".tab")) else ","
    with screen.step("predicting") as step, _sink(output) as sink:
        for number, batch in enumerate(_batches(table, step)):
            text = trained.predictions(batch).write_csv(separator=separator, include_header=number == 0)
            sink.write(text.encode())


def run_evaluate(path: str, table: Reading, trust: list[str] | None, seed: int, screen: Screen) -> None:
    """Show every measure."""
    trained = open_trained(path, trust, screen)
    judged = _judged(trained, table, screen)
    _note_known_rows(trained, table, screen)
    found = _evaluated(trained, judged, seed, screen)
    n = len(judged.y)
    screen.result(f"{table.name}: {n:,} rows\n\n{found}", {"table": table.name, "rows": n, **found.to_dict()})


def run_report(
    path: str,
    table: Reading,
    output: Path,
    comparison: Path | None,
    trust: list[str] | None,
    seed: int,
    screen: Screen,
) -> None:
    """Write the page."""
    from ..report import page  # noqa: PLC0415 (only here)

    compared = None if comparison is None else _comparison(comparison)
    trained = open_trained(path, trust, screen)
    judged = _judged(trained, table, screen)
    notes = _note_known_rows(trained, table, screen)
    evaluation = _evaluated(trained, judged, seed, screen).to_dict()["measures"]
    with screen.step("drawing"):
        html = page(
            trained.model,
            judged.y,
            judged.decision,
            sample_weight=judged.weight,
            table=table.name,
            comparison=compared,
            evaluation=evaluation,
            notes=notes,
        )
    with written(output) as file:
        file.write(html.encode())
    screen.say(f"wrote {output} ({len(html) / 1e3:.0f} kB)")


def run_export(path: str, output: Path, trust: list[str] | None, screen: Screen) -> None:
    """Write the model as ONNX."""
    from ..export import to_onnx  # noqa: PLC0415 (only here)

    trained = open_trained(path, trust, screen)
    with screen.step("converting"):
        converted = to_onnx(trained.model, trained.schema.example())
    with written(output) as file:
        file.write(converted.SerializeToString())
    screen.say(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB)")


def _check_names(schema: Schema) -> None:
    taken = [name for name in getattr(schema, "ids", ()) if name in OUTPUTS]
    if taken:
        raise InvalidInputError(
            f"the column {taken[0]!r} cannot be kept: predictions have {', '.join(OUTPUTS)} of their own."
        )


@contextmanager
def _sink(output: Path | None) -> Iterator[Any]:
    """Where predictions go."""
    if output is None:
        with until_enough():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    if not output.name.removesuffix(".gz").endswith((".csv", ".tsv", ".tab", ".txt")) and output.suffix:
        raise InvalidInputError(f"predictions are written as .csv or .tsv, also with .gz: got {output.name}.")
    with written(output) as file, _packed(file, output) as sink:
        yield sink


@contextmanager
def _packed(file: BinaryIO, output: Path) -> Iterator[Any]:
    if output.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="") as packed:
        yield packed


def _batches(table: Reading, step: Step) -> Iterator[Batch]:
    """The table in pieces that fit, with a word on how far it is."""
    for large in table.batches():
        for batch in large.slices(ROWS):
            yield batch
            step.progress(f"{batch.first + len(batch) - 1:,} rows")


def _judged(trained: Trained, table: Reading, screen: Screen) -> Judged:
    labels, decisions, weights = [], [], []
    with screen.step("predicting") as step:
        for batch in _batches(table, step):
            labels.append(which_positive(trained.schema.labels(batch), trained.model.classes_))
            decisions.append(trained.decisions(batch))
            weights.append(trained.schema.weights(batch))
    weight = None if weights[0] is None else np.concatenate([each for each in weights if each is not None])
    y = trained.model.classes_[np.concatenate(labels).astype(int)]
    return Judged(y, np.concatenate(decisions), weight)


def _evaluated(trained: Trained, judged: Judged, seed: int, screen: Screen) -> Evaluation:
    classes = trained.model.classes_.tolist()
    with screen.step("bootstrap") as step:
        return evaluate_measures(
            trained.model.measure_,
            which_positive(judged.y, trained.model.classes_),
            judged.decision,
            sample_weight=judged.weight,
            labels=(str(classes[0]), str(classes[1])),
            random_state=seed,
            say=step.progress,
        )


def _note_known_rows(trained: Trained, table: Reading, screen: Screen) -> list[str]:
    """A caution, if these are the rows that the model was trained on."""
    if not trained.card.training.get("sha256") or fingerprint(table) != trained.card.training["sha256"]:
        return []
    caution = "these are the rows that the model was trained on: the figures are too good."
    screen.note(caution)
    return [caution[0].upper() + caution[1:]]


def _comparison(path: Path) -> dict[str, Any]:
    """What ``capo compare --json`` wrote."""
    try:
        found = json.loads(path.read_bytes())
        needed = {"measure", "folds", "systems", "verdict"}
        if not needed <= set(found) or not all(
            {"name", "value", "spread", "seconds"} <= set(s) for s in found["systems"]
        ):
            raise ValueError("it lacks some of its parts")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInputError(f"{path} is not what 'capo compare --json' writes: {reason}.") from error
    return dict(found)
