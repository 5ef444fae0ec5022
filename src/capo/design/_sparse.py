"""A scipy sparse matrix or array as a design."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ._base import BLOCK_SIZE, iter_row_blocks


class SparseDesign:
    """A sparse matrix or array; anything but CSR is converted to it once.

    float64 is multiplied as a whole. float32 is summed in float64, some rows at a time, on
    views of the three arrays, so that no second copy of the values ever exists.
    """

    def __init__(self, X: Any) -> None:
        self.X = sparse.csr_array(X)
        self.shape: tuple[int, int] = self.X.shape
        self._blocks = [slice(0, self.shape[0])]
        if self.X.dtype != np.float64:
            self._blocks = self._small_blocks()

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, block by block."""
        out = np.empty(self.shape[0])
        for rows in self._blocks:
            out[rows] = self._block(rows) @ v
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, block by block."""
        out = np.zeros(self.shape[1])
        for rows in self._blocks:
            out += self._block(rows).T @ coef[rows]
        return out

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, from a copy of the rows."""
        return np.asarray(self.X[rows].T @ values, dtype=np.float64)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, block by block."""
        out = np.empty(self.shape[0])
        for rows in self._small_blocks():
            out[rows] = abs(self._rows(rows)) @ np.abs(v)
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, block by block."""
        out = np.zeros(self.shape[1])
        for rows in self._small_blocks():
            out += abs(self._rows(rows)).T @ np.abs(coef[rows])
        return out

    def _small_blocks(self) -> list[slice]:
        """Blocks of which a copy may be made."""
        # A block costs its construction and, in `rmatvec`, a pass over all columns: it must be larger.
        block_size = max(8 * BLOCK_SIZE, 8 * self.shape[1])
        return list(iter_row_blocks(self.shape[0], self.X.nnz / max(self.shape[0], 1), block_size))

    def _block(self, rows: slice) -> Any:
        return self.X if len(self._blocks) == 1 else self._rows(rows)

    def _rows(self, rows: slice) -> Any:
        indptr = self.X.indptr[rows.start : rows.stop + 1]
        stored = slice(indptr[0], indptr[-1])
        parts = (self.X.data[stored], self.X.indices[stored], indptr - indptr[0])
        return sparse.csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]))
