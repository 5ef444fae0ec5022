"""The identity, for a risk whose oracle takes the coefficients themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray, IntArray
from ._base import place_values


class IdentityDesign:
    """The identity matrix: the scores are the coefficients.

    For an oracle that is a function of v and has the products with A inside, such as one whose rows are on
    other machines. The `coef` of its cuts are then the slopes ``A' c``.

    Parameters
    ----------
    n_coefficients : int
        Rows and columns.
    slope_sizes : array-like of shape (n_coefficients,), default=0
        Added to the sizes of slopes in bounds of rounding errors: the sums of absolute values that the oracle
        computes its slopes from, times the ratio of its relative rounding error to that of
        `n_coefficients` terms.

    Examples
    --------
    >>> from capo.design import IdentityDesign
    >>> from capo.engine import minimize
    >>> from capo.measures import Cut
    >>> import numpy as np
    >>> distance = lambda v: Cut(np.sign(3.0 - v), 3.0 * np.sign(3.0 - v)[0])  # R(v) = |v - 3|
    >>> minimize(IdentityDesign(1), distance, C=100.0, tol=1e-6).v.round(4)
    array([3.])
    """

    def __init__(self, n_coefficients: int, slope_sizes: ArrayLike = 0.0) -> None:
        self.shape = (n_coefficients, n_coefficients)
        self.slope_sizes = np.broadcast_to(np.asarray(slope_sizes, dtype=np.float64), (n_coefficients,))

    def matvec(self, v: FloatArray) -> FloatArray:
        """A copy of v."""
        return v.copy()

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """A copy of `coef`."""
        return coef.copy()

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, as a product of all rows."""
        return self.rmatvec(place_values(self.shape[0], rows, values))

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|v|``."""
        return np.abs(v)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|coef|`` plus the sizes of the oracle's sums."""
        return np.abs(coef) + self.slope_sizes
