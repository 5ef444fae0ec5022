"""Label matrices: one column of zeros and ones for each label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .._typing import BoolArray
from ..exceptions import InvalidInputError


def encode_label_matrix(Y: Any, n_rows: int | None = None) -> tuple[NDArray[Any], BoolArray]:
    """Return the names of the labels and the matrix as Booleans, after checking its values."""
    names = np.array([str(name) for name in Y.columns]) if hasattr(Y, "columns") else None
    values = np.asarray(Y.toarray() if issparse(Y) else Y)
    if values.ndim != 2 or values.shape[1] == 0:
        raise InvalidInputError(
            f"Y must be a matrix with one column for each label: got an array of shape {values.shape}."
        )
    if n_rows is not None and len(values) != n_rows:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, Y has "
            f"{len(values)}."
        )
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InvalidInputError(
            "Y must hold 0 and 1 only, 1 where a row has the label of the column. Use "
            "sklearn.preprocessing.MultiLabelBinarizer to make such a matrix."
        )
    return np.arange(values.shape[1]) if names is None else names, values.astype(bool)
