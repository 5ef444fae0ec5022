"""Designs: matrices that compute scores; the only module that distinguishes dense, sparse and chunked data.

A design returns two products, in float64 whatever its storage: the scores ``A v`` of a
coefficient vector, and ``A' c`` for one number per row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from .._accel.loader import load_kernels
from .._accel.threads import VectorPool, map_in_threads
from .._compat import ArrayLike, FloatArray, IntArray, NDArray
from ..exceptions import InvalidInputError, check_positive

#: Number of values that are converted or read at once: 256 KiB of float64 stay in a core's cache.
BLOCK_SIZE = 2**15
#: Number of values of a vector per task of a thread.
VECTOR_BLOCK = 2**18
NOT_FINITE = (
    "the design or the oracle returned NaN or infinity: remove or impute such rows, and scale features that "
    "overflow."
)


@runtime_checkable
class Design(Protocol):
    """A real matrix A of shape (n_rows, n_coefficients), accessed only through ``A v`` and ``A' c``.

    Any object with these three members is a design, such as a `scipy.sparse.linalg.LinearOperator`.
    `as_design` converts arrays and sparse matrices.

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


class BoundedDesign(ABC):
    """Base class of capo's designs, with products of some rows of A and of its absolute values.

    Products of absolute values bound the rounding errors of the other products.
    """

    shape: tuple[int, int]

    @abstractmethod
    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        """``A v``, one score per row, or ``|A| |v|``."""

    @abstractmethod
    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        """``A' coef``, one number per coefficient, or ``|A|' |coef|``."""

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``: the product with the transpose of some rows, each of which occurs once."""
        coef = np.zeros(self.shape[0])
        coef[rows] = values
        return self.rmatvec(coef)


def iter_row_slices(
    n_rows: int, row_size: float, block_size: int = BLOCK_SIZE, first: int = 0
) -> Iterator[slice]:
    """Slices of the rows from `first` to `n_rows`, with about `block_size` numbers each, `row_size` a row."""
    step = max(1, int(block_size / max(row_size, 1.0)))
    for start in range(first, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _join_rows(n_rows: int, products: Iterable[tuple[slice, FloatArray]]) -> FloatArray:
    """Concatenate the numbers of blocks of rows."""
    out = np.empty(n_rows)
    for rows, product in products:
        out[rows] = product
    return out


def _sum_products(n_columns: int, products: Iterable[FloatArray]) -> FloatArray:
    """Add vectors with one number per column, in their order."""
    out = np.zeros(n_columns)
    for product in products:
        out += product
    return out


#: Number of values per task of a thread. Tasks and sums do not depend on the number of threads.
TASK_SIZE = 2**21
#: Steps of the kernels for each number in a fit of some thirty iterations.
STEPS_PER_NUMBER = 32


class DenseDesign(BoundedDesign):
    """A two-dimensional array in float64 or float32, in C or Fortran order, never copied.

    Arrays that BLAS cannot use directly (float32, which is summed in float64; views with gaps) are converted
    some rows at a time; compiled products need no copy of float32. Large arrays are divided among threads,
    with `numpy.dot`: the operator ``@`` keeps the interpreter's lock in a product of a vector and a matrix.
    """

    def __init__(self, X: NDArray[np.floating]) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self._whole = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)
        # BLAS would copy some rows of an array in Fortran order.
        task_size = X.size if self._whole and not X.flags.c_contiguous else TASK_SIZE
        self._tasks = list(iter_row_slices(X.shape[0], X.shape[1], max(task_size, 1)))
        has_kernels = X.dtype == np.float32 and X.flags.c_contiguous
        self._kernels = load_kernels(STEPS_PER_NUMBER * X.size) if has_kernels else None
        self._vectors = VectorPool(X.shape[0], size=2)

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        out, kernels = self._vectors.take(), None if absolute else self._kernels
        v = np.ascontiguousarray(np.abs(v) if absolute else v, dtype=np.float64)

        def multiply(task: slice) -> None:
            if kernels is not None:
                kernels.matvec(self.X[task], v, out[task])
                return
            for rows, block in self._iter_blocks(task, absolute):
                np.dot(block, v, out=out[rows])

        map_in_threads(multiply, self._tasks)
        return out

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        kernels = None if absolute else self._kernels
        coef = np.ascontiguousarray(np.abs(coef) if absolute else coef, dtype=np.float64)

        def multiply(task: slice) -> FloatArray:
            if kernels is not None:
                kernels.add_rmatvec(self.X[task], coef[task], out := np.zeros(self.shape[1]))
                return out
            blocks = self._iter_blocks(task, absolute)
            return _sum_products(self.shape[1], (np.dot(coef[rows], block) for rows, block in blocks))

        return _sum_products(self.shape[1], map_in_threads(multiply, self._tasks))

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, from copies of some rows at a time if rows are stored together."""
        if not self.X.flags.c_contiguous:
            return super().rmatvec_rows(rows, values)
        n_columns, values = self.shape[1], np.asarray(values, dtype=np.float64)

        def copy_rows(part: slice) -> FloatArray:
            return self.X.take(rows[part], axis=0, mode="clip").astype(np.float64, copy=False)

        def multiply(task: slice) -> FloatArray:
            parts = iter_row_slices(task.stop, n_columns, first=task.start)
            return _sum_products(n_columns, (np.dot(values[part], copy_rows(part)) for part in parts))

        tasks = list(iter_row_slices(len(rows), n_columns, TASK_SIZE))
        return _sum_products(n_columns, map_in_threads(multiply, tasks))

    def _iter_blocks(self, task: slice, absolute: bool) -> Iterator[tuple[slice, FloatArray]]:
        """The rows of a task in float64, or their absolute values: a view, or copies of some rows at a time.

        The copies share one array, which stays in the cache.
        """
        if self._whole and not absolute:
            yield task, np.asarray(self.X[task], dtype=np.float64)
            return
        buffer = None
        for rows in iter_row_slices(task.stop, self.shape[1], first=task.start):
            n_rows = rows.stop - rows.start
            buffer = np.empty((n_rows, self.shape[1])) if buffer is None else buffer
            np.copyto(buffer[:n_rows], self.X[rows])
            yield rows, np.abs(buffer[:n_rows], out=buffer[:n_rows]) if absolute else buffer[:n_rows]


