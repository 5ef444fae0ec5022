"""A table that is read a few rows at a time: out of core, or generated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._base import BoundedDesign, place_values
from ._matrix import matrix_design

#: A two-dimensional array or a sparse matrix.
Block = Any


class ChunkedDesign:
    """Blocks of rows from a function that starts them over; each product is one pass.

    Parameters
    ----------
    blocks : callable
        Called without arguments for each pass; returns an iterable of arrays or sparse
        matrices, the rows of the table in their order.
    shape : tuple of int
        Rows and columns of the whole table.
    """

    def __init__(self, blocks: Callable[[], Iterable[Block]], shape: tuple[int, int]) -> None:
        self.blocks, self.shape = blocks, shape

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, filled block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_blocks():
            out[rows] = block.matvec(v)
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, summed over the blocks."""
        out = np.zeros(self.shape[1])
        for rows, block in self._iter_blocks():
            out += block.rmatvec(coef[rows])
        return out

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, as a product of all rows."""
        return self.rmatvec(place_values(self.shape[0], rows, values))

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, filled block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_blocks():
            out[rows] = block.abs_matvec(v)
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, summed over the blocks."""
        out = np.zeros(self.shape[1])
        for rows, block in self._iter_blocks():
            out += block.abs_rmatvec(coef[rows])
        return out

    def _iter_blocks(self) -> Iterator[tuple[slice, BoundedDesign]]:
        stop = 0
        for matrix in self.blocks():
            block = matrix_design(matrix)
            start, stop = stop, stop + block.shape[0]
            if stop > self.shape[0] or block.shape[1] != self.shape[1]:
                self._raise_mismatch(f"a block of shape {block.shape} that ends at row {stop}")
            yield slice(start, stop), block
        if stop != self.shape[0]:
            self._raise_mismatch(f"{stop} rows in all")

    def _raise_mismatch(self, found: str) -> NoReturn:
        raise InvalidInputError(
            f"the blocks must make up a table of shape {self.shape}: found {found}. "
            "The callable must return a new iterator over the same blocks on every call."
        )
