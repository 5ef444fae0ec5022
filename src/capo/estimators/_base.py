"""The base of all classifiers: validation, progress, and keeping the old model if a fit fails."""

from __future__ import annotations

import logging
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.random import RandomState
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._compat import (
    ArrayLike,
    BoolArray,
    CallbackSupportMixin,
    FloatArray,
    IntArray,
    NDArray,
    callback_management_context,
    check_sample_weight,
)
from ..engine import Iteration, Solution, Status
from ..exceptions import InterruptedFitWarning, InvalidInputError
from ..learning.auxiliaries import set_random_states
from ..learning.cross_fit import MODEL_PROGRESS, CrossFitResult
from ..measures import Cost, Measure
from ..tables.checks import check_numbers
from ..tables.features import check_features, make_delta_features
from ..tables.schema import FeatureSchema
from ..tables.targets import encode_binary_labels, positive_mask


def check_positive_grid(values: ArrayLike, name: str) -> list[float]:
    """Return the grid as a list of numbers, all of them above 0, or raise an error."""
    try:
        grid = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.zeros(0)
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid <= 0).any():
        raise InvalidInputError(f"{name} must be a list of at least one number above 0: got {values!r}.")
    return list(grid.tolist())


def check_row_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Return one weight per row, 1 by default; at least one must be above 0."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InvalidInputError("all sample weights are 0: at least one row must have a weight above 0.")
    return np.asarray(weight)


def reject_operator(X: Any, estimator: Any) -> None:
    """Raise a clear error if X is a linear operator where its rows are needed."""
    if hasattr(X, "matvec"):
        raise InvalidInputError(
            f"X is a {type(X).__name__}, but {type(estimator).__name__} needs its rows for cross-validation: "
            "pass an array or a sparse matrix, or use SVMPerfClassifier."
        )


def check_frame(X: Any) -> Any:
    """Return X, converting a pyarrow table to a data frame; reject complex numbers and lazy frames."""
    types = list(X.dtypes) if hasattr(X, "iloc") and X.ndim == 2 else [getattr(X, "dtype", None)]
    if any(getattr(each, "kind", "") == "c" for each in types):
        raise InvalidInputError(
            "Complex data not supported: X contains complex numbers. Pass their real and imaginary parts as "
            "separate columns."
        )
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise InvalidInputError(f"X is a lazy frame ({type(X).__name__}): pass X.collect().")
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pyarrow():
        return frame.to_polars() if find_spec("polars") else frame.to_pandas()
    return X


def reject_confidence(measure: Any, estimator: Any) -> None:
    """Raise an error if the measure has a confidence, which only a CAPOClassifier of two classes keeps."""
    if isinstance(measure, Measure) and measure.params.get("confidence") is not None:
        raise InvalidInputError(
            f"{type(estimator).__name__} cannot keep the confidence of {measure.label}: use CAPOClassifier "
            "with two classes, or leave the confidence out."
        )


def reject_row_prices(measure: Measure) -> None:
    """Raise an error if the measure has prices of each row, which cannot be split with the rows."""
    if isinstance(measure, Cost) and measure.per_row:
        raise InvalidInputError(
            f"{' and '.join(measure.per_row)} of single rows cannot be split into folds or partitions: pass "
            "the prices to the fit of CAPOClassifier('cost') instead, or use 'accuracy' with the costs as "
            "sample_weight."
        )


def _use_int32_indices(X: Any) -> Any:
    """A sparse matrix with 32-bit indices, which all of scikit-learn accepts, where they suffice."""
    if not issparse(X) or X.indices.dtype == np.int32 or X.nnz > np.iinfo(np.int32).max:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(parts, shape=X.shape)


class CapoEstimator(CallbackSupportMixin, BaseEstimator):
    """An estimator with scikit-learn's callbacks, whose HTML representation links to the API reference."""

    _doc_link_module = "capo"
    _doc_link_template = "https://capo-learn.github.io/capo/latest/api/{package}.html#{package}.{name}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        package = type(self).__module__.partition("._")[0]
        return {"package": package.removesuffix(".estimators"), "name": type(self).__name__}


