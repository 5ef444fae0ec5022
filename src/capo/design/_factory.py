"""Functions that make designs from what users have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidInputError
from ._augmented import AugmentedDesign, ConstantColumn, ScaledDesign
from ._base import BoundedDesign, Design
from ._chunked import Block, ChunkedDesign
from ._dense import DenseDesign
from ._identity import IdentityDesign
from ._matrix import matrix_design
from ._operator import OperatorDesign
from ._sparse import SparseDesign

#: Designs whose products need no check.
BUILT_IN = (
    AugmentedDesign,
    ChunkedDesign,
    ConstantColumn,
    DenseDesign,
    IdentityDesign,
    OperatorDesign,
    ScaledDesign,
    SparseDesign,
)


def as_design(X: Any) -> BoundedDesign:
    """Make a design from an array, a sparse matrix, a memory map, a linear operator or a design.

    Parameters
    ----------
    X : ndarray, memmap, sparse matrix or array, LinearOperator, or Design
        A real matrix. An array of float64 or float32 and a CSR matrix are not copied.

    Returns
    -------
    BoundedDesign
        capo's own designs are returned as they are. The products of any other object with `shape`,
        `matvec` and `rmatvec` are checked each time they are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import LinearOperator
    >>> from capo.design import as_design
    >>> as_design(np.eye(3)).matvec(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    >>> differences = LinearOperator(
    ...     shape=(2, 3), dtype=float, matvec=np.diff, rmatvec=lambda c: -np.diff(c, prepend=0, append=0)
    ... )
    >>> as_design(differences).rmatvec(np.array([1.0, 2.0]))
    array([-1., -1.,  2.])
    """
    if isinstance(X, BUILT_IN):
        return X
    return OperatorDesign(X) if isinstance(X, Design) else matrix_design(X)


def from_blocks(blocks: Callable[[], Iterable[Block]], shape: tuple[int, int]) -> ChunkedDesign:
    """Make a design from blocks of rows that are read or generated anew for each product.

    Parameters
    ----------
    blocks : callable
        Called without arguments for each product; returns an iterator over arrays or sparse matrices,
        the rows of the table in their order. The callable must return a new iterator over the same blocks
        on every call.
    shape : tuple of int
        Rows and columns of the whole table.

    Returns
    -------
    ChunkedDesign
        The design; of the table it holds one block at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.design import from_blocks
    >>> design = from_blocks(lambda: (np.full((2, 1), i) for i in (1.0, 2.0)), shape=(4, 1))
    >>> design.matvec(np.array([10.0]))
    array([10., 10., 20., 20.])
    """
    return ChunkedDesign(blocks, shape)


def augment(
    phi: Any,
    *,
    auxiliary: NDArray[np.floating] | None = None,
    B: float = 1.0,
    bias: float | None = 1.0,
) -> BoundedDesign:
    """``[auxiliary / sqrt(B) | Phi | bias]``, without a copy of any of them.

    Parameters
    ----------
    phi : whatever `as_design` takes
        The features.
    auxiliary : ndarray of shape (n_rows, n_auxiliaries), optional
        Columns that come before the features.
    B : float, default=1.0
        Regularization strength of the auxiliaries' coefficients relative to that of the features'.
    bias : float or None, default=1.0
        The number in the last, constant column; None for no such column.

    Returns
    -------
    BoundedDesign
        The columns side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.design import augment
    >>> augment(np.eye(2)).matvec(np.array([1.0, 2.0, 10.0]))
    array([11., 12.])
    """
    parts: list[BoundedDesign] = []
    if auxiliary is not None:
        if not B > 0:
            raise InvalidInputError(f"B must be above 0: got {B!r}.")
        parts.append(ScaledDesign(as_design(auxiliary), B**-0.5))
    parts.append(as_design(phi))
    if bias is not None:
        parts.append(ConstantColumn(parts[0].shape[0], bias))
    return parts[0] if len(parts) == 1 else AugmentedDesign(parts)
