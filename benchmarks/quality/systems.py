"""The systems that are compared, all of them on the same auxiliaries, trained once a table.

A baseline sees what it would see if it trained them itself: their out-of-fold outputs on the training
rows, and those of the models of all rows on the test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Memory
from lightgbm import LGBMClassifier
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, cross_val_predict

from capo import CAPOClassifier, measures
from capo.baselines import PublishedCAPOClassifier
from capo.decisions import PlattCalibrator
from capo.estimators import BaseAdaptedClassifier
from capo.learning.auxiliaries import default_auxiliary_names
from capo.measures import Measure

from ..data import Table
from .twenty_lines import Outputs, twenty_line_stack

MEASURES = {
    "f1": measures.get("f1"),
    "mcc": measures.get("mcc"),
    "balanced_accuracy": measures.get("balanced_accuracy"),
    "prbep": measures.get("prbep"),
    "roc_auc": measures.get("roc_auc"),
    "average_precision": measures.get("average_precision"),
    "recall_at_precision(0.8)": measures.get("recall_at_precision", floor=0.8),
    "precision_at_k(0.01)": measures.get("precision_at_k", k=0.01),
    "accuracy": measures.get("accuracy"),
}
SCORERS = {
    "f1": make_scorer(f1_score),
    "mcc": make_scorer(matthews_corrcoef),
    "balanced_accuracy": make_scorer(balanced_accuracy_score),
    "accuracy": "accuracy",
}
CAPO, PUBLISHED_CAPO = "capo", "CAPO as published"
#: Former names of systems, which stored results still have.
FORMER_NAMES = {"capo, paper's mode": PUBLISHED_CAPO}
LIGHTGBM, TUNED_LIGHTGBM = "lightgbm", "lightgbm + threshold"
TWENTY_LINES = "twenty-line stack"
STACK, SELECTION = "stack + threshold", "ensemble selection + threshold"
#: Models that ensemble selection adds, one at a time.
N_SELECTED = 50


class Row(NamedTuple):
    """One system on one table for one measure."""

    system: str
    score: float
    seconds: float = float("nan")
    training_seconds: float = float("nan")
    C: float = float("nan")
    out_of_fold: float = float("nan")
    spread: float = float("nan")


class PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A column of probabilities as a classifier, so that scikit-learn can tune its threshold."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> PrecomputedClassifier:
        self.classes_ = np.array([False, True])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack((1.0 - X[:, 0], X[:, 0]))


def compare(
    table: Table,
    wanted: list[str],
    seed: int,
    cache: Path,
    there: set[tuple[str, str]],
    systems: list[str] | None = None,
) -> Iterator[tuple[str, Row]]:
    """Every system for every measure wanted, but for the (measure, system) pairs that are there already."""
    models = Models(table, seed, Memory(cache, verbose=0))
    for name in wanted:
        for system, work in _systems(TableScorer(name, MEASURES[name], table), models).items():
            if (name, system) not in there and (systems is None or system in systems):
                yield name, work()


class Models:
    """What is trained once for a table: auxiliaries and LightGBM."""

    def __init__(self, table: Table, seed: int, memory: Memory) -> None:
        self.table, self.seed, self.memory = table, seed, memory

    def capo(self, measure: Measure) -> CAPOClassifier:
        return CAPOClassifier(measure, random_state=self.seed, memory=self.memory)

    @cached_property
    def fitted(self) -> CAPOClassifier:
        """A model whose auxiliaries all measures share."""
        return self.capo(MEASURES["roc_auc"]).set_params(C=0.0).fit(self.table.X, self.table.y)

    @cached_property
    def outputs(self) -> Outputs:
        return _outputs(self.fitted, self.table)

    @cached_property
    def twenty_lines(self) -> Outputs:
        return twenty_line_stack(self.table, self.seed)

    @cached_property
    def lightgbm(self) -> Outputs:
        return _lightgbm(self.table, self.seed)


def _systems(scorer: TableScorer, models: Models) -> dict[str, Callable[[], Row]]:
    """Each system by its name, as the work that gives its row."""
    model = models.capo(scorer.measure)
    published = PublishedCAPOClassifier(scorer.measure, random_state=models.seed, memory=models.memory)
    named = {
        CAPO: partial(_capo, CAPO, model, scorer.table),
        PUBLISHED_CAPO: partial(_capo, PUBLISHED_CAPO, published, scorer.table),
        LIGHTGBM: lambda: Row(LIGHTGBM, scorer(models.lightgbm.test - 0.5)),
        TUNED_LIGHTGBM: lambda: scorer.tune_threshold(
            TUNED_LIGHTGBM, models.lightgbm.train, models.lightgbm.test
        ),
        TWENTY_LINES: lambda: _twenty_line_row(scorer, models.twenty_lines),
        STACK: lambda: stack(scorer, models.outputs),
        SELECTION: lambda: _ensemble_selection(scorer, models.outputs),
    }
    for column, auxiliary in enumerate(default_auxiliary_names(scorer.table.X)):
        named[f"{auxiliary} + threshold"] = partial(_single, scorer, models.outputs, auxiliary, column)
    return named


class TableScorer(NamedTuple):
    """A measure on a table, on its test rows; the threshold, where one is needed, from its training rows."""

    name: str
    measure: Measure
    table: Table

    def __call__(self, scores: np.ndarray) -> float:
        return self.measure.score(self.table.y_test, scores)

    def tune_threshold(self, system: str, train: np.ndarray, test: np.ndarray) -> Row:
        """The row of a model with these probabilities, at a threshold tuned on the training rows."""
        if self.name not in SCORERS:
            return Row(system, self(test))
        tuned = TunedThresholdClassifierCV(PrecomputedClassifier(), scoring=SCORERS[self.name])
        tuned.fit(train[:, None], self.table.y)
        return Row(system, self(tuned.predict(test[:, None]) - 0.5))

    def on_training_rows(self, scores: np.ndarray) -> float:
        """The measure out of fold, at the best threshold."""
        cut = self.measure.threshold(self.table.y, scores) if self.name in SCORERS else 0.0
        return self.measure.score(self.table.y, scores - cut)


def _capo(system: str, model: BaseAdaptedClassifier, table: Table) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.X, table.y)
    seconds = model.timings_
    training = sum(taken for step, taken in seconds.items() if step.startswith("auxiliary "))
    score = model.measure_.score(table.y_test, model.positive_decision(table.X_test))
    taken = seconds["adaptation"] + seconds["delta"]
    return Row(system, score, taken, training, model.C_, model.score_, model.score_std_)


def _lightgbm(table: Table, seed: int) -> Outputs:
    model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    cv = StratifiedKFold(5, shuffle=True, random_state=seed)
    train = cross_val_predict(model, table.X, table.y, cv=cv, method="predict_proba")[:, 1]
    return Outputs(train, model.fit(table.X, table.y).predict_proba(table.X_test)[:, 1])


def _twenty_line_row(scorer: TableScorer, outputs: Outputs) -> Row:
    """The stack at the threshold with the best out-of-fold value."""
    train, test = outputs.train[:, 0], outputs.test[:, 0]
    cut = scorer.measure.threshold(scorer.table.y, train) if scorer.measure.needs_threshold else 0.0
    return Row(TWENTY_LINES, scorer(test - cut))


def _outputs(model: CAPOClassifier, table: Table) -> Outputs:
    """Probabilities of each auxiliary; a margin becomes one by its calibration."""
    train, test = model.auxiliary_outputs_.copy(), model.auxiliary_outputs(table.X_test)
    for column, auxiliary in enumerate(model.auxiliaries_.values()):
        if not hasattr(auxiliary, "predict_proba"):
            curve = PlattCalibrator.fit(train[:, column], table.y)
            train[:, column] = curve.log_odds(train[:, column])
            test[:, column] = curve.log_odds(test[:, column])
    return Outputs(expit(train), expit(test))


def _single(scorer: TableScorer, outputs: Outputs, auxiliary: str, column: int) -> Row:
    """One auxiliary, cut where its out-of-fold probabilities are best."""
    train, test = outputs.train[:, column], outputs.test[:, column]
    cut = scorer.measure.threshold(scorer.table.y, train) if scorer.name in SCORERS else 0.0
    return Row(f"{auxiliary} + threshold", scorer(test - cut))


def stack(scorer: TableScorer, outputs: Outputs) -> Row:
    """StackingClassifier's final estimator on the out-of-fold probabilities, its threshold tuned."""
    final = LogisticRegression(max_iter=1000)
    if scorer.name in SCORERS:
        tuned = TunedThresholdClassifierCV(final, scoring=SCORERS[scorer.name]).fit(
            outputs.train, scorer.table.y
        )
        return Row(STACK, scorer(tuned.predict(outputs.test) - 0.5))
    final.fit(outputs.train, scorer.table.y)
    return Row(STACK, scorer(final.decision_function(outputs.test)))


def _ensemble_selection(scorer: TableScorer, outputs: Outputs) -> Row:
    """Greedy selection with replacement on the measure (Caruana et al., 2004)."""
    total, counts = np.zeros(len(outputs.train)), np.zeros(outputs.train.shape[1])
    best, kept = -np.inf, counts
    for size in range(1, N_SELECTED + 1):
        values = [scorer.on_training_rows((total + column) / size) for column in outputs.train.T]
        chosen = int(np.argmax(values))
        total, counts = total + outputs.train[:, chosen], counts.copy()
        counts[chosen] += 1
        if values[chosen] > best:
            best, kept = values[chosen], counts
    share = kept / kept.sum()
    return scorer.tune_threshold(SELECTION, outputs.train @ share, outputs.test @ share)