class BinaryClassifier(ClassifierMixin, CapoEstimator):
    """Base of the classifiers: two classes, and dense or sparse numeric input."""

    classes_: NDArray[Any]

    if TYPE_CHECKING:

        def decision_function(self, X: Any) -> NDArray[np.float64]:
            """The score of each row."""

    #: Sparse formats and dtypes that are used without conversion.
    _accept_sparse: ClassVar[Any] = "csr"
    _dtypes: ClassVar[Any] = np.float64

    def _validate_fit_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """Check the training rows and labels."""
        X, y = validate_data(self, X, y, accept_sparse=self._accept_sparse, dtype=self._dtypes)
        check_numbers(X)
        return _use_int32_indices(X), np.asarray(y)

    def _validate_predict_data(self, X: ArrayLike) -> Any:
        """Check that the model is fitted, and rows to predict against the columns seen in `fit`."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=self._accept_sparse, dtype=self._dtypes, reset=False)
        check_numbers(X)
        return _use_int32_indices(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row: the second class where `decision_function` is above 0."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class MeasureClassifier(BinaryClassifier):
    """Base of the classifiers of two classes whose `score` is the measure that was optimized."""

    measure_: Measure

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The measure that was optimized, on these rows; higher is better."""
        decision = self.decision_function(X)
        return self.measure_.score_labels(positive_mask(y, self.classes_), decision, sample_weight)


