"""Scores of fitted models: out of fold on training rows, and on test rows that are drawn from later."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from capo import CAPOClassifier

from ..data import PAPER
from ..quality.tables import load

TABLES = (
    *("adult", "annthyroid", "bank_marketing", "credit_default", "htru2_pulsar"),
    *("mammography", "online_shoppers", "phoneme", "spambase", "telco_churn"),
)
SEEDS = (0, 1, 2)
MAX_TRAINING_ROWS = 3000
AUXILIARIES = ("boosting", "linear")


class Scores(NamedTuple):
    """Log-odds and labels, and the log-odds at the threshold for F1."""

    train: np.ndarray
    y_train: np.ndarray
    test: np.ndarray
    y_test: np.ndarray
    threshold: np.ndarray


def fit(data: Path, table: str, seed: int) -> Scores:
    rows = load(data, table, seed)
    n_rows = None if table in PAPER else MAX_TRAINING_ROWS  # the paper's tables are sorted by class
    X, y = rows.X[:n_rows], rows.y[:n_rows]
    model = CAPOClassifier("f1", auxiliaries=list(AUXILIARIES), random_state=seed).fit(X, y)
    shift = model.decision_.log_odds
    scores = model.decision_function(rows.X_test) + shift
    return Scores(model.oof_decision_ + shift, y, scores, rows.y_test, np.array(shift))


def cached_scores(data: Path, cache: Path, table: str, seed: int) -> Scores:
    file = cache / f"{table}-{seed}.npz"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(file, **fit(data, table, seed)._asdict())
    with np.load(file) as arrays:
        return Scores(**{name: arrays[name] for name in Scores._fields})
