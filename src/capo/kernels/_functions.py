"""Kernels by name, with a default gamma computed from the data.

The kernels of the distance d = ||x - z|| depend on ``gamma * d**2`` alone and share their default gamma: the
inverse of the mean squared distance between two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from .._typing import FloatArray
from ..design import iter_row_blocks
from ..exceptions import InvalidInputError

KernelLike = str | Callable[[Any, Any], Any]

#: Default grid for gamma, as multiples of its default.
GAMMA_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)

#: Kernel values, or numbers of the table, that are computed at once.
BLOCK_SIZE = 2**20

#: Squared distances below this share of the rows' squared norms are rounding errors.
ROUNDING_TOL = 1e-13

#: Kernels as functions of ``gamma * d**2``, computed in place; all are 1 at the distance 0.
DISTANCE_KERNELS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "rbf": lambda t: np.exp(np.negative(t, out=t), out=t),
    "laplacian": lambda t: np.exp(np.negative(np.sqrt(t, out=t), out=t), out=t),
    "inverse_distance": lambda t: np.reciprocal(np.add(np.sqrt(t, out=t), 1.0, out=t), out=t),
    "inverse_squared_distance": lambda t: np.reciprocal(np.add(t, 1.0, out=t), out=t),
}


def names() -> list[str]:
    """The names of the built-in kernels."""
    return [*DISTANCE_KERNELS, "poly"]


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters, as a function of two arrays of rows.

    The result has the precision of the rows; single and double precision together give double.

    Parameters
    ----------
    kind : str or callable
        "rbf", "laplacian", "inverse_distance", "inverse_squared_distance", "poly", or a function
        of two arrays of rows that returns their kernel matrix.
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
        """The kernel matrix of the rows of X with the rows of Z."""
        if callable(self.kind):
            return _check_matrix(self.kind(X, Z), (X.shape[0], Z.shape[0]))
        precision = np.result_type(X.dtype, Z.dtype)
        X, Z = X.astype(precision, copy=False), Z.astype(precision, copy=False)
        if self.kind == "poly":
            return self._power(self.gamma * _inner(X, Z) + self.coef0)
        X, Z = _shift(X, Z)
        scaled = _inner(X, Z)
        scaled *= -2.0 * self.gamma
        scaled += self.gamma * row_norms(X, squared=True)[:, None]
        scaled += self.gamma * row_norms(Z, squared=True)
        return DISTANCE_KERNELS[self.kind](np.maximum(scaled, 0.0, out=scaled))

    def diagonal(self, X: Any) -> FloatArray:
        """The kernel of each row with itself."""
        if callable(self.kind):
            rows = (X[i : i + 1] for i in range(X.shape[0]))
            return np.array([self(row, row)[0, 0] for row in rows])
        if self.kind == "poly":
            return self._power(self.gamma * _squared_norms(X) + self.coef0)
        return np.ones(X.shape[0])

    def _power(self, base: FloatArray) -> FloatArray:
        if self.degree % 1 and base.min(initial=0.0) < 0:
            raise InvalidInputError(
                f"a polynomial kernel of degree {self.degree:g} is not defined where gamma x'z + coef0 is "
                f"negative: got {base.min():.3g}. Use an integer as degree, or raise coef0."
            )
        return np.asarray(base**self.degree)


def _shift(X: Any, Z: Any) -> tuple[Any, Any]:
    """Subtract a common point, which leaves distances the same and reduces rounding errors."""
    if issparse(X) or issparse(Z) or not len(Z):
        return X, Z
    return X - Z[0], Z - Z[0]


def _inner(X: Any, Z: Any) -> FloatArray:
    return np.asarray(safe_sparse_dot(X, Z.T, dense_output=True))


def _check_matrix(values: Any, shape: tuple[int, int]) -> FloatArray:
    """Check that a user's kernel returned a matrix of finite numbers of the right shape."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise InvalidInputError(
            f"the kernel must return finite numbers of shape {shape}, one per pair of rows: got "
            f"{matrix.shape}."
        )
    return matrix


def _squared_norms(X: Any) -> FloatArray:
    """||x||^2 of each row, in double precision."""
    norms = np.empty(X.shape[0])
    for block in iter_row_blocks(X.shape[0], X.shape[1], BLOCK_SIZE):
        norms[block] = row_norms(X[block].astype(np.float64), squared=True)
    return norms


def mean_squared_distance(X: Any, weight: FloatArray | None = None) -> float:
    """The mean of ||x - z||^2 over all pairs of rows, from their norms and their mean.

    A row of weight w is equivalent to w copies of it.
    """
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    first = np.zeros(X.shape[1]) if issparse(X) else np.asarray(X[0], dtype=np.float64)
    center, norm = np.zeros(X.shape[1]), 0.0
    for block in iter_row_blocks(X.shape[0], X.shape[1], BLOCK_SIZE):
        # Relative to the first row, so that columns far from 0 do not lose precision.
        shifted = X[block].astype(np.float64) if issparse(X) else X[block] - first
        center += share[block] @ shifted
        norm += float(share[block] @ row_norms(shifted, squared=True))
    distance = 2.0 * (norm - float(center @ center))
    return distance if distance > ROUNDING_TOL * norm else 0.0


def make_kernel(
    kind: KernelLike,
    X: Any,
    gamma: float | str = "scale",
    degree: float = 3.0,
    coef0: float = 0.0,
    weight: FloatArray | None = None,
) -> Kernel:
    """A kernel for the rows X; ``gamma="scale"`` is the inverse of their mean squared distance."""
    if isinstance(gamma, str):
        distance = mean_squared_distance(X, weight)
        gamma = 1.0 / distance if distance > 0 else 1.0
    return Kernel(kind, float(gamma), float(degree), float(coef0))


def default_gamma_grid(kind: KernelLike, X: Any, weight: FloatArray | None = None) -> list[float]:
    """Values of gamma from a quarter to four times the default."""
    default = make_kernel(kind, X, weight=weight).gamma
    return [factor * default for factor in GAMMA_FACTORS]
