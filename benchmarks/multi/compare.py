"""All systems on one table and seed, as rows of the results."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from capo.measures import multilabel

from . import labels, rules
from .models import ClassModels, Probabilities, class_models
from .tables import CLASS_TABLES, load_classes, load_labels

CLASS_MEASURES = ("f1_macro", "balanced_accuracy", "mcc", "quadratic_kappa")
LIGHTGBM, TUNED_LIGHTGBM = "LightGBM, argmax", "LightGBM, multipliers"
TUNED_STACK = "logistic stack, multipliers"


class Row(NamedTuple):
    """One system on one table for one measure."""

    part: str
    table: str
    seed: int
    measure: str
    system: str
    score: float
    gap: float = float("nan")
    adapted: float = float("nan")
    seconds: float = float("nan")
    training_seconds: float = float("nan")


def compare(folder: Path, cache: Path, table: str, seed: int) -> Iterator[Row]:
    """Yield the rows of a table and seed."""
    file = cache / f"{table}-{seed}.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if table in CLASS_TABLES:
            data = load_classes(folder, table, seed)
            models = class_models(data, file)
            for measure in CLASS_MEASURES:
                if measure != "quadratic_kappa" or data.is_ordinal:
                    yield from _compare_rules(table, seed, measure, models)
                    yield from _compare_systems(table, seed, measure, models)
        else:
            yield from _compare_labels(
                table, seed, labels.label_outputs(load_labels(folder, table, seed), file)
            )


def _compare_rules(table: str, seed: int, measure: str, models: ClassModels) -> Iterator[Row]:
    """Rules on the probabilities of capo's stack."""
    task = rules.Task(measure, models.stack.train, models.y, models.folds)
    start = time.process_time()
    rule, facts = rules.capo(task)
    seconds = time.process_time() - start
    score = task.value(rule(models.stack.test), models.y_test)
    row = Row("rules", table, seed, measure, rules.CAPO, score, facts["gap"], facts["adapted"])
    yield row._replace(seconds=seconds, training_seconds=models.seconds)
    for name, learn in rules.RULES.items():
        if name == rules.CUTOFFS and measure != "f1_macro":
            continue
        try:
            predicted = learn(task)(models.stack.test)
        except ImportError:  # an optional package
            continue
        yield Row("rules", table, seed, measure, name, task.value(predicted, models.y_test))


def _compare_systems(table: str, seed: int, measure: str, models: ClassModels) -> Iterator[Row]:
    """Other models with other rules; capo's own row is that of its rule."""
    stack = _logistic_stack(models)
    for name, learn, given in (
        (LIGHTGBM, rules.argmax, models.lightgbm),
        (TUNED_LIGHTGBM, rules.nelder_mead, models.lightgbm),
        (TUNED_STACK, rules.nelder_mead, stack),
    ):
        task = rules.Task(measure, given.train, models.y, models.folds)
        yield Row("systems", table, seed, measure, name, task.value(learn(task)(given.test), models.y_test))


def _logistic_stack(models: ClassModels) -> Probabilities:
    """scikit-learn's stack: a logistic regression on the probabilities of all auxiliaries."""
    train, test = (softmax(raw, axis=2).reshape(len(raw), -1) for raw in models.raw)
    final = LogisticRegression(max_iter=1000)
    splits = [(np.flatnonzero(models.folds != k), np.flatnonzero(models.folds == k)) for k in range(5)]
    out_of_fold = cross_val_predict(final, train, models.y, cv=splits, method="predict_proba")
    return Probabilities(out_of_fold, final.fit(train, models.y).predict_proba(test))


def _compare_labels(table: str, seed: int, outputs: labels.LabelOutputs) -> Iterator[Row]:
    for measure in labels.MEASURES:
        score = multilabel.get(measure).score
        for name, predict in labels.SYSTEMS.items():
            start = time.process_time()
            try:
                decision = predict(measure, outputs)
            except ImportError:  # an optional package
                continue
            seconds = time.process_time() - start
            row = Row("labels", table, seed, measure, name, score(outputs.positive_test, decision))
            yield row._replace(seconds=seconds, training_seconds=outputs.seconds)
