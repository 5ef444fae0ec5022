"""Fits of AutoGluon or FLAML on one table, in the environment that has it.

python -m benchmarks.quality.automl_fits SYSTEM DATA TABLE SEED SECONDS FOLDER MEASURE ...

Each measure gets a file MEASURE.npz in FOLDER: the labels of both halves, the system's own labels and
probabilities of the test rows, its out-of-fold probabilities of the training rows where the measure needs a
threshold, and the time it took.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import Table
from .tables import load

#: Measures of labels; the others are of the ranking.
NEED_THRESHOLD = ("f1", "mcc", "balanced_accuracy")
#: FLAML's own metrics for the measures it has; for the others it minimizes the log loss.
FLAML_METRICS = {"f1": "f1", "roc_auc": "roc_auc", "average_precision": "ap"}
#: Folds for FLAML's out-of-fold probabilities.
N_FOLDS = 5
LABEL = "label"


class Fit(NamedTuple):
    """What a system predicts after one fit."""

    labels: np.ndarray
    test: np.ndarray
    train: np.ndarray
    seconds: float
    cpu_seconds: float
    version: str


class Stopwatch:
    """Wall-clock and CPU time since its start, child processes included."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), _cpu_seconds()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self.start[0], _cpu_seconds() - self.start[1]


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def fit_autogluon(table: Table, measure: str, seconds: int, seed: int) -> Fit:
    """good_quality for the measure; AutoGluon calibrates the threshold itself where there is one."""
    from autogluon.tabular import TabularPredictor  # noqa: PLC0415 (one of two environments has it)

    train = _with_text_columns(table.X).assign(**{LABEL: table.y.astype(int)})
    test = _with_text_columns(table.X_test)
    with tempfile.TemporaryDirectory() as folder:
        watch = Stopwatch()
        predictor = TabularPredictor(
            LABEL, problem_type="binary", eval_metric=measure, path=folder, verbosity=0
        )
        predictor.fit(train, presets="good_quality", time_limit=seconds, num_cpus=1, num_gpus=0)
        taken = watch.read()
        best = predictor.model_best
        out_of_fold = predictor.predict_proba_oof(best, train_data=train)
        return Fit(
            predictor.predict(test).to_numpy() == 1,
            predictor.predict_proba(test)[1].to_numpy(),
            out_of_fold[1].to_numpy() if measure in NEED_THRESHOLD else np.array([]),
            *taken,
            version("autogluon.tabular"),
        )


def _with_text_columns(X: Any) -> Any:
    return X.set_axis([str(name) for name in X.columns], axis=1)


def fit_flaml(table: Table, measure: str, seconds: int, seed: int) -> Fit:
    """FLAML's search; out-of-fold probabilities by its best model, trained again in folds, off the clock."""
    from flaml import AutoML  # noqa: PLC0415 (one of two environments has it)
    from sklearn.base import clone  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # noqa: PLC0415

    y, watch = table.y.astype(int), Stopwatch()
    search = AutoML(
        task="classification",
        metric=FLAML_METRICS.get(measure, "log_loss"),
        time_budget=seconds,
        n_jobs=1,
        seed=seed,
        verbose=0,
    )
    search.fit(table.X, y)
    taken = watch.read()
    out_of_fold = np.array([])
    if measure in NEED_THRESHOLD:
        cv = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        prepared = search.preprocess(table.X)
        out_of_fold = cross_val_predict(clone(search.model), prepared, y, cv=cv, method="predict_proba")[:, 1]
    probability = search.predict_proba(table.X_test)[:, 1]
    return Fit(probability > 0.5, probability, out_of_fold, *taken, version("flaml"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", choices=("AutoGluon", "FLAML"))
    parser.add_argument("data", type=Path)
    parser.add_argument("table")
    parser.add_argument("seed", type=int)
    parser.add_argument("seconds", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("measures", nargs="+")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    fit = {"AutoGluon": fit_autogluon, "FLAML": fit_flaml}[options.system]
    fit_all(fit, load(options.data, options.table, options.seed), options)


def fit_all(fit: Callable[..., Fit], table: Table, options: argparse.Namespace) -> None:
    """One fit a measure; FLAML's fits for the log loss are one."""
    fits: dict[str, Fit] = {}
    for measure in options.measures:
        key = FLAML_METRICS.get(measure, "log_loss") if options.system == "FLAML" else measure
        fits[key] = fits.get(key) or fit(table, measure, options.seconds, options.seed)
        file = options.folder / f"{measure}.npz"
        np.savez(file, y=table.y, y_test=table.y_test, **fits[key]._asdict())


if __name__ == "__main__":
    main()
