"""Input of commands: model files, and tables in batches or in parts on a Dask cluster."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from .._compat import NDArray
from ..estimators import CAPOClassifier
from ..exceptions import InvalidInputError, MissingExtraError, ModelFileError, TableError
from ..io.formats import TableReader
from ..io.model_file import Manifest, describe_table, open_model, save
from ..io.parts import TablePart, divide_table
from ..io.source import Batch, NoRowsError
from ..io.table_schema import TableSchema, profile_columns, schema_from_manifest
from .console import Console, format_file_size, opened_models

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")

#: Number of rows per batch of predictions.
BATCH_SIZE = 50_000
#: Key of the training record with the checksums of the tables of earlier models of a refit.
EARLIER_TABLES = "earlier_sha256"
#: Key with the checksum of the calibration table of a guarantee.
CALIBRATION_TABLE = "calibration_sha256"
#: The prefix of clusters that are started for the command.
LOCAL = "local"
#: Seconds after which a scheduler that does not answer is an error.
CONNECTION_TIMEOUT = 10


class LoadedModel(NamedTuple):
    """A fitted model of tables that `TableSchema.features` parsed, its manifest, and the schema."""

    model: CAPOClassifier
    manifest: Manifest
    schema: TableSchema


def load_model(path: str, trusted: Sequence[str] | None, console: Console) -> LoadedModel:
    """Load a model that was written by ``capo fit``."""
    with console.step(f"loading {path}"):
        model, manifest = open_model(path, trusted=trusted or ())
    if not isinstance(model, CAPOClassifier) or not manifest.schema:
        raise ModelFileError(
            f"{path} contains a {type(model).__name__} that was not trained on a table with named columns: "
            "load it in Python with capo.load, or train a model with 'capo fit' or on a data frame."
        )
    try:
        schema = schema_from_manifest(manifest.schema, describe_table(model), model.schema_)
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is not a model file written by 'capo fit': {error}.") from error
    opened_models.append(path)
    model.schema_ = model.column_kinds = schema.table.parsed
    if model.guarantee_ is not None:
        schema = replace(schema, segments=model.guarantee_.column)
    return LoadedModel(model, manifest, schema)


def with_raw_tables(model: CAPOClassifier, schema: TableSchema) -> CAPOClassifier:
    """Return a copy of the model that takes raw tables instead of parsed ones."""
    model = copy(model)
    given = {column.key: column.kind.to_dict() for column in schema.table.columns if column.is_given}
    model.schema_, model.column_kinds = schema.table, given or None
    return model


def save_model(
    model: CAPOClassifier, output: Path, schema: TableSchema, training: dict[str, Any], console: Console
) -> None:
    """Write a model with the schema of its tables and the record of its training."""
    with console.step("writing"):
        save(with_raw_tables(model, schema), output, schema=schema.roles, training=training)
    console.log(f"wrote {output} ({format_file_size(output)})")


def join_groups(
    parts: Sequence[NDArray[Any] | None], loaded: LoadedModel, console: Console
) -> NDArray[Any] | None:
    """The groups of all batches; logs a note if the table lacks the column of groups used in training."""
    known = [part for part in parts if part is not None]
    if len(known) == len(parts):
        return np.concatenate(known)
    if name := loaded.schema.group:
        console.note(f"the table has no column {name!r}: the intervals treat its rows as independent.")
    return None


def table_sha256(table: TableReader) -> str:
    """The checksum of a table's file; empty for a pipe, which can be read only once."""
    path = Path(table.path)
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def training_record(table: TableReader, n_rows: int, X: Any) -> dict[str, Any]:
    """The record of the training table in the model file."""
    record = {"table": table.name, "rows": n_rows, "sha256": table_sha256(table)}
    return {**record, "columns": profile_columns(X)}


def training_checksums(manifest: Manifest) -> list[str]:
    """The checksums of the tables that the model was trained on; of a refit also those of the old model."""
    training = manifest.training
    earlier = training.get(EARLIER_TABLES)
    found = [training.get("sha256"), *(earlier if isinstance(earlier, list) else [])]
    return [str(checksum) for checksum in found if checksum]


def training_table_notes(manifest: Manifest, table: TableReader, console: Console) -> list[str]:
    """Log and return notes if the model was trained, or its guarantee tested, on this table."""
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


def divide(table: TableReader, partition_rows: int | None, console: Console) -> Sequence[TablePart]:
    """The parts of a table that workers read."""
    if table.path == "-":
        raise InvalidInputError("a table that is read in parts must be in files: got standard input.")
    with console.step(f"dividing {table.name}"):
        return divide_table(table, partition_rows)


@contextmanager
def connect(address: str, console: Console) -> Iterator[Client]:
    """A client of the cluster; a local one is started, and closed at the end."""
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 (an optional package)
    except ImportError as error:
        raise MissingExtraError("--cluster needs Dask: pip install 'capo-learn[dask]'.") from error

    # A client that is interrupted leaves tasks behind, whose tracebacks would be shown.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    name, _, count = address.partition(":")
    if name == LOCAL:
        if count and not (count.isdecimal() and int(count) > 0):
            raise InvalidInputError(
                f"--cluster takes local, local:4 or the address of a scheduler: got {address!r}."
            )
        with (
            LocalCluster(
                int(count or 1), threads_per_worker=1, dashboard_address=":0", silence_logs=40
            ) as local,
            Client(local) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=CONNECTION_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        # The client is closed with the last reference to it, which would else take 20 seconds at exit.
        traceback.clear_frames(error.__traceback__)
        # The first bytes of another protocol are taken for a number of bytes.
        is_other = isinstance(error, MemoryError)
        reason = "the server at this address is not a Dask scheduler." if is_other else str(error)
        raise InvalidInputError(f"no Dask scheduler answers at {address}: {reason}") from error
    with client:
        if not client.nthreads():  # a cluster may start them when there are tasks
            console.note(f"the Dask scheduler at {address} has no workers yet: waiting for them.")
        yield client


def apply_to_part(part: TablePart, function: Callable[[Batch], Result], without_rows: Result) -> Result:
    """``function(rows)`` of a part, or `without_rows` if it has none; errors name the part."""
    try:
        return function(part.read())
    except NoRowsError:
        return without_rows
    except InvalidInputError as error:
        if part.path in str(error):
            raise
        raise TableError(f"{part.path}: {error}") from error


def read_parts(parts: Sequence[TablePart], schema: TableSchema) -> tuple[list[Any], list[Any]]:
    """Tasks that read the features and the labels of each part."""
    from dask.delayed import delayed  # noqa: PLC0415 (an optional package)

    read = delayed(_read_features_and_labels, pure=False)
    tasks = [read(part, schema) for part in parts]
    return [task[0] for task in tasks], [task[1] for task in tasks]


def _read_features_and_labels(part: TablePart, schema: TableSchema) -> tuple[Any, Any]:
    without_rows = schema.example_row()[:0], np.empty(0, dtype=object)
    return apply_to_part(part, lambda batch: (schema.features(batch), schema.labels(batch)), without_rows)
