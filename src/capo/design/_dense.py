"""A NumPy array as a design."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ._base import iter_row_blocks


class DenseDesign:
    """A two-dimensional array in float64 or float32, in C or Fortran order, never copied.

    Arrays that BLAS cannot take as they are (float32, which is summed in float64 here; views with
    gaps) are converted some rows at a time.
    """

    def __init__(self, X: NDArray[np.floating]) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self._is_whole = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_blocks():
            np.dot(block, v, out=out[rows])
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, block by block."""
        out = np.zeros(self.shape[1])
        for rows, block in self._iter_blocks():
            out += coef[rows] @ block
        return out

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_converted():
            np.dot(np.abs(block, out=block), np.abs(v), out=out[rows])
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, block by block."""
        out = np.zeros(self.shape[1])
        size = np.abs(coef)
        for rows, block in self._iter_converted():
            out += size[rows] @ np.abs(block, out=block)
        return out

    def _iter_blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """All rows at once if they need no conversion, and otherwise some at a time."""
        return iter([(slice(None), self.X)]) if self._is_whole else self._iter_converted()

    def _iter_converted(self) -> Iterator[tuple[slice, FloatArray]]:
        """Copies of some rows at a time, in one array that is used again and stays in the cache."""
        buffer = None
        for rows in iter_row_blocks(*self.shape):
            n_rows = rows.stop - rows.start
            buffer = np.empty((n_rows, self.shape[1])) if buffer is None else buffer
            block = buffer[:n_rows]
            np.copyto(block, self.X[rows])
            yield rows, block
