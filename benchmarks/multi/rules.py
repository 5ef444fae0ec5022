"""Decision rules on the same probabilities: capo's, and those that users tune by hand.

Each rule is learned from out-of-fold probabilities and labels of the training rows and applied to the
probabilities of the test rows. Those that are tuned maximize the measure on the observed labels.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import confusion_matrix

from capo import measures
from capo.learning.classes import ClassScorer
from capo.measures import multiclass
from capo.measures.multiclass import ConfusionMatrixMeasure

Rule = Callable[[np.ndarray], np.ndarray]

#: Length of the first steps of the simplex, in logarithms of the multipliers; SciPy's own, 0.00025 at 0, does
#: not change a label.
SIMPLEX_STEP = 0.7
#: Factors that coordinate search tries for a multiplier.
FACTORS = np.exp(np.linspace(-3, 3, 41))
#: Rounds of coordinate search over all classes.
MAX_ROUNDS = 5
#: Binary measures that thresholds of one class against the rest are tuned for.
BINARY = {
    "f1_macro": "f1",
    "balanced_accuracy": "balanced_accuracy",
    "mcc": "mcc",
    "quadratic_kappa": "cohen_kappa",
}

CAPO, ARGMAX, ONE_VS_REST = "capo", "argmax", "one-against-rest thresholds"
NELDER_MEAD, COORDINATES = "Nelder-Mead multipliers", "coordinate multipliers"
CUTOFFS = "optimal-classification-cutoffs"


class Task:
    """A measure, and the out-of-fold probabilities and labels that rules are learned from."""

    def __init__(self, name: str, P: np.ndarray, y: np.ndarray, folds: np.ndarray) -> None:
        self.name, self.P, self.y, self.folds = name, P, y, folds
        measure = multiclass.get(name)
        assert isinstance(measure, ConfusionMatrixMeasure)
        self.measure = measure

    def value(self, labels: np.ndarray, y: np.ndarray | None = None) -> float:
        truth = self.y if y is None else y
        classes = np.arange(self.P.shape[1])
        return float(self.measure.value(confusion_matrix(truth, labels, labels=classes).astype(float)))


def capo(task: Task) -> tuple[Rule, dict[str, float]]:
    """The rule with the best expected value, if it has proven itself out of fold."""
    by_fold = np.broadcast_to(task.P, (int(task.folds.max()) + 1, *task.P.shape))
    choice = ClassScorer(task.measure, task.y, None, task.folds).choose_rule(task.P, by_fold)
    return choice["decision_"].decide, {"gap": choice["gap_"], "adapted": float(choice["uses_rule_"])}


def argmax(task: Task) -> Rule:
    return lambda P: P.argmax(axis=1)


def one_vs_rest(task: Task) -> Rule:
    """Argmax of p / t, with the best threshold t of each class against the rest."""
    binary = measures.get(BINARY[task.name])
    thresholds = np.array(
        [max(binary.threshold(task.y == k, task.P[:, k]), 1e-6) for k in range(task.P.shape[1])]
    )
    return lambda P: (P / thresholds).argmax(axis=1)


def nelder_mead(task: Task) -> Rule:
    n_classes = task.P.shape[1]

    def loss(logs: np.ndarray) -> float:
        return -task.value((task.P * np.exp(logs)).argmax(axis=1))

    simplex = np.vstack((np.zeros(n_classes), SIMPLEX_STEP * np.eye(n_classes)))
    options = {"initial_simplex": simplex, "maxfev": 400 * n_classes, "xatol": 1e-3, "fatol": 1e-6}
    found = minimize(loss, np.zeros(n_classes), method="Nelder-Mead", options=options)
    multipliers = np.exp(found.x)
    return lambda P: (P * multipliers).argmax(axis=1)


def coordinates(task: Task) -> Rule:
    multipliers = np.ones(task.P.shape[1])
    best = task.value(task.P.argmax(axis=1))
    for _ in range(MAX_ROUNDS):
        before = best
        for k in range(len(multipliers)):
            for factor in FACTORS:
                trial = multipliers.copy()
                trial[k] *= factor
                value = task.value((task.P * trial).argmax(axis=1))
                if value > best + 1e-12:
                    best, chosen = value, trial
                    multipliers = chosen
        if best <= before:
            break
    return lambda P: (P * multipliers).argmax(axis=1)


def cutoffs(task: Task) -> Rule:
    """The thresholds of optimal-classification-cutoffs for F1, and its own way to predict with them."""
    found = import_module("optimal_cutoffs").get_optimal_multiclass_thresholds(task.y, task.P, metric="f1")
    return lambda P: np.asarray(found.predict(P)).astype(int)


RULES: dict[str, Callable[[Task], Rule]] = {
    ARGMAX: argmax,
    ONE_VS_REST: one_vs_rest,
    NELDER_MEAD: nelder_mead,
    COORDINATES: coordinates,
    CUTOFFS: cutoffs,
}
