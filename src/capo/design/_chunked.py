"""A table that is read a few rows at a time: out of core, or generated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._base import Design

#: An array or a sparse matrix, whatever `as_design` takes.
Block = Any


class Chunked:
    """Blocks of rows from a function that starts them over; each product is one pass.

    Parameters
    ----------
    blocks : callable
        Called without arguments for each pass; returns an iterable of arrays or sparse
        matrices, the rows of the table in their order.
    shape : tuple of int
        Rows and columns of the whole table.
    as_design : callable
        What turns a block into a design.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterable[Block]],
        shape: tuple[int, int],
        as_design: Callable[[Block], Design],
    ) -> None:
        self.blocks, self.shape, self._as_design = blocks, shape, as_design

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, filled block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._pass():
            out[rows] = block.matvec(v)
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' c``, summed over the blocks."""
        out = np.zeros(self.shape[1])
        for rows, block in self._pass():
            out += block.rmatvec(coef[rows])
        return out

    def _pass(self) -> Iterable[tuple[slice, Design]]:
        stop = 0
        for raw in self.blocks():
            block = self._as_design(raw)
            start, stop = stop, stop + block.shape[0]
            if stop > self.shape[0] or block.shape[1] != self.shape[1]:
                self._refuse(f"a block of shape {block.shape} that ends at row {stop}")
            yield slice(start, stop), block
        if stop != self.shape[0]:
            self._refuse(f"{stop} rows in all")

    def _refuse(self, found: str) -> None:
        raise InvalidInputError(
            f"the blocks must make up a table of shape {self.shape}: found {found}. "
            "The function must start the same blocks over on every call."
        )
