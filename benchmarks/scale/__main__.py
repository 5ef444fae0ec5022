"""Fits on Dask, on a cluster of processes on this machine.

``python -m benchmarks.scale agreement kills growth answers`` runs these parts; each writes a table to
`benchmarks/scale/results`.

agreement : the same random problems in memory and on the cluster, with random partitions, for every measure
kills     : fits during which a worker is killed at a random moment
growth    : processor time of the workers, bytes through scheduler and client, and memory, as the number of
            rows grows to 10^8; workers of at most 2 GB read the data from NumPy files in each pass
answers   : three columns of scores, of which some are missing, adapted on 10^7 rows made in each pass
cost      : processor time, tasks and bytes of a cut on 1, 2 and 4 processes; ``--report`` shows a model of
            them, and what it says of 100 machines
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import dask.array as da
import numpy as np
from distributed import Client

from capo import ScoreColumn, SVMPerfClassifier, measures
from capo.dask import DaskCAPOClassifier, DaskSVMPerfClassifier

from ..provenance import record_run
from .cost import measure_costs, report
from .tables import make_answers, make_table, read_table, start_cluster
from .traffic import count_bytes

RESULTS = Path(__file__).parent / "results"
N_WORKERS = 2
N_KILLS = 20
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
MAX_PARTITION_ROWS = 1_250_000
MEMORY_LIMIT = "2GB"
N_ANSWERED_ROWS = 10_000_000
MAX_BYTES_PER_WORKER, MAX_CHECKED_ROWS = 1e6, 10_000_000


def agreement(options: argparse.Namespace) -> Iterator[dict]:
    """Random problems: the difference of the primal values in units of C tol, and of the labels."""
    with start_cluster(N_WORKERS) as client:
        for seed in range(options.first, options.problems):
            yield _compare(client, seed, measures.names()[seed % len(measures.names())])


def _compare(client: Client, seed: int, name: str) -> dict:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 2000)), int(rng.integers(1, 12))
    C, tol = float(10 ** rng.uniform(-0.5, 2)), 1e-3
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1, d)
    y = X @ rng.normal(size=d) + rng.normal(size=n) * X.std() * d**0.5 > np.quantile(X.sum(axis=1), 0.6)
    y[:2] = True, False
    if rng.random() < 0.3:
        X = np.round(X)  # tied scores
    ends = np.sort(rng.integers(0, n + 1, int(rng.integers(1, 8))))
    chunks = tuple(np.diff(np.concatenate([[0], ends, [n]])).tolist())
    local = SVMPerfClassifier(name, C=C, tol=tol).fit(X, y)
    model = DaskSVMPerfClassifier(name, C=C, tol=tol, client=client)
    model.fit(da.from_array(X, chunks=(chunks, d)), da.from_array(y, chunks=(chunks,)))
    reach = np.sqrt(2 * max(model.gap_, 0)) + np.sqrt(2 * max(local.gap_, 0))
    bound = reach * np.sqrt((X**2).sum(axis=1) + 1) + abs(model.threshold_ - local.threshold_) + 1e-9
    away = np.abs(local.decision_function(X)) > bound
    return {
        "seed": seed,
        "measure": name,
        "rows": n,
        "features": d,
        "partitions": len(chunks),
        "C": C,
        "difference": abs(model.primal_ - local.primal_) / (C * tol),
        "gap": model.gap_ / (C * tol),
        "gap_in_memory": local.gap_ / (C * tol),
        "consistent": max(model.dual_, local.dual_) <= min(model.primal_, local.primal_) * (1 + 1e-12),
        "labels_equal": float(np.mean(model.predict(X) == local.predict(X))),
        "labels_equal_away": bool((model.predict(X) == local.predict(X))[away].all()),
    }


def kills(options: argparse.Namespace) -> Iterator[dict]:
    """A worker is killed at a random moment of each fit: the result is that of an undisturbed fit."""
    rng = np.random.default_rng(0)
    expected, seconds, _ = _fit_after_warm_up(None)
    number = 0
    while number < N_KILLS:
        moment = float(rng.uniform(0, seconds))
        model, taken, killed = _fit_after_warm_up(moment)
        if not killed:  # the fit was faster than the undisturbed one
            continue
        number += 1
        yield {
            "number": number,
            "killed_after": moment,
            "seconds": taken,
            "seconds_undisturbed": seconds,
            "difference": abs(model.primal_ - expected.primal_),
            "same_coefficients": bool((model.coef_ == expected.coef_).all()),
        }


def _fit_after_warm_up(killed_after: float | None) -> tuple[DaskSVMPerfClassifier, float, bool]:
    """A fit on a cluster of its own, of which one worker is killed after some seconds."""
    with start_cluster(N_WORKERS) as client:
        _fit(client, "f1", *make_table(10_000))
        pid = min(client.run(os.getpid).values())
        timer = threading.Timer(killed_after or 0.0, os.kill, (pid, signal.SIGKILL))
        if killed_after is not None:
            timer.start()
        model, seconds = _fit(client, "f1", *make_table(100_000))
        timer.cancel()  # if it has not run yet: the process is about to end
        return model, seconds, killed_after is not None and seconds > killed_after


def growth(options: argparse.Namespace) -> Iterator[dict]:
    """Work for each cut; more than 1 MB through scheduler and client for each worker is an error."""
    for n_rows, name in list(product(SIZES, ("f1", "roc_auc")))[options.first :]:
        with TemporaryDirectory() as folder, start_cluster(N_WORKERS, MEMORY_LIMIT) as client:
            _fit(client, name, *make_table(10_000))  # imports on the workers
            rows = read_table(n_rows, _count_partitions(n_rows), Path(folder))
            before, client_before = _cpu_seconds(client), time.process_time()
            with count_bytes() as counter:
                model, seconds = _fit(client, name, *rows, persist=False)
            cpu, client_cpu = _cpu_seconds(client) - before, time.process_time() - client_before
            worker_memory = max(client.run(_peak_memory).values())
        solution = model.solution_
        n_cuts = solution.n_oracle_calls
        n_bytes = counter.total / n_cuts / N_WORKERS
        yield {
            "measure": name,
            "rows": n_rows,
            "iterations": model.n_iter_,
            "cuts": n_cuts,
            "gap": model.gap_ / (solution.C * solution.tol),
            "seconds": seconds,
            "cpu_seconds": cpu,
            "cpu_seconds_per_cut": cpu / n_cuts,
            "cpu_seconds_of_scheduler_and_client": client_cpu,
            "bytes_per_cut_and_worker": round(n_bytes),
            "peak_mb_of_a_worker": round(worker_memory / 1e6),
            "peak_mb_of_scheduler_and_client": round(_peak_memory() / 1e6),
        }
        # More partitions than those of the smaller tables have more messages.
        assert n_rows > MAX_CHECKED_ROWS or n_bytes < MAX_BYTES_PER_WORKER


def answers(options: argparse.Namespace) -> Iterator[dict]:
    """Score columns alone, adapted at C = 100 on the rows outside the sample; workers of at most 2 GB."""
    with start_cluster(N_WORKERS, MEMORY_LIMIT) as client:
        X, y = make_answers(N_ANSWERED_ROWS, _count_partitions(N_ANSWERED_ROWS))
        columns = [ScoreColumn(number) for number in range(X.shape[1])]
        model = DaskCAPOClassifier(
            "f1", auxiliaries=columns, sample_size=10_000, delta=None, C=100.0, random_state=0, client=client
        )
        start = time.perf_counter()
        model.fit(X, y)
        yield {
            "rows": N_ANSWERED_ROWS,
            "rows_adapted": model.n_adapted_,
            "iterations": model.n_iter_,
            "gap": model.gap_ / (model.C * model.tol),
            "score": model.score_,
            "seconds": time.perf_counter() - start,
            "cpu_seconds": _cpu_seconds(client),
            "peak_mb_of_a_worker": round(max(client.run(_peak_memory).values()) / 1e6),
            "peak_mb_of_scheduler_and_client": round(_peak_memory() / 1e6),
        }


def _fit(
    client: Client, name: str, X: da.Array, y: da.Array, persist: bool = True
) -> tuple[DaskSVMPerfClassifier, float]:
    """The classifier and the seconds of its fit."""
    start = time.perf_counter()
    model = DaskSVMPerfClassifier(name, C=10.0, persist=persist, client=client).fit(X, y)
    return model, time.perf_counter() - start


def _count_partitions(n_rows: int) -> int:
    return max(8, -(-n_rows // MAX_PARTITION_ROWS))


def _peak_memory() -> int:
    """The largest number of bytes of memory that this process has had, files that it maps included."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cpu_seconds(client: Client) -> float:
    return sum(client.run(time.process_time).values())


