"""Compare a classifier of many classes or labels with simpler methods on the same rows and auxiliaries.

The methods are those of `compare`. For many classes a *threshold* is a multiplier of each class's
probability, and the label is the class with the largest product; for many labels each label has its own. Both
are tuned on the labels of out-of-fold rows; the stack is that of the fitted model.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit, softmax
from sklearn.base import clone
from sklearn.utils import check_random_state

from .. import measures
from .._sklearn_compat import safe_indexing
from .._typing import BoolArray, FloatArray, IntArray
from ..auxiliary import label_fold_codes
from ..exceptions import DataWarning, InvalidInputError
from ..model_selection import check_groups, split_class_folds
from ..multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..multilabel import LabelAverage, MultilabelMeasure
from ..preprocessing import class_positions, encode_class_labels, encode_label_matrix
from ._compare import PREFERRED_LEARNER, FoldResult
from ._comparison import (
    CAPO,
    DEFAULT_LEARNER,
    METHODS,
    TUNED_STACK,
    TUNED_THRESHOLD,
    Comparison,
    ComparisonSource,
    MethodResult,
)

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier, MulticlassCAPOClassifier, MultilabelCAPOClassifier

#: Multipliers that are tried for each class.
MULTIPLIER_GRID = np.geomspace(0.05, 20.0, 25)
#: Passes over the classes.
N_PASSES = 2
#: Probabilities are kept this far from 0 and 1.
PROBABILITY_EPS = 1e-12


def compare_many(
    model: CAPOClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    folds: int = 5,
    random_state: int | None = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Compare a classifier of many classes or labels with three simpler methods by cross-validation.

    Parameters
    ----------
    model : CAPOClassifier
        The unfitted model; the other methods use its measure and its auxiliaries.
    X, sample_weight
        The training data, as for `CAPOClassifier.fit`.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Labels of more than two classes, or a label matrix.
    groups : array-like of shape (n_samples,), optional
        The group of each row. Rows of one group are held out together.
    folds : int, default=5
        Number of held-out folds, stratified and shuffled.
    random_state : int, optional
        Seed of the folds. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with a message after each fold.

    Returns
    -------
    Comparison
        The value of each method on each fold, and a verdict.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import compare_many
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], random_state=0)
    >>> compare_many(model, X, y, folds=2, random_state=0).folds
    2
    """
    codes, labels = _fold_codes(y)
    if not 2 <= folds <= len(codes) // 2:
        raise InvalidInputError(f"{len(codes)} rows are not enough for {folds} folds.")
    group = None if groups is None else check_groups(groups, len(codes))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    params = {} if group is None else {"groups": group}
    results = []
    splits = split_class_folds(folds, X, codes, params, check_random_state(random_state), weight=weight)
    for number, (train, test) in enumerate(splits, start=1):
        start = time.perf_counter()
        w_train, w_test = (None, None) if weight is None else (weight[train], weight[test])
        fit_params = {} if group is None else {"groups": group[train]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fitted = clone(model).fit(
                safe_indexing(X, train), safe_indexing(labels, train), sample_weight=w_train, **fit_params
            )
        compare_fold = _compare_label_fold if labels.ndim == 2 else _compare_class_fold
        delegate = fitted.delegate_
        results.append(
            compare_fold(delegate, labels[train], w_train, safe_indexing(X, test), labels[test], w_test)
        )
        on_progress(f"fold {number} of {folds}: {time.perf_counter() - start:.0f} s")
    return _aggregate(delegate, results, len(codes))


def _fold_codes(y: Any) -> tuple[IntArray, Any]:
    """The classes by which folds are stratified, and the labels as an array."""
    values = np.asarray(y)
    if values.ndim == 2:
        _, positive = encode_label_matrix(y)
        return label_fold_codes(positive), positive.astype(np.int64)
    return encode_class_labels(values)[1], values


def _compare_class_fold(
    model: MulticlassCAPOClassifier,
    y: Any,
    weight: FloatArray | None,
    X_test: Any,
    y_test: Any,
    weight_test: FloatArray | None,
) -> FoldResult:
    known = np.isin(y_test, model.classes_)  # a class with one row may be in the held-out fold only
    X_test, y_test = safe_indexing(X_test, np.flatnonzero(known)), y_test[known]
    weight_test = None if weight_test is None else weight_test[known]
    codes, codes_test = (class_positions(each, model.classes_) for each in (y, y_test))
    measure, learner = model.measure_, _learner_index(model)
    oof = softmax(model.auxiliary_outputs_[:, learner], axis=1)
    raw_test = model.auxiliary_outputs(X_test)
    test = softmax(raw_test[:, learner], axis=1)
    probabilities = model.stack_.probabilities(list(np.moveaxis(raw_test, 1, 0)))

    def score(labels: IntArray, p: FloatArray) -> float:
        return measure.score(codes_test, labels, p, weight_test)

    def score_tuned(p_oof: FloatArray, p_test: FloatArray) -> float:
        multipliers = tune_multipliers(measure, p_oof, codes, weight)
        return score((p_test * multipliers).argmax(axis=1), p_test)

    values = {
        DEFAULT_LEARNER: score(test.argmax(axis=1), test),
        TUNED_THRESHOLD: score_tuned(oof, test),
        TUNED_STACK: score_tuned(model.oof_probabilities_, probabilities),
        CAPO: score(model.rule_.predict(probabilities), probabilities),
    }
    return FoldResult(values, _fit_seconds(model, learner, ("stack",), ("rule",)))


def _compare_label_fold(
    model: MultilabelCAPOClassifier,
    y: Any,
    weight: FloatArray | None,
    X_test: Any,
    y_test: Any,
    weight_test: FloatArray | None,
) -> FoldResult:
    positive, positive_test = y.astype(bool), y_test.astype(bool)
    measure, learner = model.measure_, _learner_index(model)
    oof, test = model.auxiliary_outputs_[:, learner], model.auxiliary_outputs(X_test)[:, learner]
    stack = logit(np.clip(model.predict_proba(X_test), PROBABILITY_EPS, 1.0 - PROBABILITY_EPS))

    def score(decision: FloatArray) -> float:
        return measure.score(positive_test, decision, weight_test)

    def score_tuned(oof_scores: FloatArray, test_scores: FloatArray) -> float:
        return score(test_scores - _tune_thresholds(measure, oof_scores, positive, weight))

    values = {
        DEFAULT_LEARNER: score(test),
        TUNED_THRESHOLD: score_tuned(oof, test),
        TUNED_STACK: score_tuned(model.oof_log_odds_, stack),
        CAPO: score(model.decision_function(X_test)),
    }
    return FoldResult(values, _fit_seconds(model, learner, ("adaptation",), ("delta",)))


def tune_multipliers(
    measure: MulticlassMeasure, probabilities: FloatArray, codes: IntArray, weight: FloatArray | None
) -> FloatArray:
    """Return a multiplier of each class's probability, tuned one after the other on these labels."""
    multipliers = np.ones(probabilities.shape[1])
    if not isinstance(measure, ConfusionMatrixMeasure):
        return multipliers

    def value(each: FloatArray) -> float:
        return measure.score(codes, (probabilities * each).argmax(axis=1), probabilities, weight)

    best = value(multipliers)
    for k in [*range(len(multipliers))] * N_PASSES:
        for candidate in MULTIPLIER_GRID:
            tried = multipliers.copy()
            tried[k] = candidate
            if (reached := value(tried)) > best:
                best, multipliers = reached, tried
    return multipliers


def _tune_thresholds(
    measure: MultilabelMeasure, scores: FloatArray, positive: BoolArray, weight: FloatArray | None
) -> FloatArray:
    """Return the threshold of each label that is best on these rows; 0 for a label of one class."""
    binary = measure.measure if isinstance(measure, LabelAverage) else measures.get("f1")
    both = np.asarray(positive.any(axis=0) & ~positive.all(axis=0))
    found = [
        float(binary.threshold(positive[:, k], scores[:, k], weight)) if both[k] else 0.0
        for k in range(positive.shape[1])
    ]
    return np.array(found)


def _learner_index(model: Any) -> int:
    names = list(model.auxiliaries_)
    return names.index(PREFERRED_LEARNER) if PREFERRED_LEARNER in names else 0


def _fit_seconds(
    model: Any, learner: int, stack_steps: tuple[str, ...], own_steps: tuple[str, ...]
) -> dict[str, float]:
    """Fit time of each method; a default learner is fitted once, the others also once per fold."""
    timings = model.timings_
    one = timings[f"auxiliary {list(model.auxiliaries_)[learner]}"]
    n_fits = 1 + len(next(iter(model.auxiliary_scores_.values())).leave_one_out)
    stack = timings["auxiliaries"] + sum(timings[step] for step in stack_steps)
    return {
        DEFAULT_LEARNER: one / n_fits,
        TUNED_THRESHOLD: one,
        TUNED_STACK: stack,
        CAPO: stack + sum(timings[step] for step in own_steps),
    }


def _aggregate(model: Any, results: list[FoldResult], n_rows: int) -> Comparison:
    methods = [
        MethodResult(
            name,
            np.array([each.values[name] for each in results]),
            float(np.mean([each.seconds[name] for each in results])),
        )
        for name in METHODS
    ]
    names = list(model.auxiliaries_)
    source = ComparisonSource("", tuple(names), n_rows)
    return Comparison(model.measure_.label, names[_learner_index(model)], methods, "", source)
