"""SVMperf's recorded runs, solved again: objectives, iterations, CPU time.

`svmperf.csv` holds what SVMperf 3.00 printed (linear, constant feature 1, its fastest algorithm per loss).
Its objective at ``-c c`` is ours at C = 100 c, its tolerance eps ours at eps / 100.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np

from capo import measures
from capo.engine import CuttingPlane, augment

from ..data import load

MEASURES = {"Errorrate": "accuracy", "F1": "f1", "PRBEP": "prbep", "ROCArea": "roc_auc"}
REPEATS = 3


def recorded() -> list[dict[str, str]]:
    with (Path(__file__).parent / "svmperf.csv").open() as file:
        return list(csv.DictReader(file))


def primal_at(X, y, v, C, measure) -> float:
    """J recomputed in float64 from the returned point alone."""
    scores = X @ v[:-1] + v[-1]
    return float(0.5 * v @ v + C * max(0.0, measure.most_violated(scores, y).value(scores)))


def solve_again(X, y, run: dict[str, str]) -> dict:
    C, tol = 100.0 * float(run["c"]), float(run["eps"]) / 100.0
    measure = measures.get(MEASURES[run["loss"]])
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        solution = CuttingPlane(augment(X), measure.oracle(y)).solve(C=C, tol=tol)
        seconds.append(time.process_time() - start)
    primal = primal_at(X, y, solution.v, C, measure)
    theirs = float(run["primal"]), float(run["dual"])
    rounding = 1e-5 + 1e-5 * abs(theirs[0])
    return {
        "data": run["data"],
        "loss": run["loss"],
        "c": float(run["c"]),
        "eps": float(run["eps"]),
        "primal": primal,
        "dual": solution.dual,
        "gap_ok": primal - solution.dual <= C * tol * (1 + 1e-9),
        "intervals_meet": solution.dual <= theirs[0] + rounding and theirs[1] - rounding <= primal,
        "svmperf_worse_than_zero": theirs[0] > C * measure.most_violated(np.zeros(len(y)), y).loss + rounding,
        "not_worse_than_zero": primal <= C * measure.most_violated(np.zeros(len(y)), y).loss,
        "svmperf_primal": theirs[0],
        "svmperf_dual": theirs[1],
        "n_iter": solution.n_iter,
        "oracle_calls": solution.n_oracle_calls,
        "svmperf_n_iter": int(run["iterations"]),
        "cpu_s": min(seconds),
        "svmperf_cpu_s": float(run["train_cpu_s"]),
    }


def run(path: Path, report) -> list[dict]:
    sets = {}
    rows = []
    for i, each in enumerate(recorded(), start=1):
        if each["data"] not in sets:
            sets[each["data"]] = load(path, each["data"])
        rows.append(solve_again(*sets[each["data"]], each))
        report(
            f"svmperf {i}/{len(recorded())}: {each['data']} {each['loss']} c={each['c']} eps={each['eps']}"
        )
    return rows


def geometric_mean(rows: list[dict], loss: str) -> float:
    speed = [row["svmperf_cpu_s"] / row["cpu_s"] for row in rows if row["loss"] == loss]
    return float(np.exp(np.log(speed).mean()))


def summary(rows: list[dict]) -> str:
    ratio = np.array([max(row["n_iter"], 1) / row["svmperf_n_iter"] for row in rows])
    long = [row for row in rows if row["svmperf_cpu_s"] > 0.05]
    speed = np.array([row["svmperf_cpu_s"] / row["cpu_s"] for row in long])
    wrong = [row for row in rows if row["svmperf_worse_than_zero"]]

    def one(data: str, loss: str, c: float, eps: float) -> dict:
        key = (data, loss, c, eps)
        return next(row for row in rows if (row["data"], row["loss"], row["c"], row["eps"]) == key)

    hard = one("ijcnn1", "F1", 128.0, 0.1)
    lines = [
        f"{len(rows)} runs: gap within C tol, recomputed in float64, in {sum(r['gap_ok'] for r in rows)}; "
        f"interval meets SVMperf's in {sum(r['intervals_meet'] for r in rows)}; "
        f"never worse than v = 0 in {sum(r['not_worse_than_zero'] for r in rows)}.",
        f"SVMperf stopped at a point worse than v = 0 in {len(wrong)} runs; ours is lower in "
        f"{sum(r['primal'] < r['svmperf_primal'] for r in wrong)} of them.",
        f"Iterations over SVMperf's, geometric mean: {np.exp(np.log(ratio).mean()):.3f} "
        "(0 iterations counted as 1).",
        "Iterations: "
        + ", ".join(
            f"{row['data']} {row['loss']} c=128 eps=.1 {row['n_iter']} (SVMperf {row['svmperf_n_iter']})"
            for row in (hard, one("splice", "F1", 128.0, 0.1), one("splice", "Errorrate", 128.0, 0.1))
        ),
        "CPU time by loss, geometric mean: "
        + ", ".join(f"{loss} {geometric_mean(long, loss):.1f}x" for loss in MEASURES),
        f"CPU time, {len(long)} runs above 0.05 s: geometric mean {np.exp(np.log(speed).mean()):.1f}x "
        f"faster, least {speed.min():.2f}x, ijcnn1 F1 c=128 {hard['svmperf_cpu_s'] / hard['cpu_s']:.0f}x.",
    ]
    return "\n".join(lines)
