"""Kernel functions, their low-rank factorization, and expansions in support vectors.

The kernels of the distance d = ||x - z|| depend on ``gamma * d**2`` alone and share their default gamma: the
inverse of the mean squared distance between two rows.

Randomly pivoted Cholesky decomposition (Chen, Epperly, Tropp and Webber, 2023): the pivots are rows, sampled
in blocks with probabilities proportional to the diagonal of the residual E. A factor of rank r needs ``n r``
entries of K in place of n^2. F has the coordinates of the rows in the span of the pivots, and E is positive
semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import issparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ._compat import FloatArray, NDArray
from .engine import iter_row_slices
from .exceptions import InvalidInputError

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


def kernel_names() -> list[str]:
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
            matrix, shape = np.asarray(self.kind(X, Z), dtype=np.float64), (X.shape[0], Z.shape[0])
            if matrix.shape != shape or not np.isfinite(matrix).all():
                raise InvalidInputError(
                    f"the kernel must return finite numbers of shape {shape}, one per pair of rows: got "
                    f"{matrix.shape}."
                )
            return matrix
        precision = np.result_type(X.dtype, Z.dtype)
        X, Z = X.astype(precision, copy=False), Z.astype(precision, copy=False)
        if self.kind != "poly" and not issparse(X) and not issparse(Z) and len(Z):
            # Distances from a common point are the same, with smaller rounding errors.
            X, Z = X - Z[0], Z - Z[0]
        scaled = np.asarray(safe_sparse_dot(X, Z.T, dense_output=True))
        if self.kind == "poly":
            return self._power(self.gamma * scaled + self.coef0)
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
            blocks = iter_row_slices(X.shape[0], X.shape[1], BLOCK_SIZE)
            norms = [row_norms(X[block].astype(np.float64), squared=True) for block in blocks]
            return self._power(self.gamma * np.concatenate([np.zeros(0), *norms]) + self.coef0)
        return np.ones(X.shape[0])

    def _power(self, base: FloatArray) -> FloatArray:
        if self.degree % 1 and base.min(initial=0.0) < 0:
            raise InvalidInputError(
                f"a polynomial kernel of degree {self.degree:g} is not defined where gamma x'z + coef0 is "
                f"negative: got {base.min():.3g}. Use an integer as degree, or raise coef0."
            )
        return np.asarray(base**self.degree)


def mean_squared_distance(X: Any, weight: FloatArray | None = None) -> float:
    """The mean of ||x - z||^2 over all pairs of rows, from their norms and their mean.

    A row of weight w is equivalent to w copies of it.
    """
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    first = np.zeros(X.shape[1]) if issparse(X) else np.asarray(X[0], dtype=np.float64)
    center, norm = np.zeros(X.shape[1]), 0.0
    for block in iter_row_slices(X.shape[0], X.shape[1], BLOCK_SIZE):
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


#: Largest number of pivots sampled at once.
MAX_PIVOT_BLOCK = 128
#: A row is in the span of the pivots if at most this share of its squared norm remains; single precision.
DEFAULT_TOL = 1e-6
#: The same for the pivots themselves, in double precision.
PIVOT_TOL = 1e-12
#: Relative tolerance for violations of positive semidefiniteness by rounding errors.
INDEFINITE_TOL = 1e-3
#: Largest number of rows whose inner products are checked.
MAX_CHECKED_ROWS = 200
NOT_SEMIDEFINITE = "the kernel is not positive semidefinite on these rows"
KERNEL_ADVICE = "Use a positive semidefinite kernel, such as 'rbf'."


@dataclass(frozen=True)
class KernelFactor:
    """Coordinates of rows in the span of some of them, the pivots.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    pivots : array or sparse matrix of shape (rank, n_features), float64
        The pivots.
    triangle : ndarray of shape (rank, rank)
        Lower Cholesky factor of the pivots' kernel matrix.
    rows : ndarray of shape (n_samples, rank), float32
        F for the training rows.
    residual_diagonal : ndarray of shape (n_samples,)
        The diagonal of E: the squared distance of each row from the span.
    """

    kernel: Kernel
    pivots: Any
    triangle: FloatArray
    rows: NDArray[np.float32]
    residual_diagonal: FloatArray

    @property
    def rank(self) -> int:
        """Number of pivots."""
        return int(self.triangle.shape[0])

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal of K."""
        return np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64) + self.residual_diagonal

    @property
    def residual(self) -> float:
        """The trace of E relative to that of K."""
        return float(self.residual_diagonal.sum() / max(self.diagonal.sum(), np.finfo(float).tiny))

    def dual_coef(self, w: FloatArray) -> FloatArray:
        """Coefficients of the pivots in the kernel expansion of the function with coordinates w."""
        return _solve_lower(self.triangle, w, trans="T")


