"""Cross-fitting: every auxiliary's output for every row, from a model that has not seen the row.

Each auxiliary is trained once per fold and once on all rows. The fold models give the out-of-fold
outputs that the adaptation learns from; the model of all rows is used for new data. A
`FrozenEstimator` is never trained and gives both.

The weights that score fold k are learned from the outputs for the other folds, whose models were
trained on fold k. For their evaluation, each auxiliary is therefore also trained without each pair of
folds (j, k) on tables of moderate size (see `capo.model_selection.pairs_of_folds`): fold k has the
outputs of that model for the rows of fold j.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

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
from ..model_selection import Split, fold_numbers, pairs_of_folds
from ._outputs import OutputKind, RawOutput, is_frozen

NO_ROWS: IntArray = np.arange(0)


@dataclass(frozen=True)
class Auxiliary:
    """One auxiliary classifier, and the parameters of its `fit`."""

    name: str
    estimator: Any
    fit_params: dict[str, Any]

    @property
    def is_frozen(self) -> bool:
        """Whether it is used without training."""
        return is_frozen(self.estimator)


@dataclass(frozen=True)
class TrainingJob:
    """A model to train and to predict with.

    Attributes
    ----------
    auxiliary : int
        The position of the auxiliary.
    held_out : tuple of int
        The folds that are held out; none for the model of all rows.
    train_rows : ndarray of int or None
        The rows to train on; None for all of them.
    predict_rows : ndarray of int or None
        The rows to predict; None for all of them.
    """

    auxiliary: int
    held_out: tuple[int, ...] = ()
    train_rows: IntArray | None = None
    predict_rows: IntArray | None = None

    @property
    def is_pair(self) -> bool:
        """Whether the model is trained without two folds."""
        return len(self.held_out) == 2


@dataclass(frozen=True)
class JobResult:
    """The raw outputs of a job's model, its CPU time, and the model itself if it is that of all rows."""

    job: TrainingJob
    model: Any
    outputs: FloatArray
    seconds: float


class TrainingRows(Protocol):
    """The rows that auxiliaries are trained on, and their targets."""

    @property
    def X(self) -> Any:
        """The table."""

    @property
    def targets(self) -> NDArray[np.int64]:
        """What auxiliaries are trained on."""

    @property
    def classes(self) -> NDArray[Any]:
        """The user's labels, which auxiliaries that came fitted may know."""


@dataclass(frozen=True)
class TrainingSet:
    """The rows that auxiliaries are trained on.

    Attributes
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The table.
    positive : ndarray of bool, shape (n_samples,)
        Which rows are positive; auxiliaries are trained on labels 0 and 1.
    classes : ndarray of shape (2,)
        The user's labels, which auxiliaries that came fitted may know.
    splits : list of tuple
        Training and held-out rows of each fold.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows: those of weight 0 are not counted.
    """

    X: Any
    positive: NDArray[np.bool_]
    classes: NDArray[Any]
    splits: Sequence[Split]
    weight: FloatArray | None = None

    @property
    def targets(self) -> NDArray[np.int64]:
        """What auxiliaries are trained on."""
        return self.positive.astype(np.int64)

    def rows_without(self, j: int, k: int) -> IntArray:
        """Return the rows that are trained on in both of two folds."""
        return np.intersect1d(self.splits[j][0], self.splits[k][0], assume_unique=True)

    @property
    def fold_pairs(self) -> list[tuple[int, int]]:
        """The pairs of folds that models are trained without; none if a model would lack a class."""
        pairs = pairs_of_folds(fold_numbers(self.splits, len(self.positive)), self.positive, self.weight)
        trainable = all(len(np.unique(self.positive[self.rows_without(*pair)])) == 2 for pair in pairs)
        return pairs if trainable else []

    @property
    def held_out_rows(self) -> IntArray:
        """The rows that a fold holds out, in their order."""
        return np.sort(np.concatenate([test for _, test in self.splits]))


