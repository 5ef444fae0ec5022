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
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_memory

from .. import __version__
from .._accel.threads import count_threads, library_threads_for
from .._compat import FloatArray, IntArray, check_method_params, safe_indexing
from ..exceptions import AuxiliaryError, CapoError
from .folds import MAX_ROWS_FOR_PAIRS, Split, fold_numbers, pairs_of_folds
from .outputs import RawOutput, count_numbers, is_frozen
from .trees import FORESTS, SharedFeatures, active_steps, content_key, split_pipeline

#: Models without pairs of folds are trained up to this many rows times classes or labels.
MAX_OUTPUTS_FOR_PAIRS = 10_000
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
    max_rows_for_pairs : int
        With more rows, no model is trained without a pair of folds.
    """

    X: Any
    targets: NDArray[np.int64]
    classes: NDArray[Any]
    splits: Sequence[Split]
    weight: FloatArray | None = None
    max_rows_for_pairs: int = MAX_ROWS_FOR_PAIRS

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.targets)

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
        found = (pairs_of_folds(folds, each, self.weight, self.max_rows_for_pairs) for each in columns)
        pairs = next(filter(None, found), [])
        is_possible = all(len(np.unique(self.targets[self.rows_without(*pair)])) > 1 for pair in pairs)
        return pairs if is_possible else []


@dataclass(frozen=True)
class Auxiliary:
    """One auxiliary classifier, the parameters of its `fit`, and whether it is made of a score column."""

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


@dataclass(frozen=True)
class JobRunner:
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
    output_kind: RawOutput
    memory: str | Memory | None = None
    n_jobs: int | None = None
    log: Callable[..., None] = lambda *line: None

    def run(self, jobs: Sequence[TrainingJob]) -> Iterator[JobResult]:
        """Yield the result of each job; those with the same rows and first transformer follow each other.

        They run in one process, where they share the transformer and its features.
        """
        keys = [_first_step_key(each.estimator) or number for number, each in enumerate(self.auxiliaries)]
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
            for number, result in enumerate(chain.from_iterable(results), start=1):
                yield result
                self.log(MODEL_PROGRESS, self.auxiliaries[result.job.auxiliary].name, number, len(jobs))


def cross_fit(runner: JobRunner) -> CrossFitResult:
    """Train all auxiliaries in all folds and on all rows; the outputs are out of fold."""
    training, n_auxiliaries = runner.training, len(runner.auxiliaries)
    splits, pairs = training.splits, training.fold_pairs
    jobs: list[TrainingJob] = []
    for number, auxiliary in enumerate(runner.auxiliaries):
        if auxiliary.is_frozen:
            jobs.append(TrainingJob(number))
            continue
        jobs += [TrainingJob(number, (fold,), train, test) for fold, (train, test) in enumerate(splits)]
        for j, k in pairs:
            tested = np.concatenate((splits[j][1], splits[k][1]))
            jobs.append(TrainingJob(number, (j, k), training.rows_without(j, k), tested))
        jobs.append(TrainingJob(number, predict_rows=np.arange(0)))
    raw: FloatArray = np.full((training.n_rows, n_auxiliaries), np.nan)
    by_fold = np.zeros((len(splits) if pairs else 0, *raw.shape))
    models: list[Any] = [None] * n_auxiliaries
    seconds, pair_seconds = [0.0] * n_auxiliaries, 0.0
    for job, model, outputs, job_seconds in runner.run(jobs):
        columns = outputs.shape[1:]  # one for each class or label, if there are several
        if len(outputs) and raw.shape[2:] != columns:
            raw, by_fold = np.full((*raw.shape, *columns), np.nan), np.zeros((*by_fold.shape, *columns))
        if len(job.held_out) == 2:
            (j, k), n_first = job.held_out, len(splits[job.held_out[0]][1])
            by_fold[k, splits[j][1], job.auxiliary] = outputs[:n_first]
            by_fold[j, splits[k][1], job.auxiliary] = outputs[n_first:]
            pair_seconds += job_seconds
            continue
        seconds[job.auxiliary] += job_seconds
        if len(outputs):
            raw[rows_or_all(job.predict_rows), job.auxiliary] = outputs
            # A frozen model has seen no fold.
            folds = job.held_out[:1] if pairs and job.held_out else slice(None)
            by_fold[folds, rows_or_all(job.predict_rows), job.auxiliary] = outputs
        if not job.held_out:
            models[job.auxiliary] = model
    return CrossFitResult(raw, models, seconds, by_fold if pairs else None, pair_seconds)


def rows_or_all(rows: IntArray | None) -> IntArray | slice:
    """Return an index of these rows, or of all rows for None."""
    return slice(None) if rows is None else rows


class _FoldRows:
    """The rows that models are trained on and those that they predict, with what the models share.

    Pipelines take it as their `memory`: it has the transformers that were fitted to the rows before. One with
    the same content is not fitted again, unless it is random.
    """

    def __init__(self, training: TrainingSet, job: TrainingJob) -> None:
        self._X, self.targets, self.classes = training.X, training.targets, training.classes
        self.train_rows, self.predict_rows = job.train_rows, job.predict_rows
        self._fitted: dict[Any, Any] = {}

    def __getstate__(self) -> tuple[Any, ...]:
        """What identifies results in a cache."""
        return self._X, self.targets, self.classes, self.train_rows, self.predict_rows

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
            if X is not self.table or _is_random(transformer) or any((options.get("params") or {}).values()):
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
                raise AuxiliaryError(_failure_message(auxiliary, job, error)) from error
            results.append(JobResult(job, *found))
    return results


def code_key(*values: Any) -> str:
    """Return a text that changes with the code of the classes and functions that the values hold.

    It has the versions of installed packages, and a hash of other files. If there is no file, as in an
    interactive session, the text is always another one: the code may have changed.
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


def _failure_message(auxiliary: Auxiliary, job: TrainingJob, error: Exception) -> str:
    where = "all rows" if job.train_rows is None else f"a fold of {len(job.train_rows)} rows"
    reason = str(error) if isinstance(error, CapoError) else f"{type(error).__name__}: {error}"
    call = "apply it to" if is_frozen(auxiliary.estimator) else "call its fit on"
    return (
        f"the auxiliary {auxiliary.name!r} ({type(auxiliary.estimator).__name__}) failed on {where}: "
        f"{reason.rstrip('. ')}. To see the cause, {call} the same rows alone; or leave it out."
    )
