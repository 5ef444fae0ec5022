"""A NumPy array as a design."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from .._buffers import VectorPool
from .._compiled import load_kernels
from .._threads import map_in_threads
from .._typing import FloatArray, IntArray
from ._base import iter_row_blocks, place_values

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
        return load_kernels("products", STEPS_PER_NUMBER * self.X.size) if self._has_kernels else None

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
