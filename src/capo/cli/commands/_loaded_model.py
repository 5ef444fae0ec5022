"""A model file together with the schema of the tables that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...estimators import CAPOClassifier
from ...exceptions import ModelFileError
from ...io.model_files import Manifest, open_model
from ...io.tables import Batch, Schema, TableReader, schema_from_dict
from .._console import Console, Step
from .._options import ModelFileOptions

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
