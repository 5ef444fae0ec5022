"""The outputs of auxiliaries: scores, labels, probabilities of classes.

`ScoreOutput` takes a classifier's margins or log-odds, calibrated to a scale that all auxiliaries
share. A sample of n rows cannot distinguish odds above about n to 1, so that beyond log(n) the
log-odds grow only logarithmically: the order of the rows is kept, and no single row can dominate a
sum. A probability of exactly 0 or 1 results from limited resolution: all trees of a forest agree. It
counts as twice the largest odds that the classifier gave to other rows, and so do larger odds of new rows if
the classifier is known to give probabilities of 0 or 1. A classifier that can only predict gives -1 or +1
before calibration.

`LabelOutput` takes predicted labels, as -1 and +1, without calibration.

`ClassOutput` takes log-probabilities of classes, margins, or only labels. `ClassCalibrator` turns them into
log-probabilities by one slope and an intercept per class. A sample of n rows cannot distinguish probabilities
below about 1 / n from 0, so that this is the least probability.

`LabelColumnsOutput` takes the log-odds or margins of each label of a label matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax, logit
from sklearn.frozen import FrozenEstimator

from .._accel.threads import library_threads_for
from .._compat import BoolArray, FloatArray, IntArray, NDArray, safe_indexing
from ..decisions import PlattCalibrator, fit_softmax, robust_scale
from ..exceptions import InvalidInputError
from .prediction import SharedFeatures, compute_output, content_key, split_pipeline

#: Probabilities closer than this to 0 and 1 are clipped before their log-odds are taken.
PROBABILITY_EPS = 1e-12
#: The log-odds of a probability of 1 that was clipped, up to rounding errors of 1 - PROBABILITY_EPS.
CERTAIN_LOG_ODDS, CERTAIN_LOG_ODDS_TOL = float(logit(1.0 - PROBABILITY_EPS)), 1e-3
#: Probabilities may be outside of 0 and 1 by this much, because of rounding.
PROBABILITY_TOL = 1e-6
#: Margins are clipped to this size, infinite ones included.
MAX_MARGIN = 1e100
#: Methods that return more than labels, the preferred one first; for many classes, probabilities are
#: preferred.
SCORE_METHODS = ("decision_function", "predict_proba")
CLASS_SCORE_METHODS = SCORE_METHODS[::-1]


@dataclass(frozen=True)
class OutputScale:
    """From one auxiliary's raw output to the common scale.

    Attributes
    ----------
    calibrator : PlattCalibrator or None
        From raw outputs to log-odds; None leaves them unchanged.
    max_log_odds : float
        Larger log-odds grow only logarithmically.
    max_raw : float
        Raw outputs are clipped to this size.
    certain_raw : float
        The log-odds of probabilities of 0 and 1 are clipped to this size.
    """

    calibrator: PlattCalibrator | None
    max_log_odds: float = np.inf
    max_raw: float = np.inf
    certain_raw: float = np.inf

    def __call__(self, raw: FloatArray) -> FloatArray:
        """Return the raw outputs on the common scale."""
        if self.calibrator is None:
            return raw
        log_odds = self.calibrator.log_odds(self.clip(raw))
        excess = np.maximum(np.abs(log_odds) - self.max_log_odds, 0.0)
        return np.sign(log_odds) * (np.minimum(np.abs(log_odds), self.max_log_odds) + np.log1p(excess))

    def clip(self, raw: FloatArray) -> FloatArray:
        """Return the raw outputs without the excess over the resolution of the classifier."""
        limits = np.where(is_certain(raw), min(self.certain_raw, self.max_raw), self.max_raw)
        return np.clip(raw, -limits, limits)


def is_certain(raw: FloatArray) -> BoolArray:
    """Return which raw outputs are the log-odds of a probability of 0 or 1."""
    return np.asarray(np.abs(np.abs(raw) - CERTAIN_LOG_ODDS) < CERTAIN_LOG_ODDS_TOL)


class RawOutput(Protocol):
    """Which output of an auxiliary is used."""

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one entry per row.

        `classes` are the user's labels. A classifier that was passed fitted may have been trained on them;
        all others have been trained on their positions.
        """


