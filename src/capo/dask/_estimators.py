"""The classifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._compat import FloatArray, HasMethods, IntArray, Interval, StrOptions, safe_indexing
from ..decisions import OperatingPoint
from ..engine import CuttingPlane, Iteration, Solution
from ..estimators import (
    CAPOClassifier,
    SVMPerfClassifier,
    atomic_fit,
    fit_linear,
    reject_confidence,
    replace_weights,
    warn_not_converged,
)
from ..exceptions import InvalidInputError
from ..inspection import Summary
from ..learning.auxiliaries import AUXILIARY_SETS
from ..learning.combination import LinearCombination
from ..learning.outputs import apply_scales
from ..measures import Measure
from ..tables.schema import DemandedKind
from ..tables.targets import encode_binary_labels, positive_mask
from ._adaptation import (
    CUT_ERROR_SHARE,
    DistributedAdaptation,
    DistributedOracle,
    Weights,
    bin_standard_scores,
    choose_operating_point,
    choose_threshold,
    score_bins,
    standardize,
)
from ._bins import ScoreBins
from ._blocks import (
    FIRST_HALF,
    MAX_REPORTED_LABELS,
    SAMPLE,
    SECOND_HALF,
    Block,
    BlockSummary,
    allocate_sample,
    concatenate_tables,
    count_classes,
    make_block,
    merge_labels,
    reject_row_costs,
    stack_rows,
    summarize,
    take_group,
    unique_labels,
)
from ._partitions import Partitions, Scheduler, row_chunks, split_collection

if TYPE_CHECKING:
    from distributed import Client


def predict(model: Any, X: Any) -> Any:
    """Predict the labels of a dask collection lazily, by a classifier that is in memory.

    Parameters
    ----------
    model : classifier
        Any fitted classifier, such as a `CAPOClassifier`.
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        One label per row; nothing is computed yet.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo import SVMPerfClassifier
    >>> from capo.dask import predict
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X /= X.max(axis=0)
    >>> model = SVMPerfClassifier("f1", C=100.0).fit(X, y)
    >>> labels = predict(model, da.from_array(X, chunks=(100, -1)))
    >>> bool((labels.compute() == model.predict(X)).all())
    True
    """
    return _apply(model, "predict", X, np.asarray(model.classes_).dtype, 1)


def predict_proba(model: Any, X: Any) -> Any:
    """Predict the probabilities of the classes lazily.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `predict_proba`.
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        One column for each class.
    """
    return _apply(model, "predict_proba", X, np.dtype(np.float64), len(model.classes_))


def decision_function(model: Any, X: Any) -> Any:
    """The scores of a dask collection, lazily.

    Parameters
    ----------
    model : classifier
        A fitted classifier of two classes with `decision_function`.
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        One number per row.
    """
    return _apply(model, "decision_function", X, np.dtype(np.float64), 1)


def is_collection(X: Any) -> bool:
    """Whether X is a dask array or data frame."""
    return isinstance(X, da.Array) or hasattr(X, "map_partitions")


def _apply(model: Any, method: str, X: Any, dtype: np.dtype[Any], n_columns: int) -> Any:
    if isinstance(X, da.Array):
        return _apply_to_array(model, method, X, dtype, n_columns)
    if not hasattr(X, "map_partitions"):
        raise InvalidInputError(
            f"X must be a dask array or data frame: got {type(X).__name__}. For rows in memory call "
            f"model.{method}(X)."
        )
    empty = np.empty((0, n_columns) if n_columns > 1 else 0, dtype=dtype)
    meta = _to_pandas(empty, X._meta.index, method, model.classes_)
    return X.map_partitions(_apply_to_frame, model, method, empty, meta=meta)


def _apply_to_array(model: Any, method: str, X: da.Array, dtype: np.dtype[Any], n_columns: int) -> da.Array:
    rows = X.rechunk({1: -1})
    if n_columns == 1:
        meta = np.empty(0, dtype=dtype)
        return da.map_blocks(_apply_to_block, rows, model, method, meta, drop_axis=1, meta=meta)
    meta = np.empty((0, n_columns), dtype=dtype)
    chunks = (rows.chunks[0], (n_columns,))
    return da.map_blocks(_apply_to_block, rows, model, method, meta, chunks=chunks, meta=meta)


def _apply_to_block(X: Any, model: Any, method: str, empty: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(getattr(model, method)(X)) if X.shape[0] else empty


def _apply_to_frame(X: Any, model: Any, method: str, empty: NDArray[Any]) -> Any:
    return _to_pandas(_apply_to_block(X, model, method, empty), X.index, method, model.classes_)


def _to_pandas(values: NDArray[Any], index: Any, name: str, classes: NDArray[Any]) -> Any:
    """A series, or a data frame with one column for each class."""
    import pandas as pd  # noqa: PLC0415 (installed with dask's data frames)

    if values.ndim == 1:
        return pd.Series(values, index=index, name=name)
    return pd.DataFrame(values, index=index, columns=np.asarray(classes))


@dataclass(frozen=True)
class TrainingParts:
    """Tasks for the partitions of X, y and, if there are any, the weights."""

    tables: list[Delayed]
    labels: list[Delayed]
    weights: list[Delayed] | list[None]

    @classmethod
    def from_collections(cls, X: Any, y: Any, sample_weight: Any = None) -> TrainingParts:
        """Split dask collections, which must be partitioned alike."""
        chunks = row_chunks(X)
        tables, labels = split_collection(X, "X"), split_collection(y, "y", chunks)
        weights: list[Any] = [None] * len(tables)
        if sample_weight is not None:
            weights = split_collection(sample_weight, "sample_weight", chunks)
        if not len(tables) == len(labels) == len(weights):
            raise InvalidInputError(
                f"X has {len(tables)} partitions, y has {len(labels)}"
                + (f" and sample_weight has {len(weights)}" if sample_weight is not None else "")
                + ": they must be partitioned alike."
            )
        return cls(tables, labels, weights)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        return zip(self.tables, self.labels, self.weights, strict=True)

    def find_classes(self, scheduler: Scheduler, pos_label: Any = None) -> NDArray[Any]:
        """The two labels, that of the positive class second."""
        tasks = [delayed(unique_labels, pure=False)(part, i) for i, part in enumerate(self.labels)]
        labels = Partitions.from_delayed(tasks, scheduler).merge(merge_labels)
        if not len(labels):
            raise InvalidInputError("X and y have no rows.")
        if len(labels) >= MAX_REPORTED_LABELS:
            shown = ", ".join(map(repr, labels[:5].tolist()))
            raise InvalidInputError(
                f"Only binary classification is supported: y has {MAX_REPORTED_LABELS} or more classes "
                f"({shown}, ...). Merge them into two."
            )
        return encode_binary_labels(labels, pos_label)[0]


def copy_fitted(source: BaseEstimator, target: BaseEstimator) -> None:
    """Copy the attributes that `fit` has set."""
    for name, value in vars(source).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(target, name, value)


def find_client(client: Client | None) -> Client:
    """The client that was given, or the current one."""
    if client is not None:
        return client
    from distributed import default_client  # noqa: PLC0415 (slow, and not needed without a cluster)

    return default_client()


class BaseDaskClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted on a cluster, and predicts as its local counterpart does."""

    client: Client | None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    @property
    def client_(self) -> Client:
        """The client of this classifier, or the current one."""
        return find_client(self.client)

    @abstractmethod
    def to_local(self) -> Any:
        """The fitted classifier for data in memory."""

    def decision_function(self, X: Any) -> Any:
        """The decision function of each row: above 0 is ``classes_[1]``.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or table in memory
            The rows.

        Returns
        -------
        dask.array.Array, dask.dataframe.Series or ndarray of shape (n_samples,)
            One number per row; lazily for a dask collection.
        """
        model = self.to_local()
        return decision_function(model, X) if is_collection(X) else model.decision_function(X)

    def predict(self, X: Any) -> Any:
        """Predict the label of each row.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or table in memory
            The rows.

        Returns
        -------
        dask.array.Array, dask.dataframe.Series or ndarray of shape (n_samples,)
            One label per row; lazily for a dask collection.
        """
        model = self.to_local()
        return predict(model, X) if is_collection(X) else model.predict(X)


