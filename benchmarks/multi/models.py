"""What is trained once for a table and a seed: capo's auxiliaries and stack, and LightGBM."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.model_selection import StratifiedKFold

from capo import CAPOClassifier
from capo.learning.classes import fit_class_stack

from .tables import Table


class Probabilities(NamedTuple):
    """Probabilities of training rows, out of fold, and of test rows."""

    train: np.ndarray
    test: np.ndarray


class ClassModels(NamedTuple):
    """Probabilities of the systems, and the seconds that their training took."""

    stack: Probabilities
    raw: Probabilities
    lightgbm: Probabilities
    folds: np.ndarray
    y: np.ndarray
    y_test: np.ndarray
    seconds: float
    stack_seconds: float


def class_models(table: Table, cache: Path) -> ClassModels:
    """Return the models' probabilities, from the cache if they are there."""
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(cache, **_train(table, int(cache.stem.rpartition("-")[2])))
    with np.load(cache) as file:
        raw = Probabilities(file["raw_train"], file["raw_test"])
        lightgbm = Probabilities(file["lgbm_train"], file["lgbm_test"])
        folds, seconds = file["folds"], float(file["seconds"])
    start = time.process_time()
    stack, out_of_fold, _ = fit_class_stack(raw.train, table.y, None, folds)
    stack_seconds = time.process_time() - start
    probabilities = Probabilities(out_of_fold, stack.probabilities(list(np.moveaxis(raw.test, 1, 0))))
    return ClassModels(probabilities, raw, lightgbm, folds, table.y, table.y_test, seconds, stack_seconds)


def _train(table: Table, seed: int) -> dict[str, np.ndarray]:
    splits = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(table.y, table.y))
    folds = np.zeros(len(table.y), dtype=int)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CAPOClassifier("accuracy", cv=splits, random_state=seed).fit(table.X, table.y)
        lgbm = _lightgbm(table, splits, seed)
        raw_test = model.auxiliary_outputs(table.X_test)
    return {
        "raw_train": model.auxiliary_outputs_,
        "raw_test": raw_test,
        "lgbm_train": lgbm.train,
        "lgbm_test": lgbm.test,
        "folds": folds,
        "seconds": np.array(sum(v for k, v in model.timings_.items() if k.startswith("auxiliary "))),
    }


def _lightgbm(table: Table, splits: list[tuple[np.ndarray, np.ndarray]], seed: int) -> Probabilities:
    """LightGBM with its defaults; a class that a fold lacks has the probability 0 there."""
    n_classes = len(np.unique(table.y))
    train = np.zeros((len(table.y), n_classes))
    for rows, held_out in splits:
        model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1).fit(table.X.iloc[rows], table.y[rows])
        train[np.ix_(held_out, model.classes_)] = model.predict_proba(table.X.iloc[held_out])
    model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1).fit(table.X, table.y)
    return Probabilities(train, model.predict_proba(table.X_test))
