"""The path over the paper's fifteen C's against its hardest single C, in iterations."""

from __future__ import annotations

from pathlib import Path

from capo import svmperf_path

from ..data import load

CS = [100.0 * 2.0**k for k in range(-7, 8)]


def run(path: Path, report) -> list[dict]:
    rows = []
    for data in ("ijcnn1", "splice", "usps", "reuters"):
        X, y = load(path, data)
        for measure in ("accuracy", "f1", "prbep", "roc_auc"):
            together = sum(s.n_iter for s in svmperf_path(X, y, measure=measure, Cs=CS))
            alone = max(svmperf_path(X, y, measure=measure, Cs=[C])[0].n_iter for C in CS)
            rows.append(
                {
                    "data": data,
                    "measure": measure,
                    "path_n_iter": together,
                    "hardest_C_n_iter": alone,
                    "ratio": round(together / alone, 2),
                }
            )
            report(f"path: {data} {measure} {rows[-1]['ratio']}")
    return rows


def summary(rows: list[dict]) -> str:
    ratios = [row["ratio"] for row in rows]
    return f"Path over 15 C's: {min(ratios)} to {max(ratios)} times the iterations of its hardest single C."
