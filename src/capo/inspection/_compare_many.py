"""Compare a classifier of many classes or labels with simpler methods on the same rows and auxiliaries.

The methods are those of `compare`. For many classes a *threshold* is a multiplier of each class's
probability, and the label is the class with the largest product; for many labels each label has its own. Both
are tuned on the labels of out-of-fold rows; the stack is that of the fitted model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit, softmax
from sklearn.utils import check_random_state

from .. import measures
from .._typing import BoolArray, FloatArray, IntArray
from ..auxiliary import label_fold_codes
from ..exceptions import InvalidInputError
from ..model_selection import check_groups, fold_numbers, split_class_folds
from ..multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..multilabel import LabelAverage, MultilabelMeasure
from ..preprocessing import class_positions, encode_class_labels, encode_label_matrix, warn_of_data
from ._comparison import CAPO, DEFAULT_LEARNER, TUNED_STACK, TUNED_THRESHOLD, Comparison
from ._fold_results import (
    ComparisonRows,
    FoldResult,
    aggregate_folds,
    default_learner_index,
    fit_folds,
    fit_seconds,
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
    splits = split_class_folds(folds, X, codes, params, check_random_state(random_state), weight=weight)
    warn_of_data(X, fold_numbers(splits, len(codes)), stacklevel=2)
    compare_fold = _compare_label_fold if labels.ndim == 2 else _compare_class_fold
    rows = ComparisonRows(X, labels, weight, group)
    results = []
    for fitted, train, test in fit_folds(model, rows, splits, on_progress):
        results.append(compare_fold(fitted.delegate_, train, test))
    return aggregate_folds(fitted.delegate_, results, len(codes))


def _fold_codes(y: Any) -> tuple[IntArray, Any]:
    """The classes by which folds are stratified, and the labels as an array."""
    values = np.asarray(y)
    if values.ndim == 2:
        _, positive = encode_label_matrix(y)
        return label_fold_codes(positive), positive.astype(np.int64)
    return encode_class_labels(values)[1], values


def _compare_class_fold(
    model: MulticlassCAPOClassifier, train: ComparisonRows, held_out: ComparisonRows
) -> FoldResult:
    # A class with one row may be in the held-out fold only.
    held_out = held_out.take(np.flatnonzero(np.isin(held_out.y, model.classes_)))
    codes, codes_test = (class_positions(each.y, model.classes_) for each in (train, held_out))
    measure, learner = model.measure_, default_learner_index(model)
    oof = softmax(model.auxiliary_outputs_[:, learner], axis=1)
    raw_test = model.auxiliary_outputs(held_out.X)
    test = softmax(raw_test[:, learner], axis=1)
    probabilities = model.stack_.probabilities(list(np.moveaxis(raw_test, 1, 0)))

    def score(labels: IntArray, p: FloatArray) -> float:
        return measure.score(codes_test, labels, p, held_out.weight)

    def score_tuned(p_oof: FloatArray, p_test: FloatArray) -> float:
        multipliers = tune_multipliers(measure, p_oof, codes, train.weight)
        return score((p_test * multipliers).argmax(axis=1), p_test)

    values = {
        DEFAULT_LEARNER: score(test.argmax(axis=1), test),
        TUNED_THRESHOLD: score_tuned(oof, test),
        TUNED_STACK: score_tuned(model.oof_probabilities_, probabilities),
        CAPO: score(model.rule_.predict(probabilities), probabilities),
    }
    return FoldResult(values, fit_seconds(model, model.timings_["stack"], ("stack", "rule")))


def _compare_label_fold(
    model: MultilabelCAPOClassifier, train: ComparisonRows, held_out: ComparisonRows
) -> FoldResult:
    positive, positive_test = train.y.astype(bool), held_out.y.astype(bool)
    measure, learner = model.measure_, default_learner_index(model)
    oof, test = model.auxiliary_outputs_[:, learner], model.auxiliary_outputs(held_out.X)[:, learner]
    stack = logit(np.clip(model.predict_proba(held_out.X), PROBABILITY_EPS, 1.0 - PROBABILITY_EPS))

    def score(decision: FloatArray) -> float:
        return measure.score(positive_test, decision, held_out.weight)

    def score_tuned(oof_scores: FloatArray, test_scores: FloatArray) -> float:
        return score(test_scores - _tune_thresholds(measure, oof_scores, positive, train.weight))

    values = {
        DEFAULT_LEARNER: score(test),
        TUNED_THRESHOLD: score_tuned(oof, test),
        TUNED_STACK: score_tuned(model.oof_log_odds_, stack),
        CAPO: score(model.decision_function(held_out.X)),
    }
    own_steps = ("delta", "adaptation")
    return FoldResult(values, fit_seconds(model, model.timings_["adaptation"], own_steps))


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
