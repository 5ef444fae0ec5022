"""The core vector machine against LibCVM's recorded runs in its precise setting."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np

from capo.rivals import CoreVectorMachine

from ..data import load_paper

REFERENCE = Path(__file__).parent / "libcvm.csv"


def run(path: Path, report) -> list[dict]:
    rows = []
    with REFERENCE.open(newline="") as lines:
        runs = [run for run in csv.DictReader(lines) if float(run["eps"]) < 0]
    for given in runs:
        table = load_paper(path, given["data"])
        model = CoreVectorMachine(C=float(given["c"]), gamma=float(given["gamma"]), random_state=0)
        start = time.process_time()
        model.fit(table.X, table.y)
        seconds = time.process_time() - start
        rows.append(
            {
                "data": given["data"],
                "C": given["c"],
                "libcvm_accuracy": float(given["test_accuracy"]),
                "accuracy": round(float(np.mean(model.predict(table.X_test) == table.y_test)), 5),
                "libcvm_vectors": int(given["support_vectors"]),
                "vectors": len(model.support_),
                "libcvm_cpu_s": float(given["train_cpu_s"]),
                "cpu_s": round(seconds, 2),
            }
        )
        report(f"libcvm: {rows[-1]}")
    return rows


def summary(rows: list[dict]) -> str:
    short = min(row["accuracy"] - row["libcvm_accuracy"] for row in rows)
    ratios = [row["cpu_s"] / row["libcvm_cpu_s"] for row in rows]
    return (
        f"Against LibCVM's precise setting, {len(rows)} runs: accuracy at worst {short:+.4f}; CPU time "
        f"{min(ratios):.2f} to {max(ratios):.2f} times LibCVM's."
    )
