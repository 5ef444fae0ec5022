"""Cross-fitting: auxiliaries are trained without each fold, and give outputs for the rows of that fold."""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from pickletools import genops
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib import Memory, parallel_config
from joblib import hash as content_hash
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_memory

from .. import __version__
from .._accel.threads import count_threads, library_threads_for
from .._compat import FloatArray, IntArray, NDArray, check_method_params, safe_indexing
from ..exceptions import AuxiliaryError, CapoError
from .folds import Split, evaluation_folds, held_out_together
from .outputs import RawOutput, count_numbers, is_frozen
from .prediction import FORESTS, SharedFeatures, active_steps, content_key, split_pipeline

#: Logged after each training: the auxiliary, the number of trained models and the number of all models.
MODEL_PROGRESS = "auxiliary %s: model %d of %d"


@dataclass(frozen=True)
class TrainingSet:
    """The rows that auxiliaries are trained on.

    Attributes
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The table.
    targets : ndarray of int, shape (n_samples,) or (n_samples, n_labels)
        The targets of auxiliaries: the position of each row's class, or a label matrix of 0 and 1.
    classes : ndarray of shape (n_classes,) or (n_labels,)
        The user's labels, on which fitted auxiliaries may have been trained, or the names of the labels.
    splits : list of tuple
        Training and held-out rows of each fold; together the folds hold out a row at most once.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows: those of weight 0 are not counted.
    groups : ndarray of shape (n_samples,), optional
        The group of each row, if the folds hold out groups.
    is_fast : bool, default=False
        Whether the auxiliaries are fast, so that evaluation may train them for any number of rows.
    """

    X: Any
    targets: NDArray[np.int64]
    classes: NDArray[Any]
    splits: Sequence[Split]
    weight: FloatArray | None = None
    groups: NDArray[Any] | None = None
    is_fast: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.targets)

    @cached_property
    def table_hash(self) -> str:
        """A hash of the table, computed once: that of a data frame of many columns takes time."""
        return str(content_hash(self.X))

    @cached_property
    def folds(self) -> IntArray:
        """The number of the part in which each row is evaluated, as in `evaluation_folds`."""
        return evaluation_folds(self.splits, self.n_rows, self.groups)

    def rows_without(self, folds: Sequence[int]) -> IntArray:
        """Return the training rows of models whose outputs are used to evaluate these folds.

        A row that the user's splitter neither trains on nor holds out with some of them depends on them.
        """
        is_held_out = np.isin(self.folds, folds)
        is_kept = ~is_held_out
        for train, test in self.splits:
            if is_held_out[test].any():
                is_kept &= np.isin(np.arange(self.n_rows), np.concatenate((train, test)))
        return np.flatnonzero(is_kept)

    @property
    def fold_sets(self) -> list[tuple[int, ...]]:
        """The sets of folds to leave out in training; empty if a model would lack a class."""
        n_columns = 1 if self.targets.ndim == 1 and len(self.classes) == 2 else len(self.classes)
        n_counted = self.n_rows if self.weight is None else int((self.weight > 0).sum())
        sets = held_out_together(
            int(self.folds.max()) + 1, len(self.splits), n_counted, n_columns, is_fast=self.is_fast
        )
        is_possible = all(len(np.unique(self.targets[self.rows_without(each)])) > 1 for each in sets)
        return sets if is_possible else []


@dataclass(frozen=True)
class Auxiliary:
    """One auxiliary classifier, the parameters of its `fit`, and whether it is a score column."""

    name: str
    estimator: Any
    fit_params: dict[str, Any]
    is_score_column: bool = False

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


