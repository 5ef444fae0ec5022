"""Checks of parameters and sample weights, shared by the estimators."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._sklearn_compat import check_sample_weight
from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from ..measures import Measure


def check_positive_grid(values: ArrayLike, name: str) -> list[float]:
    """Return the grid as a list of numbers, all of them above 0, or raise an error."""
    try:
        grid = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.zeros(0)
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid <= 0).any():
        raise InvalidInputError(f"{name} must be a list of at least one number above 0: got {values!r}.")
    return list(grid.tolist())


def check_row_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Return one weight per row, 1 by default; at least one must be above 0."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InvalidInputError("all sample weights are 0: at least one row must have a weight above 0.")
    return np.asarray(weight)


def reject_operator(X: Any, estimator: Any) -> None:
    """Raise a clear error if X is a linear operator where its rows are needed."""
    if hasattr(X, "matvec"):
        raise InvalidInputError(
            f"X is a {type(X).__name__}, but {type(estimator).__name__} needs its rows for cross-validation: "
            "pass an array or a sparse matrix, or use SVMPerfClassifier."
        )


def reject_lazy_frame(X: Any) -> None:
    """Raise a clear error if X is a query whose rows have not been computed."""
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise InvalidInputError(f"X is a lazy frame ({type(X).__name__}): pass X.collect().")


def check_class_weights(weight: FloatArray, positive: BoolArray, classes: NDArray[Any]) -> None:
    """Raise an error if all rows of a class have the weight 0."""
    for label, rows in zip(classes.tolist(), (~positive, positive), strict=True):
        if not weight[rows].any():
            raise InvalidInputError(
                f"the sample weights are 0 for all rows of the class {label!r}: each class needs some weight."
            )


def reject_confidence(measure: Any, estimator: Any) -> None:
    """Raise an error if the measure has a confidence, which only a CAPOClassifier of two classes keeps."""
    if isinstance(measure, Measure) and measure.params.get("confidence") is not None:
        raise InvalidInputError(
            f"{type(estimator).__name__} cannot keep the confidence of {measure.label}: use CAPOClassifier "
            "with two classes, or leave the confidence out."
        )
