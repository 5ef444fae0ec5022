"""What adapting to the measure gains over a default learner: one table.

Run it with ``capo demo``. The digits 3, 8 and 9 of scikit-learn's handwritten digits against
the rest, with few rows to train on, three times over: boosted trees as they come, the same with their
threshold tuned for the measure, the logistic stack of capo's default auxiliaries with its threshold
tuned, and CAPOClassifier. Scores are on the other rows.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .. import measures
from ..estimators import CAPOClassifier
from ..inspection import compare_on_fold
from ..measures import Measure

CASES: list[tuple[str, dict[str, float]]] = [
    ("f1", {}),
    ("mcc", {}),
    ("balanced_accuracy", {}),
    ("prbep", {}),
    ("roc_auc", {}),
    ("average_precision", {}),
    ("recall_at_precision", {"floor": 0.98}),
]
SYSTEMS = ("default", "tuned", "stack", "capo")
SPLITS, TRAINING_ROWS, POSITIVE = 3, 400, (3, 8, 9)


class Data(NamedTuple):
    """Rows to train on and rows to be judged on."""

    X: np.ndarray
    X_test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray


class Fit(NamedTuple):
    """A measure on one split: the score of each system, and the model."""

    scores: tuple[float, ...]
    model: CAPOClassifier
    seconds: float


def load(seed: int) -> Data:
    """The digits 3, 8 and 9 against the rest, few rows to train on."""
    X, digit = load_digits(return_X_y=True)
    return Data(
        *train_test_split(
            X, np.isin(digit, POSITIVE), train_size=TRAINING_ROWS, random_state=seed, stratify=digit
        )
    )


def compare(measure: Measure, data: Data, seed: int, memory: str) -> Fit:
    """One measure on one split; the auxiliaries are trained once a split and kept in `memory`."""
    start = time.perf_counter()
    model = CAPOClassifier(measure, memory=memory, random_state=seed).fit(data.X, data.y)
    seconds = time.perf_counter() - start
    judged = compare_on_fold(model, data.y, None, data.X_test, data.y_test)
    return Fit(tuple(judged.values.values()), model, seconds)


def rows(memory: str) -> Iterator[tuple[Measure, list[Fit]]]:
    """The fits of each measure on all splits."""
    splits = [load(seed) for seed in range(SPLITS)]
    for name, params in CASES:
        measure = measures.get(name, **params)
        yield measure, [compare(measure, data, seed, memory) for seed, data in enumerate(splits)]


def show(found: Iterator[tuple[Measure, list[Fit]]], write: Callable[[str], object]) -> CAPOClassifier:
    """Write the table as its rows come; returns the first model."""
    heading = f"{'measure':<34}" + "".join(f"{name:>9}" for name in SYSTEMS) + f"{'seconds':>9}"
    write(heading + "\n" + "-" * len(heading) + "\n")
    models = []
    for measure, fits in found:
        mean = np.mean([fit.scores for fit in fits], axis=0)
        cells = "".join(f"{value:>8.4f}{'*' if value >= mean.max() - 1e-12 else ' '}" for value in mean)
        write(f"{measure.label:<34}{cells}{sum(fit.seconds for fit in fits):>9.1f}\n")
        models.append(fits[0].model)
    return models[0]


def main(out: TextIO = sys.stdout) -> None:
    """Print the comparison."""

    def write(text: str) -> None:
        out.write(text)
        out.flush()

    write(
        f"Digits 3, 8 and 9 against the rest: {TRAINING_ROWS} rows to train, the others to test, mean of "
        f"{SPLITS} splits.\n"
        "default: boosted trees.  tuned: their threshold chosen for the measure, out of fold.\n"
        "stack: logistic stack of capo's auxiliaries, threshold chosen.  capo: CAPOClassifier(measure).\n"
        "The first row trains the auxiliaries, the others find them in memory.\n\n"
    )
    with tempfile.TemporaryDirectory() as memory:
        model = show(rows(memory), write)
    write(f"\n* best of the row.  The first model, by its summary():\n\n{model.summary()}\n")
    write(
        "\nNext, on a table of yours:\n"
        "  capo compare table.csv --target COLUMN --measure f1      is it worth it?\n"
        "  capo fit table.csv --target COLUMN --measure f1 -o model.capo\n"
        "  capo report model.capo more.csv -o report.html\n"
        "  capo measures                                            what can be optimised\n"
        "or in Python: CAPOClassifier('10 * tp - 2 * fp', auxiliaries=[your_model, another]).fit(X, y)\n"
    )