#: The largest sum of a column's absolute values: squares and their sums must not overflow.
MAX_COLUMN_SUM = 1e100


class DaskSVMPerfClassifier(BaseDaskClassifier):
    """`SVMPerfClassifier` with the linear kernel on dask arrays and data frames.

    The problem, the solver and the certificate are the same. The rows and their scores stay on the workers.
    For each cut these send the scores in bins, some thousand numbers, and one vector of the size of the
    coefficients. The cuts are true lower bounds, and the upper bound of the certificate contains what the
    bins leave open: about 2% of the tolerance.

    All tasks are pure functions of a partition. If a worker is lost, the scheduler repeats its tasks
    elsewhere, and the result is the same.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimize, as in `SVMPerfClassifier`. Average precision takes memory on the client in
        proportion to the number of rows, and is limited to 16 million rows of a class.
    C : float, default=1.0
        Weight of the measure against the size of the coefficients.
    tol : float, default=1e-3
        Accuracy: the fit ends when J is proven to be within ``C * tol`` of its minimum.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as a constant feature 1 inside the regularizer.
    max_iter : int, default=10000
        Limit on the number of iterations.
    persist : bool or "disk", default=True
        Whether to keep the partitions in the memory of the workers during the fit. With "disk", workers write
        the features once to temporary files, which tasks map into memory: for tables that do not fit in the
        memory of the workers. With False, partitions are read or computed again twice in each iteration.
    verbose : int, default=0
        1 logs a line every two seconds, 2 a line every iteration, by the logger ``"capo"``.
    callback : callable, optional
        Called after each iteration with a `capo.engine.Iteration`; a true return value ends the fit.
    client : distributed.Client, optional
        The client to use; by default the current one, or dask's local scheduler if there is none. It is not
        pickled.

    Attributes
    ----------
    coef_, intercept_, threshold_, classes_, primal_, dual_, gap_, n_iter_, solution_, measure_
        As in `SVMPerfClassifier`. The threshold is chosen between 2,000 or more quantiles of the training
        scores, which are divided further near the best one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X was a data frame.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo.dask import DaskSVMPerfClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = da.from_array(X / X.max(axis=0), chunks=(100, -1))
    >>> model = DaskSVMPerfClassifier("f1", C=100.0).fit(X, da.from_array(y, chunks=100))
    >>> model.gap_ <= 100.0 * 1e-3
    True
    >>> model.predict(X)  # computed when needed
    dask.array<_apply_to_block, shape=(569,), dtype=int64, chunksize=(100,), chunktype=numpy.ndarray>
    >>> model.to_local()
    SVMPerfClassifier(C=100.0)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, callable],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "persist": ["boolean", StrOptions({"disk"})],
        "verbose": ["verbose"],
        "callback": [callable, None],
        "client": "no_validation",
    }

    coef_: FloatArray
    classes_: NDArray[Any]
    measure_: Measure

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        persist: bool | str = True,
        verbose: int = 0,
        callback: Callable[[Iteration], bool | None] | None = None,
        client: Client | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.persist = persist
        self.verbose = verbose
        self.callback = callback
        self.client = client

    @atomic_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or list of Delayed
            Numeric features. Blocks of an array may be dense or CSR matrices. Partitions may be of any size,
            and empty.
        y : dask.array.Array, dask.dataframe.Series or list of Delayed
            Two labels; the larger one is the positive class. Its partitions must be those of X; for arrays of
            known size it is divided like X.
        sample_weight : dask.array.Array or dask.dataframe.Series of shape (n_samples,), optional
            Weights; a whole number counts as that many copies of the row.

        Returns
        -------
        self : DaskSVMPerfClassifier
            The fitted classifier.
        """
        self._validate_params()
        measure = measures.get(self.measure)
        reject_confidence(measure, self)
        reject_row_costs(measure)
        partitions, classes = self._make_partitions(X, y, sample_weight)
        summary = partitions.reduce(BlockSummary.merge, summarize, self.fit_intercept)
        totals = summary.totals(weighted=sample_weight is not None)
        _check_both_classes(summary, classes)
        _check_columns(summary)
        oracle = DistributedOracle(
            partitions,
            measure.for_training(),
            summary,
            totals,
            fit_intercept=self.fit_intercept,
            accuracy=CUT_ERROR_SHARE * self.tol,
        )
        model = fit_linear(
            self._make_local(),
            CuttingPlane(oracle.make_design(), oracle),
            classes,
            lambda v: choose_threshold(oracle, measure, v),
        )
        copy_fitted(model, self)
        self._set_features(X)
        return self

    def _make_partitions(self, X: Any, y: Any, sample_weight: Any) -> tuple[Partitions, NDArray[Any]]:
        """The checked blocks on the workers, and the two classes."""
        scheduler = Scheduler(self.client)
        parts = TrainingParts.from_collections(X, y, sample_weight)
        classes = parts.find_classes(scheduler)
        shared, make = delayed(classes, traverse=False), delayed(make_block, pure=False)
        on_disk = self.persist == "disk" and scheduler.is_cluster  # without one, all results are in files
        blocks = [make(*part, shared, number, on_disk) for number, part in enumerate(parts)]
        partitions = Partitions.from_delayed(blocks, scheduler)
        return partitions.persist() if self.persist else partitions, classes

    def _make_local(self) -> SVMPerfClassifier:
        """An unfitted classifier with the same parameters."""
        names = ("C", "tol", "fit_intercept", "max_iter", "verbose", "callback")
        return SVMPerfClassifier(self.measure, **{name: getattr(self, name) for name in names})

    def _set_features(self, X: Any) -> None:
        self.n_features_in_ = self.coef_.shape[1]
        columns = getattr(X, "columns", None)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.asarray(columns, dtype=object)

    def to_local(self) -> SVMPerfClassifier:
        """The fitted classifier for data in memory, which can be saved, exported and reported on.

        Returns
        -------
        SVMPerfClassifier
            With the same parameters, coefficients and certificate.
        """
        check_is_fitted(self)
        model = self._make_local()
        copy_fitted(self, model)
        return model

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure that was optimized, on these rows; higher is better.

        One number per row is brought to the client.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, or arrays in memory.

        Returns
        -------
        float
            The value of the measure.
        """
        scheduler = Scheduler(self.client)
        decision, labels, weight = (
            scheduler.compute(part) if is_collection(part) else part
            for part in (self.decision_function(X), y, sample_weight)
        )
        return self.measure_.score(positive_mask(labels, self.classes_), decision, weight)


def _check_both_classes(summary: BlockSummary, classes: NDArray[Any]) -> None:
    for label, mass in zip(classes.tolist(), summary.mass.tolist(), strict=True):
        if not mass > 0:
            raise InvalidInputError(
                f"the sample weights are 0 for all rows of the class {label!r}: each class needs some weight."
            )


def _check_columns(summary: BlockSummary) -> None:
    column = int(np.argmax(summary.column_sums))
    if summary.column_sums[column] > MAX_COLUMN_SUM:
        raise InvalidInputError(
            f"the absolute values of column {column} (counted from 0) add up to "
            f"{summary.column_sums[column]:.3g}: more than {MAX_COLUMN_SUM:g} overflows in the solver's "
            "products. Scale this feature, clip it, or remove the rows."
        )


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
