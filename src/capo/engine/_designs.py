"""Designs: what scores are made of, and the only place that tells dense, sparse and chunked data apart.

A design returns two products, in float64 whatever its storage: the scores ``A v`` of a
coefficient vector, and ``A' c`` for one number per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import issparse

from .._accel.loader import load_kernels
from .._accel.threads import VectorPool, map_in_threads
from .._compat import FloatArray, IntArray
from ..exceptions import InvalidInputError

#: Numbers that are converted or read at once: 256 KiB of float64 stay in a core's cache.
BLOCK_SIZE = 2**15
#: Numbers of a vector that a thread takes at a time.
VECTOR_BLOCK = 2**18


@runtime_checkable
class Design(Protocol):
    """A real matrix A of shape (n_rows, n_coefficients), accessed only through ``A v`` and ``A' c``.

    Any object with these three members is a design, a `scipy.sparse.linalg.LinearOperator` included.
    `as_design` makes one from an array or a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import Design
    >>> class Cumulative:  # a lower triangle of ones that is never stored
    ...     shape = (3, 3)
    ...     def matvec(self, v):
    ...         return np.cumsum(v)
    ...     def rmatvec(self, coef):
    ...         return np.cumsum(coef[::-1])[::-1]
    >>> isinstance(Cumulative(), Design)
    True
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of coefficients."""

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``: one score per row."""

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``: one number per coefficient."""


@runtime_checkable
class BoundedDesign(Design, Protocol):
    """A design with products of some of its rows, and of the absolute values of A.

    The latter bound the other products' rounding errors.
    """

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``: the product with the transpose of some rows, each of which occurs once."""

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``."""

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``."""


