"""Classifier adaptation on Dask: auxiliaries from a sample, everything else from all other rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._sklearn_compat import HasMethods, Interval, StrOptions, safe_indexing
from .._typing import FloatArray, IntArray
from ..adaptation import LinearCombination
from ..auxiliary import AUXILIARY_SETS, apply_scales
from ..engine import Solution
from ..estimators import (
    CAPOClassifier,
    atomic_fit,
    reject_confidence,
    replace_weights,
    warn_not_converged,
)
from ..exceptions import InvalidInputError
from ..inspection import Summary
from ..measures import Measure
from ..model_selection import OperatingPoint
from ..preprocessing import DemandedKind
from ._adaptation import (
    DistributedAdaptation,
    Weights,
    bin_standard_scores,
    choose_operating_point,
    score_bins,
    standardize,
)
from ._base import BaseDaskClassifier
from ._bins import ScoreBins
from ._blocks import Block
from ._partitions import Partitions
from ._predict import is_collection, predict_proba
from ._sample import (
    FIRST_HALF,
    SAMPLE,
    SECOND_HALF,
    allocate_sample,
    concatenate_tables,
    count_classes,
    stack_rows,
    take_group,
)
from ._scheduler import Scheduler
from ._training import TrainingParts, copy_fitted

if TYPE_CHECKING:
    from distributed import Client

#: With fewer rows of a class outside the sample, the model of the sample is kept as it is.
MIN_CLASS_ROWS = 200
#: Rows whose auxiliary outputs are computed at once.
BLOCK_ROWS = 20_000


class DaskCAPOClassifier(BaseDaskClassifier):
    """`CAPOClassifier` on dask arrays and data frames.

    A `CAPOClassifier` is trained on a stratified sample of the rows, by one worker. Its auxiliaries, except
    those without weight, its delta transformer and its C are kept. The weights (the stack of the auxiliaries
    and, at C > 0, the adaptation around it), the calibration and the threshold are learned from all other
    rows, on the workers that hold them; the auxiliaries have not seen these rows. Calibration and threshold
    come from scores of two models, each trained on a random half of these rows and applied to the other half.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimize, as in `CAPOClassifier`; two classes only.
    sample_size : int, default=100000
        Rows of the sample; they must fit in the memory of one worker. With fewer than 200 rows of a class
        left outside the sample, the model of the sample is the result.
    auxiliaries, pos_label, cv, delta, C, threshold, tol, column_kinds, n_jobs, verbose
        As in `CAPOClassifier`. Auxiliaries that are already fitted are applied partition by partition.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample, the halves, the folds and the auxiliaries. Pass an int for reproducible results.
    client : distributed.Client, optional
        The client to use; by default the current one, or dask's local scheduler if there is none. It is not
        pickled.

    Attributes
    ----------
    score_ : float
        The measure on the rows outside the sample, by halves: neither the weights nor the threshold for a row
        have seen it. If all rows are in the sample, the out-of-fold value.
    n_rows_, n_sample_, n_adapted_ : int
        Number of rows, of those in the sample, and of the others if weights and threshold are theirs.
    combination_, auxiliaries_, auxiliary_weights_, threshold_, C_, classes_, pos_label_, measure_, ...
        As in `CAPOClassifier`. Out-of-fold values are those of the sample.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo.dask import DaskCAPOClassifier
    >>> X, y = make_classification(3000, weights=[0.8], class_sep=1.5, random_state=0)
    >>> X, y = da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)
    >>> model = DaskCAPOClassifier(
    ...     "f1", auxiliaries=[GaussianNB(), LogisticRegression()], sample_size=800, C=0, random_state=0
    ... )
    >>> model = model.fit(X, y)
    >>> bool(model.score_ > 0.7), model.n_sample_
    (True, 800)
    >>> type(model.to_local()).__name__
    'CAPOClassifier'
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, callable],
        "sample_size": [Interval(Integral, 20, None, closed="left")],
        "auxiliaries": [StrOptions(set(AUXILIARY_SETS)), list, tuple],
        "pos_label": [Real, str, "boolean", None],
        "cv": ["cv_object"],
        "delta": [StrOptions({"linear", "rbf"}), None, HasMethods(["fit", "transform"])],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "column_kinds": [Mapping, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "client": "no_validation",
    }

    classes_: NDArray[Any]
    measure_: Measure
    solution_: Solution | None
    C_: float
    n_rows_: int
    n_sample_: int
    n_adapted_: int

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        sample_size: int = 100_000,
        auxiliaries: Any = "auto",
        pos_label: Any = None,
        cv: Any = 5,
        delta: Any = "linear",
        C: Any = "auto",
        threshold: str | float = "auto",
        tol: float = 1e-3,
        column_kinds: Mapping[str, DemandedKind] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        client: Client | None = None,
    ) -> None:
        self.measure = measure
        self.sample_size = sample_size
        self.auxiliaries = auxiliaries
        self.pos_label = pos_label
        self.cv = cv
        self.delta = delta
        self.C = C
        self.threshold = threshold
        self.tol = tol
        self.column_kinds = column_kinds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.client = client

    @atomic_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Train the auxiliaries on a sample, and adapt them on all other rows.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or list of Delayed
            The table. Its partitions may hold what `CAPOClassifier` accepts: data frames with text,
            categories and missing values, arrays, CSR matrices. They may be of any size, and empty.
        y : dask.array.Array, dask.dataframe.Series or list of Delayed
            Two labels. Its partitions must be those of X.

        Returns
        -------
        self : DaskCAPOClassifier
            The fitted classifier.
        """
        self._validate_params()
        reject_confidence(measures.get(self.measure), self)
        scheduler, parts = Scheduler(self.client), TrainingParts.from_collections(X, y)
        label_pair = parts.find_classes(scheduler, self.pos_label)
        division = _Division(parts, label_pair, self._draw_seed(), self.sample_size, scheduler)
        trained = scheduler.persist(division.fit_sample(clone(self._make_local())))
        local: CAPOClassifier = scheduler.compute(trained)
        self.n_rows_, self.n_sample_ = division.n_rows, division.n_sampled
        self.n_adapted_ = division.n_rows - division.n_sampled if division.has_rest else 0
        copy_fitted(self._adapt(local, trained, division) if division.has_rest else local, self)
        if self.solution_ is not None:
            warn_not_converged(self.solution_, 3, limits="tol", C_is_given=not isinstance(self.C, str))
        return self

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _make_local(self) -> CAPOClassifier:
        """An unfitted classifier with the same parameters."""
        own = ("measure", "sample_size", "client")
        return CAPOClassifier(
            self.measure,
            **{name: value for name, value in self.get_params(deep=False).items() if name not in own},
        )

    def _adapt(self, local: CAPOClassifier, trained: Delayed, division: _Division) -> CAPOClassifier:
        """The classifier of the sample with the weights and the threshold of all other rows."""
        n_outputs = len(local.auxiliary_weights_)
        problem = DistributedAdaptation(local.measure_, float(local.C_), float(self.tol), n_outputs)
        halves = division.make_halves(trained)
        rest = halves[0] + halves[1]
        held_out = [_score_half(problem, halves[1 - i], halves[i]) for i in (0, 1)]
        probability = None if isinstance(self.threshold, str) else float(self.threshold)
        point = choose_operating_point(local.measure_, ScoreBins.merge(held_out), probability)
        weights = problem.solve(rest)
        adapted = copy(local)
        combination = _combine(standardize(rest, weights.v), local, point)
        replace_weights(adapted, combination, point.log_odds, weights.solution)
        adapted.score_ = _score_by_halves(local.measure_, held_out, probability)
        return adapted

    def to_local(self) -> CAPOClassifier:
        """The fitted classifier for data in memory, which can be saved, exported and reported on.

        Returns
        -------
        CAPOClassifier
            With the same parameters, auxiliaries, weights and threshold. Its out-of-fold values, which
            `summary` shows, are those of the sample.
        """
        check_is_fitted(self, "auxiliaries_")
        model = self._make_local()
        copy_fitted(self, model)
        del model.n_rows_, model.n_sample_, model.n_adapted_
        return model

    def summary(self) -> Summary:
        """Return a printable summary of the fit.

        Returns
        -------
        capo.inspection.Summary
            The out-of-fold values of the sample, and what was learned from the other rows.
        """
        found = self.to_local().summary()
        title = f"{type(self).__name__} for {self.measure_.label}: {self.n_rows_:,} rows"
        notes = {"sample": f"the values above are those of a sample of {self.n_sample_:,} rows"}
        if self.n_adapted_:
            notes["other rows"] = (
                f"weights, calibration and threshold were learned from {self.n_adapted_:,} rows; "
                f"{self.measure_.label} there, by halves: {self.score_:.4f}"
            )
        elif self.n_sample_ < self.n_rows_:
            notes["other rows"] = "too few rows are left outside the sample: they were not used"
        return replace(found, title=title, notes={**notes, **found.notes})

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of both classes, in the order of `classes_`.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or table in memory
            The rows.

        Returns
        -------
        dask.array.Array, dask.dataframe.DataFrame or ndarray of shape (n_samples, 2)
            Probabilities; lazily for a dask collection.
        """
        model = self.to_local()
        return predict_proba(model, X) if is_collection(X) else model.predict_proba(X)


