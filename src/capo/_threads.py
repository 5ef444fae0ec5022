"""Work on blocks of rows in threads, with results that do not depend on the number of threads.

NumPy releases the interpreter's lock in products, elementwise operations and `take`, and compiled kernels in
all they do, so that Python threads use all cores. Their number is that of OpenMP: `OMP_NUM_THREADS`, the
cores of the process, and `threadpoolctl.threadpool_limits` limit it, as in scikit-learn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

# Imported here and not in the function, because threadpoolctl can only limit libraries that are loaded.
from ._sklearn_compat import openmp_n_threads

#: Tables with fewer numbers are not worth the threads of BLAS and OpenMP.
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
    positions = deque(range(len(items)))  # one task per thread that takes items is faster than one per item

    def work() -> None:
        try:
            for position in _take_each(positions):
                results[position] = function(items[position])
        finally:
            positions.clear()  # after an error the other threads stop too

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for done in [pool.submit(work) for _ in range(n_threads)]:
                done.result()
        finally:
            positions.clear()  # and after Ctrl-C
    return [results[position] for position in range(len(items))]


def _take_each(positions: deque[int]) -> Iterator[int]:
    """Remove positions from the left until there are none; safe with several threads."""
    while True:
        try:
            position = positions.popleft()
        except IndexError:
            return
        yield position


@cache
def _libraries(user_api: str | None = None) -> ThreadpoolController:
    """The libraries that are loaded and start threads, or those of them for BLAS."""
    found = ThreadpoolController()
    return found if user_api is None else found.select(user_api=user_api)


def single_threaded_blas() -> AbstractContextManager[object]:
    """A context in which BLAS starts no threads: its sums would depend on their number."""
    return _libraries("blas").limit(limits=1)


def library_threads_for(n_numbers: int) -> AbstractContextManager[object]:
    """A context in which BLAS and OpenMP start threads only if there are enough numbers to divide.

    Boosted trees and solvers wait for all threads thousands of times. With few rows that takes longer than
    their work, and a hundred times as long on a machine that is busy with something else.
    """
    return nullcontext() if n_numbers >= MIN_DIVIDED_SIZE else _libraries().limit(limits=1)