class SparseDesign(BoundedDesign):
    """A sparse matrix or array; other formats than CSR are converted once.

    float64 is multiplied as a whole. float32 is summed in float64, some rows at a time, on
    views of the three arrays, so that no second copy of the values ever exists.
    """

    def __init__(self, X: Any) -> None:
        self.X = sparse.csr_array(X)
        self.shape: tuple[int, int] = self.X.shape

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        x, blocks = np.abs(v) if absolute else v, self._iter_blocks(absolute)
        return _join_rows(self.shape[0], ((rows, block @ x) for rows, block in blocks))

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        x, blocks = np.abs(coef) if absolute else coef, self._iter_blocks(absolute)
        return _sum_products(self.shape[1], (block.T @ x[rows] for rows, block in blocks))

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """``A[rows]' values``, from a copy of the rows."""
        return np.asarray(self.X[rows].T @ values, dtype=np.float64)

    def _iter_blocks(self, absolute: bool) -> Iterator[tuple[slice, Any]]:
        """All rows, or some at a time if they are copied: for float32 and for absolute values."""
        if self.X.dtype == np.float64 and not absolute:
            yield slice(0, self.shape[0]), self.X
            return
        # A block costs its construction and, in `rmatvec`, a pass over all columns: it must be larger.
        block_size = max(8 * BLOCK_SIZE, 8 * self.shape[1])
        for rows in iter_row_slices(self.shape[0], self.X.nnz / max(self.shape[0], 1), block_size):
            indptr = self.X.indptr[rows.start : rows.stop + 1]
            stored = slice(indptr[0], indptr[-1])
            parts = (self.X.data[stored], self.X.indices[stored], indptr - indptr[0])
            block = sparse.csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]))
            yield rows, abs(block) if absolute else block


class ChunkedDesign(BoundedDesign):
    """Blocks of rows that are read or generated for each product; only one block at a time is in memory.

    Parameters
    ----------
    blocks : callable
        Called without arguments for each product; returns an iterator over arrays or sparse matrices,
        the rows of the table in their order. The callable must return a new iterator over the same blocks
        on every call.
    shape : tuple of int
        Rows and columns of the whole table.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import ChunkedDesign
    >>> design = ChunkedDesign(lambda: (np.full((2, 1), i) for i in (1.0, 2.0)), shape=(4, 1))
    >>> design.matvec(np.array([10.0]))
    array([10., 10., 20., 20.])
    """

    def __init__(self, blocks: Callable[[], Iterable[Any]], shape: tuple[int, int]) -> None:
        self.blocks, self.shape = blocks, shape

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        products = ((rows, block.matvec(v, absolute=absolute)) for rows, block in self._iter_blocks())
        return _join_rows(self.shape[0], products)

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        products = (block.rmatvec(coef[rows], absolute=absolute) for rows, block in self._iter_blocks())
        return _sum_products(self.shape[1], products)

    def _iter_blocks(self) -> Iterator[tuple[slice, BoundedDesign]]:
        stop = 0
        for matrix in self.blocks():
            block = _matrix_design(matrix)
            start, stop = stop, stop + block.shape[0]
            if stop > self.shape[0] or block.shape[1] != self.shape[1]:
                raise self._mismatch(f"a block of shape {block.shape} that ends at row {stop}")
            yield slice(start, stop), block
        if stop != self.shape[0]:
            raise self._mismatch(f"{stop} rows in all")

    def _mismatch(self, found: str) -> InvalidInputError:
        return InvalidInputError(
            f"the blocks must make up a table of shape {self.shape}: found {found}. "
            "The callable must return a new iterator over the same blocks on every call."
        )


