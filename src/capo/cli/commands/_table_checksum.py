"""Recognizes the table that a model was trained on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...exceptions import InvalidInputError
from ...io.model_files import Manifest
from ...io.tables import TableReader
from .._console import Console


def table_sha256(table: TableReader) -> str:
    """The checksum of a table's file; empty for a pipe, which can be read only once."""
    path = Path(table.path)
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_rows_are_new(manifest: Manifest, table: TableReader, needed: str) -> None:
    """Raise an error if the model was trained on this very table; `needed` says what is needed instead."""
    expected = manifest.training.get("sha256")
    if expected and table_sha256(table) == expected:
        raise InvalidInputError(f"the model was trained on {table.name}: {needed}.")


def training_table_notes(manifest: Manifest, table: TableReader, console: Console) -> list[str]:
    """A note, also logged, if the model was trained on this very table."""
    expected = manifest.training.get("sha256")
    if not expected or table_sha256(table) != expected:
        return []
    note = "The model was trained on these rows: its values on them are too optimistic."
    console.note(note)
    return [note]
