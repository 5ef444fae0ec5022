"""The option ``--budget``: which auxiliaries are trained."""

from __future__ import annotations

import numpy as np

from ..._sklearn_compat import safe_indexing
from ...auxiliary import BudgetChoice, choose_within_budget
from ...estimators import CAPOClassifier
from .._console import Console
from .._durations import format_duration
from ._training_data import TableTrainingData


def choose_auxiliaries(
    model: CAPOClassifier,
    data: TableTrainingData,
    seconds: float,
    console: Console,
    *,
    n_folds: int,
    n_models: int = 1,
) -> None:
    """Give the model those of its auxiliaries that can be trained in time, and log the estimate.

    There are `n_models` models to train, each of them without one part of the rows if there are several.
    """
    X, y = data.X, np.asarray(data.y)
    if n_models > 1:
        rows = np.flatnonzero(np.arange(len(y)) % n_models)
        X, y = safe_indexing(X, rows), y[rows]
    with console.step("timing the auxiliaries on samples"):
        choice = choose_within_budget(
            X,
            y,
            seconds,
            model.auxiliaries,
            n_folds=n_folds,
            n_models=n_models,
            many_classes=data.target.kind == "multiclass",
            n_jobs=model.n_jobs,
            random_state=model.random_state,
        )
    model.set_params(auxiliaries=choice.auxiliaries)
    _log_choice(choice, seconds, console)


def _log_choice(choice: BudgetChoice, seconds: float, console: Console) -> None:
    estimate, budget = format_duration(choice.total_seconds), format_duration(seconds)
    used = ", ".join(choice.names)
    if choice.left_out:
        left_out = ", ".join(f"{name} ({format_duration(choice.seconds[name])})" for name in choice.left_out)
        console.note(f"Left out because of the budget of {budget}, with their estimated times: {left_out}.")
    if choice.total_seconds > seconds:
        console.note(
            f"Training is estimated to take {estimate}, more than the budget of {budget}, although only the "
            f"least is trained: {used}."
        )
    else:
        console.log(f"estimated time {estimate}, within the budget of {budget}: {used}")
