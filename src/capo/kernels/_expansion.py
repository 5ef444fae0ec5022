"""Kernel expansions: linear combinations of a kernel at some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..design import iter_row_blocks
from ._functions import BLOCK_SIZE, Kernel


@dataclass(frozen=True)
class KernelExpansion:
    """``f(x) = sum_j coef_j k(x, vector_j)``."""

    kernel: Kernel
    vectors: Any
    coef: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """The value of the function at each row, computed in blocks of rows."""
        values = np.empty(X.shape[0])
        for block in iter_row_blocks(X.shape[0], self.vectors.shape[0], BLOCK_SIZE):
            values[block] = self.kernel(X[block], self.vectors) @ self.coef
        return values

    def squared_norm(self) -> float:
        """``coef' K coef``, from one pass over the kernel matrix of the vectors."""
        return float(self.coef @ self(self.vectors))