def cost(options: argparse.Namespace) -> Iterator[dict]:
    """The costs of a cut, from which `CostModel` is fitted."""
    return measure_costs()


RESUMABLE = ("agreement", "growth")
PARTS: dict[str, Callable[[argparse.Namespace], Iterator[dict]]] = {
    "agreement": agreement,
    "kills": kills,
    "growth": growth,
    "answers": answers,
    "cost": cost,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--problems", type=int, default=200, help="random problems of `agreement`")
    parser.add_argument(
        "--resume", action="store_true", help="keep the stored rows of `agreement` and `growth`"
    )
    parser.add_argument("--report", action="store_true", help="show the model of the costs, run nothing")
    options = parser.parse_args()
    if options.report:
        print("\n".join(report(RESULTS / "cost.csv")))
        return
    warnings.simplefilter("ignore")  # trivial solutions are compared like any others
    for part in options.parts or PARTS:
        path = RESULTS / f"{part}.csv"
        options.first = _count_rows(path) if options.resume and part in RESUMABLE else 0
        with path.open("a" if options.first else "w", newline="") as file:
            writer = None
            for row in PARTS[part](options):
                if writer is None:
                    writer = csv.DictWriter(file, list(row), lineterminator="\n")
                    if not options.first:
                        writer.writeheader()
                writer.writerow(row)
                file.flush()
                print(part, row, flush=True)
        record_run(path, append=bool(options.first))


def _count_rows(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open(newline="") as file:
        return sum(1 for _ in csv.DictReader(file))


if __name__ == "__main__":
    main()
