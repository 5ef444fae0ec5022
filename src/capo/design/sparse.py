"""A scipy sparse matrix or array as a design."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .base import BLOCK_NUMBERS, FloatArray, row_blocks


class Sparse:
    """A sparse matrix or array; anything but CSR is converted to it once.

    float64 is multiplied as a whole. float32 is summed in float64, some rows at a time, on
    views of the three arrays, so that no second copy of the values ever exists.
    """

    def __init__(self, X: sparse.sparray | sparse.spmatrix) -> None:
        self.X = sparse.csr_array(X)
        self.shape: tuple[int, int] = self.X.shape
        if self.X.dtype == np.float64:
            self._blocks = [(slice(0, self.shape[0]), self.X)]
        else:
            # A block costs a dense row of work in `pull`: it must hold many more numbers than that.
            numbers = max(BLOCK_NUMBERS, 8 * self.shape[1])
            rows = row_blocks(self.shape[0], self.X.nnz / max(self.shape[0], 1), numbers)
            self._blocks = [(part, self._view(part)) for part in rows]

    def scores(self, v: FloatArray) -> FloatArray:
        """``A v``, block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._blocks:
            out[rows] = block @ v
        return out

    def pull(self, coef: FloatArray) -> FloatArray:
        """``A' c``, block by block."""
        out = np.zeros(self.shape[1])
        for rows, block in self._blocks:
            out += block.T @ coef[rows]
        return out

    def _view(self, rows: slice) -> sparse.csr_array:
        indptr = self.X.indptr[rows.start : rows.stop + 1]
        inside = slice(indptr[0], indptr[-1])
        parts = (self.X.data[inside], self.X.indices[inside], indptr - indptr[0])
        return sparse.csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]), copy=False)
