"""What scores are made of: the only place that knows dense from sparse from out-of-core."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..exceptions import InvalidInputError
from ._augmented import Augmented, Constant, Scaled
from ._base import Design
from ._chunked import Block, Chunked
from ._dense import Dense
from ._sparse import Sparse

__all__ = [
    "Augmented",
    "Chunked",
    "Constant",
    "Dense",
    "Design",
    "Scaled",
    "Sparse",
    "as_design",
    "augment",
    "chunked",
]


def as_design(X: Any) -> Design:
    """The design for an array, a sparse matrix, a memory map; a design is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.design import as_design
    >>> as_design(np.eye(3)).matvec(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    if issparse(X):
        return Sparse(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return Dense(X)
    if not isinstance(X, Design):
        raise InvalidInputError(
            f"a design is made from a two-dimensional array of numbers or a sparse matrix: got {_told(X)}."
        )
    return X


def _told(X: object) -> str:
    shape = getattr(X, "shape", None)
    return type(X).__name__ if shape is None else f"{type(X).__name__} of shape {shape}"


def chunked(blocks: Callable[[], Iterable[Block]], shape: tuple[int, int]) -> Chunked:
    """A table from a function that returns its blocks of rows, over again on each call.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.design import chunked
    >>> table = chunked(lambda: (np.full((2, 1), i) for i in (1.0, 2.0)), shape=(4, 1))
    >>> table.matvec(np.array([10.0]))
    array([10., 10., 20., 20.])
    """
    return Chunked(blocks, shape, as_design)


def augment(
    phi: Any,
    *,
    auxiliary: NDArray[np.floating] | None = None,
    B: float = 1.0,
    bias: float | None = 1.0,
) -> Design:
    """``[auxiliary / sqrt(B) | Phi | bias]`` without a copy of any of them."""
    parts: list[Design] = []
    if auxiliary is not None:
        if not B > 0:
            raise InvalidInputError(f"B must be above 0: got {B!r}.")
        parts.append(Scaled(as_design(auxiliary), B**-0.5))
    parts.append(as_design(phi))
    if bias is not None:
        parts.append(Constant(parts[0].shape[0], bias))
    return parts[0] if len(parts) == 1 else Augmented(parts)
