"""Adjustment of a fitted classifier to a population with another share of positives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from .._typing import FloatArray
from ..exceptions import InvalidInputError, LabelShiftError
from ..label_shift import ClassScores, Population, adjust_threshold, estimate_prevalence
from ._guarantee import move_threshold, shift_oof_decisions, training_scores

if TYPE_CHECKING:
    from ._adapted_base import BaseAdaptedClassifier

#: New scores that are further from every mixture of the two classes are no matter of another base rate.
MAX_MIXTURE_DISTANCE = 0.06


#: With fewer rows of a class by the estimate, there is no threshold to be placed between the classes.
MIN_EXPECTED_ROWS = 1.0


def class_scores(model: BaseAdaptedClassifier) -> ClassScores:
    """The out-of-fold log-odds of the training rows as trained, before any adjustment."""
    found = training_scores(model)
    return ClassScores(found.scores - current_shift(model), found.positive)


def current_shift(model: BaseAdaptedClassifier) -> float:
    """What an earlier adjustment has added to the model's log-odds."""
    return 0.0 if model.population_ is None else model.population_.log_odds_shift


def find_population(
    model: BaseAdaptedClassifier, log_odds: FloatArray, max_distance: float, random_state: int
) -> Population:
    """Estimate the prevalence among rows with these log-odds as trained; refuse other changes."""
    training = class_scores(model)
    found = estimate_prevalence(log_odds, training, random_state=random_state)
    if not MIN_EXPECTED_ROWS <= found.value * found.n_rows <= found.n_rows - MIN_EXPECTED_ROWS:
        raise LabelShiftError(
            f"{found.value:.2%} of the new rows are positive as estimated, so that one of the classes as "
            "trained is hardly among them: the model is not adjusted. Label some of the new rows, or pass "
            "the prevalence if it is known."
        )
    if found.distance > max_distance + sampling_error(len(log_odds)):
        raise LabelShiftError(
            f"the scores of the new rows are no mixture of the two classes as trained (distance "
            f"{found.distance:.3f}, beyond {max_distance:g} and the sampling error): more than the share of "
            "positives has changed, and adjusting the model to it could make it worse. Label some of the new "
            "rows and train on them, or pass the prevalence if it is known."
        )
    return Population.from_estimate(found, training)


def sampling_error(n_rows: int) -> float:
    """The distance that so many rows have from their own distribution in 95% of samples, at most."""
    return 1.36 / float(np.sqrt(n_rows))


def check_prevalence(prevalence: float) -> float:
    """Return the prevalence, or raise an error unless it is between 0 and 1."""
    if not (isinstance(prevalence, (int, float, np.number)) and 0 < prevalence < 1):
        raise InvalidInputError(
            f"prevalence must be a share of positives above 0 and below 1: got {prevalence!r}."
        )
    return float(prevalence)


def adjust_model(
    model: BaseAdaptedClassifier,
    population: Population,
    log_odds: FloatArray | None,
    threshold: str | float,
) -> None:
    """Give a fitted model the probabilities and the threshold of a population."""
    training, before = class_scores(model), current_shift(model)
    if population.log_odds_shift == before:
        model.population_ = population
        return
    moved = population.log_odds_shift - before
    weights = model.combination_.weights
    weights = replace(weights, intercept=weights.intercept + moved)
    model.combination_ = replace(model.combination_, weights=weights)
    model.intercept_ = weights.intercept
    shift_oof_decisions(model, moved)
    if isinstance(threshold, str):
        move_threshold(model, adjust_threshold(model.measure_, log_odds, training, population))
    else:
        move_threshold(model, float(logit(threshold)))
    model.population_ = population
