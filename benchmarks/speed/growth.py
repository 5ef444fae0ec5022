"""CPU time per iteration and memory as the number of rows grows; each size in a process with one thread.

``python -m benchmarks.speed.growth dense f1 1e6`` measures one size and prints it as JSON. It is CPU time,
because the time of the clock depends on what else runs on the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from capo import measures
from capo.engine import CuttingPlane, augment

SIZES = {"dense": (10_000, 100_000, 1_000_000, 10_000_000), "sparse": (10_000, 100_000, 1_000_000)}
N_FEATURES = {"dense": 20, "sparse": 100_000}
PER_ROW = 50
N_ITER = 6


def business(tp, fp, fn, tn):
    """A user's own measure, neither linear nor built in."""
    return np.sqrt(tp / (tp + fn)) - 0.5 * (fp / (fp + tn)) ** 1.5


def dense_table(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.empty((n, N_FEATURES["dense"]), dtype=np.float32)
    w, y = rng.normal(size=X.shape[1]).astype(np.float32), np.empty(n, dtype=bool)
    for start in range(0, n, 100_000):
        block = X[start : start + 100_000]
        rng.standard_normal(out=block, dtype=np.float32)
        y[start : start + 100_000] = block @ w + 3 * rng.standard_normal(len(block), dtype=np.float32) > 5
    return X, y


def sparse_table(n: int) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    d = N_FEATURES["sparse"]
    indices = np.empty(n * PER_ROW, dtype=np.int32)
    for start in range(0, n * PER_ROW, 1_000_000):
        part = indices[start : start + 1_000_000]
        part[:] = d * rng.random(len(part)) ** 3  # some features are common, most are rare
    data = np.ones(n * PER_ROW, dtype=np.float32)
    X = sparse.csr_array(
        (data, indices, np.arange(0, n * PER_ROW + 1, PER_ROW, dtype=np.int32)), shape=(n, d)
    )
    score = np.empty(n)
    w = rng.normal(size=d)
    for start in range(0, n, 10_000):
        score[start : start + 10_000] = X[start : start + 10_000] @ w
    return X, score + 5 * rng.normal(size=n) > 10


def memory(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def measure_one(kind: str, name: str, n: int) -> dict:
    X, y = dense_table(n) if kind == "dense" else sparse_table(n)
    measure = measures.get(business if name == "own" else name)
    Path("/proc/self/clear_refs").write_text("5")  # start the peak over
    before = memory("VmRSS")
    solver = CuttingPlane(augment(X), measure.oracle(y))
    with threadpool_limits(1):
        start = time.process_time()
        solution = solver.solve(1000.0, 1e-6, max_iter=N_ITER)
        seconds = time.process_time() - start
    return {
        "table": kind,
        "measure": name,
        "rows": n,
        "cpu_seconds_per_iteration": seconds / solution.n_iter,
        "oracle_calls": solution.n_oracle_calls,
        "extra_vectors": (memory("VmHWM") - before) / (8.0 * n),
    }


def run(report) -> list[dict]:
    rows = []
    for kind, sizes in SIZES.items():
        for name in ("roc_auc", "f1", "own"):
            for n in sizes:
                command = [sys.executable, "-m", "benchmarks.speed.growth", kind, name, str(n)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rows.append(json.loads(done.stdout))
                seconds = rows[-1]["cpu_seconds_per_iteration"]
                report(f"growth: {kind} {name} {n:,} rows, {seconds:.4f} CPU s per iteration")
    return rows


def summary(rows: list[dict]) -> str:
    lines = []
    for kind in SIZES:
        for name in ("roc_auc", "f1", "own"):
            some = [row for row in rows if (row["table"], row["measure"]) == (kind, name)]
            x, t = (np.log([row[key] for row in some]) for key in ("rows", "cpu_seconds_per_iteration"))
            last = some[-1]
            lines.append(
                f"{kind} {name}: log-log slope {np.polyfit(x, t, 1)[0]:.3f}; at {last['rows']:,} rows "
                f"{last['cpu_seconds_per_iteration']:.2f} CPU s per iteration, "
                f"{last['extra_vectors']:.1f} vectors"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure_one(sys.argv[1], sys.argv[2], int(float(sys.argv[3])))))