def warn_not_converged(
    solution: Solution, stacklevel: int, *, limits: str = "max_iter or tol", C_is_given: bool = True
) -> None:
    """Warn if the solver stopped before it reached its tolerance."""
    if solution.status is Status.INTERRUPTED:
        message = f"{solution.message}. The best solution so far is kept."
        warnings.warn(message, InterruptedFitWarning, stacklevel=stacklevel + 1)
    elif solution.status in (Status.MAX_ITER, Status.STALLED, Status.INCONSISTENT):
        remedies = f"Raise {limits}, use smaller values of C" if C_is_given else f"Raise {limits}"
        warnings.warn(
            f"{solution.message}. {remedies}, or scale the features to a similar range.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


Estimator = TypeVar("Estimator")


def atomic_fit(fit: Callable[..., Estimator]) -> Callable[..., Estimator]:
    """Run `fit` on an unfitted shallow copy, and take over its attributes only if it succeeds.

    If a refit fails or is interrupted, the estimator remains fitted as it was before. If it succeeds, no
    attribute of the previous fit is left, such as `coef_` after a change of the kernel. An estimator with
    scikit-learn's callbacks calls them before and after the fit.
    """

    @wraps(fit)
    def wrapper(self: Estimator, *args: Any, **kwargs: Any) -> Estimator:
        attempt = object.__new__(type(self))
        vars(attempt).update({name: value for name, value in vars(self).items() if not name.endswith("_")})
        with callback_management_context(attempt):
            tasks = getattr(attempt, "_init_callback_context", None)
            context = tasks and tasks(max_subtasks=None).call_on_fit_task_begin(estimator=attempt)
            fit(attempt, *args, **kwargs)
            if context:
                context.call_on_fit_task_end(estimator=attempt)
        vars(self).clear()
        vars(self).update(vars(attempt))
        return self

    return wrapper


class WeightedClassifier(BinaryClassifier, ABC):
    """Base of the classifiers of two classes that learn from features and weights alone."""

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features; a sparse matrix is not converted to a dense one.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; a row of weight 0 is left out.

        Returns
        -------
        self : WeightedClassifier
            The fitted classifier.
        """
        self._validate_params()
        table, labels = self._validate_fit_data(X, y)
        weight = check_row_weights(sample_weight, table)
        rows = np.flatnonzero(weight)
        self.classes_, positive = encode_binary_labels(labels[rows])
        self._fit_rows(rows, table[rows], positive, weight[rows])
        return self

    @abstractmethod
    def _fit_rows(self, rows: IntArray, X: Any, positive: BoolArray, weight: FloatArray) -> None:
        """Learn from the rows with a positive weight: their positions, features, classes and weights."""


logger = logging.getLogger("capo")

#: Least time between two lines of progress.
SECONDS_BETWEEN_LINES = 2.0


class ProgressLogger:
    """Logs progress during a fit (one line every two seconds, or all lines) for users and callbacks.

    Parameters
    ----------
    estimator : estimator with the parameter `verbose`
        0 logs at level DEBUG; 1 logs at level INFO, one line every two seconds; 2 logs all lines at
        level INFO. With 1 or 2 the lines go to standard error if logging has not been configured.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator, self.verbose = estimator, int(estimator.verbose)
        self.last = time.monotonic()
        self._fit: Any = getattr(estimator, "_callback_fit_ctx", None)
        self._models: Any = None

    def _end_task(self, parent: Any, name: object, **metadata: object) -> bool:
        """Notify the callbacks that a task has ended; True if one of them requests a stop."""
        task = parent.subcontext(task_name=str(name)).call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator, metadata=metadata))

    def _end_model(self, name: object, number: object, n_models: object) -> None:
        """Tell the callbacks that a model was trained; the training of all of them is one task of the fit."""
        if self._models is None:
            self._models = self._fit.subcontext(task_name="train auxiliaries", max_subtasks=n_models)
            self._models.call_on_fit_task_begin(estimator=self.estimator)
        self._end_task(self._models, name)
        if number == n_models:
            self._models.call_on_fit_task_end(estimator=self.estimator)

    def log(self, line: str, *values: object) -> None:
        """Log a line, unless the last one was logged too recently."""
        if self._fit is not None and line == MODEL_PROGRESS:
            self._end_model(*values)
        now = time.monotonic()
        if self.verbose > 1 or now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            level = logging.INFO if self.verbose else logging.DEBUG
            if self.verbose and not logger.hasHandlers():
                record = logger.makeRecord(logger.name, level, __file__, 0, line, values, None)
                logging.StreamHandler().handle(record)  # not kept: logging may be configured later
            else:
                logger.log(level, line, *values)

    def log_iteration(self, state: Iteration) -> bool:
        """Log an iteration of the solver; True if a callback asks to stop."""
        line = "iteration %d: primal %.6g, dual %.6g, gap %.3g, %d cuts"
        self.log(line, state.number, state.primal, state.dual, state.gap, state.n_cuts)
        if self._fit is None:
            return False
        return self._end_task(self._fit, "iteration", primal=state.primal, dual=state.dual, gap=state.gap)


class StepTimer:
    """Records how long each step of a fit takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Record the time within the context under the name of a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = time.perf_counter() - start

    def with_auxiliaries(self, names: Sequence[str], fitted: CrossFitResult) -> dict[str, float]:
        """Return the seconds of each auxiliary, of the models without pairs of folds, and of each step."""
        seconds = zip(names, fitted.seconds, strict=True)
        return {
            **{f"auxiliary {name}": taken for name, taken in seconds},
            "pairs of folds": fitted.pair_seconds,
            **self.seconds,
        }


def fit_delta(
    delta: Any, X: Any, schema: FeatureSchema | None, random: RandomState | None
) -> tuple[Any, Any]:
    """Return the fitted transformer, and the features of the training rows; None twice without a delta."""
    if delta is None:
        return None, None
    own = not isinstance(delta, str)
    unfitted = clone(delta) if own else make_delta_features(delta, X, schema)
    transformer = set_random_states(unfitted, random)
    try:
        return transformer, check_features(transformer.fit_transform(X))
    except Exception as error:
        if not own:
            raise
        raise InvalidInputError(
            f"the delta transformer {type(transformer).__name__} failed on X (called without y): "
            f"{type(error).__name__}: {error}"
        ) from error
