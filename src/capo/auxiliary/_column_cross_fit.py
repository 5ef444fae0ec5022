"""Cross-fitting of auxiliaries whose output has several numbers per row: one per class or label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Memory

from .._typing import FloatArray
from ..model_selection import Split
from ._cross_fit import NO_ROWS, Auxiliary, TrainingJob, TrainingRows, rows_or_all, run_jobs
from ._outputs import RawOutput


class SplitRows(TrainingRows, Protocol):
    """Rows to train on with their folds."""

    @property
    def splits(self) -> Sequence[Split]:
        """Training and held-out rows of each fold."""


@dataclass(frozen=True)
class ColumnCrossFit:
    """Trained auxiliaries with several outputs per row.

    Attributes
    ----------
    raw_outputs : ndarray of shape (n_samples, n_auxiliaries, n_columns)
        Raw outputs for the training rows, out of fold.
    models : list of estimator
        The models of all rows.
    seconds : list of float
        The training time of each auxiliary.
    """

    raw_outputs: FloatArray
    models: list[Any]
    seconds: list[float]


def cross_fit_columns(
    auxiliaries: Sequence[Auxiliary],
    training: SplitRows,
    output: RawOutput,
    n_columns: int,
    *,
    memory: str | Memory | None = None,
    n_jobs: int | None = None,
    log: Callable[..., None] = lambda *line: None,
) -> ColumnCrossFit:
    """Train all auxiliaries in all folds and on all rows; the outputs are out of fold."""
    jobs = [job for i, each in enumerate(auxiliaries) for job in _jobs(i, each, training)]
    raw_outputs = np.zeros((len(training.targets), len(auxiliaries), n_columns))
    models: list[Any] = [None] * len(auxiliaries)
    seconds = [0.0] * len(auxiliaries)
    for result in run_jobs(jobs, auxiliaries, training, output, memory=memory, n_jobs=n_jobs, log=log):
        job = result.job
        if job.predict_rows is not NO_ROWS:
            raw_outputs[rows_or_all(job.predict_rows), job.auxiliary] = result.outputs
        if job.train_rows is None:
            models[job.auxiliary] = result.model
        seconds[job.auxiliary] += result.seconds
    return ColumnCrossFit(raw_outputs, models, seconds)


def _jobs(number: int, auxiliary: Auxiliary, training: SplitRows) -> list[TrainingJob]:
    if auxiliary.is_frozen:
        return [TrainingJob(number)]
    return [
        *(TrainingJob(number, train_rows=train, predict_rows=test) for train, test in training.splits),
        TrainingJob(number, predict_rows=NO_ROWS),
    ]
