"""What is drawn, for both environments: this module needs NumPy alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.9
N_DRAWS = 500
SAMPLE_SIZES = (1000, 5000)
#: Rate, sense and limit.
CONSTRAINTS = (("precision", 0.8), ("precision", 0.9), ("recall", 0.9), ("fpr", 0.05))
#: A precision and a negative predictive value that are promised together; rows between are asked about.
PAIRS = ((0.8, 0.95), (0.9, 0.98))


class Population(NamedTuple):
    """Log-odds and labels of the training rows, out of fold, and of the rows that samples are from."""

    name: str
    train_scores: np.ndarray
    train_positive: np.ndarray
    scores: np.ndarray
    positive: np.ndarray

    def draw(self, n_rows: int, number: int) -> np.ndarray:
        """The positions of a calibration sample, with replacement: the population is the truth."""
        return np.random.default_rng([n_rows, number]).integers(0, len(self.scores), n_rows)

    def save(self, folder: Path) -> None:
        np.savez(folder / f"{self.name}.npz", **dict(list(self._asdict().items())[1:]))


def open_population(file: Path) -> Population:
    with np.load(file) as arrays:
        return Population(file.stem, *(arrays[name] for name in Population._fields[1:]))
