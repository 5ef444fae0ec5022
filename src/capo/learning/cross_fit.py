"""Cross-fitting: auxiliaries are trained without each fold, and give outputs for the rows of that fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from joblib import Memory, parallel_config
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_memory

from .._accel.threads import count_threads, library_threads_for
from .._compat import FloatArray, IntArray, check_method_params, safe_indexing
from ..exceptions import AuxiliaryError, CapoError
from .folds import Split, fold_numbers, pairs_of_folds
from .outputs import RawOutput, count_numbers, is_frozen
from .trees import FORESTS, SharedFeatures, active_steps, content_key, split_pipeline

#: Models without pairs of folds are trained up to this many rows times classes or labels.
MAX_OUTPUTS_FOR_PAIRS = 10_000
NO_ROWS: IntArray = np.arange(0)
#: What is logged after each training: the auxiliary, how many models are trained, and how many there will be.
MODEL_PROGRESS = "auxiliary %s: model %d of %d"


@dataclass(frozen=True)
class TrainingSet:
    """The rows that auxiliaries are trained on.

    Attributes
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The table.
    targets : ndarray of int, shape (n_samples,) or (n_samples, n_labels)
        What auxiliaries are trained on: the position of each row's class, or a label matrix of 0 and 1.
    classes : ndarray of shape (n_classes,) or (n_labels,)
        The user's labels, which auxiliaries that came fitted may know, or the names of the labels.
    splits : list of tuple
        Training and held-out rows of each fold; together the folds hold out a row at most once.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows: those of weight 0 are not counted.
    """

    X: Any
    targets: NDArray[np.int64]
    classes: NDArray[Any]
    splits: Sequence[Split]
    weight: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.targets)

    @property
    def held_out_rows(self) -> IntArray:
        """The rows that a fold holds out, in their order."""
        return np.sort(np.concatenate([test for _, test in self.splits]))

    def rows_without(self, j: int, k: int) -> IntArray:
        """Return the rows that are trained on in both of two folds."""
        return np.intersect1d(self.splits[j][0], self.splits[k][0], assume_unique=True)

    @property
    def fold_pairs(self) -> list[tuple[int, int]]:
        """The pairs of folds that models are trained without; none if a model would lack a class.

        For label matrices it is enough that they can be learned for one label.
        """
        if self.n_rows * len(self.classes) > MAX_OUTPUTS_FOR_PAIRS:
            return []
        folds = fold_numbers(self.splits, self.n_rows)
        columns = np.atleast_2d(self.targets.T)
        pairs = next(filter(None, (pairs_of_folds(folds, column, self.weight) for column in columns)), [])
        is_possible = all(len(np.unique(self.targets[self.rows_without(*pair)])) > 1 for pair in pairs)
        return pairs if is_possible else []


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


@dataclass(frozen=True)
class CrossFitResult:
    """Trained auxiliaries.

    Attributes
    ----------
    raw_outputs : ndarray of shape (n_samples, n_auxiliaries) or (n_samples, n_auxiliaries, n_columns)
        Raw outputs for the training rows, with one column for each class or label if there are several.
    models : list of estimator
        The models of all rows.
    seconds : list of float
        The training time of each auxiliary, in folds and on all rows.
    pair_outputs : ndarray of shape (n_folds, *raw_outputs.shape), optional
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


Output = TypeVar("Output", bound=RawOutput)