class IdentityDesign(BoundedDesign):
    """The identity matrix: the scores are the coefficients.

    For an oracle that is a function of v and computes the products with A itself, for example on other
    machines. The `coef` of its cuts are then the slopes ``A' c``.

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
    >>> from capo.engine import CuttingPlane, IdentityDesign
    >>> from capo.measures import Cut
    >>> import numpy as np
    >>> distance = lambda v: Cut(np.sign(3.0 - v), 3.0 * np.sign(3.0 - v)[0])  # R(v) = |v - 3|
    >>> CuttingPlane(IdentityDesign(1), distance).solve(C=100.0, tol=1e-6).v.round(4)
    array([3.])
    """

    def __init__(self, n_coefficients: int, slope_sizes: ArrayLike = 0.0) -> None:
        self.shape = (n_coefficients, n_coefficients)
        self.slope_sizes = np.broadcast_to(np.asarray(slope_sizes, dtype=np.float64), (n_coefficients,))

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        """A copy of v, or ``|v|``."""
        return np.abs(v) if absolute else v.copy()

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        """A copy of `coef`, or ``|coef|`` plus the sizes of the oracle's sums."""
        return np.abs(coef) + self.slope_sizes if absolute else coef.copy()


#: Number of products for an estimate of the absolute values.
N_SIGN_PRODUCTS = 3


