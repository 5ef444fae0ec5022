"""Label matrices: one column of zeros and ones for each label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .._typing import BoolArray
from ..exceptions import InvalidInputError
from ._labels import check_no_missing_labels


def encode_label_matrix(Y: Any, n_rows: int | None = None) -> tuple[NDArray[Any], BoolArray]:
    """Return the names of the labels and the matrix as Booleans, after checking its values."""
    names = np.array([str(name) for name in Y.columns]) if hasattr(Y, "columns") else None
    values = _as_numbers(np.asarray(Y.toarray() if issparse(Y) else Y))
    if values.ndim != 2 or values.shape[1] == 0:
        raise InvalidInputError(
            f"Y must be a matrix with one column for each label: got an array of shape {values.shape}."
        )
    if n_rows is not None and len(values) != n_rows:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, Y has "
            f"{len(values)}."
        )
    if names is not None and len(set(names)) < len(names):
        raise InvalidInputError(
            f"the columns of Y must have different names: {_first_repeated(names)!r} is the name of several."
        )
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InvalidInputError(
            "Y must hold 0 and 1 only, 1 where a row has the label of the column. Use "
            "sklearn.preprocessing.MultiLabelBinarizer to make such a matrix."
        )
    return np.arange(values.shape[1]) if names is None else names, values.astype(bool)


def check_labels_vary(positive: BoolArray) -> None:
    """Raise an error unless some label has 2 rows or more of each kind, those with it and those without."""
    counts = positive.sum(axis=0)
    if np.minimum(counts, len(positive) - counts).max() < 2:
        raise InvalidInputError(
            "there is nothing to learn: each label is the same in all rows of Y, or in all but one. At least "
            "one label needs 2 rows with it and 2 rows without it."
        )


def match_label_matrix(Y: Any, n_rows: int, labels: NDArray[Any]) -> BoolArray:
    """Return a label matrix as Booleans, with the labels of a fitted classifier as its columns.

    The columns of a data frame are found by their names if the classifier was trained on names.
    """
    names, values = encode_label_matrix(Y, n_rows)
    if len(names) != len(labels):
        raise InvalidInputError(
            f"Y has {len(names)} labels, but the classifier was trained on {len(labels)}."
        )
    if names.dtype.kind != "U" or labels.dtype.kind != "U":
        return values
    unknown = [name for name in names.tolist() if name not in set(labels.tolist())]
    if unknown:
        raise InvalidInputError(f"Y has the label {unknown[0]!r}, which the classifier was not trained on.")
    return values[:, [names.tolist().index(label) for label in labels.tolist()]]


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return Python objects as numbers, where they are some; raise an error for missing ones."""
    if values.dtype == object:
        check_no_missing_labels(values.ravel())
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            return values
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InvalidInputError(
            f"Input Y contains NaN: {int(np.isnan(values).sum())} of {values.size} entries are missing."
        )
    return values


def _first_repeated(names: NDArray[Any]) -> str:
    found, counts = np.unique(names, return_counts=True)
    return str(found[counts > 1][0])
