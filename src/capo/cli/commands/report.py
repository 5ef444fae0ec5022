"""``capo report``: an HTML page on a model and labeled rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ...exceptions import InvalidInputError
from ...inspection import Comparison
from ...io.formats import TableReader
from ..console import Console, check_file_ending, check_output, write_output
from ..inputs import LoadedModel, load_model, training_table_notes
from .kinds import ReportOptions, model_kind


def run_report(
    path: str,
    trusted: Sequence[str] | None,
    table: TableReader,
    output: Path,
    comparison: Path | None,
    seed: int,
    explain: bool,
    console: Console,
) -> None:
    """Write the page."""
    stored_comparison = None if comparison is None else _read_comparison(comparison)
    check_output(output, *table.paths, path, comparison)
    check_file_ending(output, [".html", ".htm"], "the report is an HTML file, whose name ends in .html")
    loaded = load_model(path, trusted, console)
    if comparison is not None and stored_comparison is not None:
        _check_comparison(stored_comparison, loaded, comparison)
    notes = training_table_notes(loaded.manifest, table, console)
    options = ReportOptions(stored_comparison, notes, seed, explain)
    html = model_kind(loaded.model).render_report(loaded, table, options, console)
    write_output(html.encode(errors="backslashreplace"), output, console)


def _read_comparison(path: Path) -> Comparison:
    try:
        return Comparison.from_dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInputError(
            f"{path} is not a comparison written by 'capo compare --json': {reason}."
        ) from error


def _check_comparison(comparison: Comparison, loaded: LoadedModel, path: Path) -> None:
    """Raise an error if a comparison is of another table, target, measure or set of auxiliaries."""
    training = loaded.manifest.training
    difference = comparison.difference(
        loaded.model,
        target=str(loaded.manifest.schema.get("target", "")),
        table=str(training.get("table", "")),
        sha256=str(training.get("sha256", "")),
    )
    if comparison.source is None:
        difference = "without a record of its table"
    if difference:
        raise InvalidInputError(
            f"{path} does not belong to this model: it is a comparison {difference}. Run 'capo compare "
            "--json' on the model's training table, with the options of its 'capo fit'."
        )
