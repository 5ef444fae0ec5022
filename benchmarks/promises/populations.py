"""The populations: five tables with a fitted model's scores, and simulated laws.

The laws: normal scores with 10% and 30% positives; scores in ten steps, so that most rows are tied; scores
whose top is contaminated, so that precision falls again at the highest scores; and labels that are noise.
Two promises at once are also tested with scores of five values.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capo import CAPOClassifier
from capo.decisions import PlattCalibrator

from ..quality.tables import load
from .draws import Population

TABLES = ("adult", "bank_marketing", "credit_default", "htru2_pulsar", "online_shoppers")
LAWS = ("normal 10%", "normal 30%", "ten steps", "contaminated top", "noise")
FIVE_VALUES = "five values"
#: Training rows, and rows of a simulated population.
MAX_TRAINING_ROWS, N_POPULATION = 4000, 200_000


def fit_table(path: Path, name: str) -> Population:
    """A default model for recall at a precision of 0.9; the rows that it has not seen are the population."""
    table = load(path, name, 0)
    X, y = table.X[:MAX_TRAINING_ROWS], table.y[:MAX_TRAINING_ROWS]
    model = CAPOClassifier("recall_at_precision", random_state=0).fit(X, y)
    shift = model.decision_.log_odds
    scores = model.decision_function(table.X_test) + shift
    return Population(name, model.oof_decision_ + shift, y, scores, table.y_test)


def simulate(name: str) -> Population:
    """A law; the scores are log-odds by Platt's curve of the training rows."""
    rng = np.random.default_rng((*LAWS, FIVE_VALUES).index(name))
    (train, y_train), (scores, y) = (_draw(name, n, rng) for n in (MAX_TRAINING_ROWS, N_POPULATION))
    curve = PlattCalibrator.fit(train, y_train)
    return Population(name, curve.log_odds(train), y_train, curve.log_odds(scores), y)


def _draw(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    prevalence = 0.3 if name in ("normal 30%", "noise") else 0.1
    y = rng.random(n) < prevalence
    scores = rng.normal(size=n) + (0.0 if name == "noise" else 2.5) * y
    if name == FIVE_VALUES:
        scores = np.clip(np.round(scores), -1, 3)
    if name == "ten steps":
        scores = np.clip(np.round(scores * 1.5), -4, 5)
    if name == "contaminated top":
        stray = ~y & (rng.random(n) < 0.003)
        scores = np.where(stray, 5.0 + rng.random(n), scores)
    return scores, y