def iter_row_blocks(n_rows: int, row_size: float, block_size: int = BLOCK_SIZE) -> Iterator[slice]:
    """Slices of consecutive rows with about `block_size` numbers each, for rows of `row_size` numbers."""
    step = max(1, int(block_size / max(row_size, 1.0)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def add_number(vector: FloatArray, number: float) -> None:
    """Add a number to each element, in place."""
    if len(vector) <= VECTOR_BLOCK:
        vector += number
        return

    def add(rows: slice) -> None:
        vector[rows] += number

    map_in_threads(add, _vector_blocks(len(vector)))


def sum_vector(vector: FloatArray, of: Callable[[FloatArray], FloatArray] | None = None) -> float:
    """The sum of the elements, or of a function of them, block by block."""
    if len(vector) <= VECTOR_BLOCK:
        return float((vector if of is None else of(vector)).sum())

    def add(rows: slice) -> float:
        return float((vector[rows] if of is None else of(vector[rows])).sum())

    return math.fsum(map_in_threads(add, _vector_blocks(len(vector))))


def _vector_blocks(length: int) -> list[slice]:
    """The blocks of a vector for threads, which do not depend on their number."""
    return list(iter_row_blocks(length, 1, VECTOR_BLOCK))


def place_values(n_rows: int, rows: IntArray, values: FloatArray) -> FloatArray:
    """The values in their rows, and 0 in all others."""
    out = np.zeros(n_rows)
    out[rows] = values
    return out


#: Numbers of a task of a thread. The tasks do not depend on the number of threads, nor do their sums.
TASK_SIZE = 2**21
#: Steps of the kernels for each number in a fit of some thirty iterations.
STEPS_PER_NUMBER = 32


class DenseDesign:
    """A two-dimensional array in float64 or float32, in C or Fortran order, never copied.

    Arrays that BLAS cannot take as they are (float32, which is summed in float64 here; views with
    gaps) are converted some rows at a time; compiled products need no copy of float32. Large arrays are
    divided among threads, with `numpy.dot`: the operator ``@`` keeps the interpreter's lock in a product of
    a vector and a matrix.
    """

    def __init__(self, X: NDArray[np.floating]) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self._whole = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)
        # BLAS would copy some rows of an array in Fortran order.
        task_size = X.size if self._whole and not X.flags.c_contiguous else TASK_SIZE
        self._tasks = list(iter_row_blocks(X.shape[0], X.shape[1], max(task_size, 1)))
        self._has_kernels = X.dtype == np.float32 and X.flags.c_contiguous
        self._vectors = VectorPool(X.shape[0], size=2)

    def _load_kernels(self) -> ModuleType | None:
        """Compiled products with large arrays in float32, if there are any."""
        return load_kernels(STEPS_PER_NUMBER * self.X.size) if self._has_kernels else None

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, block by block."""
        out, kernels = self._vectors.take(), self._load_kernels()

        def multiply(task: slice) -> None:
            if kernels is not None:
                kernels.matvec(self.X[task], np.ascontiguousarray(v, dtype=np.float64), out[task])
                return
            for rows, block in self._iter_blocks(task):
                np.dot(block, v, out=out[rows])

        map_in_threads(multiply, self._tasks)
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, block by block."""
        kernels = self._load_kernels()

        def multiply(task: slice) -> FloatArray:
            if kernels is not None:
                some = np.ascontiguousarray(coef[task], dtype=np.float64)
                kernels.add_rmatvec(self.X[task], some, out := np.zeros(self.shape[1]))
                return out
            return self._sum_products(np.dot(coef[rows], block) for rows, block in self._iter_blocks(task))

        return self._sum_products(map_in_threads(multiply, self._tasks))

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, from copies of some rows at a time if rows are stored together."""
        if not self.X.flags.c_contiguous:
            return self.rmatvec(place_values(self.shape[0], rows, values))
        kernels = self._load_kernels()
        rows, values = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(values, np.float64)

        def multiply(task: slice) -> FloatArray:
            if kernels is not None:
                kernels.add_rmatvec_rows(self.X, rows[task], values[task], out := np.zeros(self.shape[1]))
                return out
            blocks = iter_row_blocks(task.stop - task.start, self.shape[1])
            some = (slice(task.start + block.start, task.start + block.stop) for block in blocks)
            return self._sum_products(np.dot(values[part], self._copy_rows(rows[part])) for part in some)

        tasks = list(iter_row_blocks(len(rows), self.shape[1], TASK_SIZE))
        return self._sum_products(map_in_threads(multiply, tasks))

    def _copy_rows(self, rows: IntArray) -> FloatArray:
        return self.X.take(rows, axis=0, mode="clip").astype(np.float64, copy=False)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, block by block."""
        out, size, kernels = self._vectors.take(), np.abs(v).astype(np.float64), self._load_kernels()

        def multiply(task: slice) -> None:
            if kernels is not None:
                kernels.abs_matvec(self.X[task], size, out[task])
                return
            for rows, block in self._iter_abs_blocks(task):
                np.dot(block, size, out=out[rows])

        map_in_threads(multiply, self._tasks)
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, block by block."""
        kernels = self._load_kernels()

        def multiply(task: slice) -> FloatArray:
            if kernels is not None:
                size = np.abs(coef[task]).astype(np.float64, copy=False)
                kernels.add_abs_rmatvec(self.X[task], size, out := np.zeros(self.shape[1]))
                return out
            blocks = self._iter_abs_blocks(task)
            return self._sum_products(np.dot(np.abs(coef[rows]), block) for rows, block in blocks)

        return self._sum_products(map_in_threads(multiply, self._tasks))

    def _sum_products(self, products: Iterable[FloatArray]) -> FloatArray:
        """The sum of vectors of the number of columns, in their order."""
        out = np.zeros(self.shape[1])
        for product in products:
            out += product
        return out

    def _iter_blocks(self, task: slice) -> Iterator[tuple[slice, FloatArray]]:
        """The rows of a task in float64: all at once as they are, or copies of some at a time."""
        if self._whole:
            yield task, np.asarray(self.X[task], dtype=np.float64)
            return
        yield from self._iter_copies(task, np.copyto)

    def _iter_abs_blocks(self, task: slice) -> Iterator[tuple[slice, FloatArray]]:
        """Absolute values of some rows at a time."""
        return self._iter_copies(task, lambda out, block: np.abs(block, out=out, dtype=np.float64))

    def _iter_copies(
        self, task: slice, copy: Callable[[FloatArray, NDArray[np.floating]], object]
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Some rows at a time, in one array that is used again and stays in the cache."""
        buffer = None
        for block in iter_row_blocks(task.stop - task.start, self.shape[1]):
            rows = slice(task.start + block.start, task.start + block.stop)
            n_rows = rows.stop - rows.start
            buffer = np.empty((n_rows, self.shape[1])) if buffer is None else buffer
            copy(buffer[:n_rows], self.X[rows])
            yield rows, buffer[:n_rows]


class SparseDesign:
    """A sparse matrix or array; anything but CSR is converted to it once.

    float64 is multiplied as a whole. float32 is summed in float64, some rows at a time, on
    views of the three arrays, so that no second copy of the values ever exists.
    """

    def __init__(self, X: Any) -> None:
        self.X = sparse.csr_array(X)
        self.shape: tuple[int, int] = self.X.shape
        self._blocks = [slice(0, self.shape[0])]
        if self.X.dtype != np.float64:
            self._blocks = self._small_blocks()

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, block by block."""
        out = np.empty(self.shape[0])
        for rows in self._blocks:
            out[rows] = self._block(rows) @ v
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, block by block."""
        out = np.zeros(self.shape[1])
        for rows in self._blocks:
            out += self._block(rows).T @ coef[rows]
        return out

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, from a copy of the rows."""
        return np.asarray(self.X[rows].T @ values, dtype=np.float64)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, block by block."""
        out = np.empty(self.shape[0])
        for rows in self._small_blocks():
            out[rows] = abs(self._rows(rows)) @ np.abs(v)
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, block by block."""
        out = np.zeros(self.shape[1])
        for rows in self._small_blocks():
            out += abs(self._rows(rows)).T @ np.abs(coef[rows])
        return out

    def _small_blocks(self) -> list[slice]:
        """Blocks of which a copy may be made."""
        # A block costs its construction and, in `rmatvec`, a pass over all columns: it must be larger.
        block_size = max(8 * BLOCK_SIZE, 8 * self.shape[1])
        return list(iter_row_blocks(self.shape[0], self.X.nnz / max(self.shape[0], 1), block_size))

    def _block(self, rows: slice) -> Any:
        return self.X if len(self._blocks) == 1 else self._rows(rows)

    def _rows(self, rows: slice) -> Any:
        indptr = self.X.indptr[rows.start : rows.stop + 1]
        stored = slice(indptr[0], indptr[-1])
        parts = (self.X.data[stored], self.X.indices[stored], indptr - indptr[0])
        return sparse.csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]))


def matrix_design(X: Any) -> DenseDesign | SparseDesign:
    """The design of a two-dimensional array or sparse matrix of real numbers."""
    stored = issparse(X) or isinstance(X, np.ndarray)
    if not (stored and X.ndim == 2 and X.dtype.kind in "biuf"):
        raise InvalidInputError(
            "a design is made from a two-dimensional array of real numbers, a sparse matrix, or an object "
            f"with shape, matvec and rmatvec such as a LinearOperator: got {_describe(X)}."
        )
    return SparseDesign(X) if issparse(X) else DenseDesign(X)


def _describe(X: object) -> str:
    kind, shape, dtype = type(X).__name__, getattr(X, "shape", None), getattr(X, "dtype", None)
    return kind if shape is None else f"{kind} of shape {shape} and type {dtype}"


#: A two-dimensional array or a sparse matrix.
Block = Any


class ChunkedDesign:
    """Blocks of rows from a function that starts them over; each product is one pass.

    Parameters
    ----------
    blocks : callable
        Called without arguments for each pass; returns an iterable of arrays or sparse
        matrices, the rows of the table in their order.
    shape : tuple of int
        Rows and columns of the whole table.
    """

    def __init__(self, blocks: Callable[[], Iterable[Block]], shape: tuple[int, int]) -> None:
        self.blocks, self.shape = blocks, shape

    def matvec(self, v: FloatArray) -> FloatArray:
        """``A v``, filled block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_blocks():
            out[rows] = block.matvec(v)
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """``A' coef``, summed over the blocks."""
        out = np.zeros(self.shape[1])
        for rows, block in self._iter_blocks():
            out += block.rmatvec(coef[rows])
        return out

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, as a product of all rows."""
        return self.rmatvec(place_values(self.shape[0], rows, values))

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|``, filled block by block."""
        out = np.empty(self.shape[0])
        for rows, block in self._iter_blocks():
            out[rows] = block.abs_matvec(v)
        return out

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, summed over the blocks."""
        out = np.zeros(self.shape[1])
        for rows, block in self._iter_blocks():
            out += block.abs_rmatvec(coef[rows])
        return out

    def _iter_blocks(self) -> Iterator[tuple[slice, BoundedDesign]]:
        stop = 0
        for matrix in self.blocks():
            block = matrix_design(matrix)
            start, stop = stop, stop + block.shape[0]
            if stop > self.shape[0] or block.shape[1] != self.shape[1]:
                self._raise_mismatch(f"a block of shape {block.shape} that ends at row {stop}")
            yield slice(start, stop), block
        if stop != self.shape[0]:
            self._raise_mismatch(f"{stop} rows in all")

    def _raise_mismatch(self, found: str) -> NoReturn:
        raise InvalidInputError(
            f"the blocks must make up a table of shape {self.shape}: found {found}. "
            "The callable must return a new iterator over the same blocks on every call."
        )


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
    >>> from capo.engine import IdentityDesign
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
    >>> from capo.engine import OperatorDesign
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


class ConstantColumn:
    """One column that holds the same number in every row: the bias."""

    def __init__(self, n_rows: int, value: float = 1.0) -> None:
        self.shape = (n_rows, 1)
        self.value = value

    def matvec(self, v: FloatArray) -> FloatArray:
        """The number times its coefficient, in every row."""
        return np.full(self.shape[0], self.value * v[0])

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The number times the sum of `coef`."""
        return np.array([self.value * sum_vector(coef)])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The number times the sum of the values."""
        return self.rmatvec(values)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """The absolute value of the number times its coefficient, in every row."""
        return np.full(self.shape[0], abs(self.value * v[0]))

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """The absolute value of the number times the sum of ``|coef|``."""
        return np.array([abs(self.value) * sum_vector(coef, np.abs)])


class ScaledDesign:
    """A design times a number, such as the auxiliaries over sqrt(B)."""

    def __init__(self, design: BoundedDesign, factor: float) -> None:
        self.design, self.factor = design, factor
        self.shape = design.shape

    def matvec(self, v: FloatArray) -> FloatArray:
        """The scores of the scaled coefficients."""
        return self.design.matvec(self.factor * v)

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The scaled product with the transpose."""
        return self.factor * self.design.rmatvec(coef)

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The scaled product with the transpose of some rows."""
        return self.factor * self.design.rmatvec_rows(rows, values)

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """``|A| |v|`` of the scaled coefficients."""
        return self.design.abs_matvec(self.factor * v)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """``|A|' |coef|``, scaled."""
        return abs(self.factor) * self.design.abs_rmatvec(coef)


class AugmentedDesign:
    """Designs side by side; none of them is copied."""

    def __init__(self, parts: Sequence[BoundedDesign]) -> None:
        n_rows = {part.shape[0] for part in parts}
        if len(n_rows) != 1:
            raise InvalidInputError(
                f"stacked designs must have the same number of rows: got "
                f"{', '.join(str(part.shape[0]) for part in parts)}."
            )
        self.parts = tuple(parts)
        self.shape = (n_rows.pop(), sum(part.shape[1] for part in parts))
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        self._slices = [slice(start, end) for start, end in pairwise(ends)]

    def matvec(self, v: FloatArray) -> FloatArray:
        """The sum of the parts' scores."""
        out = self.parts[0].matvec(v[self._slices[0]])
        for part, columns in zip(self.parts[1:], self._slices[1:], strict=True):
            if isinstance(part, ConstantColumn):  # without a vector of copies of the number
                add_number(out, part.value * v[columns.start])
            else:
                out += part.matvec(v[columns])
        return out

    def rmatvec(self, coef: FloatArray) -> FloatArray:
        """The parts' products with their transposes, one after the other."""
        return np.concatenate([part.rmatvec(coef) for part in self.parts])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """The parts' products with the transposes of some rows, one after the other."""
        return np.concatenate([part.rmatvec_rows(rows, values) for part in self.parts])

    def abs_matvec(self, v: FloatArray) -> FloatArray:
        """The sum of the parts' ``|A| |v|``."""
        pieces = zip(self.parts, self._slices, strict=True)
        return np.sum([part.abs_matvec(v[columns]) for part, columns in pieces], axis=0, dtype=np.float64)

    def abs_rmatvec(self, coef: FloatArray) -> FloatArray:
        """The parts' ``|A|' |coef|``, one after the other."""
        return np.concatenate([part.abs_rmatvec(coef) for part in self.parts])


#: Designs whose products need no check.
BUILT_IN = (
    AugmentedDesign,
    ChunkedDesign,
    ConstantColumn,
    DenseDesign,
    IdentityDesign,
    OperatorDesign,
    ScaledDesign,
    SparseDesign,
)


def as_design(X: Any) -> BoundedDesign:
    """Make a design from an array, a sparse matrix, a memory map, a linear operator or a design.

    Parameters
    ----------
    X : ndarray, memmap, sparse matrix or array, LinearOperator, or Design
        A real matrix. An array of float64 or float32 and a CSR matrix are not copied.

    Returns
    -------
    BoundedDesign
        capo's own designs are returned as they are. The products of any other object with `shape`,
        `matvec` and `rmatvec` are checked each time they are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import LinearOperator
    >>> from capo.engine import as_design
    >>> as_design(np.eye(3)).matvec(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    >>> differences = LinearOperator(
    ...     shape=(2, 3), dtype=float, matvec=np.diff, rmatvec=lambda c: -np.diff(c, prepend=0, append=0)
    ... )
    >>> as_design(differences).rmatvec(np.array([1.0, 2.0]))
    array([-1., -1.,  2.])
    """
    if isinstance(X, BUILT_IN):
        return X
    return OperatorDesign(X) if isinstance(X, Design) else matrix_design(X)


def from_blocks(blocks: Callable[[], Iterable[Block]], shape: tuple[int, int]) -> ChunkedDesign:
    """Make a design from blocks of rows that are read or generated anew for each product.

    Parameters
    ----------
    blocks : callable
        Called without arguments for each product; returns an iterator over arrays or sparse matrices,
        the rows of the table in their order. The callable must return a new iterator over the same blocks
        on every call.
    shape : tuple of int
        Rows and columns of the whole table.

    Returns
    -------
    ChunkedDesign
        The design; of the table it holds one block at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import from_blocks
    >>> design = from_blocks(lambda: (np.full((2, 1), i) for i in (1.0, 2.0)), shape=(4, 1))
    >>> design.matvec(np.array([10.0]))
    array([10., 10., 20., 20.])
    """
    return ChunkedDesign(blocks, shape)


def augment(
    phi: Any,
    *,
    auxiliary: NDArray[np.floating] | None = None,
    B: float = 1.0,
    bias: float | None = 1.0,
) -> BoundedDesign:
    """``[auxiliary / sqrt(B) | Phi | bias]``, without a copy of any of them.

    Parameters
    ----------
    phi : whatever `as_design` takes
        The features.
    auxiliary : ndarray of shape (n_rows, n_auxiliaries), optional
        Columns that come before the features.
    B : float, default=1.0
        Regularization strength of the auxiliaries' coefficients relative to that of the features'.
    bias : float or None, default=1.0
        The number in the last, constant column; None for no such column.

    Returns
    -------
    BoundedDesign
        The columns side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import augment
    >>> augment(np.eye(2)).matvec(np.array([1.0, 2.0, 10.0]))
    array([11., 12.])
    """
    parts: list[BoundedDesign] = []
    if auxiliary is not None:
        if not B > 0:
            raise InvalidInputError(f"B must be above 0: got {B!r}.")
        parts.append(ScaledDesign(as_design(auxiliary), B**-0.5))
    parts.append(as_design(phi))
    if bias is not None:
        parts.append(ConstantColumn(parts[0].shape[0], bias))
    return parts[0] if len(parts) == 1 else AugmentedDesign(parts)