@dataclass(frozen=True)
class ScoreOutput:
    """Margins or log-odds where a classifier has them, calibrated to log-odds."""

    name: ClassVar[str] = "scores"

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one number per row."""
        for method in SCORE_METHODS:
            if hasattr(estimator, method):
                values = np.asarray(compute_output(estimator, method, X), dtype=np.float64)
                return _clip(_positive_column(values, estimator, classes, method, X.shape[0]), method)
        return LabelOutput().predict(estimator, X, classes)

    def fit_scale(
        self, raw: FloatArray, positive: BoolArray, weight: FloatArray | None, **options: Any
    ) -> OutputScale:
        """Return the scale for raw outputs, which should be out of fold; `options` are the calibrator's."""
        counted = raw if weight is None else raw[np.asarray(weight) > 0]
        certain, max_raw, certain_raw = is_certain(counted), np.inf, np.inf
        if not certain.all():
            certain_raw = float(np.abs(counted[~certain]).max() + np.log(2.0))
            max_raw = certain_raw if certain.any() else np.inf
        limits = OutputScale(None, float(np.log(len(counted) + 1.0)), max_raw, certain_raw)
        calibrator = PlattCalibrator.fit(limits.clip(raw), positive, weight, **options)
        return replace(limits, calibrator=calibrator)


@dataclass(frozen=True)
class LabelOutput:
    """Predicted labels, as -1 and +1."""

    name: ClassVar[str] = "labels"

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return +1 for rows that the classifier labels positive, and -1 for the others."""
        return 2.0 * _indicators(estimator, X, classes)[:, 1] - 1.0

    def fit_scale(self, *_: Any, **options: bool) -> OutputScale:
        """Return the scale that leaves labels unchanged."""
        return OutputScale(None)


#: The kind of output of an auxiliary of two classes to use, and its scaling.
OutputKind = ScoreOutput | LabelOutput


@dataclass(frozen=True)
class ClassOutput:
    """Log-probabilities, margins or, for a classifier that can only predict, indicators of the label."""

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
class LabelColumnsOutput:
    """Log-odds or margins of each label; +1 and -1 for a classifier that can only predict."""

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one number per row and label."""
        method = next((each for each in SCORE_METHODS if hasattr(estimator, each)), "predict")
        values = getattr(estimator, method)(X)
        if method == "predict_proba":
            scores = probability_log_odds(_label_probabilities(values, estimator))
        elif method == "predict":
            labels = values.toarray() if issparse(values) else np.asarray(values)
            scores = np.where(labels > 0, 1.0, -1.0)
        else:
            scores = np.asarray(values, dtype=np.float64)
        shape = X.shape[0], len(classes)
        if scores.shape != shape:
            raise InvalidInputError(
                f"its scores have the shape {scores.shape}: one number for each of {shape[0]} rows and "
                f"{shape[1]} labels is needed."
            )
        return _clip(scores, method)


def _label_probabilities(found: Any, estimator: Any) -> FloatArray:
    """The probability of each label, from one array or a list of arrays of the classes of each label."""
    if not isinstance(found, list):
        return np.asarray(found, dtype=np.float64)
    columns = zip(found, estimator.classes_, strict=True)
    # The probability of the only class is 1.
    return np.column_stack([each[:, -1] if known[-1] > 0 else 1.0 - each[:, -1] for each, known in columns])


def apply_scales(scales: Sequence[OutputScale], raw: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """Return one column of scaled outputs for each auxiliary's raw outputs."""
    return np.column_stack([scale(each) for scale, each in zip(scales, raw, strict=True)])


def is_frozen(estimator: Any) -> bool:
    """Whether a classifier is used without training: a `FrozenEstimator`, or an object without `fit`."""
    return isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "fit")


