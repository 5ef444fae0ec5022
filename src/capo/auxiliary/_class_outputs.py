"""One number per class and row from any classifier of many classes, and its calibration.

A classifier gives log-probabilities, margins, or only labels. `ClassCalibrator` turns them into
log-probabilities by one slope and an intercept per class. A sample of n rows cannot distinguish probabilities
below about 1 / n from 0, so that this is the least probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..model_selection import fit_softmax, robust_scale
from ._outputs import MAX_MARGIN, PROBABILITY_EPS, candidate_labels, check_probabilities, is_frozen

#: The smallest slope, in units of the scores' spread, so that the order of scores is never lost.
MIN_SLOPE = 1e-6
#: Methods that give more than a label, the preferred one first.
CLASS_SCORE_METHODS = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class ClassOutput:
    """Log-probabilities, margins or, for a classifier that can only predict, indicators of the label."""

    name: ClassVar[str] = "class scores"

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one number per row and class."""
        for method in CLASS_SCORE_METHODS:
            if hasattr(estimator, method):
                values = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
                known = class_positions_of(estimator, classes)
                scores = _class_columns(values, known, len(classes), method)
                if scores is not None:
                    return scores
        return _indicators(estimator, X, classes)


@dataclass(frozen=True)
class ClassCalibrator:
    """From one auxiliary's raw output to calibrated log-probabilities.

    ::

        log P(k | x) = log(softmax_k(slope * raw(x) + intercepts) + floor), normalized

    Attributes
    ----------
    slope : float
        The common slope of all classes.
    intercepts : ndarray of shape (n_classes,)
        The intercept of each class.
    floor : float
        What is added to all probabilities.
    """

    slope: float
    intercepts: FloatArray
    floor: float

    @classmethod
    def fit(cls, raw: FloatArray, codes: IntArray, weight: FloatArray) -> ClassCalibrator:
        """Fit to raw outputs, which should be out of fold, and the positions of the classes."""
        _, spread = robust_scale(raw.ravel())
        slopes, intercepts = fit_softmax((raw / spread)[None], codes, weight)
        return cls(max(float(slopes[0]), MIN_SLOPE) / spread, intercepts, 1.0 / (len(raw) + 1.0))

    def log_probabilities(self, raw: FloatArray) -> FloatArray:
        """Return calibrated log-probabilities, one column per class."""
        probabilities = np.exp(log_softmax(self.slope * raw + self.intercepts, axis=1))
        n_classes = raw.shape[1]
        return np.log((probabilities + self.floor) / (1.0 + n_classes * self.floor))


def class_positions_of(estimator: Any, classes: NDArray[Any]) -> list[int]:
    """Return the position in `classes` of each class that a classifier knows."""
    codes, own = list(range(len(classes))), classes.tolist()
    known = np.asarray(getattr(estimator, "classes_", codes)).tolist()
    for labels in (own, codes) if is_frozen(estimator) else (codes, own):
        if all(label in labels for label in known):
            return [labels.index(label) for label in known]
    unknown = next(label for label in known if label not in own)
    raise InvalidInputError(f"the classifier was trained on the label {unknown!r}, which y does not have.")


def _class_columns(values: FloatArray, known: list[int], n_classes: int, method: str) -> FloatArray | None:
    """Return one column per class; None if the columns of `values` are not those of the known classes."""
    is_probability = method == "predict_proba"
    if values.ndim == 1 or values.shape[1] == 1:  # about the second of two classes
        one = values.ravel()
        values = np.column_stack((1.0 - one, one) if is_probability else (-0.5 * one, 0.5 * one))
    if values.shape[1] != len(known):
        return None
    if np.isnan(values).any():
        raise InvalidInputError(
            f"its {method} returned NaN for {int(np.isnan(values).any(axis=1).sum())} rows."
        )
    if is_probability:
        check_probabilities(values)
    values = np.log(np.maximum(values, PROBABILITY_EPS)) if is_probability else values
    values = np.clip(values, -MAX_MARGIN, MAX_MARGIN)
    missing = np.log(PROBABILITY_EPS) if is_probability else values.min(axis=1, keepdims=True)
    scores = np.broadcast_to(missing, (len(values), n_classes)).copy()
    scores[:, known] = values
    return scores


def _indicators(estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
    """Return 1 in the column of the label that a classifier predicts, and 0 in the others."""
    labels = np.asarray(estimator.predict(X)).ravel()
    if labels.shape != (X.shape[0],):
        raise InvalidInputError(
            f"its predict returned an array of shape {labels.shape} for {X.shape[0]} rows: one label per row "
            "is needed."
        )
    for known in candidate_labels(estimator, classes):
        if np.isin(labels, known).all():
            return (labels[:, None] == np.asarray(known)).astype(np.float64)
    unknown = np.setdiff1d(labels, classes).tolist()[0]
    raise InvalidInputError(f"the classifier predicted the label {unknown!r}, which y does not have.")