class _Division:
    """The partitions divided into the sample and two halves of the other rows."""

    def __init__(
        self, parts: TrainingParts, classes: NDArray[Any], seed: int, sample_size: int, scheduler: Scheduler
    ) -> None:
        self.parts, self.classes, self.seed, self.scheduler = parts, classes, seed, scheduler
        tasks = [delayed(count_classes, pure=False)(y, classes, i) for i, y in enumerate(parts.labels)]
        counts: IntArray = Partitions.from_delayed(tasks, scheduler).merge(stack_rows)
        self.sampled = allocate_sample(counts, sample_size)
        self.n_rows, self.n_sampled = int(counts.sum()), int(self.sampled.sum())
        if not self.sampled.sum(axis=0).all():
            raise InvalidInputError(
                f"a sample of {sample_size:,} of {self.n_rows:,} rows has no row of "
                f"{classes.tolist()[int(np.argmin(self.sampled.sum(axis=0)))]!r}: raise sample_size."
            )
        self.has_rest = bool(((counts - self.sampled).sum(axis=0) >= MIN_CLASS_ROWS).all())

    def fit_sample(self, model: CAPOClassifier) -> Delayed:
        """A task that fits the classifier to the sample."""
        return delayed(_fit_sample, pure=False)(self._take(SAMPLE), delayed(model, traverse=False))

    def make_halves(self, trained: Delayed) -> list[Partitions]:
        """The auxiliaries' outputs and the delta function's features for both halves of the other rows.

        They are made together, so that each partition is read once.
        """
        make = delayed(_make_adaptation_block, pure=False)
        rows = [*self._take(FIRST_HALF), *self._take(SECOND_HALF)]
        tasks = [make(each, trained, self.classes) for each in rows]
        blocks = Partitions.from_delayed(tasks, self.scheduler).persist()
        middle = len(tasks) // 2
        return [blocks[:middle], blocks[middle:]]

    def _take(self, group: int) -> list[Delayed]:
        take = delayed(take_group, pure=False)
        return [
            take(X, y, self.classes, self.sampled[number], self.seed, number, group)
            for number, (X, y, _) in enumerate(self.parts)
        ]


