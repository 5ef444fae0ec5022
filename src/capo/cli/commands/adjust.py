"""``capo adjust``: a model for a population with another share of positives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...exceptions import InvalidInputError
from ...io.model_files import save
from ...io.tables import TableReader
from .._console import Console
from .._output import check_output, format_file_size, is_stdout
from ._loaded_model import load_model


def run_adjust(
    path: str,
    table: TableReader | None,
    output: Path,
    prevalence: float | None,
    trusted: Sequence[str] | None,
    seed: int,
    console: Console,
) -> None:
    """Adjust a model to unlabeled rows or to a known prevalence, and write it."""
    if is_stdout(output):
        raise InvalidInputError("a model cannot be written to standard output: name a file with --output.")
    if table is None and prevalence is None:
        raise InvalidInputError("name a table with rows of the new population, or pass --prevalence.")
    check_output(output, None if table is None else table.path, path)
    loaded = load_model(path, trusted, console)
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
    console.log(f"\nwrote {output} ({format_file_size(output)})")
