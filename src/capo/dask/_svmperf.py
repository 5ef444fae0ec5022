"""SVMperf's problem on Dask, certified."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._sklearn_compat import Interval, StrOptions
from .._typing import FloatArray
from ..engine import CuttingPlane, Iteration
from ..estimators import SVMPerfClassifier, atomic_fit, fit_linear, reject_confidence
from ..exceptions import InvalidInputError
from ..measures import Measure
from ..preprocessing import positive_mask
from ._base import BaseDaskClassifier
from ._blocks import BlockSummary, make_block, reject_row_costs, summarize
from ._oracle import CUT_ERROR_SHARE, DistributedOracle
from ._partitions import Partitions
from ._predict import is_collection
from ._scheduler import Scheduler
from ._threshold import choose_threshold
from ._training import TrainingParts, copy_fitted

if TYPE_CHECKING:
    from distributed import Client


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
