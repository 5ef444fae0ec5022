"""What all classifiers here share: two classes, a cut at a score of 0, a measure as the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from ..preprocessing import positive_mask

if TYPE_CHECKING:
    from ..measures import Measure


def _short_indices(X: Any) -> Any:
    """A sparse matrix with the indices that all of scikit-learn takes, where they suffice."""
    if not issparse(X) or X.indices.dtype == np.int32 or X.nnz > np.iinfo(np.int32).max:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(parts, shape=X.shape)


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of two classes that takes dense and sparse tables of numbers."""

    classes_: NDArray[Any]

    #: Formats and types that are used as they are.
    _formats: Any = "csr"
    _types: Any = np.float64

    def _validate_fit_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """The table and the labels to train on, checked."""
        X, y = validate_data(self, X, y, accept_sparse=self._formats, dtype=self._types)
        return _short_indices(X), np.asarray(y)

    def _rows(self, X: ArrayLike) -> Any:
        """Rows to be judged, checked against those trained on."""
        X = validate_data(self, X, accept_sparse=self._formats, dtype=self._types, reset=False)
        return _short_indices(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class DecisionFunctionMixin(BinaryClassifier):
    """A classifier with a score for every row: above 0 is positive."""

    if TYPE_CHECKING:

        def decision_function(self, X: Any) -> NDArray[np.float64]:
            """The score of each row."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the second class where `decision_function` is above 0."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(int)])


class MeasureScoreMixin(DecisionFunctionMixin):
    """A classifier that is judged by the measure it was made for."""

    measure_: Measure

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The measure that was optimised, on these rows; higher is better."""
        decision = self.decision_function(X)
        return self.measure_.score(positive_mask(y, self.classes_), decision, sample_weight)
