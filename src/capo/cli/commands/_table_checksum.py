"""Recognizes the table that a model was trained on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...exceptions import InvalidInputError
from ...io.model_files import Manifest
from ...io.tables import TableReader
from .._console import Console

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
