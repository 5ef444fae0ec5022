"""Binary labels: the two classes of y, and the mask of its positive rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._lookup import list_labels
from .._sklearn_compat import is_pandas_na, is_scalar_nan
from .._typing import BoolArray
from ..exceptions import InvalidInputError

#: With a larger share of positive rows, a positive class that was not chosen by the user is questioned.
MAX_POSITIVE_SHARE = 0.55


def encode_binary_labels(
    y: NDArray[np.generic], pos_label: Any = None
) -> tuple[NDArray[np.generic], BoolArray]:
    """Return the two labels, the positive one second, and the mask of the positive rows.

    The positive class is `pos_label`, by default the larger of the two.
    """
    check_no_missing_labels(y)
    check_classification_targets(y)
    classes, encoded = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise InvalidInputError(_class_count_message(classes))
    if pos_label is None or pos_label == classes[1]:
        return classes, encoded == 1
    if pos_label == classes[0]:
        return classes[::-1].copy(), encoded == 0
    raise InvalidInputError(
        f"pos_label={pos_label!r} is not a label of y: its labels are "
        f"{' and '.join(map(repr, classes.tolist()))}."
    )


def check_no_missing_labels(y: NDArray[np.generic]) -> None:
    """Raise an error if a label is missing."""
    if y.dtype == object:
        missing = sum(label is None or is_scalar_nan(label) or is_pandas_na(label) for label in y.tolist())
        if missing:
            raise InvalidInputError(f"Input y contains NaN: {missing} of {len(y)} labels are missing.")


def positive_mask(y: ArrayLike, label_pair: NDArray[np.generic]) -> BoolArray:
    """Return which rows have the positive one of two labels, which is the second."""
    labels = column_or_1d(y)
    check_no_missing_labels(labels)
    unknown = np.setdiff1d(labels, label_pair)
    if unknown.size:
        raise InvalidInputError(
            f"y contains the label {unknown.tolist()[0]!r}, which the classifier was not trained on: its "
            f"classes are {' and '.join(repr(label) for label in label_pair.tolist())}."
        )
    return np.asarray(labels == label_pair[1])


def _class_count_message(classes: NDArray[np.generic]) -> str:
    shown = list_labels(classes.tolist())
    if len(classes) == 1:
        return f"y has only one class, {shown}: a classifier needs two. Check the labels and the split."
    return (
        f"Only binary classification is supported: y has {len(classes)} classes ({shown}). "
        "Merge them into two, or wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
    )