@dataclass(frozen=True)
class CrossFitResult:
    """Trained auxiliaries.

    Attributes
    ----------
    raw_outputs : ndarray of shape (n_samples, n_auxiliaries)
        Raw outputs for the training rows.
    models : list of estimator
        The models of all rows.
    seconds : list of float
        The training time of each auxiliary, in folds and on all rows.
    pair_outputs : ndarray of shape (n_folds, n_samples, n_auxiliaries), optional
        For each fold, raw outputs of models that have seen neither the row nor the fold: of models trained
        without pairs of folds, which serve evaluation only.
    pair_seconds : float
        The training time of these models.
    """

    raw_outputs: FloatArray
    models: list[Any]
    seconds: list[float]
    pair_outputs: FloatArray | None = None
    pair_seconds: float = 0.0


@dataclass(frozen=True)
class JobRunner:
    """Runs training jobs.

    Attributes
    ----------
    auxiliaries : sequence of Auxiliary
        What to train.
    training : TrainingSet
        The rows to train on.
    output_kind : OutputKind
        Which output of a model to take.
    memory : str or joblib.Memory, optional
        Keeps each model, so that it is trained once.
    n_jobs : int, optional
        Jobs that run at the same time.
    log : callable
        Is called with a format string and its values after each job.
    """

    auxiliaries: Sequence[Auxiliary]
    training: TrainingSet
    output_kind: OutputKind
    memory: str | Memory | None = None
    n_jobs: int | None = None
    log: Callable[..., None] = lambda *line: None

    def run(self, jobs: Sequence[TrainingJob]) -> Iterator[JobResult]:
        """Yield the result of each job, in their order."""
        return run_jobs(
            jobs,
            self.auxiliaries,
            self.training,
            self.output_kind,
            memory=self.memory,
            n_jobs=self.n_jobs,
            log=self.log,
        )


def run_jobs(
    jobs: Sequence[TrainingJob],
    auxiliaries: Sequence[Auxiliary],
    training: TrainingRows,
    output: RawOutput,
    *,
    memory: str | Memory | None = None,
    n_jobs: int | None = None,
    log: Callable[..., None] = lambda *line: None,
) -> Iterator[JobResult]:
    """Yield the result of each job, in their order."""
    cached = check_memory(memory).cache(_fit_and_predict)
    with _no_warning_about_large_arguments():
        results = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_run_job)(cached, auxiliaries[job.auxiliary], job, training, output) for job in jobs
        )
        for number, (job, result) in enumerate(zip(jobs, results, strict=True), start=1):
            yield JobResult(job, *result)
            log("auxiliary %s: model %d of %d", auxiliaries[job.auxiliary].name, number, len(jobs))


def cross_fit(runner: JobRunner) -> CrossFitResult:
    """Train all auxiliaries in all folds and on all rows; the outputs are out of fold."""
    training, n_auxiliaries = runner.training, len(runner.auxiliaries)
    pairs = training.fold_pairs
    jobs = [job for i, each in enumerate(runner.auxiliaries) for job in _jobs(i, each, training, pairs)]
    raw_outputs = np.full((len(training.positive), n_auxiliaries), np.nan)
    pair_outputs = np.zeros((len(training.splits), *raw_outputs.shape)) if pairs else None
    models: list[Any] = [None] * n_auxiliaries
    seconds, pair_seconds = [0.0] * n_auxiliaries, 0.0
    for result in runner.run(jobs):
        job = result.job
        if pair_outputs is not None:
            _store_pair_outputs(pair_outputs, result, training)
        if job.is_pair:
            pair_seconds += result.seconds
            continue
        raw_outputs[rows_or_all(job.predict_rows), job.auxiliary] = result.outputs
        seconds[job.auxiliary] += result.seconds
        if not job.held_out:
            models[job.auxiliary] = result.model
    return CrossFitResult(raw_outputs, models, seconds, pair_outputs, pair_seconds)


