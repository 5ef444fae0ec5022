"""A NumPy array as a design."""

from __future__ import annotations

from collections.abc import Iterator

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
        whole = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)
        self._blocks = [slice(None)] if whole else list(iter_row_blocks(*X.shape))

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, block by block."""
        out = np.empty(self.shape[0])
        for rows in self._blocks:
            np.dot(self._block(rows), v, out=out[rows])
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, block by block."""
        out = np.zeros(self.shape[1])
        for rows in self._blocks:
            out += coef[rows] @ self._block(rows)
        return out

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_abs_blocks():
            np.dot(block, np.abs(v), out=out[rows])
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, block by block."""
        out = np.zeros(self.shape[1])
        size = np.abs(coef)
        for rows, block in self._iter_abs_blocks():
            out += size[rows] @ block
        return out

    def _iter_abs_blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Absolute values of some rows at a time, in one array that is used again and stays in the cache."""
        buffer = None
        for rows in iter_row_blocks(*self.shape):
            n_rows = rows.stop - rows.start
            buffer = np.empty((n_rows, self.shape[1])) if buffer is None else buffer
            yield rows, np.abs(self.X[rows], out=buffer[:n_rows], dtype=np.float64)

    def _block(self, rows: slice) -> FloatArray:
        return np.asarray(self.X[rows], dtype=np.float64)