def positive_class_index(estimator: Any, classes: NDArray[Any]) -> int:
    """Return the position of the positive class among the classes of a fitted classifier.

    It is 0 for a classifier that was passed fitted if the positive class is the smaller of its labels.
    """
    positions = class_positions_of(estimator, classes)
    if 1 not in positions:
        known = np.asarray(estimator.classes_).tolist()
        raise InvalidInputError(f"the classifier was trained on rows of the class {known[0]!r} only.")
    return positions.index(1)


def class_positions_of(estimator: Any, classes: NDArray[Any]) -> list[int]:
    """Return the position in `classes` of each class that a classifier knows."""
    if not hasattr(estimator, "classes_"):
        return list(range(len(classes)))
    known = np.asarray(estimator.classes_)
    labels = _matching_labels(known, classes, estimator)
    return [labels.index(label) for label in known.tolist()]


def _matching_labels(known: NDArray[Any], classes: NDArray[Any], estimator: Any) -> list[Any]:
    """Return the labels that a classifier uses for the classes: the user's, or their positions.

    A classifier that was passed fitted and has no `classes_` only shows its labels by its predictions, which
    depend on the rows. Only the user's labels are accepted then if one of them is the position of another.
    """
    own, positions = classes.tolist(), list(range(len(classes)))
    candidates = [positions, own]
    if is_frozen(estimator):
        shared = [label for label in own if label in positions]
        ambiguous = len(shared) < len(own) and any(own.index(label) != label for label in shared)
        only_own = ambiguous and not hasattr(estimator, "classes_") and known.dtype != bool
        candidates = [own] if only_own else [own, positions]
    labels = [False, True] if known.dtype == bool else known.tolist()
    for candidate in candidates:
        if all(label in candidate for label in labels):
            return candidate
    found, wanted = (" and ".join(repr(label) for label in each[:5]) for each in (labels, own))
    if hasattr(estimator, "classes_"):
        raise InvalidInputError(f"the classifier was trained on the labels {found}, but y has {wanted}.")
    raise InvalidInputError(
        f"its predict returned the labels {found}, but y has {wanted}: return those of y, or booleans."
    )


