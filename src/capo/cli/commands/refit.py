"""``capo refit``: a model from elsewhere beside models trained on a few rows from a new place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...io.formats import TableReader
from ...io.model_file import save
from ...io.table_schema import profile_columns
from ...learning.folds import DEFAULT_N_FOLDS, TimeFolds
from ..console import Console
from ..options import ModelFileOptions
from .kinds import fit_results, price_columns
from .models import (
    EARLIER_TABLES,
    LoadedModel,
    check_model_output,
    check_rows_are_new,
    load_model,
    log_model_output,
    table_sha256,
    training_checksums,
)


def run_refit(
    file: ModelFileOptions,
    table: TableReader,
    output: Path,
    jobs: int,
    seed: int,
    console: Console,
) -> None:
    """Refit a model on labeled rows, write it, and show its summary."""
    check_model_output(output, *table.paths, file.path)
    loaded = load_model(file, console)
    check_rows_are_new(loaded.manifest, table, "a refit needs labeled rows that it has not seen")
    with console.step(f"reading {table.name}"):
        batch = table.read()
        schema = loaded.schema
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
        groups, prices = schema.groups(batch), _read_prices(loaded, batch)
    params = {**prices, **({} if groups is None else {"groups": groups})}
    old = loaded.model.set_params(n_jobs=jobs or None, random_state=seed, verbose=2)
    if isinstance(old.cv, TimeFolds):
        console.note("The model was trained with --time: the folds of the refit are random.")
        old.set_params(cv=DEFAULT_N_FOLDS)
    with console.step("training"):
        model = old.refit_on(X, y, weight, **params).set_params(verbose=0)
    if old.guarantee_ is not None and model.guarantee_ is None:
        console.note(
            "The guarantee of the old model does not hold for the refitted one: use 'capo guarantee' with "
            "other labeled rows."
        )
    with console.step("writing"):
        training = {"table": table.name, "rows": len(y), "sha256": table_sha256(table)}
        training["columns"] = profile_columns(X)
        training[EARLIER_TABLES] = training_checksums(loaded.manifest)
        if prices:
            training["prices"] = price_columns(loaded).sources
        save(model, output, schema=loaded.manifest.schema, training=training)
    console.result(
        model.summary(),
        {
            "model": str(output),
            "measure": model.measure_.label,
            "value": model.score_,
            "std": model.score_std_,
            **fit_results(model),
        },
    )
    log_model_output(output, console)


def _read_prices(loaded: LoadedModel, batch: Any) -> dict[str, Any]:
    """The prices of the rows, if the old model was trained with prices."""
    if loaded.model.prices_ is None:
        return {}
    return dict(price_columns(loaded).read(batch, loaded.schema))
