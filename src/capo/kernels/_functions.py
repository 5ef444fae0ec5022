"""Kernels by name, with the width that suits the data as default.

Those of the distance d = ||x - z|| depend on ``gamma * d**2`` alone, so that one default serves
them all: the inverse of the mean squared distance between two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from .._typing import FloatArray
from ..exceptions import InvalidInputError

KernelLike = str | Callable[[Any, Any], Any]

#: What to try of gamma, as multiples of its default.
GAMMA_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)

#: Distances below this share of the rows' own squared lengths are rounding errors.
ROUNDING = 1e-13

#: Each as a function of ``gamma * d**2``, in place; all are 1 where the distance is 0.
OF_DISTANCE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "rbf": lambda t: np.exp(np.negative(t, out=t), out=t),
    "laplacian": lambda t: np.exp(np.negative(np.sqrt(t, out=t), out=t), out=t),
    "inverse_distance": lambda t: np.reciprocal(np.add(np.sqrt(t, out=t), 1.0, out=t), out=t),
    "inverse_squared_distance": lambda t: np.reciprocal(np.add(t, 1.0, out=t), out=t),
}


def names() -> list[str]:
    """The kernels that are known by name."""
    return [*OF_DISTANCE, "poly"]


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters, as a function of two tables; single precision stays single.

    A table in single and one in double precision are taken in double.

    Parameters
    ----------
    kind : str or callable
        "rbf", "laplacian", "inverse_distance", "inverse_squared_distance", "poly", or a function
        that returns the matrix of its two tables' rows.
    gamma, degree, coef0 : float
        ``(gamma x'z + coef0) ** degree`` for "poly"; the others use gamma alone.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.kernels import Kernel
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Kernel("inverse_distance", gamma=1.0)(X, X)
    array([[1.        , 0.16666667],
           [0.16666667, 1.        ]])
    """

    kind: KernelLike
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0

    def __call__(self, X: Any, Z: Any) -> FloatArray:
        """The kernel of every row of X with every row of Z."""
        if callable(self.kind):
            return _matrix(self.kind(X, Z), (X.shape[0], Z.shape[0]))
        precision = np.result_type(X.dtype, Z.dtype)
        X, Z = X.astype(precision, copy=False), Z.astype(precision, copy=False)
        if self.kind == "poly":
            return self._power(self.gamma * _inner(X, Z) + self.coef0)
        X, Z = _centred(X, Z)
        scaled = _inner(X, Z)
        scaled *= -2.0 * self.gamma
        scaled += self.gamma * row_norms(X, squared=True)[:, None]
        scaled += self.gamma * row_norms(Z, squared=True)
        return OF_DISTANCE[self.kind](np.maximum(scaled, 0.0, out=scaled))

    def diagonal(self, X: Any) -> FloatArray:
        """The kernel of every row with itself."""
        if callable(self.kind):
            rows = (X[i : i + 1] for i in range(X.shape[0]))
            return np.array([self(row, row)[0, 0] for row in rows])
        if self.kind == "poly":
            return self._power(self.gamma * _squared_norms(X) + self.coef0)
        return np.ones(X.shape[0])

    def _power(self, base: FloatArray) -> FloatArray:
        if self.degree % 1 and base.min(initial=0.0) < 0:
            raise InvalidInputError(
                f"a polynomial kernel of degree {self.degree:g} has no value where gamma x'z + coef0 is "
                f"negative: got {base.min():.3g}. Use a whole number as degree, or raise coef0."
            )
        return np.asarray(base**self.degree)


def _centred(X: Any, Z: Any) -> tuple[Any, Any]:
    """Rows counted from a common point, which distances do not see and rounding errors do."""
    if issparse(X) or issparse(Z) or not len(Z):
        return X, Z
    return X - Z[0], Z - Z[0]


def _inner(X: Any, Z: Any) -> FloatArray:
    return np.asarray(safe_sparse_dot(X, Z.T, dense_output=True))


def _matrix(values: Any, shape: tuple[int, int]) -> FloatArray:
    """What a user's kernel returned, if it is a matrix of finite numbers of that shape."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise InvalidInputError(
            f"the kernel must return finite numbers of shape {shape}, one for each pair of rows: got "
            f"{matrix.shape}."
        )
    return matrix


def _squared_norms(X: Any) -> FloatArray:
    """||x||^2 of every row, in double precision."""
    norms = np.empty(X.shape[0])
    for block in iter_row_blocks(X, X.shape[1]):
        norms[block] = row_norms(X[block].astype(np.float64), squared=True)
    return norms


def mean_squared_distance(X: Any, weight: FloatArray | None = None) -> float:
    """The mean of ||x - z||^2 over all pairs of rows, from their norms and their mean.

    With weights, a row counts as that many.
    """
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    first = np.zeros(X.shape[1]) if issparse(X) else np.asarray(X[0], dtype=np.float64)
    centre, norm = np.zeros(X.shape[1]), 0.0
    for block in iter_row_blocks(X, X.shape[1]):
        # Counted from the first row, so that columns far from 0 lose no digits.
        moved = X[block].astype(np.float64) if issparse(X) else X[block] - first
        centre += share[block] @ moved
        norm += float(share[block] @ row_norms(moved, squared=True))
    distance = 2.0 * (norm - float(centre @ centre))
    return distance if distance > ROUNDING * norm else 0.0


def make_kernel(
    kind: KernelLike,
    X: Any,
    gamma: float | str = "scale",
    degree: float = 3.0,
    coef0: float = 0.0,
    weight: FloatArray | None = None,
) -> Kernel:
    """The kernel for tables like X; ``gamma="scale"`` is the inverse of their mean squared distance."""
    if isinstance(gamma, str):
        distance = mean_squared_distance(X, weight)
        gamma = 1.0 / distance if distance > 0 else 1.0
    return Kernel(kind, float(gamma), float(degree), float(coef0))


def default_gamma_grid(kind: KernelLike, X: Any, weight: FloatArray | None = None) -> list[float]:
    """A quarter to four times the default gamma."""
    default = make_kernel(kind, X, weight=weight).gamma
    return [factor * default for factor in GAMMA_FACTORS]


def iter_row_blocks(X: Any, width: int, numbers: int = 2**20) -> list[slice]:
    """Blocks of rows whose kernel with `width` others has some `numbers` entries."""
    step = max(1, numbers // max(width, 1))
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]