class OperatorDesign(BoundedDesign):
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
    >>> from capo.engine import as_design
    >>> as_design(aslinearoperator(np.eye(2, 3))).matvec(np.array([1.0, 2.0, 3.0]))
    array([1., 2.])
    """

    def __init__(self, operator: Design) -> None:
        self.operator = operator
        try:
            n_rows, n_coef = map(int, operator.shape)
        except (TypeError, ValueError):
            raise InvalidInputError(
                "the shape of a design must be two whole numbers, rows and coefficients: got "
                f"{operator.shape!r}."
            ) from None
        self.shape = n_rows, n_coef
        dtype = getattr(operator, "dtype", None)
        if dtype is not None and np.dtype(dtype).kind not in "biuf":
            raise InvalidInputError(
                f"a design must be a real matrix: got {type(operator).__name__} of type {dtype}."
            )

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        """``A v``, checked, or an estimate of ``|A| |v|``."""
        return self._estimate("matvec", v) if absolute else self._product("matvec", v)

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        """``A' coef``, checked, or an estimate of ``|A|' |coef|``."""
        return self._estimate("rmatvec", coef) if absolute else self._product("rmatvec", coef)

    def _estimate(self, name: str, x: FloatArray) -> FloatArray:
        """An estimate from products with random signs, as the elements of A are unknown.

        Such a product is about the norm of its terms, which bounds the sum of their sizes.
        """
        rng = np.random.default_rng(0)
        signed = (x * rng.choice([-1.0, 1.0], size=len(x)) for _ in range(N_SIGN_PRODUCTS))
        largest: FloatArray = np.max([np.abs(self._product(name, each)) for each in signed], axis=0)
        return np.sqrt(np.count_nonzero(x)) * largest

    def _product(self, name: str, x: FloatArray) -> FloatArray:
        n, described = self.shape[name == "rmatvec"], f"{type(self.operator).__name__} of shape {self.shape}"
        try:
            result = np.asarray(getattr(self.operator, name)(x))
        except NotImplementedError as error:
            raise InvalidInputError(
                f"{described} does not implement {name}: the solver needs matvec, the product with "
                "the matrix, and rmatvec, the product with its transpose."
            ) from error
        except ValueError as error:
            raise InvalidInputError(f"{name} of {described} failed: {error}.") from error
        if result.shape not in ((n,), (n, 1)) or result.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{name} of {described} must return {n} real numbers: got an array of shape "
                f"{result.shape} and type {result.dtype}."
            )
        return np.array(result.reshape(n), dtype=np.float64)


class OnesColumn(BoundedDesign):
    """One column of ones: the bias."""

    def __init__(self, n_rows: int) -> None:
        self.shape = (n_rows, 1)

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        return np.full(self.shape[0], abs(v[0]) if absolute else v[0])

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        # In blocks that do not depend on the number of threads.
        values, blocks = np.abs(coef) if absolute else coef, list(iter_row_slices(len(coef), 1, VECTOR_BLOCK))
        return np.array([math.fsum(map_in_threads(lambda rows: float(values[rows].sum()), blocks))])

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        return self.rmatvec(values)


class AugmentedDesign(BoundedDesign):
    """Designs side by side, each multiplied by a number, without copies."""

    def __init__(self, parts: Sequence[BoundedDesign], factors: Sequence[float]) -> None:
        n_rows = [part.shape[0] for part in parts]
        if len(set(n_rows)) != 1:
            raise InvalidInputError(
                f"stacked designs must have the same number of rows: got {', '.join(map(str, n_rows))}."
            )
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        self.shape = (n_rows[0], ends[-1])
        columns = [slice(start, end) for start, end in pairwise(ends)]
        self.parts = list(zip(parts, factors, columns, strict=True))

    def matvec(self, v: FloatArray, *, absolute: bool = False) -> FloatArray:
        first, factor, columns = self.parts[0]
        out = first.matvec(factor * v[columns], absolute=absolute)
        for part, factor, columns in self.parts[1:]:
            scaled = np.abs(factor * v[columns]) if absolute else factor * v[columns]
            # The bias is added without a vector of copies of the number.
            out += scaled[0] if isinstance(part, OnesColumn) else part.matvec(scaled, absolute=absolute)
        return out

    def rmatvec(self, coef: FloatArray, *, absolute: bool = False) -> FloatArray:
        products = [factor * part.rmatvec(coef, absolute=absolute) for part, factor, _ in self.parts]
        return np.abs(np.concatenate(products)) if absolute else np.concatenate(products)

    def rmatvec_rows(self, rows: IntArray, values: FloatArray) -> FloatArray:
        return np.concatenate([factor * part.rmatvec_rows(rows, values) for part, factor, _ in self.parts])


def as_design(X: Any) -> BoundedDesign:
    """Make a design from an array, a sparse matrix, a memory map, a linear operator or a design.

    Parameters
    ----------
    X : ndarray, memmap, sparse matrix or array, LinearOperator, or Design
        A real matrix. An array of float64 or float32 and a CSR matrix are not copied.

    Returns
    -------
    BoundedDesign
        capo's own designs are returned unchanged. The products of any other object with `shape`,
        `matvec` and `rmatvec` are checked each time.

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
    if isinstance(X, BoundedDesign):
        return X
    return OperatorDesign(X) if isinstance(X, Design) else _matrix_design(X)


def _matrix_design(X: Any) -> BoundedDesign:
    """The design of a two-dimensional array or sparse matrix of real numbers."""
    if (sparse.issparse(X) or isinstance(X, np.ndarray)) and X.ndim == 2 and X.dtype.kind in "biuf":
        return SparseDesign(X) if sparse.issparse(X) else DenseDesign(X)
    found, shape = type(X).__name__, getattr(X, "shape", None)
    if shape is not None:
        found += f" of shape {shape} and type {getattr(X, 'dtype', None)}"
    raise InvalidInputError(
        "a design is made from a two-dimensional array of real numbers, a sparse matrix, or an object "
        f"with shape, matvec and rmatvec such as a LinearOperator: got {found}."
    )


def augment(
    phi: Any, *, auxiliary: NDArray[np.floating] | None = None, B: float = 1.0, bias: float | None = 1.0
) -> BoundedDesign:
    """``[auxiliary / sqrt(B) | Phi | bias]``, without a copy of any of them.

    Parameters
    ----------
    phi : whatever `as_design` takes
        The features.
    auxiliary : ndarray of shape (n_rows, n_auxiliaries), optional
        Columns that come before the features.
    B : float, default=1.0
        Regularization strength of the coefficients of the auxiliaries relative to the features.
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
    parts, factors = [as_design(phi)], [1.0]
    if auxiliary is not None:
        parts, factors = [as_design(auxiliary), *parts], [check_positive(B, "B") ** -0.5, *factors]
    if bias is not None:
        parts, factors = [*parts, OnesColumn(parts[0].shape[0])], [*factors, bias]
    return parts[0] if len(parts) == 1 else AugmentedDesign(parts, factors)
