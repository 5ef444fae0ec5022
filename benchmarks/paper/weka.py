"""The random numbers of WEKA, which come from Java's linear congruential generator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

#: The generator of java.util.Random: multiplier, increment, bits of the state and of a number.
MULTIPLIER, INCREMENT, STATE_BITS, NUMBER_BITS = 0x5DEECE66D, 0xB, 48, 31
#: The default clustering seed of WEKA's RBFNetwork.
SEED = 1


class JavaRandom:
    """The integers of ``java.util.Random``.

    Examples
    --------
    >>> random = JavaRandom(42)
    >>> [random.below(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    def __init__(self, seed: int) -> None:
        self.state = (seed ^ MULTIPLIER) % 2**STATE_BITS

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, as ``nextInt(n)``."""
        if n & (n - 1) == 0:
            return (n * self._next()) >> NUMBER_BITS
        while True:
            number = self._next()
            if number - number % n + n - 1 < 2**NUMBER_BITS:
                return number % n

    def _next(self) -> int:
        self.state = (self.state * MULTIPLIER + INCREMENT) % 2**STATE_BITS
        return self.state >> (STATE_BITS - NUMBER_BITS)


def initial_rows(X: Any, n_clusters: int) -> NDArray[np.intp]:
    """Indices of the rows that SimpleKMeans starts from: sampled without replacement, all distinct."""
    random, order = JavaRandom(SEED), np.arange(X.shape[0])
    chosen: dict[bytes, int] = {}
    for last in range(X.shape[0] - 1, -1, -1):
        i = random.below(last + 1)
        chosen.setdefault(_to_dense(X[[order[i]]]).tobytes(), int(order[i]))
        order[i], order[last] = order[last], order[i]
        if len(chosen) == n_clusters:
            break
    return np.array(list(chosen.values()), dtype=np.intp)


def initial_centers(X: Any, n_clusters: int, random_state: object = None) -> NDArray[np.float64]:
    """The initial centers of SimpleKMeans, as `init` of RBFNetworkClassifier; WEKA's seed is fixed."""
    return _to_dense(X[initial_rows(X, n_clusters)])


def _to_dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
