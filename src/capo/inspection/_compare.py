"""Compare `CAPOClassifier` with simpler methods on the same rows and the same auxiliaries.

One fitted `CAPOClassifier` provides all that the four methods need, because its auxiliaries are cross-fitted:

- the default learner is one of the auxiliaries, with its probabilities cut at 0.5;
- the tuned threshold is the same learner, with a threshold chosen on its out-of-fold probabilities;
- the tuned stack is a logistic regression on all auxiliaries' out-of-fold probabilities, with a threshold
  chosen in the same way;
- capo is the fitted model itself.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, cross_val_predict
from sklearn.utils import check_random_state

from .. import measures
from .._sklearn_compat import safe_indexing
from .._typing import BoolArray, FloatArray
from ..exceptions import DataWarning, InvalidInputError
from ..measures import ConstrainedMeasure, Measure
from ..model_selection import Split, check_groups, fold_numbers, split_folds
from ..preprocessing import encode_binary_labels, positive_mask, warn_of_data
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
    from ..estimators import CAPOClassifier

#: The auxiliary used as the default learner if the model has it; otherwise the first one is used.
PREFERRED_LEARNER = "boosting"


def compare(
    model: CAPOClassifier,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    folds: int | BaseCrossValidator = 5,
    random_state: int | None = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Comparison:
    """Compare capo with three simpler methods by cross-validation.

    Parameters
    ----------
    model : CAPOClassifier
        The unfitted model; the other methods use its measure and its auxiliaries.
    X, y, sample_weight
        The training data, as for `CAPOClassifier.fit`.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. Rows of one group are held out together, in the folds of
        the comparison and in those of every method.
    folds : int or splitter, default=5
        Number of held-out folds, stratified and shuffled; or a splitter, such as
        `capo.model_selection.TimeFolds`, which gets `groups`. Give the model a splitter of this kind, too.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0)
    >>> [method.name for method in compare(model, X, y, folds=3, random_state=0).methods]
    ['default learner', 'tuned threshold', 'tuned stack', 'capo']
    """
    labels = np.asarray(y)
    _, positive = encode_binary_labels(labels, model.pos_label)
    group = None if groups is None else check_groups(groups, len(labels))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    splits = _split(folds, positive, group, weight, random_state)
    _check_held_out_sizes(measures.get(model.measure), splits, len(labels), weight)
    warn_of_data(X, fold_numbers(splits, len(positive)), stacklevel=2)
    results = []
    for number, (train, test) in enumerate(splits, start=1):
        start = time.perf_counter()
        weight_train, weight_test = (None, None) if weight is None else (weight[train], weight[test])
        group_train = None if group is None else group[train]
        params = {} if group is None else {"groups": group_train}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # issued above for all rows
            fitted = clone(model).fit(
                safe_indexing(X, train), labels[train], sample_weight=weight_train, **params
            )
        results.append(
            compare_on_fold(
                fitted,
                labels[train],
                weight_train,
                safe_indexing(X, test),
                labels[test],
                weight_test,
                groups=group_train,
            )
        )
        on_progress(f"fold {number} of {len(splits)}: {time.perf_counter() - start:.0f} s")
    return _aggregate_folds(fitted, results, len(labels))


def _split(
    folds: int | BaseCrossValidator,
    positive: BoolArray,
    groups: NDArray[Any] | None,
    weight: FloatArray | None,
    random_state: int | None,
) -> list[Split]:
    """Return the training rows and the held-out rows of each fold."""
    params = {"groups": groups}
    if not isinstance(folds, int):
        return split_folds(folds, positive, positive, params, None, allow_partial=True)
    _check_folds(folds, positive, groups, weight)
    return split_folds(folds, positive, positive, params, check_random_state(random_state), weight=weight)


def _check_held_out_sizes(
    measure: Measure, splits: list[Split], n_rows: int, weight: FloatArray | None
) -> None:
    weight = np.ones(n_rows) if weight is None else weight
    measure.check_size(float(weight.sum()))
    smallest = min(float(weight[test].sum()) for _, test in splits)
    measure.check_size(smallest, f"the number of rows that a fold holds out (of {weight.sum():g} in all)")


def _check_folds(
    folds: int, positive: BoolArray, groups: NDArray[Any] | None, weight: FloatArray | None
) -> None:
    """Check that each class has two units for each fold: rows, or groups with rows of the class."""
    units = "rows" if groups is None else "groups"
    ids = np.arange(len(positive)) if groups is None else groups
    counted = np.ones(len(positive), dtype=bool) if weight is None else weight > 0
    fewest = min(len(np.unique(ids[rows & counted])) for rows in (positive, ~positive))
    if not 2 <= folds <= fewest // 2:
        enough = f"enough for 2 to {fewest // 2} folds" if fewest > 3 else "and at least 4 are needed"
        which = "the rarer class has" if groups is None else "one class has rows in"
        raise InvalidInputError(f"{which} {fewest} {units}, {enough}: got {folds} folds.")


@dataclass(frozen=True)
class FoldResult:
    """Value and fit time of each method on one held-out fold, by the method's name."""

    values: dict[str, float]
    seconds: dict[str, float]


