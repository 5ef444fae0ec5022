"""Label matrices: capo's thresholds against those that users tune by hand, on the same auxiliaries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from capo import CAPOClassifier, measures
from capo.learning.auxiliaries import label_fold_codes
from capo.learning.folds import fold_numbers, split_folds
from capo.learning.labels import LabelData, fit_label_models
from capo.measures import multilabel

from .tables import Table

#: The same for all tables and systems; both take seconds for 159 labels.
AUXILIARIES = ["trees", "linear"]
MEASURES = ("f1_macro", "f1_micro")
CAPO, HALF = "capo", "0.5"
PER_LABEL, GLOBAL, XCOLUMNS = "per-label thresholds", "one threshold", "xCOLUMNs"
#: Thresholds that are tried for all labels together.
GRID = np.linspace(0.02, 0.8, 79)


class LabelOutputs(NamedTuple):
    """What is trained once: raw outputs, and the probabilities of each label's stack."""

    data: LabelData
    raw_test: np.ndarray
    train: np.ndarray
    test: np.ndarray
    positive_test: np.ndarray
    seconds: float


def label_outputs(table: Table, cache: Path) -> LabelOutputs:
    """Return the auxiliaries' outputs, from the cache if they are there."""
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(cache, **_train(table, int(cache.stem.rpartition("-")[2])))
    with np.load(cache) as file:
        data = LabelData(file["raw"], None, table.y > 0, None, file["folds"])
        return LabelOutputs(
            data, file["raw_test"], file["train"], file["test"], table.y_test > 0, float(file["seconds"])
        )


def _train(table: Table, seed: int) -> dict[str, np.ndarray]:
    codes = label_fold_codes(table.y > 0)
    splits = split_folds(5, table.X, codes, {}, np.random.RandomState(seed))
    model = CAPOClassifier("f1_macro", auxiliaries=AUXILIARIES, cv=splits, C=0.0, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.X, table.y)
    seconds = sum(taken for step, taken in model.timings_.items() if step.startswith("auxiliary "))
    return {
        "raw": model.auxiliary_outputs_,
        "raw_test": model.auxiliary_outputs(table.X_test),
        "train": expit(model.oof_log_odds_),
        "test": model.predict_proba(table.X_test),
        "folds": fold_numbers(splits, len(table.y)),
        "seconds": np.array(seconds),
    }


def capo(name: str, outputs: LabelOutputs) -> np.ndarray:
    """Return the decision for the test rows."""
    found = fit_label_models(multilabel.get(name), outputs.data, 0.0, 1e-3)
    columns = [
        each.combination.log_odds(outputs.raw_test[:, :, k].T, None)
        for k, each in enumerate(found["label_models_"])
    ]
    return found["decision_"].margins(np.column_stack(columns))


def half(name: str, outputs: LabelOutputs) -> np.ndarray:
    return outputs.test - 0.5


def per_label(name: str, outputs: LabelOutputs) -> np.ndarray:
    """The threshold of each label with the best F1 on its out-of-fold probabilities."""
    f1, positive = measures.get("f1"), outputs.data.positive
    thresholds = [
        f1.threshold(positive[:, k], outputs.train[:, k]) if 0 < positive[:, k].sum() < len(positive) else 0.5
        for k in range(positive.shape[1])
    ]
    return outputs.test - np.array(thresholds)


def one_threshold(name: str, outputs: LabelOutputs) -> np.ndarray:
    """The threshold for all labels with the best value on the out-of-fold probabilities."""
    measure = multilabel.get(name)
    values = [measure.score(outputs.data.positive, outputs.train - cut) for cut in GRID]
    return outputs.test - GRID[int(np.argmax(values))]


def xcolumns(name: str, outputs: LabelOutputs) -> np.ndarray:
    """Frank-Wolfe without a budget of labels; its classifier is randomized, with a fixed seed."""
    library = import_module("xcolumns.frank_wolfe")
    measure = getattr(library, f"{name.removeprefix('f1_')}_f1_score_on_conf_matrix")
    n_labels = outputs.train.shape[1]
    start = (np.ones(n_labels), np.full(n_labels, -0.5))
    truth = outputs.data.positive.astype(np.float64)
    classifier = library.find_classifier_using_fw(
        truth, outputs.train, measure, k=0, init_classifier=start, seed=0
    )
    return np.asarray(classifier.predict(outputs.test, seed=0), dtype=np.float64) - 0.5


SYSTEMS: dict[str, Callable[[str, LabelOutputs], np.ndarray]] = {
    CAPO: capo,
    HALF: half,
    PER_LABEL: per_label,
    GLOBAL: one_threshold,
    XCOLUMNS: xcolumns,
}
