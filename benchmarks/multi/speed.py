"""The time of the rule for macro-F1, by rows and classes, on one core."""

from __future__ import annotations

import time

import numpy as np

from capo.learning.classes import ClassScorer
from capo.measures import ExpectedRows, multiclass

#: Rows and classes.
SIZES = (
    (10_000, 5),
    (100_000, 5),
    (1_000_000, 5),
    (10_000, 20),
    (100_000, 20),
    (1_000_000, 20),
    (10_000, 100),
    (100_000, 100),
)


def measure_time(n_rows: int, n_classes: int) -> dict[str, object]:
    """Return the CPU seconds of one search, and of the choice with its five nested ones."""
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.full(n_classes, 2.0))
    logits = 2.0 * rng.normal(size=(n_rows, n_classes)) + np.log(prior)
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    y = (P.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(max=n_classes - 1)
    measure = multiclass.get("f1_macro")
    start = time.process_time()
    found = measure.search(ExpectedRows(P))
    search = time.process_time() - start
    start = time.process_time()
    scorer = ClassScorer(measure, y, None, np.arange(n_rows) % 5)
    scorer.choose_rule(P, np.broadcast_to(P, (5, *P.shape)))
    choice = time.process_time() - start
    return {"rows": n_rows, "classes": n_classes, "search": search, "choice": choice, "gap": found.gap}
