"""The classifiers, and predictions of any fitted classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import estimators, measures
from .._compat import Interval, NDArray
from ..engine import CuttingPlane, Iteration
from ..inspection import Summary
from ..measures import Measure
from ..tables.targets import check_class_weights, positive_mask
from ._adaptation import DistributedOracle, adapt_partitions, choose_threshold, fit_sample, make_inputs
from ._partitions import BlockSummary, Partitions, divide_rows, find_classes, make_block, split_rows

#: With fewer rows of a class outside the sample, the model of the sample is kept as it is.
MIN_CLASS_ROWS = 200


def predict(model: Any, X: Any) -> Any:
    """Predict the labels of a dask collection lazily, or of rows in memory at once.

    `capo predict` is the command of this name.

    Parameters
    ----------
    model : classifier
        Any fitted classifier, such as a `CAPOClassifier`.
    X : dask.array.Array, dask.dataframe.DataFrame or table in memory
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        One label per row; nothing is computed yet. For rows in memory, what the model returns.

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
    return _apply(model, "predict", X, np.asarray(getattr(model, "answers_", model.classes_)).dtype, 1)


def predict_proba(model: Any, X: Any) -> Any:
    """Predict the probabilities of the classes, lazily for a dask collection.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `predict_proba`.
    X : dask.array.Array, dask.dataframe.DataFrame or table in memory
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        One column for each class.
    """
    return _apply(model, "predict_proba", X, np.dtype(np.float64), len(model.classes_))


def decision_function(model: Any, X: Any) -> Any:
    """The scores of the rows, lazily for a dask collection.

    Parameters
    ----------
    model : classifier
        A fitted classifier of two classes with `decision_function`.
    X : dask.array.Array, dask.dataframe.DataFrame or table in memory
        The rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        One number per row.
    """
    return _apply(model, "decision_function", X, np.dtype(np.float64), 1)


def _apply(model: Any, method: str, X: Any, dtype: np.dtype[Any], n_columns: int) -> Any:
    empty = np.empty((0, n_columns) if n_columns > 1 else 0, dtype=dtype)
    if isinstance(X, da.Array):
        rows = X.rechunk({1: -1})
        shape = {"chunks": (rows.chunks[0], (n_columns,))} if n_columns > 1 else {"drop_axis": 1}
        return da.map_blocks(_apply_to_block, rows, model, method, empty, meta=empty, **shape)
    if hasattr(X, "map_partitions"):
        meta = _apply_to_block(X._meta, model, method, empty)
        return X.map_partitions(_apply_to_block, model, method, empty, meta=meta)
    return getattr(model, method)(X)


def _apply_to_block(X: Any, model: Any, method: str, empty: NDArray[Any]) -> Any:
    """The result for some rows: a series, a data frame with one column for each class, or an array."""
    values = np.asarray(getattr(model, method)(X)) if X.shape[0] else empty
    if not hasattr(X, "columns"):
        return values
    import pandas as pd  # noqa: PLC0415 (installed with dask's data frames)

    if values.ndim == 1:
        return pd.Series(values, index=X.index, name=method)
    return pd.DataFrame(values, index=X.index, columns=np.asarray(model.classes_))


class BaseDaskClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted on a cluster, and predicts like its local counterpart."""

    #: The counterpart.
    _local_class: ClassVar[type[Any]]

    classes_: NDArray[Any]
    measure_: Measure
    coef_: NDArray[Any]
    solution_: Any

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def _make_local(self) -> Any:
        """The unfitted classifier for data in memory, with the same parameters."""
        names = set(self._local_class._get_param_names())
        params = self.get_params(deep=False).items()
        return self._local_class(**{name: value for name, value in params if name in names})

    def to_local(self) -> Any:
        """The fitted classifier for data in memory, which can be saved, exported and reported on.

        Returns
        -------
        SVMPerfClassifier or CAPOClassifier
            The classifier with the same parameters and fitted attributes. The out-of-fold values of a
            `CAPOClassifier`, shown by its `summary`, refer to the sample.
        """
        check_is_fitted(self, "classes_")
        return copy_fitted(self, self._make_local())

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
        return decision_function(self.to_local(), X)

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
        return predict(self.to_local(), X)


def copy_fitted(source: BaseEstimator, target: BaseEstimator) -> BaseEstimator:
    """Copy the attributes that `fit` has set, and return the target."""
    for name, value in vars(source).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(target, name, value)
    return target


@dataclass(eq=False, repr=False)
class DaskSVMPerfClassifier(BaseDaskClassifier):
    """`SVMPerfClassifier` with the linear kernel on dask arrays and data frames.

    The problem, the solver and the certificate are the same. The rows and their scores stay on the workers.
    For each cut, the workers send binned scores, some thousand numbers, and one vector of the size of the
    coefficients. The cuts are true lower bounds, and the upper bound of the certificate includes the error of
    the bins, about 2% of the tolerance.

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
    persist : bool, default=True
        Whether to keep the partitions in the memory of the workers during the fit or, without a cluster, in
        temporary files that are mapped into memory. With False, partitions are read or computed again twice
        in each iteration.
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **estimators.SVMPerfClassifier._parameter_constraints,
        "persist": ["boolean"],
        "client": [Client, None],
    }
    _local_class = estimators.SVMPerfClassifier

    measure: str | Measure | Callable[..., Any] = "f1"
    _: KW_ONLY
    C: float = 1.0
    tol: float = 1e-3
    fit_intercept: bool = True
    max_iter: int = 10_000
    persist: bool = True
    verbose: int = 0
    callback: Callable[[Iteration], bool | None] | None = None
    client: Client | None = None

    @estimators.atomic_fit
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
        estimators.reject_row_prices(measure)
        estimators.reject_confidence(measure, self)
        rows = split_rows(X, y, sample_weight, client=self.client)
        classes = find_classes(rows)
        blocks = rows.map(make_block, classes, self.fit_intercept)
        with TemporaryDirectory(prefix="capo-", ignore_cleanup_errors=True) as folder:
            blocks = blocks.persist(folder) if self.persist else blocks
            summary = blocks.reduce(BlockSummary.merge, BlockSummary.from_block)
            check_class_weights(summary.counts[:, 0], np.arange(2), classes)
            oracle = DistributedOracle(blocks, measure, summary, self.tol)
            solver = CuttingPlane(oracle.design, oracle)
            threshold = partial(choose_threshold, oracle, measure)
            copy_fitted(estimators.fit_linear(self._make_local(), solver, classes, threshold), self)
        self.n_features_in_ = self.coef_.shape[1]
        columns = getattr(X, "columns", None)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.asarray(columns, dtype=object)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure that was optimized, on these rows; higher is better.

        One number per row is sent to the client.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, or arrays in memory.

        Returns
        -------
        float
            The value of the measure.
        """
        decision, labels, weight = dask.compute(
            self.decision_function(X), y, sample_weight, scheduler=self.client
        )
        return self.measure_.score_labels(positive_mask(labels, self.classes_), decision, weight)


@dataclass(eq=False, repr=False, kw_only=True)
class DaskCAPOClassifier(estimators.AdaptationParameters, BaseDaskClassifier):
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
        The measure on the rows outside the sample; the weights and the threshold for a row come from the half
        without it. If all rows are in the sample, the out-of-fold value.
    n_rows_, n_sample_, n_adapted_ : int
        Number of rows, number of rows in the sample, and number of other rows if the weights and the
        threshold were learned from them.
    combination_, auxiliaries_, auxiliary_weights_, threshold_, C_, classes_, pos_label_, measure_, ...
        As in `CAPOClassifier`. Out-of-fold values refer to the sample.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **estimators.CAPOClassifier._parameter_constraints,
        "sample_size": [Interval(Integral, 20, None, closed="left")],
        "client": [Client, None],
    }
    _local_class = estimators.CAPOClassifier
    threshold_ = estimators.CAPOClassifier.threshold_

    sample_size: int = 100_000
    threshold: str | float = "auto"
    column_kinds: Any = None
    client: Client | None = None

    @estimators.atomic_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Train the auxiliaries on a sample, and adapt them on all other rows.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or list of Delayed
            The table. Its partitions may be anything that `CAPOClassifier` accepts: data frames with text,
            categories and missing values, arrays, CSR matrices. They may be of any size, and empty.
        y : dask.array.Array, dask.dataframe.Series or list of Delayed
            Two labels. Its partitions must be those of X.

        Returns
        -------
        self : DaskCAPOClassifier
            The fitted classifier.
        """
        self._validate_params()
        estimators.reject_confidence(measures.get(self.measure), self)
        rows = split_rows(X, y, client=self.client)
        label_pair = find_classes(rows, self.pos_label)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        (sample, *halves), counts, sampled = divide_rows(rows, label_pair, self.sample_size, seed)
        model = clone(self._make_local())
        trained = Partitions([(sample.keys,)], sample.graph, sample.client).map(fit_sample, model).persist()
        model = trained.compute()[0]
        self.n_rows_, self.n_sample_, self.n_adapted_ = int(counts.sum()), int(sampled.sum()), 0
        if (counts - sampled >= MIN_CLASS_ROWS).all():
            self.n_adapted_ = self.n_rows_ - self.n_sample_
            both = halves[0] + halves[1]  # together, each partition is read once
            models = Partitions(trained.parts * len(both.parts), trained.graph, both.client)
            blocks = both.zip(models).map(make_inputs, label_pair)
            with TemporaryDirectory(prefix="capo-", ignore_cleanup_errors=True) as folder:
                model = adapt_partitions(model, blocks.persist(folder), float(self.tol), self.threshold)
        copy_fitted(model, self)
        if self.solution_ is not None:
            estimators.warn_not_converged(
                self.solution_, 3, limits="tol", C_is_given=not isinstance(self.C, str)
            )
        return self

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
        return predict_proba(self.to_local(), X)