def factorize_kernel(
    kernel: Kernel, X: Any, max_rank: int, random: np.random.RandomState, tol: float = DEFAULT_TOL
) -> KernelFactor:
    """Sample pivots until they span all rows, up to `tol` of the diagonal, or there are `max_rank`."""
    _check_inner_products(kernel, X)
    residuals = kernel.diagonal(X)
    largest = float(np.abs(residuals).max(initial=0.0))
    pivots = _choose_pivots(kernel, X, min(max_rank, X.shape[0]), residuals, random, tol)
    chosen = X[pivots].astype(np.float64)
    independent, triangle = _cholesky(kernel(chosen, chosen), PIVOT_TOL)
    pivots, chosen = pivots[independent], chosen[independent]
    rows = np.empty((X.shape[0], len(pivots)), dtype=np.float32)
    for block in iter_row_slices(X.shape[0], len(pivots), BLOCK_SIZE):
        part = _solve_lower(triangle, kernel(X[block], chosen).T, overwrite_b=True).T
        rows[block] = part
        residuals[block] -= np.einsum("ij,ij->i", part, part)
    residuals[pivots] = 0.0
    if residuals.min(initial=0.0) < -INDEFINITE_TOL * largest:
        raise InvalidInputError(
            f"{NOT_SEMIDEFINITE}: {int((residuals < 0).sum())} rows have a negative squared distance "
            f"from the span of the {len(pivots)} pivots. {KERNEL_ADVICE}"
        )
    return KernelFactor(kernel, chosen, triangle, rows, np.maximum(residuals, 0.0))


def _check_inner_products(kernel: Kernel, X: Any) -> None:
    """Check the Cauchy-Schwarz inequality for some pairs of rows."""
    rows = X[np.unique(np.linspace(0, X.shape[0] - 1, MAX_CHECKED_ROWS).astype(int))]
    matrix = np.asarray(kernel(rows, rows), dtype=np.float64) + 0.0  # turns -0 into 0
    norm = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    violated = np.abs(matrix) > (1.0 + INDEFINITE_TOL) * np.outer(norm, norm) + np.finfo(np.float64).tiny
    if violated.any():
        i, j = np.argwhere(violated)[0]
        raise InvalidInputError(
            f"{NOT_SEMIDEFINITE}: two rows with squared norms {matrix[i, i]:.3g} and {matrix[j, j]:.3g} have "
            f"the inner product {matrix[i, j]:.3g}. {KERNEL_ADVICE}"
        )


def _choose_pivots(
    kernel: Kernel, X: Any, max_rank: int, diagonal: FloatArray, random: np.random.RandomState, tol: float
) -> NDArray[np.intp]:
    """Indices of the pivots, in the order in which they were sampled."""
    if max_rank == len(diagonal):
        return np.arange(max_rank)
    residuals, row_tol = diagonal.copy(), tol * diagonal
    F = np.zeros((len(residuals), max_rank), dtype=np.float32, order="F")
    pivots = np.zeros(0, dtype=np.intp)
    while len(pivots) < max_rank and (residuals > row_tol).any():
        # Without replacement, with probabilities proportional to the residuals.
        mass = np.where(residuals > row_tol, residuals, 0.0)
        n_pivots = min(MAX_PIVOT_BLOCK, max_rank - len(pivots), int(np.count_nonzero(mass)))
        sample = np.sort(random.choice(len(mass), n_pivots, replace=False, p=mass / mass.sum()))
        factor = F[:, : len(pivots)]
        new = kernel(X, X[sample]) - factor @ factor[sample].T
        kept, triangle = _cholesky(new[sample], tol, float(diagonal.max()))
        columns = _solve_lower(triangle, new[:, kept].T).T
        F[:, len(pivots) : len(pivots) + len(kept)] = columns
        residuals -= np.einsum("ij,ij->i", columns, columns)
        residuals[sample] = 0.0
        pivots = np.append(pivots, sample[kept])
    return pivots


def _cholesky(matrix: FloatArray, tol: float, scale: float = 0.0) -> tuple[NDArray[np.intp], FloatArray]:
    """Indices of linearly independent rows, in pivot order, and their lower Cholesky factor."""
    scale = scale or float(matrix.diagonal().max(initial=0.0))
    triangle, order, rank, _ = dpstrf(matrix, tol=tol * scale, lower=1)
    return order[:rank] - 1, np.tril(triangle[:rank, :rank])


def _solve_lower(triangle: FloatArray, b: FloatArray, **options: Any) -> FloatArray:
    """Solve a lower triangular system; SciPy 1.13 does not take one without equations."""
    return np.asarray(solve_triangular(triangle, b, lower=True, **options)) if triangle.size else b


@dataclass(frozen=True)
class KernelExpansion:
    """``f(x) = sum_j coef_j k(x, vector_j)``."""

    kernel: Kernel
    vectors: Any
    coef: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """The value of the function at each row, computed in blocks of rows."""
        values = np.empty(X.shape[0])
        for block in iter_row_slices(X.shape[0], self.vectors.shape[0], BLOCK_SIZE):
            values[block] = self.kernel(X[block], self.vectors) @ self.coef
        return values

    def squared_norm(self) -> float:
        """``coef' K coef``, from one pass over the kernel matrix of the vectors."""
        return float(self.coef @ self(self.vectors))
