"""CPU time of a fit relative to the products and sorts of the plain method.

Every product, transposed product and sort of a fit by exact searches and whole products is recorded in its
order, then done again alone in the same process; the ratio is the time of the fit over the time of those
parts. It can be below 1, because a fit that has the rows at hand counts scores in bins in place of sorts, and
takes products of changed rows only. Both are the best of several runs, the two interleaved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from capo import measures
from capo.engine import CuttingPlane, augment

from ..data import load

CASES = [
    (data, measure, c)
    for data in ("ijcnn1", "usps")
    for measure in ("accuracy", "prbep", "f1", "roc_auc")
    for c in (1, 128)
]
REPEATS = 10


class Recorder:
    """A design and an oracle that record the products and sorts they were called for."""

    def __init__(self, design, oracle, sorts: Callable[[np.ndarray], list]) -> None:
        self.design, self.oracle, self.sorts, self.shape = design, oracle, sorts, design.shape
        self.parts: dict[str, list] = {"matvec": [], "rmatvec": [], "sort": []}
        self.work: list[Callable[[], object]] = []

    def _record(self, kind: str, work: Callable[[], object]) -> None:
        self.parts[kind].append(work)
        self.work.append(work)

    def matvec(self, v):
        self._record("matvec", partial(self.design.matvec, v.copy()))
        return self.design.matvec(v)

    def rmatvec(self, coef):
        self._record("rmatvec", partial(self.design.rmatvec, coef.copy()))
        return self.design.rmatvec(coef)

    def search(self, scores):
        for sort in self.sorts(scores):
            self._record("sort", sort)
        return self.oracle(scores)


def sorts_of(measure: str, y: np.ndarray) -> Callable[[np.ndarray], list[Callable[[], object]]]:
    """The sorts that the measure's search does for given scores."""
    pos, neg = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if measure == "f1":
        return lambda s: [partial(np.sort, s[pos]), partial(np.sort, s[neg])]
    if measure == "roc_auc":
        return lambda s: [partial(np.argsort, s - (y > 0))]
    if measure == "prbep":
        return lambda s: [partial(np.partition, s - len(y) / len(pos) * (y > 0), len(neg))]
    return lambda s: []


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def run(path: Path, report) -> list[dict]:
    rows = []
    for data, name, c in CASES:
        X, y = load(path, data)
        oracle, design = measures.get(name).oracle(y), augment(X)
        recorder = Recorder(design, oracle, sorts_of(name, y))
        solver = CuttingPlane(recorder, recorder.search)  # no bins, no products of rows
        solution = solver.solve(C=100.0 * c, tol=1e-3)

        def fit() -> object:
            return CuttingPlane(design, oracle).solve(100.0 * c, tol=1e-3)  # noqa: B023

        times = [(timed(fit), timed(lambda: [work() for work in recorder.work])) for _ in range(REPEATS)]  # noqa: B023
        whole, floor = (min(column) for column in zip(*times, strict=True))
        counts = {f"{kind}s": len(work) for kind, work in recorder.parts.items()}
        rows.append(
            {
                "data": data,
                "measure": name,
                "c": c,
                "n_iter": solution.n_iter,
                **counts,
                "fit_ms": round(1e3 * whole, 2),
                "parts_ms": round(1e3 * floor, 2),
                "ratio": round(whole / floor, 2),
            }
        )
        report(f"limit: {data} {name} c={c} {rows[-1]['ratio']}")
    return rows


def summary(rows: list[dict]) -> str:
    return "\n".join(
        f"{data}: a fit takes {min(some):.2f} to {max(some):.2f} times its matrix-vector products and sorts."
        for data in ("ijcnn1", "usps")
        if (some := [row["ratio"] for row in rows if row["data"] == data])
    )
