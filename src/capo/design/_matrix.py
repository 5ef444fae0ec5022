"""Designs of matrices that are stored: arrays and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..exceptions import InvalidInputError
from ._dense import DenseDesign
from ._sparse import SparseDesign


def matrix_design(X: Any) -> DenseDesign | SparseDesign:
    """The design of a two-dimensional array or sparse matrix of real numbers."""
    stored = issparse(X) or isinstance(X, np.ndarray)
    if not (stored and X.ndim == 2 and X.dtype.kind in "biuf"):
        raise InvalidInputError(
            "a design is made from a two-dimensional array of real numbers, a sparse matrix, or an object "
            f"with shape, matvec and rmatvec such as a LinearOperator: got {_describe(X)}."
        )
    return SparseDesign(X) if issparse(X) else DenseDesign(X)


def _describe(X: object) -> str:
    kind, shape, dtype = type(X).__name__, getattr(X, "shape", None), getattr(X, "dtype", None)
    return kind if shape is None else f"{kind} of shape {shape} and type {dtype}"
