"""A linear operator, SciPy's or the user's own, as a design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._base import Design, place_values

#: Products that an estimate of the absolute values takes.
N_SIGN_PRODUCTS = 3


class OperatorDesign:
    """A `scipy.sparse.linalg.LinearOperator`, or any object with `shape`, `matvec` and `rmatvec`.

    The products are checked to be real vectors of the right length, and copied to float64, so that an
    operator may return its input or a buffer that it uses again.

    Parameters
    ----------
    operator : Design
        A real operator with the product of its transpose, `rmatvec`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> from capo.design import OperatorDesign
    >>> OperatorDesign(aslinearoperator(np.eye(2, 3))).matvec(np.array([1.0, 2.0, 3.0]))
    array([1., 2.])
    """

    def __init__(self, operator: Design) -> None:
        self.operator = operator
        self.shape = _check_shape(operator)
        dtype = getattr(operator, "dtype", None)
        if dtype is not None and np.dtype(dtype).kind not in "biuf":
            raise InvalidInputError(
                f"a design must be a real matrix: got {type(operator).__name__} of type {dtype}."
            )

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, checked."""
        return self._product("matvec", self.operator.matvec, v, self.shape[0])

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, checked."""
        return self._product("rmatvec", self.operator.rmatvec, coef, self.shape[1])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, as a product of all rows."""
        return self.rmatvec(place_values(self.shape[0], rows, values))

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """An estimate of ``|A| |v|`` from products with random signs, as the elements of A are unknown."""
        return self._estimate(self.matvec, v)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """An estimate of ``|A|' |coef|`` from products with random signs."""
        return self._estimate(self.rmatvec, coef)

    @staticmethod
    def _estimate(product: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray:
        """A product with random signs is about the norm of its terms, which bounds the sum of their sizes."""
        rng = np.random.default_rng(0)
        sums = [np.abs(product(x * rng.choice([-1.0, 1.0], size=len(x)))) for _ in range(N_SIGN_PRODUCTS)]
        largest: FloatArray = np.max(sums, axis=0)
        return np.sqrt(np.count_nonzero(x)) * largest

    def _product(self, name: str, product: Callable[[FloatArray], Any], x: FloatArray, n: int) -> FloatArray:
        try:
            result = np.asarray(product(x))
        except NotImplementedError as error:
            raise InvalidInputError(
                f"{self._describe()} does not implement {name}: the solver needs matvec, the product with "
                "the matrix, and rmatvec, the product with its transpose."
            ) from error
        except ValueError as error:
            raise InvalidInputError(f"{name} of {self._describe()} failed: {error}.") from error
        if result.shape not in ((n,), (n, 1)) or result.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{name} of {self._describe()} must return {n} real numbers: got an array of shape "
                f"{result.shape} and type {result.dtype}."
            )
        return np.array(result.reshape(n), dtype=np.float64)

    def _describe(self) -> str:
        return f"{type(self.operator).__name__} of shape {self.shape}"


def _check_shape(operator: Design) -> tuple[int, int]:
    try:
        n_rows, n_coef = map(int, operator.shape)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"the shape of a design must be two whole numbers, rows and coefficients: got {operator.shape!r}."
        ) from None
    return n_rows, n_coef
