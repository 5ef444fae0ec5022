"""The protocol of a design: a matrix A of which only products are ever needed.

A design returns two products, in float64 whatever its storage: the scores ``A v`` of a
coefficient vector, and ``A' c`` for one number per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from .._threads import map_in_threads
from .._typing import FloatArray, IntArray

#: Numbers that are converted or read at once: 256 KiB of float64 stay in a core's cache.
BLOCK_SIZE = 2**15
#: Numbers of a vector that a thread takes at a time.
VECTOR_BLOCK = 2**18


@runtime_checkable
class Design(Protocol):
    """A real matrix A of shape (n_rows, n_coefficients), accessed only through ``A v`` and ``A' c``.

    Any object with these three members is a design, a `scipy.sparse.linalg.LinearOperator` included.
    `as_design` makes one from an array or a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.design import Design
    >>> class Cumulative:  # a lower triangle of ones that is never stored
    ...     shape = (3, 3)
    ...     def matvec(self, v):
    ...         return np.cumsum(v)
    ...     def rmatvec(self, coef):
    ...         return np.cumsum(coef[::-1])[::-1]
    >>> isinstance(Cumulative(), Design)
    True
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of coefficients."""

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``: one score per row."""

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``: one number per coefficient."""


@runtime_checkable
class BoundedDesign(Design, Protocol):
    """A design with products of some of its rows, and of the absolute values of A.

    The latter bound the other products' rounding errors.
    """

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``: the product with the transpose of some rows, each of which occurs once."""

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``."""

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``."""


def iter_row_blocks(n_rows: int, row_size: float, block_size: int = BLOCK_SIZE) -> Iterator[slice]:
    """Slices of consecutive rows with about `block_size` numbers each, for rows of `row_size` numbers."""
    step = max(1, int(block_size / max(row_size, 1.0)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def add_number(vector: FloatArray, number: float) -> None:
    """Add a number to each element, in place."""
    if len(vector) <= VECTOR_BLOCK:
        vector += number
        return

    def add(rows: slice) -> None:
        vector[rows] += number

    map_in_threads(add, _vector_blocks(len(vector)))


def sum_vector(vector: FloatArray, of: Callable[[FloatArray], FloatArray] | None = None) -> float:
    """The sum of the elements, or of a function of them, block by block."""
    if len(vector) <= VECTOR_BLOCK:
        return float((vector if of is None else of(vector)).sum())

    def add(rows: slice) -> float:
        return float((vector[rows] if of is None else of(vector[rows])).sum())

    return math.fsum(map_in_threads(add, _vector_blocks(len(vector))))


def _vector_blocks(length: int) -> list[slice]:
    """The blocks of a vector for threads, which do not depend on their number."""
    return list(iter_row_blocks(length, 1, VECTOR_BLOCK))


def place_values(n_rows: int, rows: IntArray, values: FloatArray) -> FloatArray:
    """The values in their rows, and 0 in all others."""
    out = np.zeros(n_rows)
    out[rows] = values
    return out
