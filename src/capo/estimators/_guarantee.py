"""Thresholds of a fitted classifier that keep a constraint on new rows with a stated confidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import check_random_state

from .. import measures
from .._sklearn_compat import check_y
from .._typing import IntArray
from ..exceptions import InvalidInputError
from ..guarantees import Constraint, Guarantee, TrainingScores, certify
from ..measures import Measure
from ..model_selection import TimeFolds, check_groups
from ..preprocessing import positive_mask, warn_of_copies

if TYPE_CHECKING:
    from ..adaptation import LinearCombination
    from ..engine import Solution
    from ._adapted_base import BaseAdaptedClassifier

#: Share of the training rows, or of their groups, that `fit` holds out if the measure has a confidence.
CALIBRATION_SHARE = 0.3
#: The confidence where none is given.
DEFAULT_CONFIDENCE = 0.95
#: Warnings of rows that break a promise without an error.
_DEPENDENT_ROWS = (
    "{share} of the calibration rows are exact copies of others: copies are no independent draws, and the "
    "promise may not hold. Remove copies that new rows would not be, or pass groups: a row and its copies "
    "are one group."
)
_SEEN_ROWS = (
    "{share} of the rows have an exact copy on the other side of the split into training and calibration "
    "rows, so that the model has seen calibration rows and the promise may not hold. Remove copies that new "
    "rows would not be, or pass groups: a row and its copies are one group."
)


def certify_threshold(
    model: BaseAdaptedClassifier,
    X: Any,
    y: ArrayLike,
    *,
    constraint: str | Constraint | None = None,
    confidence: float | None = None,
    objective: Any = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Guarantee:
    """Find the threshold of a fitted model on calibration rows; the model is unchanged."""
    limit = _resolve_constraint(constraint, model.measure_)
    if confidence is None:
        confidence = model.measure_.params.get("confidence") or DEFAULT_CONFIDENCE
    positive = positive_mask(check_y(y, y_numeric=False, estimator=model), model.label_pair)
    scores = model.log_odds(X)
    if len(scores) != len(positive):
        raise InvalidInputError(f"X has {len(scores)} rows, but y has {len(positive)}.")
    rows = slice(None) if groups is None else _draw_from_groups(groups, len(positive), random_state)
    found = certify(
        limit,
        scores[rows],
        positive[rows],
        training_scores(model),
        confidence=confidence,
        objective=None if objective is None else measures.get(objective),
        random_state=random_state,
    )
    return replace(found, by_group=groups is not None)


def training_scores(model: BaseAdaptedClassifier) -> TrainingScores:
    """The out-of-fold log-odds of the training rows, with their labels as far as they are known."""
    rows = ~np.isnan(model.oof_decision_)
    log_odds = model.oof_decision_[rows] + model.combination_.threshold_log_odds
    positive = expit(log_odds) if model.oof_positive_ is None else model.oof_positive_[rows]
    return TrainingScores(log_odds, positive)


def move_threshold(model: BaseAdaptedClassifier, log_odds: float) -> None:
    """Give a fitted model another threshold."""
    moved = log_odds - model.combination_.threshold_log_odds
    model.combination_ = replace(model.combination_, threshold_log_odds=log_odds)
    model.threshold_ = float(expit(log_odds))
    shift_oof_decisions(model, -moved)


def replace_weights(
    model: BaseAdaptedClassifier, weights: LinearCombination, log_odds: float, solution: Solution | None
) -> None:
    """Give a fitted model other weights, whose scores are log-odds, and another threshold.

    The out-of-fold values remain those of the model's own training rows.
    """
    model.combination_ = replace(model.combination_, weights=weights)
    model.auxiliary_weights_ = dict(zip(model.auxiliary_weights_, weights.auxiliary.tolist(), strict=True))
    model.delta_coef_ = dict(zip(model.delta_coef_, weights.delta.tolist(), strict=True))
    model.intercept_ = weights.intercept
    model.solution_ = solution
    for name in ("primal", "dual", "gap", "n_iter"):
        setattr(model, f"{name}_", getattr(solution, name, 0))
    move_threshold(model, log_odds)


def shift_oof_decisions(model: BaseAdaptedClassifier, amount: float) -> None:
    """Add a constant to the out-of-fold decisions and thresholds, as far as the model's file has them."""
    for name in ("oof_decision_", "oof_thresholds_"):
        if name in vars(model):
            setattr(model, name, getattr(model, name) + amount)


def warn_of_dependent_rows(X: Any, *, stacklevel: int) -> None:
    """Warn if many calibration rows are copies of each other."""
    warn_of_copies(X, np.arange(X.shape[0]), _DEPENDENT_ROWS, stacklevel=stacklevel + 1)


def warn_of_seen_rows(X: Any, held_out: IntArray, *, stacklevel: int) -> None:
    """Warn if many calibration rows are copies of training rows."""
    sides = np.isin(np.arange(X.shape[0]), held_out).astype(np.intp)
    warn_of_copies(X, sides, _SEEN_ROWS, stacklevel=stacklevel + 1)


def check_can_hold_out(sample_weight: ArrayLike | None, cv: Any, threshold: Any) -> None:
    """Raise an error if calibration rows cannot be held out, or would not choose the threshold."""
    if not isinstance(threshold, str):
        raise InvalidInputError(
            "a measure with a confidence chooses the threshold on calibration rows: leave threshold at "
            f"'auto', or use the measure without a confidence. Got threshold={threshold!r}."
        )
    if sample_weight is not None:
        raise InvalidInputError(
            "a measure with a confidence cannot be combined with sample_weight: the exact test counts rows. "
            "Train without a confidence, and call guarantee on rows that were drawn with these weights."
        )
    if isinstance(cv, TimeFolds):
        raise InvalidInputError(
            "a measure with a confidence holds out rows at random, which folds in the order of time do not "
            "allow: train without a confidence, and call guarantee on later rows."
        )
    if not (cv is None or isinstance(cv, (int, np.integer)) or hasattr(cv, "split")):
        raise InvalidInputError(
            "a measure with a confidence holds out calibration rows, so that cv cannot be a list of splits: "
            "pass a number or a splitter, or call guarantee on calibration rows of your own."
        )


def split_calibration(n_rows: int, groups: ArrayLike | None, random_state: Any) -> tuple[IntArray, IntArray]:
    """Positions for training and for calibration: not stratified, since the test needs independent rows."""
    random = check_random_state(random_state)
    names, group = (
        (np.arange(n_rows), np.arange(n_rows))
        if groups is None
        else np.unique(check_groups(groups, n_rows), return_inverse=True)
    )
    is_held_out = np.zeros(len(names), dtype=bool)
    is_held_out[random.permutation(len(names))[: int(np.ceil(CALIBRATION_SHARE * len(names)))]] = True
    return np.flatnonzero(~is_held_out[group]), np.flatnonzero(is_held_out[group])


def _resolve_constraint(constraint: str | Constraint | None, measure: Measure) -> Constraint:
    if isinstance(constraint, Constraint):
        return constraint
    if constraint is not None:
        return Constraint.parse(constraint)
    found = Constraint.from_measure(measure)
    if found is None:
        raise InvalidInputError(
            f"the measure {measure.label} has no constraint: pass one, such as constraint='precision >= 0.9'."
        )
    return found


def _draw_from_groups(groups: ArrayLike, n_rows: int, random_state: int) -> IntArray:
    """The position of one random row of each group."""
    labels = check_groups(groups, n_rows)
    order = np.random.default_rng(random_state).permutation(n_rows)
    _, first = np.unique(labels[order], return_index=True)
    return np.sort(order[first])
