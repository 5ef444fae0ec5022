"""Cross-fitting: every auxiliary's output for every row, from a model that has not seen the row.

Each auxiliary is trained once a fold and once on all rows. The fold models give the out-of-fold
column that the adaptation learns from; the model of all rows gives the column of new data. A
`FrozenEstimator` is never trained and gives both. ``"in-sample"`` takes the column from the model
of all rows, as the paper does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from ..exceptions import AuxiliaryError, CapoError
from .outputs import FloatArray, is_frozen, read

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]

NO_ROWS: Rows = np.arange(0)


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
class Job:
    """A model to be trained on some rows and read on others; None means all rows."""

    auxiliary: int
    train: Rows | None
    test: Rows | None


@dataclass(frozen=True)
class CrossFitted:
    """The auxiliaries trained: raw columns for the training rows, models for new ones."""

    columns: FloatArray
    models: list[Any]
    seconds: list[float]

    def take(self, kept: Rows) -> CrossFitted:
        """Some of the auxiliaries."""
        models, seconds = [self.models[i] for i in kept], [self.seconds[i] for i in kept]
        return CrossFitted(self.columns[:, kept], models, seconds)


def cross_fit(
    auxiliaries: Sequence[Auxiliary],
    X: Any,
    y: NDArray[Any],
    splits: Sequence[Split] | None,
    classes: NDArray[Any],
    outputs: str,
    n_jobs: int | None,
    say: Callable[..., None],
) -> CrossFitted:
    """Train all auxiliaries on labels 0 and 1, on all folds; `splits` of None is in-sample."""
    jobs = [job for i, each in enumerate(auxiliaries) for job in _jobs(i, each, splits)]
    done = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run)(auxiliaries[job.auxiliary], job, X, y, classes, outputs) for job in jobs
    )
    columns = np.zeros((len(y), len(auxiliaries)))
    models: list[Any] = [None] * len(auxiliaries)
    seconds = [0.0] * len(auxiliaries)
    for number, (job, (model, column, taken)) in enumerate(zip(jobs, done, strict=True), start=1):
        columns[slice(None) if job.test is None else job.test, job.auxiliary] = column
        if job.train is None:
            models[job.auxiliary] = model
        seconds[job.auxiliary] += taken
        say("auxiliary %s: model %d of %d", auxiliaries[job.auxiliary].name, number, len(jobs))
    return CrossFitted(columns, models, seconds)


def _jobs(number: int, auxiliary: Auxiliary, splits: Sequence[Split] | None) -> list[Job]:
    if splits is None or auxiliary.frozen:
        return [Job(number, None, None)]
    return [*(Job(number, train, test) for train, test in splits), Job(number, None, NO_ROWS)]


def _run(
    auxiliary: Auxiliary, job: Job, X: Any, y: NDArray[Any], classes: NDArray[Any], outputs: str
) -> tuple[Any, FloatArray, float]:
    """One model and its column; only the model of all rows is of use afterwards."""
    start = time.perf_counter()
    try:
        model = _trained(auxiliary, job.train, X, y)
        column = _read(model, job.test, X, classes, outputs)
    except Exception as error:
        raise AuxiliaryError(_what_failed(auxiliary, job, error)) from error
    return model if job.train is None else None, column, time.perf_counter() - start


def _trained(auxiliary: Auxiliary, rows: Rows | None, X: Any, y: NDArray[Any]) -> Any:
    if auxiliary.frozen:
        return auxiliary.estimator
    model = clone(auxiliary.estimator)
    params = _check_method_params(X, auxiliary.fit_params, rows)
    if rows is not None:
        X, y = _safe_indexing(X, rows), y[rows]
    # Parameters of a pipeline's step, by its name, exist only where nothing is routed.
    by_step = any("__" in name for name in params)
    with config_context(enable_metadata_routing=False) if by_step else nullcontext():
        return model.fit(X, y, **params)


def _read(model: Any, rows: Rows | None, X: Any, classes: NDArray[Any], outputs: str) -> FloatArray:
    if rows is None:
        return read(model, X, classes, outputs)
    return read(model, _safe_indexing(X, rows), classes, outputs) if len(rows) else np.zeros(0)


def _what_failed(auxiliary: Auxiliary, job: Job, error: Exception) -> str:
    where = "all rows" if job.train is None else f"a fold of {len(job.train)} rows"
    reason = str(error) if isinstance(error, CapoError) else f"{type(error).__name__}: {error}"
    return (
        f"the auxiliary {auxiliary.name!r} ({type(auxiliary.estimator).__name__}) failed on {where}: "
        f"{reason.rstrip('. ')}. Try it alone with fit(X, y) on the same data, or leave it out."
    )
