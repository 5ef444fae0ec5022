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
    found, weight = training_scores(model), model.sample_weight_
    if weight is not None:
        weight = weight[~np.isnan(model.oof_decision_)]
    return ClassScores(found.scores - current_shift(model), found.positive, weight)


def current_shift(model: BaseAdaptedClassifier) -> float:
    """What an earlier adjustment has added to the model's log-odds."""
    return 0.0 if model.population_ is None else model.population_.log_odds_shift


def find_population(
    model: BaseAdaptedClassifier, log_odds: FloatArray, max_distance: float, random_state: int
) -> Population:
    """Estimate the prevalence among rows with these log-odds as trained; refuse other changes."""
    check_max_distance(max_distance)
    training = class_scores(model)
    found = estimate_prevalence(log_odds, training, random_state=random_state)
    if not MIN_EXPECTED_ROWS <= found.value * found.n_rows <= found.n_rows - MIN_EXPECTED_ROWS:
        raise LabelShiftError(
            f"{found.value:.2%} positive as estimated from {found.n_rows:,} new rows is less than one row of "
            "a class as trained, which is hardly among them: the model is not adjusted. Pass more rows, "
            "label some of them, or pass the prevalence if it is known."
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


def check_max_distance(max_distance: float) -> None:
    """Raise an error unless the distance is a number from 0 to 1."""
    if not (isinstance(max_distance, (int, float, np.number)) and 0 <= max_distance <= 1):
        raise InvalidInputError(f"max_distance must be a number from 0 to 1: got {max_distance!r}.")


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
    training, before = class_scores(model), model.population_
    as_trained = model.combination_.threshold_log_odds if before is None else before.trained_threshold
    _shift_log_odds(model, population.log_odds_shift - current_shift(model))
    if population.log_odds_shift == 0 and as_trained is not None:
        move_threshold(model, as_trained)
    elif isinstance(threshold, str):
        move_threshold(model, adjust_threshold(model.measure_, log_odds, training, population))
    else:
        move_threshold(model, float(logit(threshold)))
    model.population_ = replace(population, trained_threshold=as_trained)


def _shift_log_odds(model: BaseAdaptedClassifier, amount: float) -> None:
    """Add a constant to the model's log-odds."""
    weights = model.combination_.weights
    weights = replace(weights, intercept=weights.intercept + amount)
    model.combination_ = replace(model.combination_, weights=weights)
    model.intercept_ = weights.intercept
    shift_oof_decisions(model, amount)