@dataclass(frozen=True)
class JobRunner(Generic[Output]):
    """Runs training jobs.

    Attributes
    ----------
    auxiliaries : sequence of Auxiliary
        What to train.
    training : TrainingSet
        The rows to train on.
    output_kind : RawOutput
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
    output_kind: Output
    memory: str | Memory | None = None
    n_jobs: int | None = None
    log: Callable[..., None] = lambda *line: None

    def run(self, jobs: Sequence[TrainingJob]) -> Iterator[JobResult]:
        """Yield the result of each job; those with the same rows and first transformer follow each other.

        They run in one process, where they share the transformer and its features.
        """
        keys = [_first_step_key(each.estimator) or number for number, each in enumerate(self.auxiliaries)]
        groups: dict[Any, list[TrainingJob]] = {}
        for job in jobs:
            groups.setdefault((job.held_out, keys[job.auxiliary]), []).append(job)
        cached = check_memory(self.memory).cache(_fit_and_predict, ignore=["rows"])
        number = 0
        with warnings.catch_warnings():
            # joblib's memory warns that hashing a large table takes time.
            warnings.filterwarnings("ignore", "Persisting input arguments", UserWarning)
            results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
                delayed(_run_group)(
                    cached,
                    [self.auxiliaries[job.auxiliary] for job in group],
                    group,
                    self.training,
                    self.output_kind,
                )
                for group in groups.values()
            )
            for result in (each for group_results in results for each in group_results):
                number += 1
                yield result
                self.log(MODEL_PROGRESS, self.auxiliaries[result.job.auxiliary].name, number, len(jobs))


def cross_fit(runner: JobRunner[Any]) -> CrossFitResult:
    """Train all auxiliaries in all folds and on all rows; the outputs are out of fold."""
    training, n_auxiliaries = runner.training, len(runner.auxiliaries)
    pairs = training.fold_pairs
    jobs = [
        job
        for number, auxiliary in enumerate(runner.auxiliaries)
        for job in training_jobs(number, auxiliary, training, pairs)
    ]
    store = _OutputStore(training, n_auxiliaries, has_pairs=bool(pairs))
    models: list[Any] = [None] * n_auxiliaries
    seconds, pair_seconds = [0.0] * n_auxiliaries, 0.0
    for result in runner.run(jobs):
        job = result.job
        store.add(job, result.outputs)
        if job.is_pair:
            pair_seconds += result.seconds
            continue
        seconds[job.auxiliary] += result.seconds
        if not job.held_out:
            models[job.auxiliary] = result.model
    return CrossFitResult(store.raw_outputs, models, seconds, store.pair_outputs, pair_seconds)


class _OutputStore:
    """Outputs of all auxiliaries, which may have several columns; the first one shows how many."""

    def __init__(self, training: TrainingSet, n_auxiliaries: int, *, has_pairs: bool) -> None:
        self._training, self._has_pairs = training, has_pairs
        self.raw_outputs: FloatArray = np.full((training.n_rows, n_auxiliaries), np.nan)
        self.pair_outputs: FloatArray | None = None

    def add(self, job: TrainingJob, outputs: FloatArray) -> None:
        """Store the outputs of a model."""
        if not len(outputs):
            return
        self._allocate(outputs.shape[1:])
        if not job.is_pair:
            self.raw_outputs[rows_or_all(job.predict_rows), job.auxiliary] = outputs
        if self.pair_outputs is not None:
            self._add_to_folds(self.pair_outputs, job, outputs)

    def _allocate(self, columns: tuple[int, ...]) -> None:
        if self.raw_outputs.shape[2:] != columns:
            self.raw_outputs = np.full((*self.raw_outputs.shape[:2], *columns), np.nan)
        if self._has_pairs and self.pair_outputs is None:
            self.pair_outputs = np.zeros((len(self._training.splits), *self.raw_outputs.shape))

    def _add_to_folds(self, pair_outputs: FloatArray, job: TrainingJob, outputs: FloatArray) -> None:
        """Store what a model gives to each fold that it has not seen."""
        splits = self._training.splits
        if job.is_pair:
            (j, k), n_first = job.held_out, len(splits[job.held_out[0]][1])
            pair_outputs[k, splits[j][1], job.auxiliary] = outputs[:n_first]
            pair_outputs[j, splits[k][1], job.auxiliary] = outputs[n_first:]
        else:  # the model of a fold, or a frozen model, which has seen no fold
            folds = job.held_out[0] if job.held_out else slice(None)
            pair_outputs[folds, rows_or_all(job.predict_rows), job.auxiliary] = outputs


def rows_or_all(rows: IntArray | None) -> IntArray | slice:
    """Return an index of these rows, or of all rows for None."""
    return slice(None) if rows is None else rows


def training_jobs(
    number: int, auxiliary: Auxiliary, training: TrainingSet, pairs: Sequence[tuple[int, int]]
) -> list[TrainingJob]:
    """Return the trainings of an auxiliary: in folds, without pairs of folds, and on all rows."""
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


class _FoldRows:
    """The rows that models are trained on and those that they predict, with what the models share.

    Pipelines take it as their `memory`: it has the transformers that were fitted to the rows before. One with
    the same content is not fitted again, unless it is random.
    """

    def __init__(self, training: TrainingSet, job: TrainingJob) -> None:
        self._X, self._job = training.X, job
        self.y = training.targets[rows_or_all(job.train_rows)]
        self._fitted: dict[Any, Any] = {}

    @cached_property
    def table(self) -> Any:
        """The rows to train on."""
        return _take_rows(self._X, self._job.train_rows)

    @cached_property
    def features(self) -> SharedFeatures:
        """The features of the rows to predict."""
        return SharedFeatures(_take_rows(self._X, self._job.predict_rows))

    def cache(self, fit_transform: Callable[..., Any], **_: Any) -> Callable[..., Any]:
        """Return the function by which a pipeline fits a transformer, for this memory."""

        def fit_once(transformer: Any, X: Any, y: Any, **options: Any) -> Any:
            if X is not self.table or _is_random(transformer) or any((options.get("params") or {}).values()):
                return fit_transform(transformer, X, y, **options)
            key = content_key(transformer)
            if key not in self._fitted:
                self._fitted[key] = fit_transform(transformer, X, y, **options)
            return self._fitted[key]

        return fit_once


def _take_rows(X: Any, rows: IntArray | None) -> Any:
    return X if rows is None else safe_indexing(X, rows)


def _is_random(transformer: Any) -> bool:
    """Whether two fits of a transformer may differ."""
    params = transformer.get_params() if hasattr(transformer, "get_params") else {}
    return any(name.split("__")[-1] == "random_state" and value is None for name, value in params.items())


def _first_step_key(estimator: Any) -> Any:
    """What is equal for pipelines whose first transformers are; None for other estimators."""
    steps = active_steps(estimator) if type(estimator) is Pipeline else []
    return content_key(steps[0][1]) if len(steps) > 1 else None


def _run_group(
    fit_and_predict: Callable[..., tuple[Any, FloatArray, float]],
    auxiliaries: Sequence[Auxiliary],
    jobs: Sequence[TrainingJob],
    training: TrainingSet,
    output: RawOutput,
) -> list[JobResult]:
    """Return the results of jobs with the same rows; an error names the auxiliary."""
    rows, results = _FoldRows(training, jobs[0]), []
    with library_threads_for(count_numbers(training.X)):
        for auxiliary, job in zip(auxiliaries, jobs, strict=True):
            try:
                found = fit_and_predict(
                    auxiliary.estimator,
                    auxiliary.fit_params,
                    job.train_rows,
                    job.predict_rows,
                    training.X,
                    training.targets,
                    training.classes,
                    output,
                    rows,
                )
            except Exception as error:
                raise AuxiliaryError(_failure_message(auxiliary, job, error)) from error
            results.append(JobResult(job, *found))
    return results


def _fit_and_predict(
    estimator: Any,
    fit_params: dict[str, Any],
    train_rows: IntArray | None,
    predict_rows: IntArray | None,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    output: RawOutput,
    rows: _FoldRows,
) -> tuple[Any, FloatArray, float]:
    """Train on some rows and predict others; only the model of all rows is returned.

    `rows` are these rows. The other arguments identify the result in a cache.
    """
    start = time.perf_counter()
    model, outputs = estimator, np.zeros(0)
    if not is_frozen(estimator):
        model = _fit_clone(estimator, check_method_params(X, fit_params, train_rows), rows)
    if predict_rows is None or len(predict_rows):
        transformers, classifier = split_pipeline(model)
        outputs = output.predict(classifier, rows.features.transform(transformers), classes)
    return model if train_rows is None else None, outputs, time.perf_counter() - start


def _fit_clone(estimator: Any, params: dict[str, Any], rows: _FoldRows) -> Any:
    model = clone(estimator)
    shares = type(model) is Pipeline and model.memory is None
    if shares:
        model.memory = rows
    # Parameters of a pipeline's step, by its name, exist only without metadata routing.
    by_step = any("__" in name for name in params)
    with config_context(enable_metadata_routing=False) if by_step else nullcontext(), _threads_for(model):
        model.fit(rows.table, rows.y, **params)
    if shares:
        model.memory = None
    return model


def _threads_for(model: Any) -> AbstractContextManager[Any]:
    """A context in which random trees are grown in threads."""
    is_forest = type(model[-1] if type(model) is Pipeline else model) in FORESTS
    return parallel_config("threading", n_jobs=count_threads()) if is_forest else nullcontext()


def _failure_message(auxiliary: Auxiliary, job: TrainingJob, error: Exception) -> str:
    where = "all rows" if job.train_rows is None else f"a fold of {len(job.train_rows)} rows"
    reason = str(error) if isinstance(error, CapoError) else f"{type(error).__name__}: {error}"
    return (
        f"the auxiliary {auxiliary.name!r} ({type(auxiliary.estimator).__name__}) failed on {where}: "
        f"{reason.rstrip('. ')}. Try it alone with fit(X, y) on the same data, or leave it out."
    )
