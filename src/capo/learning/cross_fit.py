"""Faster training of classifiers, with the same result.

Of random trees, only the first one is fitted by scikit-learn, which checks its data and parameters and finds
the classes; the others are grown from it by scikit-learn's builder, in threads.

The first transformer of a pipeline may be fitted by a function that knows the features of other pipelines.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Generic, TypeVar

import numpy as np
from joblib import Memory
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_memory

from .._accel.threads import library_threads_for, map_in_threads
from .._compat import CAN_GROW_TREES, FloatArray, IntArray, check_method_params, grow_tree, safe_indexing
from ..exceptions import AuxiliaryError, CapoError
from .folds import Split, fold_numbers, pairs_of_folds
from .outputs import RawOutput, count_numbers, is_frozen
from .trees import SharedFeatures, content_key, is_passthrough, iter_steps, split_pipeline

#: Parameters that may differ from scikit-learn's defaults where all trees but the first are grown here.
TREE_PARAMS = {
    "n_estimators",
    "criterion",
    "min_samples_leaf",
    "max_features",
    "random_state",
    "bootstrap",
    "max_samples",
}

#: From an unfitted transformer to a fitted one, and its features of the training rows.
FirstFit = Callable[[Any], tuple[Any, Any]]


def fit_classifier(
    model: Any, X: Any, y: NDArray[Any], params: dict[str, Any], fit_first: FirstFit | None = None
) -> Any:
    """Fit a classifier as its `fit` does, and return it; `fit_first` fits the first step of a pipeline."""
    if params or type(model) is not Pipeline or model.memory is not None or is_passthrough(model[-1]):
        return model.fit(X, y, **params)
    features = _fit_steps(model, len(model.steps) - 1, X, y, fit_first)
    fit = _fit_trees if _has_usual_trees(model[-1], features, y) else _fit_plainly
    fit(model[-1], features, y)
    return model


def fit_transform(transformer: Any, X: Any, y: NDArray[Any]) -> Any:
    """Fit a transformer, and return the features of the training rows."""
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y)
    return transformer.fit(X, y).transform(X)


def _fit_steps(pipeline: Pipeline, n_steps: int, X: Any, y: NDArray[Any], fit_first: FirstFit | None) -> Any:
    """Fit the first steps of a pipeline, and those of pipelines inside it; return the features."""
    for position, (name, step) in enumerate(pipeline.steps[:n_steps]):
        if is_passthrough(step):
            continue
        if type(step) is Pipeline:
            X = _fit_steps(step, len(step.steps), X, y, fit_first)
        elif fit_first is None:
            X = fit_transform(step, X, y)
        else:
            fitted, X = fit_first(step)
            pipeline.steps[position] = (name, fitted)
        fit_first = None
    return X


def _fit_plainly(classifier: Any, X: Any, y: NDArray[Any]) -> None:
    classifier.fit(X, y)


def _has_usual_trees(classifier: Any, X: Any, y: NDArray[Any]) -> bool:
    """Whether a classifier consists of random trees of an array, with no other parameters than usual ones."""
    if not CAN_GROW_TREES or type(classifier) is not ExtraTreesClassifier or type(X) is not np.ndarray:
        return False
    if y.ndim > 1 or X.dtype.kind not in "fiub" or len(X) != len(y):
        return False
    params, defaults = classifier.get_params(), ExtraTreesClassifier().get_params()
    others = {
        name for name, value in params.items() if name not in TREE_PARAMS and value is not defaults[name]
    }
    integers = [params[name] for name in ("n_estimators", "min_samples_leaf", "random_state")]
    is_usual = all(isinstance(each, Integral) and not isinstance(each, bool) for each in integers)
    return (
        is_usual
        and params["n_estimators"] > 0
        and all(np.isscalar(params[name]) and params[name] == defaults[name] for name in others)
    )


def _fit_trees(forest: ExtraTreesClassifier, X: NDArray[Any], y: NDArray[Any]) -> None:
    """Fit random trees: the first one by scikit-learn, the others from it."""
    n_trees, X = forest.n_estimators, np.ascontiguousarray(X, dtype=np.float32)
    try:
        forest.set_params(n_estimators=1).fit(X, y)
    finally:
        forest.set_params(n_estimators=n_trees)
    first = forest.estimators_[0]
    targets = np.searchsorted(forest.classes_, y).astype(np.float64)[:, None]
    seeds = np.random.RandomState(forest.random_state).randint(np.iinfo(np.int32).max, size=n_trees)
    forest.estimators_ += [_with_seed(first, int(seed)) for seed in seeds[1:]]
    samples = forest.estimators_samples_ if forest.bootstrap else None

    def grow(number: int) -> Any:
        counts = None if samples is None else np.bincount(samples[number], minlength=len(X)).astype(float)
        return grow_tree(first, X, targets, int(seeds[number]), counts)

    forest.estimators_[1:] = map_in_threads(grow, range(1, n_trees))


def _with_seed(tree: Any, seed: int) -> Any:
    """A copy of a tree that stands for the one to be grown with this seed."""
    tree = copy(tree)
    tree.random_state = seed
    return tree


class FoldTables:
    """The rows that models are trained on, and those that they predict.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table.
    y : ndarray
        The labels, or a label matrix.
    train_rows, predict_rows : ndarray of int or None
        Which rows; None for all of them.
    """

    def __init__(
        self, X: Any, y: NDArray[Any], train_rows: IntArray | None, predict_rows: IntArray | None
    ) -> None:
        self._X, self._predict_rows = X, predict_rows
        self.train_rows = train_rows
        self.y = y if train_rows is None else y[train_rows]
        self._fitted: dict[Any, tuple[Any, Any]] = {}

    @cached_property
    def train_table(self) -> Any:
        """The rows to train on."""
        return _take_rows(self._X, self.train_rows)

    @cached_property
    def predict_features(self) -> SharedFeatures:
        """The features of the rows to predict."""
        return SharedFeatures(_take_rows(self._X, self._predict_rows))

    def fit_transform(self, transformer: Any) -> tuple[Any, Any]:
        """Return a fitted transformer of the rows to train on, and their features.

        The transformer may be that of another model with the same content, unless it is random.
        """
        if _is_random(transformer):
            return transformer, fit_transform(transformer, self.train_table, self.y)
        key = content_key(transformer)
        if key not in self._fitted:
            self._fitted[key] = transformer, fit_transform(transformer, self.train_table, self.y)
        return self._fitted[key]


def sharing_key(estimator: Any) -> Any:
    """Return a key that is equal for unfitted estimators whose first transformers are; None without any."""
    if type(estimator) is not Pipeline:
        return None
    first = next((step for _, step in iter_steps(estimator)), None)
    return None if first is None or _is_random(first) else content_key(first)


def _is_random(transformer: Any) -> bool:
    """Whether two fits of a transformer may differ."""
    params = transformer.get_params() if hasattr(transformer, "get_params") else {}
    return any(name.split("__")[-1] == "random_state" and value is None for name, value in params.items())


def _take_rows(X: Any, rows: IntArray | None) -> Any:
    return X if rows is None else safe_indexing(X, rows)


#: Models without pairs of folds are trained up to this many rows times classes or labels.
MAX_OUTPUTS_FOR_PAIRS = 10_000


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
        pairs = next(
            (found for column in columns if (found := pairs_of_folds(folds, column, self.weight))), []
        )
        return pairs if all(self._has_two_classes(self.rows_without(*pair)) for pair in pairs) else []

    def _has_two_classes(self, rows: IntArray) -> bool:
        return len(np.unique(self.targets[rows])) > 1


NO_ROWS: IntArray = np.arange(0)
#: What is logged after each training: the auxiliary, how many models are trained, and how many there will be.
MODEL_PROGRESS = "auxiliary %s: model %d of %d"


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

    @property
    def has_training(self) -> bool:
        """Whether any auxiliary is trained."""
        return not all(each.is_frozen for each in self.auxiliaries)

    def run(self, jobs: Sequence[TrainingJob]) -> Iterator[JobResult]:
        """Yield the result of each job, in their order."""
        return self._run_groups([[job] for job in jobs])

    def run_shared(self, jobs: Sequence[TrainingJob]) -> Iterator[JobResult]:
        """Yield the result of each job; those with the same rows and the same features follow each other."""
        keys = [sharing_key(each.estimator) or number for number, each in enumerate(self.auxiliaries)]
        groups: dict[Any, list[TrainingJob]] = {}
        for job in jobs:
            groups.setdefault((job.held_out, keys[job.auxiliary]), []).append(job)
        return self._run_groups(list(groups.values()))

    def _run_groups(self, groups: Sequence[Sequence[TrainingJob]]) -> Iterator[JobResult]:
        """Yield the result of each job; the jobs of a group have the same rows, and run in one process."""
        cached = check_memory(self.memory).cache(_fit_and_predict, ignore=["tables"])
        n_jobs, number = sum(map(len, groups)), 0
        with _no_warning_about_large_arguments():
            results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
                delayed(_run_group)(
                    cached,
                    [self.auxiliaries[job.auxiliary] for job in group],
                    group,
                    self.training,
                    self.output_kind,
                )
                for group in groups
            )
            for group, group_results in zip(groups, results, strict=True):
                for job, result in zip(group, group_results, strict=True):
                    number += 1
                    yield JobResult(job, *result)
                    self.log(MODEL_PROGRESS, self.auxiliaries[job.auxiliary].name, number, n_jobs)


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
    for result in runner.run_shared(jobs):
        job = result.job
        store.add(result)
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

    def add(self, result: JobResult) -> None:
        """Store the outputs of a model."""
        job, outputs = result.job, result.outputs
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


def _run_group(
    fit_and_predict: Callable[..., tuple[Any, FloatArray, float]],
    auxiliaries: Sequence[Auxiliary],
    jobs: Sequence[TrainingJob],
    training: TrainingSet,
    output: RawOutput,
) -> list[tuple[Any, FloatArray, float]]:
    """Return the models of jobs with the same rows, their outputs and their times."""
    tables = FoldTables(training.X, training.targets, jobs[0].train_rows, jobs[0].predict_rows)
    with library_threads_for(count_numbers(training.X)):
        return [
            _run_job(fit_and_predict, auxiliary, job, training, output, tables)
            for auxiliary, job in zip(auxiliaries, jobs, strict=True)
        ]


def _run_job(
    fit_and_predict: Callable[..., tuple[Any, FloatArray, float]],
    auxiliary: Auxiliary,
    job: TrainingJob,
    training: TrainingSet,
    output: RawOutput,
    tables: FoldTables,
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
            tables,
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
    tables: FoldTables,
) -> tuple[Any, FloatArray, float]:
    """Train on some rows and predict others; only the model of all rows is returned.

    `tables` are these rows. The other arguments identify the result in a cache.
    """
    start = time.perf_counter()
    model = estimator if is_frozen(estimator) else _fit_clone(estimator, fit_params, X, tables)
    has_rows = predict_rows is None or len(predict_rows) > 0
    outputs = _predict(model, tables, classes, output) if has_rows else np.zeros(0)
    return model if train_rows is None else None, outputs, time.perf_counter() - start


def _fit_clone(estimator: Any, fit_params: dict[str, Any], X: Any, tables: FoldTables) -> Any:
    model = clone(estimator)
    params = check_method_params(X, fit_params, tables.train_rows)
    # Parameters of a pipeline's step, by its name, exist only without metadata routing.
    by_step = any("__" in name for name in params)
    with config_context(enable_metadata_routing=False) if by_step else nullcontext():
        return fit_classifier(model, tables.train_table, tables.y, params, tables.fit_transform)


def _predict(model: Any, tables: FoldTables, classes: NDArray[Any], output: RawOutput) -> FloatArray:
    transformers, classifier = split_pipeline(model)
    return output.predict(classifier, tables.predict_features.transform(transformers), classes)


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
