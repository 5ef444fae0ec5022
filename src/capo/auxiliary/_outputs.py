"""One number per row from any classifier.

`ScoreOutput` takes a classifier's margins or log-odds, calibrated to a scale that all auxiliaries
share. A sample of n rows cannot distinguish odds above about n to 1, so that beyond log(n) the
log-odds grow only logarithmically: the order of the rows is kept, and no single row can dominate a
sum. A probability of exactly 0 or 1 is a matter of resolution: no tree of a forest voted otherwise. It
counts as twice the largest odds that the classifier gave to other rows, and so do larger odds of new rows if
the classifier is known to give probabilities of 0 or 1. A classifier that can only predict gives -1 or +1
before calibration.

`LabelOutput` takes predicted labels, as -1 and +1, without calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.frozen import FrozenEstimator

from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from ..model_selection import PlattCalibrator
from ._evaluation import evaluate

#: Probabilities closer than this to 0 and 1 are clipped before their log-odds are taken.
PROBABILITY_EPS = 1e-12
#: The log-odds of a probability of 1 that was clipped, up to rounding errors of 1 - PROBABILITY_EPS.
CERTAIN_LOG_ODDS, CERTAIN_LOG_ODDS_TOL = float(logit(1.0 - PROBABILITY_EPS)), 1e-3
#: Probabilities may be outside of 0 and 1 by this much, because of rounding.
PROBABILITY_TOL = 1e-6
#: Margins are clipped to this size, infinite ones included.
MAX_MARGIN = 1e100
#: Methods that give more than a label, the preferred one first.
SCORE_METHODS = ("decision_function", "predict_proba")


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


def mean_scale(scales: Sequence[OutputScale]) -> OutputScale:
    """Return the scale whose calibration is the mean of those of several repeats of the folds."""
    calibrators = [scale.calibrator for scale in scales if scale.calibrator is not None]
    if not calibrators:
        return scales[0]
    calibrator = PlattCalibrator(
        float(np.mean([each.slope for each in calibrators])),
        float(np.mean([each.intercept for each in calibrators])),
    )
    return OutputScale(
        calibrator,
        scales[0].max_log_odds,
        _mean_of_finite([each.max_raw for each in scales]),
        _mean_of_finite([each.certain_raw for each in scales]),
    )


def _mean_of_finite(values: Sequence[float]) -> float:
    """The mean of the limits that are known."""
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else np.inf


class RawOutput(Protocol):
    """Which output of an auxiliary is used."""

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one entry per row."""


class OutputKind(Protocol):
    """Which output of an auxiliary is used, and how it is scaled."""

    @property
    def name(self) -> str:
        """The name of the kind, "scores" or "labels"."""

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one number per row."""

    def fit_scale(
        self,
        raw: FloatArray,
        positive: BoolArray,
        weight: FloatArray | None,
        *,
        nonnegative: bool = True,
        shrink: bool = False,
    ) -> OutputScale:
        """Return the scale for raw outputs, which should be out of fold.

        With `shrink`, a few rows that contradict the order of the outputs do not abolish it.
        """


@dataclass(frozen=True)
class ScoreOutput:
    """Margins or log-odds where a classifier has them, calibrated to log-odds."""

    name: ClassVar[str] = "scores"

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the raw output of a fitted classifier, one number per row.

        `classes` are the user's two labels. A classifier that came fitted may have been trained on
        them; all others have been trained on 0 and 1.
        """
        for method in SCORE_METHODS:
            if hasattr(estimator, method):
                values = np.asarray(evaluate(estimator, method, X), dtype=np.float64)
                return _clip(_positive_column(values, estimator, classes, method, X.shape[0]), method)
        return LabelOutput().predict(estimator, X, classes)

    def fit_scale(
        self,
        raw: FloatArray,
        positive: BoolArray,
        weight: FloatArray | None,
        *,
        nonnegative: bool = True,
        shrink: bool = False,
    ) -> OutputScale:
        """Return the scale for raw outputs, which should be out of fold."""
        counted = raw if weight is None else raw[np.asarray(weight) > 0]
        limits = OutputScale(None, float(np.log(len(counted) + 1.0)), *_resolution_limits(counted))
        clipped = limits.clip(raw)
        calibrator = PlattCalibrator.fit(clipped, positive, weight, nonnegative=nonnegative, shrink=shrink)
        return replace(limits, calibrator=calibrator)


