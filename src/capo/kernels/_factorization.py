"""Low-rank factorization of a kernel matrix, K = F F' + E, with the diagonal of E.

Randomly pivoted Cholesky decomposition (Chen, Epperly, Tropp and Webber, 2023): the pivots are rows, sampled
in blocks with probabilities proportional to the diagonal of the residual E. A factor of rank r needs ``n r``
entries of K in place of n^2. F has the coordinates of the rows in the span of the pivots, and E is positive
semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from .._typing import FloatArray
from ..design import iter_row_blocks
from ..exceptions import InvalidInputError
from ._functions import BLOCK_SIZE, Kernel

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
    for block in iter_row_blocks(X.shape[0], len(pivots), BLOCK_SIZE):
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
        n_pivots = min(MAX_PIVOT_BLOCK, max_rank - len(pivots))
        sample = _sample(np.where(residuals > row_tol, residuals, 0.0), n_pivots, random)
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


def _sample(mass: FloatArray, count: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Indices of rows sampled without replacement, with probabilities proportional to their mass."""
    count = min(count, int(np.count_nonzero(mass)))
    return np.sort(random.choice(len(mass), count, replace=False, p=mass / mass.sum()))
