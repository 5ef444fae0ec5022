"""Labels of many classes: their positions among the sorted classes."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._typing import IntArray
from ..exceptions import InvalidInputError
from ._labels import check_no_missing_labels


def encode_class_labels(y: NDArray[np.generic]) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted classes, and the position of each row's class among them."""
    check_no_missing_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has only one class, {classes.tolist()[0]!r}: a classifier needs two. Check the labels and "
            "the split."
        )
    return classes, codes


def class_positions(y: ArrayLike, classes: NDArray[Any]) -> IntArray:
    """Return the position of each row's class among the classes of a fitted classifier."""
    labels = column_or_1d(y)
    check_no_missing_labels(labels)
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        rows = int(np.isin(labels, unknown).sum())
        raise InvalidInputError(
            f"y contains the label {unknown.tolist()[0]!r}, which the classifier was not trained on: "
            f"{rows} of {len(labels)} rows have such labels. Remove them, or train on rows of these classes."
        )
    return np.searchsorted(classes, labels)


def ordered_categories(y: Any) -> list[Any] | None:
    """Return the categories of a series in their order; None if they have none, or for anything else."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or not isinstance(series.dtype, nw.Enum):
        return None
    return list(series.dtype.categories)