class JobResult(NamedTuple):
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
    folds : ndarray of int, shape (n_samples,)
        The number of the fold in which each row is evaluated; -1 for a row that is never held out.
    pair_outputs : ndarray of shape (n_folds, *raw_outputs.shape), optional
        For each fold, raw outputs of models that have seen neither the row nor the fold: of models trained
        without pairs of folds, which are only used for evaluation.
    pair_seconds : float
        The training time of these models.
    fold_outputs : ndarray of shape (n_folds, *raw_outputs.shape), optional
        Raw outputs of each fold's models for all rows, if the outputs are in sample.
    """

    raw_outputs: FloatArray
    models: list[Any]
    seconds: list[float]
    folds: IntArray
    pair_outputs: FloatArray | None = None
    pair_seconds: float = 0.0
    fold_outputs: FloatArray | None = None


@dataclass(frozen=True)
class JobRunner:
    """Runs training jobs.

    Attributes
    ----------
    auxiliaries : sequence of Auxiliary
        The auxiliaries to train.
    training : TrainingSet
        The rows to train on.
    output_kind : RawOutput
        The kind of output of a model to use.
    memory : str or joblib.Memory, optional
        Keeps each model, so that it is trained once.
    n_jobs : int, optional
        Jobs that run at the same time.
    log : callable
        Called with a format string and its values after each job.
    """

    auxiliaries: Sequence[Auxiliary]
    training: TrainingSet
    output_kind: RawOutput
    memory: str | Memory | None = None
    n_jobs: int | None = None
    log: Callable[..., None] = lambda *line: None

    def run(self, jobs: Sequence[TrainingJob], n_before: int = 0, n_after: int = 0) -> Iterator[JobResult]:
        """Yield the result of each job; those with the same rows and first transformer follow each other.

        They run in one process, where they share the transformer and its features. The log counts the jobs
        that were run before and those that will be run after them.
        """
        keys: list[Any] = []
        for number, each in enumerate(self.auxiliaries):
            steps = active_steps(each.estimator) if type(each.estimator) is Pipeline else []
            keys.append(content_key(steps[0][1]) if len(steps) > 1 else number)
        codes = ["" if self.memory is None else code_key(each.estimator) for each in self.auxiliaries]
        groups: dict[Any, list[tuple[Auxiliary, TrainingJob, str]]] = {}
        for job in jobs:
            group = groups.setdefault((job.held_out, keys[job.auxiliary]), [])
            group.append((self.auxiliaries[job.auxiliary], job, codes[job.auxiliary]))
        cached = check_memory(self.memory).cache(_fit_and_predict)
        with warnings.catch_warnings():
            # joblib's memory warns that hashing a large table takes time.
            warnings.filterwarnings("ignore", "Persisting input arguments", UserWarning)
            results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
                delayed(_run_group)(cached, group, self.training, self.output_kind)
                for group in groups.values()
            )
            for number, result in enumerate(chain.from_iterable(results), start=n_before + 1):
                yield result
                name, n_jobs = self.auxiliaries[result.job.auxiliary].name, n_before + len(jobs) + n_after
                self.log(MODEL_PROGRESS, name, number, n_jobs)


def cross_fit(runner: JobRunner) -> CrossFitResult:
    """Train all auxiliaries in all folds and on all rows; the outputs are out of fold."""
    training, auxiliaries = runner.training, runner.auxiliaries
    folds, sets = training.folds, training.fold_sets
    trained = [number for number, each in enumerate(auxiliaries) if not each.is_frozen]
    jobs = [
        TrainingJob(number, (fold,), *split)
        for number in trained
        for fold, split in enumerate(training.splits)
    ]
    for number, auxiliary in enumerate(auxiliaries):
        jobs.append(TrainingJob(number, predict_rows=None if auxiliary.is_frozen else np.arange(0)))
    pair_jobs = [
        TrainingJob(number, each, training.rows_without(each), np.flatnonzero(np.isin(folds, each)))
        for number in trained
        for each in sets
    ]
    raw = np.zeros((0, 0))
    models: list[Any] = [None] * len(auxiliaries)
    seconds = [0.0] * len(auxiliaries)
    for job, model, outputs, job_seconds in runner.run(jobs, n_after=len(pair_jobs)):
        seconds[job.auxiliary] += job_seconds
        if not job.held_out:
            models[job.auxiliary] = model
        if len(outputs):
            if not len(raw):  # with one column for each class or label, if there are several
                raw = np.full((training.n_rows, len(auxiliaries), *outputs.shape[1:]), np.nan)
            raw[rows_or_all(job.predict_rows), job.auxiliary] = outputs
    if not sets:
        return CrossFitResult(raw, models, seconds, folds)
    by_fold, pair_seconds = np.repeat(raw[None], folds.max() + 1, axis=0), 0.0
    try:
        for job, _, outputs, job_seconds in runner.run(pair_jobs, n_before=len(jobs)):
            pair_seconds += job_seconds
            for fold in job.held_out:
                is_other = np.isin(folds, job.held_out) & (folds != fold)
                by_fold[fold, is_other, job.auxiliary] = outputs[is_other[job.predict_rows]]
    except AuxiliaryError as error:  # models used only for evaluation must not make the fit fail
        runner.log("no models without pairs of folds: %s", error)
        return CrossFitResult(raw, models, seconds, folds)
    return CrossFitResult(raw, models, seconds, folds, by_fold, pair_seconds)


def rows_or_all(rows: IntArray | None) -> IntArray | slice:
    """Return an index of these rows, or of all rows for None."""
    return slice(None) if rows is None else rows


class _FoldRows:
    """The rows that models are trained on and those that they predict, with what the models share.

    Pipelines take it as their `memory`: it has the transformers that were fitted to the rows before. One with
    the same content is not fitted again, unless it is random.
    """

    def __init__(self, training: TrainingSet, job: TrainingJob) -> None:
        self._training, self._X = training, training.X
        self.targets, self.classes = training.targets, training.classes
        self.train_rows, self.predict_rows = job.train_rows, job.predict_rows
        self._fitted: dict[Any, Any] = {}

    def __getstate__(self) -> tuple[Any, ...]:
        """The key of results in a cache."""
        return self._training.table_hash, self.targets, self.classes, self.train_rows, self.predict_rows

    @cached_property
    def table(self) -> Any:
        """The rows to train on."""
        return self._X if self.train_rows is None else safe_indexing(self._X, self.train_rows)

    @cached_property
    def features(self) -> SharedFeatures:
        """The features of the rows to predict."""
        rows = self.predict_rows
        return SharedFeatures(self._X if rows is None else safe_indexing(self._X, rows))

    def cache(self, fit_transform: Callable[..., Any], **_: Any) -> Callable[..., Any]:
        """Return the function by which a pipeline fits a transformer, for this memory."""

        def fit_once(transformer: Any, X: Any, y: Any, **options: Any) -> Any:
            params = transformer.get_params() if hasattr(transformer, "get_params") else {}
            is_random = any(
                name.split("__")[-1] == "random_state" and value is None for name, value in params.items()
            )
            if X is not self.table or is_random or any((options.get("params") or {}).values()):
                return fit_transform(transformer, X, y, **options)
            key = content_key(transformer)
            if key not in self._fitted:
                self._fitted[key] = fit_transform(transformer, X, y, **options)
            return self._fitted[key]

        return fit_once

    def fit(self, estimator: Any, fit_params: dict[str, Any]) -> Any:
        """Return a clone of an estimator, trained on the rows."""
        model, params = clone(estimator), check_method_params(self._X, fit_params, self.train_rows)
        is_pipeline = type(model) is Pipeline
        shares = is_pipeline and model.memory is None
        if shares:
            model.memory = self
        # Parameters of a pipeline's step, by its name, exist only without metadata routing.
        by_step = any("__" in name for name in params)
        routing = config_context(enable_metadata_routing=False) if by_step else nullcontext()
        is_forest = type(model[-1] if is_pipeline else model) in FORESTS
        threads = parallel_config("threading", n_jobs=count_threads()) if is_forest else nullcontext()
        with routing, threads:
            model.fit(self.table, self.targets[rows_or_all(self.train_rows)], **params)
        if shares:
            model.memory = None
        return model


def _run_group(
    fit_and_predict: Callable[..., tuple[Any, FloatArray, float]],
    group: Sequence[tuple[Auxiliary, TrainingJob, str]],
    training: TrainingSet,
    output: RawOutput,
) -> list[JobResult]:
    """Return the results of jobs with the same rows; an error names the auxiliary."""
    rows, results = _FoldRows(training, group[0][1]), []
    with library_threads_for(count_numbers(training.X)):
        for auxiliary, job, code in group:
            try:
                found = fit_and_predict(auxiliary.estimator, auxiliary.fit_params, rows, output, code)
            except Exception as error:
                where = "all rows" if job.train_rows is None else f"a fold of {len(job.train_rows)} rows"
                reason = str(error) if isinstance(error, CapoError) else f"{type(error).__name__}: {error}"
                call = "apply it to" if auxiliary.is_frozen else "call its fit on"
                kind = type(auxiliary.estimator).__name__
                raise AuxiliaryError(
                    f"the auxiliary {auxiliary.name!r} ({kind}) failed on {where}: "
                    f"{reason.rstrip('. ')}. To see the cause, {call} the same rows alone; or leave it out."
                ) from error
            results.append(JobResult(job, *found))
    return results


def code_key(*values: Any) -> str:
    """Return a text that changes with the code of the classes and functions that the values hold.

    It has the versions of installed packages, and a hash of other files. If there is no file, as in an
    interactive session, the text is always different, since the code may have changed.
    """
    operations = genops(pickle.dumps(values, protocol=2, fix_imports=False))
    names = [str(value).split() for operation, value, _ in operations if operation.name == "GLOBAL"]
    held = [getattr(sys.modules[module], name) for module, name in names]
    modules = {base.__module__ for each in held for base in getattr(each, "__mro__", (each,))}
    key = {"capo": __version__, "sklearn": sklearn.__version__}
    for name in modules.difference(sys.builtin_module_names):
        package, file = sys.modules[name.partition(".")[0]], getattr(sys.modules[name], "__file__", None)
        if file is None:
            key[name] = token_hex()
        elif "site-packages" in file:
            key[package.__name__] = getattr(package, "__version__", "")
        else:
            key[name] = sha256(Path(file).read_bytes()).hexdigest()
    return repr(sorted(key.items()))


def _fit_and_predict(
    estimator: Any, fit_params: dict[str, Any], rows: _FoldRows, output: RawOutput, code: str
) -> tuple[Any, FloatArray, float]:
    """Train on some rows and predict others; only the model of all rows is returned.

    `code` identifies the code of the estimator in a cache.
    """
    start = time.perf_counter()
    model, outputs = estimator if is_frozen(estimator) else rows.fit(estimator, fit_params), np.zeros(0)
    if rows.predict_rows is None or len(rows.predict_rows):
        transformers, classifier = split_pipeline(model)
        outputs = output.predict(classifier, rows.features.transform(transformers), rows.classes)
    return model if rows.train_rows is None else None, outputs, time.perf_counter() - start
