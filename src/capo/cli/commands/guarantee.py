"""``capo guarantee``: a threshold that keeps a constraint on new rows with a stated confidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...exceptions import InvalidInputError
from ...io.formats import TableReader
from ...io.model_file import save
from ..console import Console
from ..options import GuaranteeOptions, ModelFileOptions
from .models import (
    CALIBRATION_TABLE,
    check_model_output,
    check_rows_are_new,
    load_model,
    log_model_output,
    table_sha256,
)


def run_guarantee(
    file: ModelFileOptions,
    table: TableReader,
    options: GuaranteeOptions,
    output: Path | None,
    seed: int,
    console: Console,
) -> None:
    """Choose the threshold on labeled rows, show the guarantee, and write the model if a file is named."""
    check_model_output(output, *table.paths, file.path)
    loaded = load_model(file, console)
    check_rows_are_new(loaded.manifest, table, "a guarantee needs labeled rows that it has not seen")
    with console.step(f"reading {table.name}"):
        batch = table.read()
        schema = loaded.schema
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups = schema.groups(batch)
    if weight is not None and np.ptp(weight) > 0:
        raise InvalidInputError(
            "the model was trained with sample weights, and the exact test counts rows: drop the weights, or "
            "use calibration rows that were drawn with them."
        )
    with console.step("testing"):
        model = loaded.model.guarantee(
            X,
            y,
            constraint=options.constraint,
            confidence=options.confidence,
            objective=options.objective,
            groups=groups,
            random_state=seed,
        )
    found = model.guarantee_
    assert found is not None
    console.result(
        f"{table.name}: {found}\nthreshold: positive above a probability of {model.threshold_:.4g}",
        {"table": table.name, "threshold": model.threshold_, **found.to_dict()},
    )
    if output is not None:
        with console.step("writing"):
            training = {**loaded.manifest.training, CALIBRATION_TABLE: table_sha256(table)}
            save(model, output, schema=loaded.manifest.schema, training=training)
        log_model_output(output, console)
