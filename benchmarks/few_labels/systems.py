"""The models: the auxiliaries are cross-fitted once in each cell, and all systems combine the same outputs.

At C = 0 a `CAPOClassifier` is the stack of its auxiliaries' out-of-fold outputs, with a calibration and a
threshold. The steps of its fit are called here one by one, on the same folds and the same outputs for all
systems; only the models that evaluate a fit, trained without pairs of folds, are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from capo import CAPOClassifier, measures
from capo.learning.adaptation import Objective, adapt
from capo.learning.auxiliaries import make_auxiliaries, set_random_states
from capo.learning.combination import AdaptationData, FittedCombination, scale_outputs
from capo.learning.outputs import ScoreOutput
from capo.tables.schema import infer_schema

#: What the old model is made of.
OLD_AUXILIARIES = ("boosting", "linear")
N_FOLDS = 5
LABELS = np.array([0, 1])


class Outputs(NamedTuple):
    """Raw outputs of auxiliaries: out of fold for the new rows, and for the test rows."""

    new: np.ndarray
    test: np.ndarray


def fit_old(X: Any, y: np.ndarray, measure: str, seed: int, memory: Any) -> CAPOClassifier:
    """The model of the source; `memory` keeps its auxiliaries for another measure."""
    model = CAPOClassifier(
        measure, auxiliaries=list(OLD_AUXILIARIES), C=0.0, delta=None, random_state=seed, memory=memory
    )
    return model.fit(X, y)


def fold_numbers(y: np.ndarray, seed: int) -> np.ndarray:
    """The number of the fold that holds out each row."""
    n_folds = min(N_FOLDS, int(min(y.sum(), (~y).sum())))
    folds = np.empty(len(y), dtype=np.int64)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for number, (_, held_out) in enumerate(splitter.split(y, y)):
        folds[held_out] = number
    return folds


def cross_fit(X: Any, y: np.ndarray, X_test: Any, folds: np.ndarray, seed: int) -> Outputs:
    """Train the default auxiliaries in each fold and on all rows."""
    random = RandomState(seed)
    schema = infer_schema(X)
    X, X_test = schema.parse(X), schema.parse(X_test)
    pairs = make_auxiliaries("auto", X, schema)
    new, test = np.empty((len(y), len(pairs))), np.empty((len(X_test), len(pairs)))
    for position, (_, estimator) in enumerate(pairs):
        seeded = set_random_states(estimator, random)
        for fold in np.unique(folds):
            rows = folds == fold
            fitted = clone(seeded).fit(X[~rows], y[~rows].astype(int))
            new[rows, position] = ScoreOutput().predict(fitted, X[rows], LABELS)
        final = clone(seeded).fit(X, y.astype(int))
        test[:, position] = ScoreOutput().predict(final, X_test, LABELS)
    return Outputs(new, test)


def combine(
    outputs: Outputs, y: np.ndarray, folds: np.ndarray, measure: str, center: np.ndarray | None = None
) -> np.ndarray:
    """The decisions on the test rows of the stack of these outputs; above 0 is positive."""
    kind = ScoreOutput()
    data = AdaptationData(np.zeros((len(y), 0)), None, y, None, center=center)
    data, scales = scale_outputs(kind, data, folds, outputs.new)
    result = adapt(data, folds, Objective(measures.get(measure)), 0.0)
    model = FittedCombination(result.weights, tuple(scales), kind)
    return model.log_odds(outputs.test.T, None) - result.point.log_odds


def join(old: Outputs, others: Outputs) -> tuple[Outputs, np.ndarray]:
    """The outputs of the old model beside others, and the weights toward which a refit is shrunk."""
    joined = Outputs(np.hstack((old.new, others.new)), np.hstack((old.test, others.test)))
    return joined, np.arange(joined.new.shape[1]) == 0
