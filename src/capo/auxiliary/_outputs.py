"""One number a row from any classifier, on a scale that all of them share.

``"scores"`` are log-odds: probabilities become their log-odds, margins are calibrated, and a
classifier that can only predict gives -1 or +1 before calibration. A sample of n rows cannot tell
odds of more than about n to 1, so that beyond log(n) the log-odds grow only logarithmically: the
order of the rows is kept, and no single row can dominate a sum.

``"labels"`` are -1 and +1, as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.frozen import FrozenEstimator

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ..model_selection import PlattCalibrator

#: Probabilities closer than this to 0 and 1 have no finite log-odds worth the name.
PROBABILITY_EPS = 1e-12
#: Margins beyond this, infinite ones included, count as this.
MAX_MARGIN = 1e100
#: Methods that say more than yes or no, the most detailed first.
METHODS = ("decision_function", "predict_proba")


def decision_scores(estimator: Any, X: Any, classes: NDArray[Any], outputs: str) -> FloatArray:
    """The raw output of a fitted classifier, one number a row.

    `classes` are the user's two labels. A classifier may know them as they are, if it came trained,
    or as 0 and 1, which is what it was told if it did not.
    """
    n_rows = X.shape[0]
    if outputs == "scores":
        for method in METHODS:
            if hasattr(estimator, method):
                values = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
                return _finite(_of_positive(values, estimator, classes, method, n_rows), method)
    predicted = _column(estimator.predict(X), "predict", n_rows)
    known = getattr(estimator, "classes_", np.unique(predicted))
    return np.where(predicted == _positive(known, classes, estimator), 1.0, -1.0)


def _of_positive(
    values: FloatArray, estimator: Any, classes: NDArray[Any], method: str, n_rows: int
) -> FloatArray:
    """The numbers that speak for the positive class."""
    known = np.asarray(getattr(estimator, "classes_", (0, 1))).tolist()
    positive = _positive(known, classes, estimator)
    if positive not in known:
        raise InvalidInputError(f"it was trained on rows of the class {known[0]!r} alone.")
    if values.ndim == 2 and values.shape[1] == len(known):
        values = values[:, known.index(positive)]
    values = _column(values, method, n_rows)
    return np.asarray(
        logit(np.clip(values, PROBABILITY_EPS, 1.0 - PROBABILITY_EPS))
        if method == "predict_proba"
        else values
    )


def is_frozen(estimator: Any) -> bool:
    """Whether a classifier is used as it is: a `FrozenEstimator`, or anything that cannot be trained."""
    return isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "fit")


def _positive(found: Any, classes: NDArray[Any], estimator: Any) -> Any:
    """The positive label as a classifier says it: the user's own, or 1 if it speaks of 0 and 1."""
    labels = np.asarray(found).tolist()
    own_first = (classes, (0, 1)) if is_frozen(estimator) else ((0, 1), classes)
    for spoken in own_first:
        if all(label in spoken for label in labels):
            return spoken[1]
    own, other = (" and ".join(repr(label) for label in each[:5]) for each in (labels, classes.tolist()))
    raise InvalidInputError(f"it knows the labels {own}, but y has {other}.")


def _finite(values: FloatArray, method: str) -> FloatArray:
    if np.isnan(values).any():
        raise InvalidInputError(f"its {method} returned NaN for {int(np.isnan(values).sum())} rows.")
    return np.clip(values, -MAX_MARGIN, MAX_MARGIN)


def _column(values: Any, method: str, n_rows: int) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (n_rows,):
        raise InvalidInputError(
            f"its {method} returned an array of shape {column.shape} for {n_rows} rows: "
            "one number a row is needed."
        )
    return column


@dataclass(frozen=True)
class OutputScale:
    """From one auxiliary's raw outputs to the common scale; None keeps them as they are."""

    platt: PlattCalibrator | None
    limit: float = np.inf

    @classmethod
    def fit(
        cls, raw: FloatArray, y: NDArray[np.bool_], weight: ArrayLike | None = None, *, positive: bool = True
    ) -> OutputScale:
        """The scale for these outputs, which should be out of fold."""
        return cls(PlattCalibrator.fit(raw, y, weight, positive=positive), float(np.log(len(raw) + 1.0)))

    def __call__(self, raw: FloatArray) -> FloatArray:
        if self.platt is None:
            return raw
        odds = self.platt.log_odds(raw)
        beyond = np.maximum(np.abs(odds) - self.limit, 0.0)
        return np.sign(odds) * (np.minimum(np.abs(odds), self.limit) + np.log1p(beyond))
