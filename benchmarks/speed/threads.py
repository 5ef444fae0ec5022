"""The first iterations of a fit on 10^7 x 20 numbers, with one thread and with two, by NumPy and compiled.

One thread and two are measured one after the other, several times, in one process, and must give the same
solution. The least time of the clock of each is compared. On a machine that is busy with other work this says
little, so that the CPU time outside of the threads is measured too: with c CPU seconds in all and m of them
outside, two free cores would take m + (c - m) / 2.
"""

from __future__ import annotations

import os
import time
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

from capo import measures
from capo.engine import CuttingPlane, augment

from .growth import dense_table

N_ROWS = 10_000_000
N_ITER = 4
REPEATS = 4
CLOCKS = {"seconds": time.perf_counter, "cpu_seconds": time.process_time, "outside_threads": time.thread_time}


def measure_iterations(X, oracle, n_threads: int) -> tuple[list[float], np.ndarray]:
    """Seconds per iteration by each clock, and the point reached."""
    with threadpool_limits(n_threads):
        solver = CuttingPlane(augment(X), oracle)
        start = [clock() for clock in CLOCKS.values()]
        solution = solver.solve(1000.0, 1e-6, max_iter=N_ITER)
        end = [clock() for clock in CLOCKS.values()]
    return [(after - before) / N_ITER for before, after in zip(start, end, strict=True)], solution.v


def measure(X, y, name: str, compiled: bool, report) -> list[dict]:
    os.environ["CAPO_NUMBA"] = "1" if compiled else "0"
    oracle = measures.get(name).oracle(y)
    best, points = {n_threads: [np.inf] * len(CLOCKS) for n_threads in (1, 2)}, []
    for _ in range(REPEATS):
        for n_threads, least in best.items():
            seconds, v = measure_iterations(X, oracle, n_threads)
            points.append(v)
            least[:] = np.minimum(least, seconds)
            kind = "compiled" if compiled else "NumPy"
            report(f"threads: {name}, {kind}, {n_threads}: {', '.join(f'{each:.2f}' for each in seconds)}")
    same = all(np.array_equal(v, points[0]) for v in points)
    return [
        {
            "measure": name,
            "rows": len(y),
            "compiled": compiled,
            "threads": n_threads,
            "same_solution": same,
            **dict(zip(CLOCKS, np.round(times, 3), strict=True)),
        }
        for n_threads, times in best.items()
    ]


def run(report, n_rows: int = N_ROWS) -> list[dict]:
    X, y = dense_table(n_rows)
    kinds = (False, True) if find_spec("numba") else (False,)
    names = ("roc_auc", "f1", "accuracy")
    return [row for name in names for kind in kinds for row in measure(X, y, name, kind, report)]


def summary(rows: list[dict]) -> str:
    return "\n".join(map(_compare, rows[::2], rows[1::2]))


def _compare(one: dict, two: dict) -> str:
    outside = two["outside_threads"]
    free = outside + (two["cpu_seconds"] - outside) / 2.0
    return (
        f"{one['measure']}, {'compiled' if one['compiled'] else 'NumPy'}: "
        f"{one['cpu_seconds']:.2f} CPU s per iteration with one thread, "
        f"{two['cpu_seconds']:.2f} with two, of which {outside:.2f} outside of the threads: {free:.2f} s on "
        f"two free cores, {one['cpu_seconds'] / free:.2f} times as fast. By the clock here: "
        f"{one['seconds']:.2f} and {two['seconds']:.2f} s. Same solution: {one['same_solution']}."
    )
