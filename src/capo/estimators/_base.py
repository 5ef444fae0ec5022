"""The classifiers' shared base, and mixins for the decision function and the measure's score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from .._sklearn_compat import check_y
from ..exceptions import InvalidInputError
from ..preprocessing import check_numbers, is_dataframe, positive_mask
from ._validation import reject_lazy_frame, reject_operator

if TYPE_CHECKING:
    from ..measures import Measure


def _use_int32_indices(X: Any) -> Any:
    """A sparse matrix with 32-bit indices, which all of scikit-learn accepts, where they suffice."""
    if not issparse(X) or X.indices.dtype == np.int32 or X.nnz > np.iinfo(np.int32).max:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(parts, shape=X.shape)


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers: two classes, and dense or sparse numeric input."""

    classes_: NDArray[Any]

    #: Sparse formats and dtypes that are used without conversion.
    _accept_sparse: Any = "csr"
    _dtypes: Any = np.float64

    def _validate_fit_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """Check the training rows and labels."""
        X, y = validate_data(self, X, y, accept_sparse=self._accept_sparse, dtype=self._dtypes)
        check_numbers(X)
        return _use_int32_indices(X), np.asarray(y)

    def _validate_predict_data(self, X: ArrayLike) -> Any:
        """Check rows to predict against the columns seen in `fit`."""
        X = validate_data(self, X, accept_sparse=self._accept_sparse, dtype=self._dtypes, reset=False)
        check_numbers(X)
        return _use_int32_indices(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class TableInputMixin:
    """Checks tables that auxiliaries get as they are: data frames, arrays and sparse matrices."""

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Return a data frame as it is, anything else as an array or CSR matrix of numbers."""
        reject_operator(X, self)
        try:
            reject_lazy_frame(X)
            frame = is_dataframe(X)
        except DuplicateError as error:
            raise InvalidInputError(f"the columns of X must have different names: {error}") from error
        if not frame:
            X = self._check_array(X)
        elif 0 in X.shape:
            n_rows, n_columns = X.shape
            empty = "0 columns (0 feature(s))" if n_rows else f"0 rows (0 sample(s)) and {n_columns} columns"
            raise InvalidInputError(f"X has {empty}: at least one row and one column are needed.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        check_numbers(X)
        return X

    def _check_array(self, X: Any) -> Any:
        try:
            return check_array(
                X, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan", estimator=self
            )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise InvalidInputError(
                f"X is an array with text ({error}): pass a data frame, whose columns of text are encoded as "
                "categories."
            ) from error

    def _check_y(self, X: Any, y: Any) -> NDArray[Any]:
        """Return the labels as an array with one entry per row of X."""
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        labels = check_y(y, y_numeric=False, estimator=self)
        if len(labels) != X.shape[0]:
            raise InvalidInputError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} rows, y has "
                f"{len(labels)}."
            )
        return np.asarray(labels)


class DecisionFunctionMixin:
    """Adds `predict` to a classifier with a `decision_function`."""

    if TYPE_CHECKING:
        classes_: NDArray[Any]

        def decision_function(self, X: Any) -> NDArray[np.float64]:
            """The score of each row."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row: the second class where `decision_function` is above 0."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(int)])


class MeasureScoreMixin:
    """Makes the measure that was optimized the `score` of a classifier with a `decision_function`."""

    if TYPE_CHECKING:
        classes_: NDArray[Any]
        measure_: Measure

        def decision_function(self, X: Any) -> NDArray[np.float64]:
            """The score of each row."""

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The measure that was optimized, on these rows; higher is better."""
        decision = self.decision_function(X)
        return self.measure_.score(positive_mask(y, self.classes_), decision, sample_weight)