@dataclass(frozen=True)
class LabelOutput:
    """Predicted labels, as -1 and +1."""

    name: ClassVar[str] = "labels"

    def predict(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return +1 for rows that the classifier labels positive, and -1 for the others."""
        labels = _one_column(estimator.predict(X), "predict", X.shape[0])
        pair = _label_pair(np.unique(getattr(estimator, "classes_", labels)), classes, estimator)
        unknown = [label for label in np.unique(labels).tolist() if label not in pair]
        if unknown:
            raise InvalidInputError(f"its predict returned {unknown[0]!r}, which is not one of its classes.")
        return np.where(labels == pair[1], 1.0, -1.0)

    def fit_scale(
        self,
        raw: FloatArray,
        positive: BoolArray,
        weight: FloatArray | None,
        *,
        nonnegative: bool = True,
        shrink: bool = False,
    ) -> OutputScale:
        """Return the scale that leaves labels unchanged."""
        return OutputScale(None)


def apply_scales(scales: Sequence[OutputScale], raw: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """Return one column of scaled outputs for each auxiliary's raw outputs."""
    return np.column_stack([scale(each) for scale, each in zip(scales, raw, strict=True)])


def is_frozen(estimator: Any) -> bool:
    """Whether a classifier is used without training: a `FrozenEstimator`, or anything without `fit`."""
    return isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "fit")


def positive_class_index(estimator: Any, classes: NDArray[Any]) -> int:
    """Return the position of the positive class among the classes of a fitted classifier.

    It is 0 for a classifier that came fitted if the positive class is the smaller of its labels.
    """
    known = np.asarray(getattr(estimator, "classes_", (0, 1)))
    positive = _label_pair(known, classes, estimator)[1]
    if positive not in known.tolist():
        raise InvalidInputError(
            f"the classifier was trained on rows of the class {known.tolist()[0]!r} only."
        )
    return known.tolist().index(positive)


def candidate_labels(estimator: Any, classes: NDArray[Any]) -> tuple[list[Any], ...]:
    """Return the lists of labels that a classifier may use: the user's or their positions, likelier first.

    A classifier that came fitted and has no `classes_` shows its labels only by what it predicts, which
    depends on the rows. Only the user's labels are accepted then if one of them is the position of another.
    """
    own, positions = classes.tolist(), list(range(len(classes)))
    if not is_frozen(estimator):
        return positions, own
    shared = [label for label in own if label in positions]
    ambiguous = len(shared) < len(own) and any(own.index(label) != label for label in shared)
    return (own,) if ambiguous and not hasattr(estimator, "classes_") else (own, positions)


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


def _resolution_limits(raw: FloatArray) -> tuple[float, float]:
    """Return the largest size of all raw outputs, and that of the log-odds of 0 and 1.

    The former is infinite unless some are the log-odds of 0 or 1, and both are if all of them are.
    """
    certain = is_certain(raw)
    if certain.all():
        return np.inf, np.inf
    limit = float(np.abs(raw[~certain]).max() + np.log(2.0))
    return limit if certain.any() else np.inf, limit


def check_probabilities(values: FloatArray) -> None:
    """Raise an error if numbers are no probabilities by more than rounding; NaN is not looked for."""
    wrong = np.abs(values - 0.5) > 0.5 + PROBABILITY_TOL
    if wrong.any():
        raise InvalidInputError(
            f"its predict_proba returned {values[wrong][0]:.6g}, which is no probability, and "
            f"{int(wrong.sum())} such numbers in all: return numbers between 0 and 1, or margins by "
            "decision_function."
        )


def _label_pair(known: NDArray[Any], classes: NDArray[Any], estimator: Any) -> list[Any]:
    """Return the classifier's labels of the negative and the positive class: the user's, or 0 and 1."""
    labels = [False, True] if known.dtype == bool else known.tolist()
    candidates = candidate_labels(estimator, classes)
    if known.dtype == bool and [0, 1] not in candidates:
        candidates = (*candidates, [0, 1])
    for pair in candidates:
        if all(label in pair for label in labels):
            return pair
    own, wanted = (" and ".join(repr(label) for label in each[:5]) for each in (labels, classes.tolist()))
    if hasattr(estimator, "classes_"):
        raise InvalidInputError(f"the classifier was trained on the labels {own}, but y has {wanted}.")
    raise InvalidInputError(
        f"its predict returned the labels {own}, but y has {wanted}: return those of y, or booleans."
    )


def _clip(values: FloatArray, method: str) -> FloatArray:
    if np.isnan(values).any():
        raise InvalidInputError(f"its {method} returned NaN for {int(np.isnan(values).sum())} rows.")
    return np.clip(values, -MAX_MARGIN, MAX_MARGIN)


def _one_column(values: Any, method: str, n_rows: int) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (n_rows,):
        raise InvalidInputError(
            f"its {method} returned an array of shape {column.shape} for {n_rows} rows: "
            "one number per row is needed."
        )
    return column
