"""A model from a file, and a new one written."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError, ModelFileError
from ...io.formats import TableReader
from ...io.model_file import Manifest, open_model
from ...io.source import Batch
from ...io.table_schema import Schema, schema_from_dict
from ..console import Console, Step
from ..options import ModelFileOptions
from ..output import check_output, format_file_size, is_stdout

#: Rows that are predicted at once.
BATCH_SIZE = 50_000


@dataclass(frozen=True)
class LoadedModel:
    """A fitted model, the manifest of its file, and the schema of its tables."""

    model: CAPOClassifier
    manifest: Manifest
    schema: Schema


def load_model(source: ModelFileOptions, console: Console) -> LoadedModel:
    """Load a model that was written by ``capo fit``."""
    path = source.path
    with console.step(f"loading {path}"):
        file = open_model(path, trusted=source.trusted or ())
    if file.manifest.schema.get("kind", "names") == "names":
        raise ModelFileError(
            f"{path} was saved from Python and does not describe the table that its model needs: load it in "
            "Python with capo.load, or train the model with 'capo fit'."
        )
    try:
        schema = schema_from_dict(file.manifest.schema)
        _check_features(file.model, schema)
    except ValueError as error:
        raise ModelFileError(f"{path} is not a model file written by 'capo fit': {error}.") from error
    return LoadedModel(file.model, file.manifest, schema)


def _check_features(model: Any, schema: Schema) -> None:
    if not isinstance(model, CAPOClassifier):
        raise ValueError("its model is not a CAPOClassifier")
    if model.n_features_in_ != schema.n_features:
        raise ValueError("its model has another number of columns than its schema")
    if schema.feature_names is not None and schema.feature_names != list(model.feature_names_in_):
        raise ValueError("the model's columns do not match its schema")


def join_groups(
    parts: Sequence[NDArray[Any] | None], loaded: LoadedModel, console: Console
) -> NDArray[Any] | None:
    """The groups of all batches; a note if the model was trained on groups that the table does not have."""
    known = [part for part in parts if part is not None]
    if len(known) == len(parts):
        return np.concatenate(known)
    if name := getattr(loaded.schema, "group", ""):
        console.note(f"the table has no column {name!r}: the intervals treat its rows as independent.")
    return None


def read_batches(table: TableReader, step: Step) -> Iterator[Batch]:
    """The table in batches of at most `BATCH_SIZE` rows; each is reported as progress once it is used."""
    for block in table.batches():
        for batch in block.split(BATCH_SIZE):
            yield batch
            step.progress(f"{batch.first_row + len(batch) - 1:,} rows")


#: Endings of files that a model must not replace by mistake.
OTHER_FORMATS = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".html", ".htm", ".onnx", ".toml", ".json")


def check_model_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Raise before any work is done if a model cannot be written to `output`; None writes no file."""
    if output is not None and is_stdout(output):
        raise InvalidInputError("a model cannot be written to standard output: name a file with --output.")
    check_output(output, *inputs)
    if output is not None and output.name.lower().removesuffix(".gz").endswith(OTHER_FORMATS):
        raise InvalidInputError(f"a model is written to a file such as model.capo: got {output.name}.")


def log_model_output(output: Path, console: Console) -> None:
    """Log the file that was written, below the result."""
    console.log(f"\nwrote {output} ({format_file_size(output)})")


#: Where the record of the training has the checksums of the tables of models that were refitted.
EARLIER_TABLES = "earlier_sha256"
#: Where it has the checksum of the table that a guarantee was tested on.
CALIBRATION_TABLE = "calibration_sha256"


def table_sha256(table: TableReader) -> str:
    """The checksum of a table's file; empty for a pipe, which can be read only once."""
    path = Path(table.path)
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def training_checksums(manifest: Manifest) -> list[str]:
    """The checksums of the tables that the model was trained on; of a refit also those of the old model."""
    training = manifest.training
    earlier = training.get(EARLIER_TABLES)
    found = [training.get("sha256"), *(earlier if isinstance(earlier, list) else [])]
    return [str(checksum) for checksum in found if checksum]


def check_rows_are_new(manifest: Manifest, table: TableReader, needed: str) -> None:
    """Raise an error if the model was trained on this very table; `needed` says what is needed instead."""
    if table_sha256(table) in training_checksums(manifest):
        raise InvalidInputError(f"the model was trained on {table.name}: {needed}.")


def training_table_notes(manifest: Manifest, table: TableReader, console: Console) -> list[str]:
    """Notes, also logged, if the model was trained on this very table, or its guarantee was tested on it."""
    checksum, notes = table_sha256(table), []
    if checksum in training_checksums(manifest):
        notes.append("The model was trained on these rows: its values on them are too optimistic.")
    if checksum and checksum == manifest.training.get(CALIBRATION_TABLE):
        notes.append(
            "The threshold of the guarantee was chosen on these rows: values at the threshold are too "
            "optimistic on them."
        )
    for note in notes:
        console.note(note)
    return notes


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int | None = None
) -> Iterator[Result]:
    """Yield the result for each item in their order, computed by as many threads as there are cores.

    At most one item more than there are threads is taken ahead, so that memory stays bounded. The error of an
    item is raised in its place.
    """
    n_threads = n_threads or cpu_count()
    if n_threads == 1:
        yield from map(function, items)
        return
    # Loops and products inside a thread start no threads of their own: the limit of OpenMP is that of each
    # thread, the limit of BLAS that of all.
    pool = ThreadPoolExecutor(n_threads, initializer=threadpool_limits, initargs=(1, "openmp"))
    pending: deque[Future[Result]] = deque()
    with threadpool_limits(1, "blas"):
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
