"""Cross-fitting: every auxiliary's output for every row, from a model that has not seen the row.

Each auxiliary is trained once a fold and once on all rows. The fold models give the out-of-fold
column that the adaptation learns from; the model of all rows gives the column of new data. A
`FrozenEstimator` is never trained and gives both.

In sample, as in the paper, the adaptation learns from the model of all rows instead. To judge that
way of learning on rows that nothing has seen, every fold repeats it whole: its models are read on
the rows they were trained on, and on those held out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_memory

from .._sklearn_compat import check_method_params, safe_indexing
from .._typing import FloatArray, IntArray
from ..exceptions import AuxiliaryError, CapoError
from ..model_selection import Split
from ._outputs import decision_scores, is_frozen

NO_ROWS: IntArray = np.arange(0)


@dataclass(frozen=True)
class Auxiliary:
    """One auxiliary classifier as the user gave it, and what its `fit` is to be told."""

    name: str
    estimator: Any
    fit_params: dict[str, Any]

    @property
    def frozen(self) -> bool:
        """Whether it is used as it is."""
        return is_frozen(self.estimator)


@dataclass(frozen=True)
class TrainingJob:
    """A model to be trained in a fold, or on all rows if it is None, and read on some rows or all."""

    auxiliary: int
    fold: int | None = None
    train: IntArray | None = None
    predict: IntArray | None = None


@dataclass(frozen=True)
class CrossFitResult:
    """The auxiliaries trained: raw columns for the training rows, models for new ones.

    `columns` are what the adaptation learns from. In sample, `by_fold` has what the models of each
    fold say of all rows, of shape (n_folds, n_rows, n_auxiliaries).
    """

    columns: FloatArray
    by_fold: FloatArray | None
    models: list[Any]
    seconds: list[float]

    def take(self, kept: IntArray) -> CrossFitResult:
        """Some of the auxiliaries."""
        models, seconds = [self.models[i] for i in kept], [self.seconds[i] for i in kept]
        by_fold = None if self.by_fold is None else self.by_fold[:, :, kept]
        return CrossFitResult(self.columns[:, kept], by_fold, models, seconds)


def cross_fit(
    auxiliaries: Sequence[Auxiliary],
    X: Any,
    y: NDArray[Any],
    splits: Sequence[Split],
    classes: NDArray[Any],
    outputs: str,
    *,
    in_sample: bool = False,
    memory: Memory | None = None,
    n_jobs: int | None = None,
    say: Callable[..., None] = lambda *line: None,
) -> CrossFitResult:
    """Train all auxiliaries on labels 0 and 1, on all folds and on all rows; `memory` keeps each model."""
    jobs = [job for i, each in enumerate(auxiliaries) for job in _jobs(i, each, splits, in_sample)]
    said = check_memory(memory).cache(_fit_and_predict)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run_job)(said, auxiliaries[job.auxiliary], job, X, y, classes, outputs) for job in jobs
    )
    columns = np.zeros((len(y), len(auxiliaries)))
    by_fold = np.zeros((len(splits), *columns.shape)) if in_sample else None
    models: list[Any] = [None] * len(auxiliaries)
    seconds = [0.0] * len(auxiliaries)
    for number, (job, (model, column, taken)) in enumerate(zip(jobs, done, strict=True), start=1):
        place = columns if by_fold is None or job.fold is None else by_fold[job.fold]
        place[slice(None) if job.predict is None else job.predict, job.auxiliary] = column
        if by_fold is not None and auxiliaries[job.auxiliary].frozen:
            by_fold[:, :, job.auxiliary] = column
        if job.fold is None:
            models[job.auxiliary] = model
        seconds[job.auxiliary] += taken
        say("auxiliary %s: model %d of %d", auxiliaries[job.auxiliary].name, number, len(jobs))
    return CrossFitResult(columns, by_fold, models, seconds)


def _jobs(number: int, auxiliary: Auxiliary, splits: Sequence[Split], in_sample: bool) -> list[TrainingJob]:
    if auxiliary.frozen:
        return [TrainingJob(number)]
    return [
        *(
            TrainingJob(number, fold, train, None if in_sample else test)
            for fold, (train, test) in enumerate(splits)
        ),
        TrainingJob(number, predict=None if in_sample else NO_ROWS),
    ]


def _run_job(
    said: Callable[..., tuple[Any, FloatArray, float]],
    auxiliary: Auxiliary,
    job: TrainingJob,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    outputs: str,
) -> tuple[Any, FloatArray, float]:
    """One model and its column, or an error that names it."""
    try:
        return said(auxiliary.estimator, auxiliary.fit_params, job.train, job.predict, X, y, classes, outputs)
    except Exception as error:
        raise AuxiliaryError(_failure_message(auxiliary, job, error)) from error


def _fit_and_predict(
    estimator: Any,
    fit_params: dict[str, Any],
    train: IntArray | None,
    rows: IntArray | None,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    outputs: str,
) -> tuple[Any, FloatArray, float]:
    """What a model trained on some rows says of others; only that of all rows is of use afterwards."""
    start = time.perf_counter()
    model = estimator if is_frozen(estimator) else _fit_clone(estimator, fit_params, train, X, y)
    column = _decision_scores(model, rows, X, classes, outputs)
    return model if train is None else None, column, time.perf_counter() - start


def _fit_clone(
    estimator: Any, fit_params: dict[str, Any], rows: IntArray | None, X: Any, y: NDArray[Any]
) -> Any:
    model = clone(estimator)
    params = check_method_params(X, fit_params, rows)
    if rows is not None:
        X, y = safe_indexing(X, rows), y[rows]
    # Parameters of a pipeline's step, by its name, exist only where nothing is routed.
    by_step = any("__" in name for name in params)
    with config_context(enable_metadata_routing=False) if by_step else nullcontext():
        return model.fit(X, y, **params)


def _decision_scores(
    model: Any, rows: IntArray | None, X: Any, classes: NDArray[Any], outputs: str
) -> FloatArray:
    if rows is None:
        return decision_scores(model, X, classes, outputs)
    return decision_scores(model, safe_indexing(X, rows), classes, outputs) if len(rows) else np.zeros(0)


def _failure_message(auxiliary: Auxiliary, job: TrainingJob, error: Exception) -> str:
    where = "all rows" if job.train is None else f"a fold of {len(job.train)} rows"
    reason = str(error) if isinstance(error, CapoError) else f"{type(error).__name__}: {error}"
    return (
        f"the auxiliary {auxiliary.name!r} ({type(auxiliary.estimator).__name__}) failed on {where}: "
        f"{reason.rstrip('. ')}. Try it alone with fit(X, y) on the same data, or leave it out."
    )