def _fit_sample(parts: list[tuple[Any, NDArray[Any]]], model: CAPOClassifier) -> CAPOClassifier:
    filled = [part for part in parts if len(part[1])]
    tables, labels = zip(*filled, strict=True)
    return model.fit(concatenate_tables(list(tables)), np.concatenate(labels))


def _make_adaptation_block(
    rows: tuple[Any, NDArray[Any]], model: CAPOClassifier, label_pair: NDArray[Any]
) -> Block:
    X, labels = rows
    parts = [
        _adaptation_inputs(model, safe_indexing(X, slice(start, start + BLOCK_ROWS)))
        for start in range(0, len(labels), BLOCK_ROWS)
    ]
    if not parts:
        weights = model.combination_.weights
        n_delta = len(weights.delta) if weights.delta.any() else 0
        parts = [np.empty((0, len(weights.auxiliary) + n_delta))]
    return Block(concatenate_tables(parts), labels == label_pair[1], None)


def _adaptation_inputs(model: CAPOClassifier, X: Any) -> Any:
    """The scaled outputs of the auxiliaries beside the features of the delta function, if it has weights.

    Auxiliaries without weight in the model of the sample are left out.
    """
    outputs = apply_scales(model.combination_.scales, list(model.auxiliary_outputs(X).T))
    outputs[:, model.combination_.weights.auxiliary == 0] = 0.0
    features = model.delta_features(X)
    if features is None:
        return outputs
    if issparse(features):
        return hstack([outputs, features], format="csr", dtype=np.float64)
    return np.hstack([outputs, np.asarray(features, dtype=np.float64)])


def _score_half(problem: DistributedAdaptation, training: Partitions, held_out: Partitions) -> ScoreBins:
    """The rows of one half by their scores of the model of the other half, standardized there."""
    weights: Weights = problem.solve(training)
    return bin_standard_scores(held_out, standardize(training, weights.v))


def _combine(v: FloatArray, model: CAPOClassifier, point: OperatingPoint) -> LinearCombination:
    """The coefficients as weights whose scores are log-odds."""
    n_outputs = len(model.auxiliary_weights_)
    delta = v[n_outputs:-1] if len(v) - 1 > n_outputs else np.zeros(len(model.combination_.weights.delta))
    combination = LinearCombination(v[:n_outputs], delta, float(v[-1]))
    return combination.transform(point.calibration.slope, point.calibration.intercept)


def _score_by_halves(measure: Measure, halves: list[ScoreBins], probability: float | None) -> float:
    """The mean of the measure on both halves, each at the threshold of the other."""
    points = [choose_operating_point(measure, half, probability) for half in halves]
    return float(np.mean([score_bins(measure, halves[i], points[1 - i].score) for i in (0, 1)]))
