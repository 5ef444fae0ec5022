"""The systems: each gives the test rows that it calls positive."""

from __future__ import annotations

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from capo import CAPOClassifier

from .tables import PricedRows

CAPO, CAPO_CONSTANT = "capo", "capo, prices unknown at prediction"
CONSTANT, WEIGHTED = "LightGBM, one threshold", "LightGBM, weighted examples"
CALIBRATED, ISOTONIC = "LightGBM, calibrated (sigmoid)", "LightGBM, calibrated (isotonic)"
RIVALS = (CONSTANT, WEIGHTED, CALIBRATED, ISOTONIC)


def predictions(train: PricedRows, test: PricedRows, seed: int) -> dict[str, np.ndarray]:
    """Which test rows each system calls positive."""
    return {**_capo(train, test, seed), **_lightgbm(train, test, seed)}


def _capo(train: PricedRows, test: PricedRows, seed: int) -> dict[str, np.ndarray]:
    model = CAPOClassifier("cost", random_state=seed)
    model.fit(train.X, train.y, cost_fp=train.prices.cost_fp, cost_fn=train.prices.cost_fn)
    log_odds = model.log_odds(test.X)
    constant = log_odds > model.decision_.log_odds
    return {CAPO: log_odds > test.prices.log_odds, CAPO_CONSTANT: constant}


def _lightgbm(train: PricedRows, test: PricedRows, seed: int) -> dict[str, np.ndarray]:
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    learner = LGBMClassifier(random_state=seed, n_jobs=1, verbosity=-1)
    out_of_fold = cross_val_predict(learner, train.X, train.y, cv=folds, method="predict_proba")[:, 1]
    found = {
        CONSTANT: learner.fit(train.X, train.y).predict_proba(test.X)[:, 1]
        > best_threshold(out_of_fold, train)
    }
    weight = np.where(train.y, train.prices.stakes, train.prices.cost_fp)
    found[WEIGHTED] = learner.fit(train.X, train.y, sample_weight=weight).predict(test.X)
    for name, method in ((CALIBRATED, "sigmoid"), (ISOTONIC, "isotonic")):
        calibrated = CalibratedClassifierCV(learner, method=method, cv=folds, ensemble=False)
        probability = calibrated.fit(train.X, train.y).predict_proba(test.X)[:, 1]
        found[name] = test.prices.expected_savings(probability) > 0
    return found


def best_threshold(probability: np.ndarray, train: PricedRows) -> float:
    """The one threshold with the most money out of fold."""
    order = np.argsort(-probability, kind="stable")
    gain = np.where(train.y, train.prices.stakes, -train.prices.cost_fp)[order].cumsum()
    last = int(np.argmax(gain))
    if gain[last] <= 0:
        return 1.0
    following = probability[order[last + 1]] if last + 1 < len(order) else 0.0
    return float((probability[order[last]] + following) / 2)
