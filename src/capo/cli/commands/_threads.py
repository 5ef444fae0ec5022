"""Batches of a table in several threads, their results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from joblib import cpu_count
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int | None = None
) -> Iterator[Result]:
    """Yield the result for each item in their order, computed by as many threads as there are cores.

    At most one item more than there are threads is taken ahead, so that memory stays bounded. The error of an
    item is raised in its place.
    """
    n_threads = n_threads or cpu_count()
    if n_threads == 1:
        yield from map(function, items)
        return
    # Loops and products inside a thread start no threads of their own: the limit of OpenMP is that of each
    # thread, the limit of BLAS that of all.
    pool = ThreadPoolExecutor(n_threads, initializer=threadpool_limits, initargs=(1, "openmp"))
    pending: deque[Future[Result]] = deque()
    with threadpool_limits(1, "blas"):
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
