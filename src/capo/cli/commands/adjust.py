"""``capo adjust``: a model for a population with another share of positives."""

from __future__ import annotations

from pathlib import Path

from ...exceptions import InvalidInputError
from ...io.formats import TableReader
from ...io.model_file import save
from ..console import Console
from ..options import ModelFileOptions
from .models import check_model_output, load_model, log_model_output


def run_adjust(
    file: ModelFileOptions,
    table: TableReader | None,
    output: Path,
    prevalence: float | None,
    seed: int,
    console: Console,
) -> None:
    """Adjust a model to unlabeled rows or to a known prevalence, and write it."""
    if table is None and prevalence is None:
        raise InvalidInputError("name a table with rows of the new population, or pass --prevalence.")
    check_model_output(output, *([] if table is None else table.paths), file.path)
    loaded = load_model(file, console)
    X = None
    if table is not None:
        with console.step(f"reading {table.name}"):
            X = loaded.schema.features(table.read())
    with console.step("adjusting"):
        model = loaded.model.for_population(X, prevalence=prevalence, random_state=seed)
    with console.step("writing"):
        save(model, output, schema=loaded.manifest.schema, training=loaded.manifest.training)
    before, after = loaded.model.threshold_, model.threshold_
    population = model.population_
    assert population is not None
    threshold = f"positive above a probability of {after:.4g}, before {before:.4g}"
    console.result(
        f"population   {population}\nthreshold    {threshold}",
        {"model": str(output), **population.to_dict(), "threshold": after, "threshold_before": before},
    )
    log_model_output(output, console)