def compare_on_fold(
    model: CAPOClassifier,
    y: ArrayLike,
    weight: FloatArray | None,
    X_test: Any,
    y_test: ArrayLike,
    weight_test: FloatArray | None = None,
    *,
    groups: NDArray[Any] | None = None,
) -> FoldResult:
    """Evaluate the four methods on held-out rows, given one fitted model, its labels and its groups."""
    measure, learner = model.measure_, _default_learner_index(model)
    positive, positive_test = (positive_mask(each, model.label_pair) for each in (y, y_test))
    raw_test = model.auxiliary_outputs(X_test)
    decision = model.combination_.log_odds(raw_test.T, model.delta_features(X_test))
    rows = ~np.isnan(model.oof_decision_)
    positive, weight = positive[rows], None if weight is None else weight[rows]
    groups = None if groups is None else groups[rows]
    oof, test = expit(model.auxiliary_outputs_[rows]), expit(raw_test)

    def score(decision: FloatArray) -> float:
        return measure.score(positive_test, decision, weight_test)

    def score_tuned(oof_scores: FloatArray, test_scores: FloatArray) -> float:
        return score(test_scores - measure.threshold(positive, oof_scores, weight))

    start = time.perf_counter()
    stack_oof, stack_test = _fit_stack(oof, positive, weight, test, groups)
    stack_seconds = time.perf_counter() - start
    values = {
        DEFAULT_LEARNER: score(test[:, learner] - 0.5),
        TUNED_THRESHOLD: score_tuned(oof[:, learner], test[:, learner]),
        TUNED_STACK: score_tuned(stack_oof, stack_test),
        CAPO: score(decision - model.combination_.threshold_log_odds),
    }
    return FoldResult(values, _fit_seconds(model, learner, stack_seconds))


def _fit_stack(
    oof: FloatArray,
    positive: BoolArray,
    weight: FloatArray | None,
    test: FloatArray,
    groups: NDArray[Any] | None,
) -> tuple[FloatArray, FloatArray]:
    """Fit a logistic stack; its scores of the training rows (out of fold) and of the test rows."""
    stack = LogisticRegression(max_iter=1000)
    params = {} if weight is None else {"sample_weight": weight}
    cv = None if groups is None else split_folds(None, oof, positive, {"groups": groups}, None)
    stack_oof = cross_val_predict(stack, oof, positive, cv=cv, method="decision_function", params=params)
    return stack_oof, stack.fit(oof, positive, **params).decision_function(test)


def _default_learner_index(model: CAPOClassifier) -> int:
    names = list(model.auxiliaries_)
    return names.index(PREFERRED_LEARNER) if PREFERRED_LEARNER in names else 0


def _fit_seconds(model: CAPOClassifier, learner: int, stack_seconds: float) -> dict[str, float]:
    """Fit time of each method; a default learner is fitted once, the others also once per fold."""
    timings = model.timings_
    cross_fitted = [timings[f"auxiliary {name}"] for name in model.auxiliaries_]
    # The models of pairs of folds serve the evaluation of capo only.
    share = sum(cross_fitted) / (sum(cross_fitted) + timings["pairs of folds"])
    n_fits = 1 + len(next(iter(model.auxiliary_scores_.values())).leave_one_out)
    return {
        DEFAULT_LEARNER: cross_fitted[learner] / n_fits,
        TUNED_THRESHOLD: cross_fitted[learner],
        TUNED_STACK: share * timings["auxiliaries"] + stack_seconds,
        CAPO: sum(timings[step] for step in ("auxiliaries", "delta", "adaptation")),
    }


def _aggregate_folds(model: CAPOClassifier, results: list[FoldResult], n_rows: int) -> Comparison:
    methods = [
        MethodResult(
            name,
            np.array([each.values[name] for each in results]),
            float(np.mean([each.seconds[name] for each in results])),
        )
        for name in METHODS
    ]
    names = list(model.auxiliaries_)
    learner = names[_default_learner_index(model)]
    source = ComparisonSource(str(model.pos_label_), tuple(names), n_rows)
    return Comparison(model.measure_.label, learner, methods, _describe_values(model.measure_), source)


def _describe_values(measure: Measure) -> str:
    """What the values mean, for measures that do not depend on a threshold."""
    if measure.needs_threshold:
        return ""
    same = "the default learner and the tuned threshold differ in their threshold only"
    if isinstance(measure, ConstrainedMeasure):
        best = f"best {measure.rate_name} over all thresholds with a {measure.constraint}"
        return f"{measure.label}: {best} on the held-out rows; {same}"
    return f"{measure.label} does not depend on the threshold; {same}"
