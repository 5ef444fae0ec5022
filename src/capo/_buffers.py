"""Long vectors that are used again: pages of new memory cost as much as a pass over them."""

from __future__ import annotations

import sys
from threading import Lock

import numpy as np

from ._typing import FloatArray

#: Shorter vectors are left to the allocator, which keeps their memory.
MIN_LENGTH = 2**20
#: References to a vector that only the pool has: the one in its list, and the argument of the count.
REFERENCES_OF_POOL = 2


class VectorPool:
    """Vectors of one length; one that nobody else refers to is handed out again.

    Parameters
    ----------
    length : int
        Their number of elements.
    size : int
        How many are kept at most.
    """

    def __init__(self, length: int, size: int) -> None:
        self.length, self.size = length, size
        self._vectors: list[FloatArray] = []
        self._lock = Lock()

    def take(self) -> FloatArray:
        """A vector with any content."""
        if self.length < MIN_LENGTH:
            return np.empty(self.length)
        with self._lock:
            for i in range(len(self._vectors)):
                if sys.getrefcount(self._vectors[i]) <= REFERENCES_OF_POOL:
                    return self._vectors[i]
            vector = np.empty(self.length)
            if len(self._vectors) < self.size:
                self._vectors.append(vector)
            return vector

    def __reduce__(self) -> tuple[type[VectorPool], tuple[int, int]]:
        """An empty pool, for copies and other processes."""
        return VectorPool, (self.length, self.size)
