"""Processes of benchmarks, each with one thread."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

from threadpoolctl import threadpool_limits


def single_threaded_pool(n_jobs: int | None) -> ProcessPoolExecutor:
    """Return a pool of processes in which BLAS and OpenMP have one thread.

    Environment variables would come too late: the libraries have read them when they were imported.
    """
    return ProcessPoolExecutor(n_jobs, initializer=threadpool_limits, initargs=(1,))
