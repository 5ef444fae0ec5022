"""A kernel matrix as a product of thin factors, K = F F' + E, with E known on its diagonal.

Pivoted Cholesky: the pivots are rows of the table, drawn a block at a time with probabilities
proportional to what is left on the diagonal (Chen, Epperly, Tropp and Webber, 2023), which takes
``n r`` entries of K in place of all n^2. E is positive semidefinite: F are the coordinates of the
rows in the space that the pivots span, and what is trained on F is the best that this subspace has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._functions import Kernel, iter_row_blocks

#: Pivots drawn at once.
BLOCK = 128
#: A row is taken as spanned when this share of it is left, what single precision can tell.
NEGLIGIBLE = 1e-6
#: ... and in double precision, for the pivots themselves.
EXACT = 1e-12
#: A squared length below 0 by this share of the largest is no rounding error.
INDEFINITE = 1e-3
#: Rows whose angles are looked at.
LOOKED_AT = 200
NO_KERNEL = "the kernel is no inner product on this table"
USE_ONE = "Use a positive semidefinite kernel, such as 'rbf'."


@dataclass(frozen=True)
class KernelFactor:
    """Coordinates of rows in the span of some of them.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    pivots : array or sparse matrix of shape (rank, n_features), float64
        The rows that span the space.
    triangle : ndarray of shape (rank, rank)
        Lower triangular, the Cholesky factor of the pivots' own kernel matrix.
    rows : ndarray of shape (n_samples, rank), float32
        F for the training rows.
    left : ndarray of shape (n_samples,)
        The diagonal of E: what of each row is outside the span.
    """

    kernel: Kernel
    pivots: Any
    triangle: FloatArray
    rows: NDArray[np.float32]
    left: FloatArray

    @property
    def rank(self) -> int:
        """Pivots."""
        return int(self.triangle.shape[0])

    @property
    def residual(self) -> float:
        """The share of the kernel matrix's trace that the span does not hold."""
        held = float(np.einsum("ij,ij->", self.rows, self.rows, dtype=np.float64))
        return float(self.left.sum() / max(held + self.left.sum(), np.finfo(float).tiny))

    def dual_coef(self, w: FloatArray) -> FloatArray:
        """Weights of the pivots in the function that has the coordinates w."""
        return np.asarray(solve_triangular(self.triangle, w, lower=True, trans="T"))


def factorize_kernel(
    kernel: Kernel, X: Any, max_rank: int, rng: np.random.RandomState, tol: float = NEGLIGIBLE
) -> KernelFactor:
    """Draw pivots until they span all rows, up to `tol` of the diagonal, or there are `max_rank`."""
    _check_angles(kernel, X)
    left = kernel.diagonal(X)
    largest = float(np.abs(left).max(initial=0.0))
    pivots = _choose(kernel, X, min(max_rank, X.shape[0]), left, rng, tol)
    chosen = X[pivots].astype(np.float64)
    independent, triangle = _triangle(kernel(chosen, chosen), EXACT)
    pivots, chosen = pivots[independent], chosen[independent]
    rows = np.empty((X.shape[0], len(pivots)), dtype=np.float32)
    for block in iter_row_blocks(X, len(pivots)):
        part = solve_triangular(triangle, kernel(X[block], chosen).T, lower=True, overwrite_b=True).T
        rows[block] = part
        left[block] -= np.einsum("ij,ij->i", part, part)
    left[pivots] = 0.0
    if left.min(initial=0.0) < -INDEFINITE * largest:
        raise InvalidInputError(
            f"{NO_KERNEL}: beside the {len(pivots)} rows that were taken to span the others, "
            f"{int((left < 0).sum())} have squared lengths below 0. {USE_ONE}"
        )
    return KernelFactor(kernel, chosen, triangle, rows, np.maximum(left, 0.0))


def _check_angles(kernel: Kernel, X: Any) -> None:
    """Whether the cosines of the angles between some rows are at most 1."""
    some = X[np.unique(np.linspace(0, X.shape[0] - 1, LOOKED_AT).astype(int))]
    matrix = np.asarray(kernel(some, some), dtype=np.float64) + 0.0  # which makes -0 a 0
    length = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    longer = np.abs(matrix) > (1.0 + INDEFINITE) * np.outer(length, length) + np.finfo(np.float64).tiny
    if longer.any():
        i, j = np.argwhere(longer)[0]
        raise InvalidInputError(
            f"{NO_KERNEL}: two rows of squared lengths {matrix[i, i]:.3g} and {matrix[j, j]:.3g} have the "
            f"product {matrix[i, j]:.3g}. {USE_ONE}"
        )


def _choose(
    kernel: Kernel, X: Any, most: int, diagonal: FloatArray, rng: np.random.RandomState, tol: float
) -> NDArray[np.intp]:
    """The pivots, in the order in which they were drawn."""
    if most == len(diagonal):
        return np.arange(most)
    left, enough = diagonal.copy(), tol * diagonal
    F = np.zeros((len(left), most), dtype=np.float32, order="F")
    pivots = np.zeros(0, dtype=np.intp)
    while len(pivots) < most and (left > enough).any():
        drawn = _draw(np.where(left > enough, left, 0.0), min(BLOCK, most - len(pivots)), rng)
        known = F[:, : len(pivots)]
        new = kernel(X, X[drawn]) - known @ known[drawn].T
        kept, triangle = _triangle(new[drawn], tol, float(diagonal.max()))
        columns = solve_triangular(triangle, new[:, kept].T, lower=True).T
        F[:, len(pivots) : len(pivots) + len(kept)] = columns
        left -= np.einsum("ij,ij->i", columns, columns)
        left[drawn] = 0.0
        pivots = np.append(pivots, drawn[kept])
    return pivots


def _triangle(matrix: FloatArray, tol: float, scale: float = 0.0) -> tuple[NDArray[np.intp], FloatArray]:
    """Rows that are independent, the furthest first, and the lower triangle of their Cholesky factor."""
    scale = scale or float(matrix.diagonal().max(initial=0.0))
    triangle, order, rank, _ = dpstrf(matrix, tol=tol * scale, lower=1)
    return order[:rank] - 1, np.tril(triangle[:rank, :rank])


def _draw(mass: FloatArray, count: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Rows without repetition, with probabilities proportional to their mass."""
    count = min(count, int(np.count_nonzero(mass)))
    return np.sort(rng.choice(len(mass), count, replace=False, p=mass / mass.sum()))
