"""Work on blocks of rows in threads, and long vectors that are used again.

NumPy releases the interpreter's lock in products, elementwise operations and `take`, and compiled kernels in
all they do, so that Python threads use all cores. Their number is that of OpenMP: `OMP_NUM_THREADS`, the
cores of the process, and `threadpoolctl.threadpool_limits` limit it, as in scikit-learn.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from .._compat import FloatArray, openmp_n_threads

# Imported here and not in the function, because threadpoolctl can only limit libraries that are loaded.

#: For smaller tables, threads of BLAS and OpenMP cost more than they save.
MIN_DIVIDED_SIZE = 1_000_000

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_threads() -> int:
    """The number of threads to use."""
    return max(1, int(openmp_n_threads()))


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The function's results in the order of the items, from as many threads as are of use."""
    n_threads = min(len(items), count_threads()) if len(items) > 1 else 1
    if n_threads == 1:
        return [function(item) for item in items]
    results: dict[int, Result] = {}
    remaining = iter(range(len(items)))  # one task per thread that takes items is faster than one per item

    def work() -> None:
        try:
            for position in remaining:
                results[position] = function(items[position])
        finally:
            deque(remaining, maxlen=0)  # after an error the other threads stop too

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for done in [pool.submit(work) for _ in range(n_threads)]:
                done.result()
        finally:
            deque(remaining, maxlen=0)  # and after Ctrl-C
    return [results[position] for position in range(len(items))]


class _SharedLimit:
    """Limits BLAS to one thread as long as any thread of Python is inside of the context.

    The limit holds for the whole process: whoever leaves first must not lift it for the others.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                _release_control()
                self._limiter = _libraries("blas").limit(limits=1)
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _release_control()
                self._limiter.restore_original_limits()
                _release_control()


def _release_control() -> None:
    """Let any thread set the limits of BLAS, which threadpoolctl since 3.8 reserves for the first one."""
    for library in _libraries("blas").lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


#: A context in which BLAS starts no threads: its sums would depend on their number.
single_threaded_blas = _SharedLimit()


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """The libraries for BLAS or OpenMP that are loaded."""
    return ThreadpoolController().select(user_api=user_api)


@contextmanager
def library_threads_for(n_numbers: int, *, find_libraries: bool = False) -> Iterator[None]:
    """A context in which BLAS and OpenMP start threads only if there are enough numbers to divide.

    Boosted trees and solvers wait for all threads thousands of times. With few rows that takes longer than
    their work, and a hundred times as long on a machine that is busy with something else. With
    `find_libraries`, libraries that were loaded since the last time are limited too; that takes milliseconds.
    """
    if n_numbers >= MIN_DIVIDED_SIZE:
        yield
        return
    if find_libraries:
        _libraries.cache_clear()
    # Unlike that of BLAS, the limit of OpenMP holds for one thread of Python.
    with single_threaded_blas, _libraries("openmp").limit(limits=1):
        yield


#: Shorter vectors are left to the allocator, which keeps their memory.
MIN_LENGTH = 2**20
#: Reference count of a vector that only the pool holds: its list entry and the argument of `getrefcount`.
REFERENCES_OF_POOL = 2


class VectorPool:
    """Vectors of one length; one that nobody else refers to is handed out again.

    Parameters
    ----------
    length : int
        Their number of elements.
    size : int
        The largest number to keep.
    """

    def __init__(self, length: int, size: int) -> None:
        self.length, self.size = length, size
        self._vectors: list[FloatArray] = []
        self._lock = Lock()

    def take(self) -> FloatArray:
        """A vector with any content."""
        if self.length < MIN_LENGTH:
            return np.empty(self.length)
        with self._lock:
            for i in range(len(self._vectors)):
                if sys.getrefcount(self._vectors[i]) <= REFERENCES_OF_POOL:
                    return self._vectors[i]
            vector = np.empty(self.length)
            if len(self._vectors) < self.size:
                self._vectors.append(vector)
            return vector

    def __reduce__(self) -> tuple[type[VectorPool], tuple[int, int]]:
        """An empty pool, for copies and other processes."""
        return VectorPool, (self.length, self.size)
