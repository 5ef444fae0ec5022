"""Auxiliaries of label matrices: one model per label, and one number per label and row.

Classifiers that take a label matrix by themselves, such as random trees, are trained on it once. Any other is
trained once per label, on features that the labels share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import Tags, get_tags

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._cross_fit import Auxiliary
from ._defaults import class_separation
from ._outputs import MAX_MARGIN, ScoreOutput, probability_log_odds

#: A model of a label whose training rows all have one class gives these log-odds.
CONSTANT_LOG_ODDS = 5.0

BINARY_CLASSES = np.array([0, 1])


class ConstantLabel(BaseEstimator):
    """The model of a label whose training rows all have one class.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.auxiliary import ConstantLabel
    >>> ConstantLabel(-5.0).decision_function(np.zeros((2, 3)))
    array([-5., -5.])
    """

    classes_ = BINARY_CLASSES

    def __init__(self, log_odds: float = 0.0) -> None:
        self.log_odds = log_odds

    def decision_function(self, X: Any) -> FloatArray:
        """Return the same log-odds for each row."""
        return np.full(X.shape[0], float(self.log_odds))


class LabelwiseClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """One classifier for each column of a label matrix.

    Unlike `sklearn.multioutput.MultiOutputClassifier` it takes columns with one class only, which a fold may
    have.

    Parameters
    ----------
    estimator : classifier
        The classifier of one label.

    Attributes
    ----------
    estimators_ : list of classifier
        One trained classifier for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo.auxiliary import LabelwiseClassifier
    >>> X, Y = np.arange(8.0).reshape(4, 2), np.array([[0, 1], [0, 1], [1, 1], [1, 1]])
    >>> LabelwiseClassifier(GaussianNB()).fit(X, Y).predict(X)
    array([[0, 1],
           [0, 1],
           [1, 1],
           [1, 1]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: Any, **fit_params: Any) -> Self:
        """Train one classifier for each column of Y."""
        self.estimators_ = [self._fit_label(X, y, fit_params) for y in np.asarray(Y).T]
        return self

    def _fit_label(self, X: Any, y: NDArray[Any], fit_params: dict[str, Any]) -> Any:
        if y.min() == y.max():
            return ConstantLabel(CONSTANT_LOG_ODDS if y[0] else -CONSTANT_LOG_ODDS)
        return clone(self.estimator).fit(X, y, **fit_params)

    def decision_function(self, X: Any) -> FloatArray:
        """Return log-odds or margins, one column for each label."""
        kind = ScoreOutput()
        return np.column_stack([kind.predict(each, X, BINARY_CLASSES) for each in self.estimators_])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict the label matrix."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(frozen=True)
class LabelColumnsOutput:
    """Log-odds or margins of each label; +1 and -1 for a classifier that can only predict."""

    name: ClassVar[str] = "label scores"

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one number per row and label."""
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        elif hasattr(estimator, "predict_proba"):
            scores = _label_log_odds(estimator, X)
        else:
            predicted = estimator.predict(X)
            scores = np.where(
                np.asarray(predicted.toarray() if issparse(predicted) else predicted) > 0, 1.0, -1.0
            )
        shape = (X.shape[0], len(classes))
        if scores.shape != shape:
            raise InvalidInputError(
                f"its scores have the shape {scores.shape}: one number for each of {shape[0]} rows and "
                f"{shape[1]} labels is needed."
            )
        if np.isnan(scores).any():
            raise InvalidInputError(f"its scores are NaN in {int(np.isnan(scores).any(axis=1).sum())} rows.")
        return np.clip(scores, -MAX_MARGIN, MAX_MARGIN)


def _label_log_odds(estimator: Any, X: Any) -> FloatArray:
    """Return log-odds from `predict_proba`, which returns one array or a list of arrays, one per label."""
    found = estimator.predict_proba(X)
    if isinstance(found, list):
        columns = [
            _positive_share(np.asarray(p), np.asarray(known))
            for p, known in zip(found, estimator.classes_, strict=True)
        ]
        found = np.column_stack(columns)
    return probability_log_odds(np.asarray(found, dtype=np.float64))


def _positive_share(probabilities: FloatArray, known: NDArray[Any]) -> FloatArray:
    """Return the probability of 1, from those of the classes that the training rows had."""
    if len(known) == 1:
        return np.full(len(probabilities), float(known[0] > 0))
    return np.asarray(probabilities[:, 1])


def labelwise_auxiliary(auxiliary: Auxiliary) -> Auxiliary:
    """Return the auxiliary in the form that takes a label matrix."""
    estimator = auxiliary.estimator
    shares_features = not isinstance(estimator, Pipeline) or _shares_features(estimator)
    if auxiliary.is_frozen or (shares_features and _takes_label_matrices(estimator)):
        return auxiliary
    if not isinstance(estimator, Pipeline) or not shares_features:
        return Auxiliary(auxiliary.name, LabelwiseClassifier(estimator), auxiliary.fit_params)
    # Only the last step is trained once per label.
    shared = make_pipeline(*estimator[:-1], LabelwiseClassifier(estimator[-1]))
    params = {
        f"labelwiseclassifier__{name.rpartition('__')[2]}": value
        for name, value in auxiliary.fit_params.items()
    }
    return Auxiliary(auxiliary.name, shared, params)


def label_fold_codes(positive: NDArray[np.bool_]) -> IntArray:
    """Return the rarest label of each row, for folds that are stratified by it."""
    counts = np.where(positive, positive.sum(axis=0), len(positive) + 1)
    codes = np.where(positive.any(axis=1), counts.argmin(axis=1), positive.shape[1])
    return np.unique(codes, return_inverse=True)[1]


def _takes_label_matrices(estimator: Any) -> bool:
    return bool(isinstance(estimator, BaseEstimator) and get_tags(estimator).classifier_tags.multi_label)


def _shares_features(pipeline: Pipeline) -> bool:
    """Whether the steps before the last one can be trained with a label matrix."""
    return all(
        not get_tags(step).target_tags.required
        and (not isinstance(step, SelectorMixin) or getattr(step, "score_func", None) is class_separation)
        for _, step in pipeline.steps[:-1]
    )
