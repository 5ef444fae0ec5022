"""The choice of auxiliaries that can be trained within a number of seconds.

Each candidate is trained on two samples of the rows. The seconds that it takes on more rows follow from a
constant part and a part that grows with the rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.random import RandomState
from sklearn.utils import check_random_state, resample

from .._compat import IntArray
from ..exceptions import InvalidInputError
from ..tables.schema import infer_schema
from ..tables.targets import encode_label_matrix
from .auxiliaries import (
    AUTO,
    AUXILIARY_SETS,
    FAST,
    LabelColumnsOutput,
    class_auxiliary_names,
    default_auxiliary_names,
    expand_sets,
    label_auxiliary_names,
    label_fold_codes,
    labelwise_auxiliary,
    name_auxiliaries,
    resolve_auxiliaries,
    set_random_states,
    use_class_defaults,
    use_label_defaults,
)
from .cross_fit import Auxiliary, JobRunner, TrainingJob, TrainingSet, training_jobs
from .folds import DEFAULT_N_FOLDS
from .outputs import ClassOutput, RawOutput, ScoreOutput

#: The members of the built-in sets, those first whose absence costs most (`benchmarks.quality.auxiliaries`).
#: "quick" stands in for "boosting"; "latent" resembles it, and is not part of that benchmark.
ORDER_OF_WORTH = ("boosting", "quick", "full_trees", "trees", "linear", "kernel", "latent", "svm")
#: The larger sample has half of the rows, but no more and no fewer than this.
MAX_SAMPLE_ROWS, MIN_SAMPLE_ROWS = 4_000, 500
#: How many times smaller the smaller sample is.
SAMPLE_RATIO = 4
#: Rows of each class that a sample has, if the table has them.
MIN_ROWS_PER_CLASS = 5
#: The power of the number of rows with which training and prediction grow, where it is not 1.
GROWTH_POWERS = {"svm": 2, "knn": 2}
#: The estimate is this many times the extrapolated time: it covers the adaptation, and errors of the timing.
SAFETY_FACTOR = 1.5


@dataclass(frozen=True)
class BudgetChoice:
    """The auxiliaries that were chosen to be trained within a number of seconds.

    Attributes
    ----------
    auxiliaries : str or list
        The value of the parameter `auxiliaries` of `CAPOClassifier`; what was given, if nothing is left out.
    names : list of str
        The names of the auxiliaries that were chosen.
    left_out : list of str
        The names of those that were left out.
    seconds : dict of str to float
        The estimated seconds of all trainings of each candidate.
    """

    auxiliaries: Any
    names: list[str]
    left_out: list[str]
    seconds: dict[str, float] = field(repr=False)

    @property
    def total_seconds(self) -> float:
        """The estimated seconds of all trainings of the auxiliaries that were chosen."""
        return sum(self.seconds[name] for name in self.names)


def choose_within_budget(
    X: Any,
    y: Any,
    seconds: float,
    auxiliaries: Any = AUTO,
    *,
    n_folds: int = DEFAULT_N_FOLDS,
    n_models: int = 1,
    many_classes: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> BudgetChoice:
    """Choose auxiliaries that can be trained within a number of seconds.

    Each one is trained on a sample of at most 4,000 rows and on a quarter of it. From the two times follow
    those of all trainings of a fit: in the folds, without pairs of folds on small tables, and on all rows.
    Auxiliaries are kept in their order as long as the sum of these estimates, with a margin of one half, is
    within the budget.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Labels, as for `CAPOClassifier.fit`.
    seconds : float
        The budget. The time of the choice itself is deducted from it.
    auxiliaries : {"auto", "fast", "best"} or list, default="auto"
        What to choose from, as for `CAPOClassifier`. The members of a set are considered in the order of what
        their absence costs, and its cheapest ones ("quick" and "linear" for two classes, "trees" and
        "linear" otherwise) are used in any case; "quick" replaces "boosting" where that takes too long. The
        others are considered in the order in which they are given. At least one is used.
    n_folds : int, default=5
        The number of folds of a fit.
    n_models : int, default=1
        How many such models are to be trained within the budget.
    many_classes : bool, default=False
        Whether two classes are treated like more of them, as with a measure of many classes.
    n_jobs : int, optional
        Number of auxiliaries trained in parallel, as for `CAPOClassifier`, and timed in parallel.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the auxiliaries.

    Returns
    -------
    BudgetChoice
        The auxiliaries, and the estimated seconds of each candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo import CAPOClassifier
    >>> from capo.learning.budget import choose_within_budget
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> choice = choose_within_budget(X, y, 3600, ["linear", "nb"], random_state=0)
    >>> choice.left_out
    []
    >>> model = CAPOClassifier("f1", auxiliaries=choice.auxiliaries)
    """
    start = time.perf_counter()
    if not 0 < seconds < np.inf:
        raise InvalidInputError(f"the budget must be a positive number of seconds: got {seconds!r}.")
    pairs = [(auxiliaries,) * 2] if isinstance(auxiliaries, str) else name_auxiliaries(auxiliaries)
    task = _make_task(X, y, n_folds, many_classes=many_classes)
    wanted = _expand(pairs, task.set_members)
    has_set = any(name in AUXILIARY_SETS for name, _ in pairs)
    floor = task.set_members(FAST) if has_set else []
    candidates = _expand(pairs, lambda name: list({*task.set_members(name), *floor}))
    random = check_random_state(random_state)
    timing = _Timing(task, candidates, random, n_models, seconds, n_jobs)
    estimates = {name: timing.estimate(number) for number, name in enumerate(candidates)}
    kept = _choose(estimates, floor, seconds - (time.perf_counter() - start))
    left_out = [name for name in wanted if name not in kept]
    chosen = [_as_entry(name, each) for name, each in candidates.items() if name in kept]
    return BudgetChoice(chosen if left_out else auxiliaries, kept, left_out, estimates)


def _as_entry(name: str, estimator: Any) -> Any:
    """An entry of the list of auxiliaries: a registered name, or a pair."""
    return name if isinstance(estimator, str) and estimator == name else (name, estimator)


def _expand(pairs: list[tuple[str, Any]], members: Callable[[str], list[str]]) -> dict[str, Any]:
    """The auxiliaries under their names, the members of a set in the order of their worth."""
    return dict(expand_sets(pairs, lambda name: sorted(members(name), key=ORDER_OF_WORTH.index), {}))


def _choose(seconds: Mapping[str, float], floor: Sequence[str], budget: float) -> list[str]:
    """Return the names to keep: those of the floor, or boosting in place of its quick form, and what fits."""
    if "quick" in floor and "boosting" in seconds:
        others = {name: each for name, each in seconds.items() if name != "quick"}
        kept = _keep(others, [name for name in floor if name != "quick"], budget)
        if "boosting" in kept:
            return kept
    kept = _keep(seconds, floor, budget)
    return kept or [min(seconds, key=seconds.__getitem__)]


def _keep(seconds: Mapping[str, float], required: Collection[str], budget: float) -> list[str]:
    total, kept = sum(seconds[name] for name in required), set(required)
    for name, each in seconds.items():
        if name not in kept and total + each <= budget:
            total += each
            kept.add(name)
    return [name for name in seconds if name in kept]


@dataclass(frozen=True)
class _Task:
    """What auxiliaries are trained for.

    `codes` are the classes by which samples are stratified, `set_members` are the names in a set, and
    `resolve` replaces names by estimators.
    """

    training: TrainingSet
    codes: IntArray
    output_kind: RawOutput
    set_members: Callable[[str], list[str]]
    resolve: Callable[[list[tuple[str, Any]]], list[Auxiliary]]


def _make_task(X: Any, y: Any, n_folds: int, *, many_classes: bool) -> _Task:
    schema = infer_schema(X)

    def resolve(use_defaults: Callable[..., Any], pairs: list[tuple[str, Any]]) -> list[Auxiliary]:
        return [Auxiliary(*pair, {}) for pair in resolve_auxiliaries(use_defaults(pairs), X, schema)]

    if np.ndim(y) == 2:
        labels, positive = encode_label_matrix(y, X.shape[0])
        members = partial(label_auxiliary_names, X, len(labels))
        use = partial(use_label_defaults, X=X, schema=schema, n_labels=len(labels))
        return _Task(
            _training_set(X, positive.astype(np.int64), labels, n_folds),
            label_fold_codes(positive),
            LabelColumnsOutput(),
            members,
            lambda pairs: [labelwise_auxiliary(each) for each in resolve(use, pairs)],
        )
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    training = _training_set(X, codes.astype(np.int64), classes, n_folds)
    if many_classes or len(classes) > 2:
        use = partial(use_class_defaults, X=X, schema=schema)
        members = partial(class_auxiliary_names, X)
        return _Task(training, codes, ClassOutput(), members, partial(resolve, use))
    members = partial(default_auxiliary_names, X)
    return _Task(training, codes, ScoreOutput(), members, partial(resolve, list))


def _training_set(X: Any, targets: Any, classes: Any, n_folds: int) -> TrainingSet:
    """The rows in folds of the sizes that a fit has; for the time, it does not matter which rows."""
    folds = np.arange(len(targets)) % n_folds
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_folds)]
    return TrainingSet(X, targets, classes, splits)


class _Timing:
    """Estimates of the seconds that all trainings of an auxiliary take."""

    def __init__(
        self,
        task: _Task,
        candidates: Mapping[str, Any],
        random: RandomState,
        n_models: int,
        budget: float,
        n_jobs: int | None,
    ) -> None:
        self.n_jobs, self.n_models, self.budget = effective_n_jobs(n_jobs), n_models, budget
        bound = task.resolve(list(candidates.items()))
        self.auxiliaries = [
            Auxiliary(each.name, set_random_states(each.estimator, random), {}) for each in bound
        ]
        self.runner = JobRunner(self.auxiliaries, task.training, task.output_kind, n_jobs=n_jobs)
        self.pairs = task.training.fold_pairs
        n_rows = task.training.n_rows
        n_large = min(MAX_SAMPLE_ROWS, max(MIN_SAMPLE_ROWS, n_rows // 2), n_rows)
        self.large = _sample_rows(task.codes, n_large, random)
        self.small = _sample_rows(task.codes, max(n_large // SAMPLE_RATIO, 1), random)

    def estimate(self, number: int) -> float:
        """Return the seconds of all trainings of an auxiliary, with the margin.

        If they exceed the budget even if a training takes no longer than on the smaller sample, the larger
        one is not tried.
        """
        auxiliary, training = self.auxiliaries[number], self.runner.training
        jobs = training_jobs(number, auxiliary, training, self.pairs)
        sizes = [training.n_rows if job.train_rows is None else len(job.train_rows) for job in jobs]
        factor = SAFETY_FACTOR * self.n_models / min(self.n_jobs, len(sizes))
        small = self._seconds(number, self.small)
        if (least := factor * len(sizes) * small) > self.budget:
            return least
        power = GROWTH_POWERS.get(auxiliary.name, 1)
        large = self._seconds(number, self.large)
        return factor * _extrapolate(sizes, (len(self.small), small), (len(self.large), large), power)

    def _seconds(self, number: int, rows: IntArray) -> float:
        """Train on the rows, and predict as many of them as a fold of them holds out.

        As many processes as in the fit do so at the same time, because they share the cores.
        """
        job = TrainingJob(number, (0,), rows, rows[:: len(self.runner.training.splits)])
        with _ignored_warnings():
            results = list(self.runner.run([job] * self.n_jobs))
        return float(np.mean([result.seconds for result in results]))


def _extrapolate(
    sizes: Sequence[int], small: tuple[int, float], large: tuple[int, float], power: int
) -> float:
    """Return the seconds of trainings on these numbers of rows, from two pairs of rows and seconds.

    A training takes a + b n^power seconds, with a and b not negative.
    """
    (n_small, t_small), (n_large, t_large) = small, large
    difference = n_large**power - n_small**power
    slope = max(t_large - t_small, 0.0) / difference if difference else np.inf
    slope = min(slope, t_large / n_large**power)
    return sum(t_large + slope * (n**power - n_large**power) for n in sizes)


def _sample_rows(codes: IntArray, n_rows: int, random: RandomState) -> IntArray:
    """A stratified sample of the rows, with a few of each class."""
    rows = resample(
        np.arange(len(codes)), replace=False, n_samples=n_rows, stratify=codes, random_state=random
    )
    n_sampled = np.bincount(codes[rows], minlength=codes.max() + 1)
    rare = [
        np.flatnonzero(codes == code)[:MIN_ROWS_PER_CLASS]
        for code in np.flatnonzero(n_sampled < MIN_ROWS_PER_CLASS)
    ]
    return np.unique(np.concatenate([rows, *rare]))


@contextmanager
def _ignored_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