def _store_pair_outputs(pair_outputs: FloatArray, result: JobResult, training: TrainingSet) -> None:
    """Store what a model gives to each fold that it has not seen."""
    job, outputs = result.job, result.outputs
    if job.is_pair:
        (j, k), n_first = job.held_out, len(training.splits[job.held_out[0]][1])
        pair_outputs[k, training.splits[j][1], job.auxiliary] = outputs[:n_first]
        pair_outputs[j, training.splits[k][1], job.auxiliary] = outputs[n_first:]
    else:  # the model of a fold, or a frozen model, which has seen no fold
        folds = job.held_out[0] if job.held_out else slice(None)
        pair_outputs[folds, rows_or_all(job.predict_rows), job.auxiliary] = outputs


def rows_or_all(rows: IntArray | None) -> IntArray | slice:
    """Return an index of these rows, or of all rows for None."""
    return slice(None) if rows is None else rows


def _jobs(
    number: int, auxiliary: Auxiliary, training: TrainingSet, pairs: Sequence[tuple[int, int]]
) -> list[TrainingJob]:
    if auxiliary.is_frozen:
        return [TrainingJob(number)]
    splits = training.splits
    return [
        *(TrainingJob(number, (fold,), train, test) for fold, (train, test) in enumerate(splits)),
        *(
            TrainingJob(
                number, (j, k), training.rows_without(j, k), np.concatenate((splits[j][1], splits[k][1]))
            )
            for j, k in pairs
        ),
        TrainingJob(number, predict_rows=NO_ROWS),
    ]


def _run_job(
    fit_and_predict: Callable[..., tuple[Any, FloatArray, float]],
    auxiliary: Auxiliary,
    job: TrainingJob,
    training: TrainingRows,
    output: RawOutput,
) -> tuple[Any, FloatArray, float]:
    """Return a model, its outputs and its time; an error names the auxiliary."""
    try:
        return fit_and_predict(
            auxiliary.estimator,
            auxiliary.fit_params,
            job.train_rows,
            job.predict_rows,
            training.X,
            training.targets,
            training.classes,
            output,
        )
    except Exception as error:
        raise AuxiliaryError(_failure_message(auxiliary, job, error)) from error


def _fit_and_predict(
    estimator: Any,
    fit_params: dict[str, Any],
    train_rows: IntArray | None,
    predict_rows: IntArray | None,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    output: RawOutput,
) -> tuple[Any, FloatArray, float]:
    """Train on some rows and predict others; only the model of all rows is returned."""
    start = time.perf_counter()
    model = estimator if is_frozen(estimator) else _fit_clone(estimator, fit_params, train_rows, X, y)
    outputs = _predict(model, predict_rows, X, classes, output)
    return model if train_rows is None else None, outputs, time.perf_counter() - start


def _fit_clone(
    estimator: Any, fit_params: dict[str, Any], rows: IntArray | None, X: Any, y: NDArray[Any]
) -> Any:
    model = clone(estimator)
    params = check_method_params(X, fit_params, rows)
    if rows is not None:
        X, y = safe_indexing(X, rows), y[rows]
    # Parameters of a pipeline's step, by its name, exist only without metadata routing.
    by_step = any("__" in name for name in params)
    with config_context(enable_metadata_routing=False) if by_step else nullcontext():
        return model.fit(X, y, **params)


def _predict(
    model: Any, rows: IntArray | None, X: Any, classes: NDArray[Any], output: RawOutput
) -> FloatArray:
    if rows is None:
        return output.predict(model, X, classes)
    return output.predict(model, safe_indexing(X, rows), classes) if len(rows) else np.zeros(0)


@contextmanager
def _no_warning_about_large_arguments() -> Iterator[None]:
    with warnings.catch_warnings():
        # joblib's memory warns that hashing a large table takes time.
        warnings.filterwarnings("ignore", "Persisting input arguments", UserWarning)
        yield


def _failure_message(auxiliary: Auxiliary, job: TrainingJob, error: Exception) -> str:
    where = "all rows" if job.train_rows is None else f"a fold of {len(job.train_rows)} rows"
    reason = str(error) if isinstance(error, CapoError) else f"{type(error).__name__}: {error}"
    return (
        f"the auxiliary {auxiliary.name!r} ({type(auxiliary.estimator).__name__}) failed on {where}: "
        f"{reason.rstrip('. ')}. Try it alone with fit(X, y) on the same data, or leave it out."
    )