def _indicators(estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
    """Return 1 in the column of the class that a classifier predicts, and 0 in the others."""
    labels = _one_column(estimator.predict(X), "predict", X.shape[0])
    known = _matching_labels(np.unique(getattr(estimator, "classes_", labels)), classes, estimator)
    unknown = [label for label in np.unique(labels).tolist() if label not in known]
    if unknown:
        raise InvalidInputError(f"its predict returned {unknown[0]!r}, which is not one of its classes.")
    return (labels[:, None] == np.asarray(known)).astype(np.float64)


def _positive_column(
    values: FloatArray, estimator: Any, classes: NDArray[Any], method: str, n_rows: int
) -> FloatArray:
    """Return the scores of the positive class."""
    n_classes = len(getattr(estimator, "classes_", (0, 1)))
    index = positive_class_index(estimator, classes)
    one_column = values.ndim == 1 or values.shape[1] != n_classes
    values = _one_column(values if one_column else values[:, index], method, n_rows)
    if method == "predict_proba":
        values = probability_log_odds(values)
    # A single column is about the second of two classes.
    return np.asarray(-values if one_column and n_classes == 2 and index == 0 else values)


def probability_log_odds(probabilities: FloatArray) -> FloatArray:
    """Return the log-odds of what `predict_proba` returned, 0 and 1 clipped."""
    check_probabilities(probabilities)
    return np.asarray(logit(np.clip(probabilities, PROBABILITY_EPS, 1.0 - PROBABILITY_EPS)))


def check_probabilities(values: FloatArray) -> None:
    """Raise an error if numbers are not probabilities, up to rounding; NaN is not checked."""
    wrong = np.abs(values - 0.5) > 0.5 + PROBABILITY_TOL
    if wrong.any():
        raise InvalidInputError(
            f"its predict_proba returned {values[wrong][0]:.6g}, which is not a probability, and "
            f"{int(wrong.sum())} such numbers in all: return numbers between 0 and 1, or margins by "
            "decision_function."
        )


def _clip(values: FloatArray, method: str) -> FloatArray:
    is_nan = np.isnan(values).reshape(len(values), -1).any(axis=1)
    if is_nan.any():
        raise InvalidInputError(f"its {method} returned NaN for {int(is_nan.sum())} rows.")
    return np.clip(values, -MAX_MARGIN, MAX_MARGIN)


def _one_column(values: Any, method: str, n_rows: int) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (n_rows,):
        raise InvalidInputError(
            f"its {method} returned an array of shape {column.shape} for {n_rows} rows: "
            f"one {'label' if method == 'predict' else 'number'} per row is needed."
        )
    return column


#: Number of rows whose features are computed at once: kernel features take some kilobytes per row.
FEATURE_BLOCK_ROWS = 20_000
#: With fewer rows, finding out which transformers are equal costs more than it saves.
MIN_SHARED_ROWS = 1_000


def iter_row_blocks(X: Any) -> Iterator[Any]:
    """Yield blocks of rows, as many as features are computed for at once; X itself if it is small."""
    if X.shape[0] <= FEATURE_BLOCK_ROWS:
        yield X
        return
    for start in range(0, X.shape[0], FEATURE_BLOCK_ROWS):
        yield safe_indexing(X, slice(start, start + FEATURE_BLOCK_ROWS))


def count_numbers(X: Any) -> int:
    """Return the number of values of a table; those that are not 0 of a sparse matrix."""
    return int(X.nnz if issparse(X) else X.shape[0] * X.shape[1])


def predict_block(
    models: Mapping[str, Any],
    X: Any,
    output: RawOutput,
    classes: NDArray[Any],
    guard: Callable[[str], AbstractContextManager[None]],
) -> dict[str, FloatArray]:
    """Return the raw outputs of fitted classifiers for a block of rows.

    Parameters
    ----------
    models : dict of str to estimator
        The classifiers.
    X : data frame, array or sparse matrix
        The rows.
    output : RawOutput
        The kind of output to use.
    classes : ndarray
        The user's labels.
    guard : callable
        Returns, for a name, the context in which its classifier is used.
    """
    pipelines = {name: split_pipeline(model) for name, model in models.items()}
    transformers = {id(each): each for steps, _ in pipelines.values() for each in steps}
    finds_equal = X.shape[0] >= MIN_SHARED_ROWS
    shared = SharedFeatures(X, {key: content_key(each) for key, each in transformers.items() if finds_equal})
    outputs = {}
    with library_threads_for(count_numbers(X)):
        for name, (steps, classifier) in pipelines.items():
            with guard(name):
                outputs[name] = output.predict(classifier, shared.transform(steps), classes)
    return outputs


#: The smallest slope, in units of the scores' spread, which preserves the order of scores.
MIN_SLOPE = 1e-6


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
        The number added to all probabilities.
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


def _class_columns(values: FloatArray, known: list[int], n_classes: int, method: str) -> FloatArray | None:
    """Return one column per class; None if the columns of `values` are not those of the known classes."""
    is_probability = method == "predict_proba"
    if values.ndim == 1 or values.shape[1] == 1:  # about the second of two classes
        one = values.ravel()
        values = np.column_stack((1.0 - one, one) if is_probability else (-0.5 * one, 0.5 * one))
    if values.shape[1] != len(known):
        return None
    values = _clip(values, method)
    if is_probability:
        check_probabilities(values)
        values = np.log(np.maximum(values, PROBABILITY_EPS))
    missing = np.log(PROBABILITY_EPS) if is_probability else values.min(axis=1, keepdims=True)
    scores = np.broadcast_to(missing, (len(values), n_classes)).copy()
    scores[:, known] = values
    return scores
