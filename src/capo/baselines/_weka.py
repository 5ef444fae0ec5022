"""The draws of WEKA, whose numbers come from Java's linear congruential generator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The generator of java.util.Random: multiplier, increment, bits of the state and of a number.
MULTIPLIER, INCREMENT, STATE, BITS = 0x5DEECE66D, 0xB, 48, 31
#: The seed with which WEKA's RBFNetwork clusters unless told otherwise.
SEED = 1


class JavaRandom:
    """Whole numbers as ``java.util.Random`` gives them.

    Examples
    --------
    >>> random = JavaRandom(42)
    >>> [random.below(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    def __init__(self, seed: int) -> None:
        self.state = (seed ^ MULTIPLIER) % 2**STATE

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, as ``nextInt(n)``."""
        if n & (n - 1) == 0:
            return (n * self._next()) >> BITS
        while True:
            bits = self._next()
            if bits - bits % n + n - 1 < 2**BITS:
                return bits % n

    def _next(self) -> int:
        self.state = (self.state * MULTIPLIER + INCREMENT) % 2**STATE
        return self.state >> (STATE - BITS)


def first_rows(X: Any, n_clusters: int) -> NDArray[np.intp]:
    """The rows that SimpleKMeans starts from, drawn without replacement and all different."""
    random, ahead = JavaRandom(SEED), np.arange(X.shape[0])
    drawn: dict[bytes, int] = {}
    for last in range(X.shape[0] - 1, -1, -1):
        at = random.below(last + 1)
        drawn.setdefault(_key(X[[ahead[at]]]), int(ahead[at]))
        ahead[at], ahead[last] = ahead[last], ahead[at]
        if len(drawn) == n_clusters:
            break
    return np.array(list(drawn.values()), dtype=np.intp)


def _key(row: Any) -> bytes:
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row, dtype=np.float64).tobytes()
