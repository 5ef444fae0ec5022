"""``capo fit``: train a model and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...estimators import CAPOClassifier
from ...io.model_files import save
from ...io.tables import TableReader, profile_columns
from ...model_selection import DEFAULT_N_FOLDS
from .._console import Console
from .._options import ColumnOptions, FitClusterOptions, FitModelOptions
from ._cluster_fit import find_conflicts, fit_in_parts
from ._model_kinds import model_kind
from ._model_output import check_model_output, log_model_output
from ._out_of_core import needs_parts
from ._table_checksum import table_sha256
from ._training_data import TableTrainingData
from ._unfitted_model import option_files, parse_auxiliaries, prepare_training


def run_fit(
    table: TableReader,
    columns: ColumnOptions,
    options: FitModelOptions,
    cluster: FitClusterOptions,
    output: Path,
    console: Console,
) -> None:
    """Train a model, in parts if the table is large or a cluster is named, write it, and show its summary."""
    check_model_output(output, *table.paths, *option_files(columns, options))
    if needs_parts(table, cluster, parse_auxiliaries(options), find_conflicts(columns, options), console):
        fitted, data = fit_in_parts(table, columns, options, cluster, console)
        model, n_rows, summary = fitted.to_local(), fitted.n_rows_, fitted.summary()
    else:
        model, data = _fit_in_memory(table, columns, options, console)
        n_rows, summary = len(data.y), model.summary()
    with console.step("writing"):
        training = {"table": table.name, "rows": n_rows, "sha256": table_sha256(table)}
        training["columns"] = profile_columns(data.X)
        if data.prices:
            training["prices"] = data.price_columns.sources
        save(model, output, schema=data.schema.to_dict(), training=training)
    console.result(summary, _fit_results(model, output))
    log_model_output(output, console)


def _fit_in_memory(
    table: TableReader, columns: ColumnOptions, options: FitModelOptions, console: Console
) -> tuple[CAPOClassifier, TableTrainingData]:
    data, model = prepare_training(table, columns, options, console, n_repeats=options.repeats)
    if not columns.time:
        _note_few_groups(data, options.folds or DEFAULT_N_FOLDS, console)
    with console.step("training"):
        params = {} if data.groups is None else {"groups": data.groups}
        model.fit(data.X, data.y, sample_weight=data.sample_weight, **data.prices, **params)
    return model.set_params(verbose=0), data


def _note_few_groups(data: TableTrainingData, folds: int, console: Console) -> None:
    """Log a note if a class has rows in fewer groups than there are folds."""
    if data.groups is None or data.target.kind == "multilabel":
        return
    n_groups = min(len(np.unique(data.groups[data.y == label])) for label in np.unique(data.y))
    if n_groups < folds:
        console.note(f"One class has rows in {n_groups} groups only: {n_groups} folds are used, not {folds}.")


def _fit_results(model: CAPOClassifier, output: Path) -> dict[str, Any]:
    """The results of a fit for ``--json``."""
    return {
        "model": str(output),
        "measure": model.measure_.label,
        "classes": model.classes_.tolist(),
        "value": model.score_,
        "std": model.score_std_,
        "gap": model.gap_,
        "out_of_fold": [
            {"name": line.name, "value": line.value, "std": line.std} for line in model.summary().lines
        ],
        "seconds": model.timings_,
        **model_kind(model).fit_results(model),
    }
