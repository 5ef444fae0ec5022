"""How close a fit is to the products and sorts it cannot do without.

Every product, transposed product and sort of a fit is recorded, then done again alone in the same
process; the ratio is the time of the fit over the time of those parts. Each is the best of several
runs, the two interleaved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from capo import measures
from capo.design import augment
from capo.engine import minimize

from ..data import load

CASES = [(measure, c) for measure in ("accuracy", "prbep", "f1", "roc_auc") for c in (1, 128)]


class Recorder:
    """A design and an oracle that remember what they were asked."""

    def __init__(self, design, oracle) -> None:
        self.design, self.oracle, self.shape = design, oracle, design.shape
        self.products, self.pulls, self.searches = [], [], []

    def scores(self, v):
        self.products.append(v.copy())
        return self.design.scores(v)

    def pull(self, coef):
        self.pulls.append(coef.copy())
        return self.design.pull(coef)

    def search(self, scores):
        self.searches.append(scores.copy())
        return self.oracle(scores)


def sorts_of(measure: str, y: np.ndarray, scores: list[np.ndarray]) -> list[Callable[[], object]]:
    """The sorts that the measure's search does for these scores."""
    pos, neg = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if measure == "f1":
        parts = [part for s in scores for part in (s[pos], s[neg])]
        return [lambda part=part: np.sort(part) for part in parts]
    if measure == "roc_auc":
        shifted = [np.concatenate([s[pos] - 1.0, s[neg]]) for s in scores]
        return [lambda part=part: np.argsort(part) for part in shifted]
    if measure == "prbep":
        shifted = [s - len(y) / len(pos) * (y > 0) for s in scores]
        return [lambda part=part: np.partition(part, len(neg)) for part in shifted]
    return []


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run(path: Path, repeats: int = 15) -> list[dict]:
    X, y = load(path, "ijcnn1")
    rows = []
    for name, c in CASES:
        oracle, design = measures.get(name).oracle(y), augment(X)
        tape = Recorder(design, oracle)
        solution = minimize(tape, tape.search, C=100.0 * c, tol=1e-3)
        sorts = sorts_of(name, y, tape.searches)

        def fit(design=design, oracle=oracle, c=c):
            minimize(design, oracle, C=100.0 * c, tol=1e-3)

        def parts(design=design, tape=tape, sorts=sorts):
            for v in tape.products:
                design.scores(v)
            for coef in tape.pulls:
                design.pull(coef)
            for sort in sorts:
                sort()

        times = [(timed(fit), timed(parts)) for _ in range(repeats)]
        whole, floor = (min(column) for column in zip(*times, strict=True))
        rows.append(
            {
                "measure": name,
                "c": c,
                "rounds": solution.n_rounds,
                "products": len(tape.products),
                "pulls": len(tape.pulls),
                "sorts": len(sorts),
                "fit_ms": round(1e3 * whole, 2),
                "parts_ms": round(1e3 * floor, 2),
                "ratio": round(whole / floor, 2),
            }
        )
    return rows
