"""The rules against brute force over all labelings of a few rows."""

from __future__ import annotations

import itertools

import numpy as np

from capo.measures import ExpectedRows, multiclass
from capo.measures.multiclass import ConfusionMatrixMeasure

EXACT = ("accuracy", "balanced_accuracy", "f1_micro", "cohen_kappa", "quadratic_kappa", "cost", "gain")
BOUNDED = ("f1_macro", "f1_weighted", "jaccard_macro", "mcc", "gmean")
#: Cases for each of the measures with an exact rule; a seventh of them for each of the others.
N_CASES = 1000
MAX_ROWS, MAX_CLASSES = 6, 4


def make_measure(name: str, n_classes: int, rng: np.random.Generator) -> ConfusionMatrixMeasure:
    if name in ("cost", "gain"):
        measure = multiclass.get(name, matrix=rng.normal(size=(n_classes, n_classes)))
    elif name == "f1_micro":
        measure = multiclass.get(name, classes=list(range(1, n_classes)))
    else:
        measure = multiclass.get(name)
    bound = measure.for_classes(np.arange(n_classes))
    assert isinstance(bound, ConfusionMatrixMeasure)
    return bound


def random_rows(rng: np.random.Generator) -> ExpectedRows:
    """Up to 6 rows of up to 4 classes; a third of them with ties and zeros, half of them with weights."""
    n_classes = int(rng.integers(2, MAX_CLASSES + 1))
    n_rows = int(rng.integers(1, MAX_ROWS + 1))
    P = rng.dirichlet(np.full(n_classes, rng.choice((0.2, 1.0, 3.0))), size=n_rows)
    if rng.random() < 1 / 3:
        rounded = np.rint(4 * P)
        P = rounded + (rounded.sum(axis=1, keepdims=True) == 0)
        P /= P.sum(axis=1, keepdims=True)
    weight = rng.integers(1, 4, n_rows).astype(float) if rng.random() < 0.5 else None
    return ExpectedRows(P, weight)


def best_value(measure: ConfusionMatrixMeasure, rows: ExpectedRows) -> float:
    """The best value over all labelings."""
    labelings = np.array(list(itertools.product(range(rows.n_classes), repeat=len(rows.probabilities))))
    return float(measure.value(np.einsum("ij,aik->ajk", rows.mass, np.eye(rows.n_classes)[labelings])).max())


def check(name: str, n_cases: int, seed: int = 0) -> dict[str, object]:
    """Return how often the rule is the best labeling, and how often the bound is below it."""
    rng = np.random.default_rng((seed, sum(map(ord, name))))
    optimal, below, gaps = 0, 0, []
    for _ in range(n_cases):
        rows = random_rows(rng)
        measure = make_measure(name, rows.n_classes, rng)
        found, best = measure.search(rows), best_value(measure, rows)
        tol = 1e-9 * max(1.0, abs(best))
        optimal += found.value >= best - tol
        below += found.bound < best - tol
        gaps.append(found.bound - best)
    return {
        "measure": name,
        "cases": n_cases,
        "optimal": optimal,
        "bound_below": below,
        "median_slack": float(np.median(gaps)),
    }
