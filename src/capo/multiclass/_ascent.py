"""Ascent on the expected confusion matrix, for measures whose best labeling has no closed form.

A measure psi is linearized at the confusion matrix C of the current labeling. Its gradient is a gain matrix,
and the labeling that is best for that gain is the next one. The ascent ends in a labeling that no such step
improves, which need not be the best of all: it is started from several rules and the best result is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._typing import FloatArray
from ._rules import DecisionRule, ExpectedRows

#: From confusion matrices to their values, along the leading axes.
MatrixFunction = Callable[[FloatArray], FloatArray]


class Differentiable(Protocol):
    """A function of the confusion matrix with its gradient."""

    def value(self, confusion: FloatArray) -> FloatArray:
        """Return the value of each matrix along the leading axes."""

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivatives by the cells of one matrix, up to a constant in each row."""


#: The starting points are compared on at most this many rows.
MAX_ROWS_TO_COMPARE_STARTS = 50_000
#: Results on a sample of rows that are followed up on all of them.
N_STARTS_ON_ALL_ROWS = 1
#: Linearizations of one ascent.
MAX_STEPS = 50
#: How often a step that does not improve is halved.
MAX_HALVINGS = 3
#: Random multipliers among the starting points.
N_RANDOM_STARTS = 6
#: Cells are varied by this share of all mass for the gradient.
GRADIENT_STEP = 1e-6
#: Cells of the matrices that are evaluated together for the gradient.
MAX_GRADIENT_CELLS = 2**21
#: Improvements below this are rounding errors.
MIN_IMPROVEMENT = 1e-12


@dataclass(frozen=True)
class Ascent:
    """A rule, and the value of its expected confusion matrix."""

    rule: DecisionRule
    value: float


def numeric_gradient(function: MatrixFunction, confusion: FloatArray) -> FloatArray:
    """Return the derivatives of a function of the confusion matrix by its cells.

    The masses of the true classes are given, so that only differences within a row matter.
    """
    n_classes, flat = len(confusion), confusion.ravel()
    step = GRADIENT_STEP * float(confusion.sum())
    low, high = np.maximum(flat - step, 0.0), flat + step
    result = np.empty(len(flat))
    block = max(1, MAX_GRADIENT_CELLS // len(flat))
    for start in range(0, len(flat), block):
        cells = np.arange(start, min(start + block, len(flat)))
        varied = np.tile(flat, (2, len(cells), 1))
        varied[0, np.arange(len(cells)), cells] = low[cells]
        varied[1, np.arange(len(cells)), cells] = high[cells]
        values = function(varied.reshape(2, len(cells), n_classes, n_classes))
        result[cells] = (values[1] - values[0]) / (high[cells] - low[cells])
    return result.reshape(n_classes, n_classes)


def ascend(measure: Differentiable, rows: ExpectedRows, start: DecisionRule) -> Ascent:
    """Improve a rule by linearization until no step improves it."""
    rule = start.normalize()
    confusion = rows.confusion(rule.predict(rows.probabilities))
    value = float(measure.value(confusion))
    for _ in range(MAX_STEPS):
        target = DecisionRule(measure.gradient(confusion)).normalize()
        step = _improving_step(measure, rows, rule, target, value)
        if step is None:
            break
        rule, confusion, value = step
    return Ascent(rule, value)


def _improving_step(
    measure: Differentiable, rows: ExpectedRows, rule: DecisionRule, target: DecisionRule, value: float
) -> tuple[DecisionRule, FloatArray, float] | None:
    """Return the first rule on the way from the target back to the current rule that is better than it."""
    for halvings in range(MAX_HALVINGS + 1):
        share = 0.5**halvings
        candidate = DecisionRule(share * target.gain + (1.0 - share) * rule.gain)
        confusion = rows.confusion(candidate.predict(rows.probabilities))
        reached = float(measure.value(confusion))
        if reached > value + MIN_IMPROVEMENT * max(1.0, abs(value)):
            return candidate, confusion, reached
    return None


def best_ascent(measure: Differentiable, rows: ExpectedRows, starts: Sequence[DecisionRule]) -> Ascent:
    """Return the best result of the ascents from several rules.

    With many rows, a sample decides which starting points are followed up on all of them.
    """
    sample = rows.sample(MAX_ROWS_TO_COMPARE_STARTS)
    found = [ascend(measure, sample, start) for start in starts]
    if sample is not rows:
        found.sort(key=lambda each: each.value, reverse=True)
        found = [ascend(measure, rows, each.rule) for each in found[:N_STARTS_ON_ALL_ROWS]]
        most_probable = DecisionRule.most_probable(rows.n_classes)
        found.append(evaluate_rule(measure, rows, most_probable))
    return max(found, key=lambda each: each.value)


def evaluate_rule(measure: Differentiable, rows: ExpectedRows, rule: DecisionRule) -> Ascent:
    """Return a rule with the value of its expected confusion matrix."""
    return Ascent(rule, float(measure.value(rows.confusion(rule.predict(rows.probabilities)))))


def starting_rules(rows: ExpectedRows) -> list[DecisionRule]:
    """Return starting points: the most probable class, multipliers by class sizes, and random ones."""
    share = np.maximum(rows.true_mass / rows.true_mass.sum(), 1e-9)
    random = np.exp(np.random.default_rng(0).normal(size=(N_RANDOM_STARTS, rows.n_classes)))
    multipliers = [np.ones(rows.n_classes), 1.0 / share, share**-0.5, *random]
    return [DecisionRule.from_multipliers(each) for each in multipliers]
