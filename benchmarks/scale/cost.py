"""What a cut costs: measured on clusters of a few processes, and extrapolated to many machines.

Processor times are measured, not wall times, so that other work on the machine does not matter much; bytes
and tasks are counted. Each number is the difference of a long and a short fit to the same rows, divided by
the number of cuts by which they differ, so that reading the rows and choosing the threshold are not in it.

The model of a cut for n rows in P partitions on W workers:

    seconds of each worker          (a n + b P) / W
    seconds of scheduler, client    c + d P
    bytes through the scheduler     e + f P

With one partition for each core, machines of k cores take the largest part of ``(a n / P + b)``, and the
scheduler's time, the bytes and the latency of the messages are added.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from distributed import Client
from distributed.diagnostics.plugin import SchedulerPlugin

from capo.dask import DaskSVMPerfClassifier

from .tables import make_table, start_cluster
from .traffic import count_bytes

#: Workers, rows and partitions that the model is fitted on, and those that it is checked on.
FITTED_ON = [(1, 50_000, 4), (2, 50_000, 16), (4, 400_000, 16), (1, 400_000, 8)]
CHECKED_ON = [(2, 200_000, 12)]
#: Iterations of the short and of the long fit.
N_ITERATIONS = (1, 3)
#: What the extrapolation assumes: cores of a machine, bytes per second and seconds of a message of a network
#: of 10 Gbit/s, and messages of a cut that wait for each other.
N_CORES, BANDWIDTH, LATENCY, N_MESSAGES = 16, 1.25e9, 5e-4, 12


class TaskCounter(SchedulerPlugin):
    """Counts the tasks that workers have finished."""

    n_tasks = 0

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        self.n_tasks += start == "processing" and finish == "memory"


class Cost(NamedTuple):
    """Sums over a fit."""

    cuts: int
    worker_seconds: float
    scheduler_seconds: float
    n_bytes: int
    n_tasks: int


def measure_costs() -> Iterator[dict]:
    """The costs of a cut, for the cells that the model is fitted on and those that it is checked on."""
    for n_workers, n_rows, n_partitions in FITTED_ON + CHECKED_ON:
        with start_cluster(n_workers) as client:
            _measure_fit(client, 1000, n_partitions, 1)  # imports on the workers
            short, long = (_measure_fit(client, n_rows, n_partitions, n) for n in N_ITERATIONS)
        change = Cost(*(after - before for before, after in zip(short, long, strict=True)))
        yield {
            "workers": n_workers,
            "rows": n_rows,
            "partitions": n_partitions,
            "checked": (n_workers, n_rows, n_partitions) in CHECKED_ON,
            "cuts": change.cuts,
            "worker_seconds": change.worker_seconds / change.cuts,
            "scheduler_seconds": change.scheduler_seconds / change.cuts,
            "bytes": change.n_bytes / change.cuts,
            "tasks": change.n_tasks / change.cuts,
        }


def _measure_fit(client: Client, n_rows: int, n_partitions: int, n_iterations: int) -> Cost:
    X, y = make_table(n_rows, n_partitions)
    counter = TaskCounter()
    client.cluster.scheduler.add_plugin(counter, name=f"tasks-{n_iterations}")
    worker, scheduler = _worker_seconds(client), time.process_time()
    with count_bytes() as counted:
        model = DaskSVMPerfClassifier("f1", C=10.0, tol=1e-9, max_iter=n_iterations, client=client).fit(X, y)
    return Cost(
        model.solution_.n_oracle_calls,
        _worker_seconds(client) - worker,
        time.process_time() - scheduler,
        counted.total,
        counter.n_tasks,
    )


def _worker_seconds(client: Client) -> float:
    return sum(client.run(time.process_time).values())


class CostModel(NamedTuple):
    """The coefficients of the module's formulas."""

    per_row: float
    per_partition: float
    per_cut: float
    scheduling_per_partition: float
    bytes_per_cut: float
    bytes_per_partition: float

    @classmethod
    def fit(cls, rows: list[dict]) -> CostModel:
        """Least squares on relative errors, with coefficients of at least 0."""
        n, p = (np.array([float(row[name]) for row in rows]) for name in ("rows", "partitions"))
        ones = np.ones(len(rows))
        worker = _fit_relative(np.column_stack([n, p]), rows, "worker_seconds")
        scheduler = _fit_relative(np.column_stack([ones, p]), rows, "scheduler_seconds")
        return cls(*worker, *scheduler, *_fit_relative(np.column_stack([ones, p]), rows, "bytes"))

    def worker_seconds(self, n_rows: float, n_partitions: float) -> float:
        return self.per_row * n_rows + self.per_partition * n_partitions

    def scheduler_seconds(self, n_partitions: float) -> float:
        return self.per_cut + self.scheduling_per_partition * n_partitions

    def n_bytes(self, n_partitions: float) -> float:
        return self.bytes_per_cut + self.bytes_per_partition * n_partitions

    def extrapolate(self, n_rows: float, n_machines: int) -> dict:
        """Seconds of a cut with one partition for each core."""
        n_partitions = n_machines * N_CORES
        parts = {
            "product_and_bins": self.worker_seconds(n_rows, n_partitions) / n_partitions,
            "scheduling": self.scheduler_seconds(n_partitions),
            "network": self.n_bytes(n_partitions) / BANDWIDTH + N_MESSAGES * LATENCY,
        }
        return {"rows": n_rows, "machines": n_machines, **parts, "seconds": sum(parts.values())}


def _fit_relative(columns: np.ndarray, rows: list[dict], name: str) -> np.ndarray:
    from scipy.optimize import nnls  # noqa: PLC0415

    values = np.array([float(row[name]) for row in rows])
    return nnls(columns / values[:, None], np.ones(len(values)))[0]


def report(path: Path) -> Iterator[str]:
    """Lines on the model of the results in a file: its coefficients, its errors and its extrapolation."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    model = CostModel.fit([row for row in rows if row["checked"] == "False"])
    yield from (f"{name} {value:.3g}" for name, value in model._asdict().items())
    for row in rows:
        n, p = float(row["rows"]), float(row["partitions"])
        ratios = (
            model.worker_seconds(n, p) / float(row["worker_seconds"]),
            model.scheduler_seconds(p) / float(row["scheduler_seconds"]),
            model.n_bytes(p) / float(row["bytes"]),
        )
        shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        held_out = " (held out)" if row["checked"] == "True" else ""
        yield f"{row['workers']} workers, {n:,.0f} rows, {p:.0f} partitions{held_out}: model/measured {shown}"
    for n_rows in (1e9, 1e10):
        for n_machines in (1, 10, 100):
            found = model.extrapolate(n_rows, n_machines)
            yield ", ".join(f"{name} {value:.3g}" for name, value in found.items())
