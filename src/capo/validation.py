"""What every classifier checks of its labels and weights, and the sentences for what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from .exceptions import InvalidInputError

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


def two_classes(y: NDArray[np.generic], pos_label: Any = None) -> tuple[NDArray[np.generic], BoolArray]:
    """The two labels, the positive one second, and which rows have it; the larger unless one is given."""
    if y.dtype == object:
        missing = sum(label is None or is_scalar_nan(label) or is_pandas_na(label) for label in y.tolist())
        if missing:
            raise InvalidInputError(f"Input y contains NaN: {missing} of {len(y)} labels are missing.")
    check_classification_targets(y)
    classes, encoded = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise InvalidInputError(_not_two(classes))
    if pos_label is None or pos_label == classes[1]:
        return classes, encoded == 1
    if pos_label == classes[0]:
        return classes[::-1].copy(), encoded == 0
    raise InvalidInputError(
        f"pos_label={pos_label!r} is none of the labels of y: {' and '.join(map(repr, classes.tolist()))}."
    )


def which_positive(y: ArrayLike, classes: NDArray[np.generic]) -> BoolArray:
    """The positive rows among labels that a classifier knows."""
    labels = column_or_1d(y)
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        raise InvalidInputError(
            f"y holds the label {unknown.tolist()[0]!r}, which the classifier was not trained on: it "
            f"knows {' and '.join(repr(label) for label in classes.tolist())}."
        )
    return np.asarray(labels == classes[1])


def positive_grid(values: ArrayLike, name: str) -> list[float]:
    """Numbers to try, all above 0; with a sentence for what is not."""
    try:
        grid = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.zeros(0)
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid <= 0).any():
        raise InvalidInputError(f"{name} must be a list of at least one number above 0: got {values!r}.")
    return list(grid.tolist())


def row_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """One weight a row, 1 where none are given; rows of weight 0 do not count, but some must."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InvalidInputError("all sample weights are 0: at least one row must count.")
    return np.asarray(weight)


def _not_two(classes: NDArray[np.generic]) -> str:
    shown = ", ".join(repr(label) for label in classes[:5].tolist()) + (", ..." if len(classes) > 5 else "")
    if len(classes) == 1:
        return f"y has only one class, {shown}: a classifier needs two. Check the labels or the split."
    return (
        f"Only binary classification is supported: y has {len(classes)} classes ({shown}). "
        "Merge them into two, or wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
    )
