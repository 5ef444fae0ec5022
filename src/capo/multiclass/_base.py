"""Measures of many classes.

A measure of labels is a function psi of the K x K confusion matrix C, with true classes in rows and predicted
classes in columns. For rows whose labels are known as probabilities, a labeling has the *expected* confusion
matrix ``C[j, k] = sum of p_ij over the rows i with the label k``, and `search` looks for the rule whose
labeling has the best value of it. How good the rule is follows from the family of the measure:

- *linear*: the best labeling is found row by row;
- *linear-fractional*, a ratio of two linear functions: Dinkelbach's iteration ends in the best labeling;
- any other: an ascent ends in a good labeling, and a relaxation bounds what any labeling can reach.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..measures import ratio
from ._ascent import best_ascent, evaluate_rule, numeric_gradient, starting_rules
from ._rules import DecisionRule, ExpectedRows, confusion_matrix

#: Iterations of Dinkelbach's method; each is an improvement, and a handful suffices.
MAX_FRACTION_STEPS = 100
#: A relative improvement below this is a rounding error.
FRACTION_TOL = 1e-13
#: Rows of which a starting point is found.
MAX_ROWS_FOR_START = 50_000


@dataclass(frozen=True)
class RuleSearch:
    """A rule, the value that it is expected to reach, and a bound on what any labeling can reach.

    Attributes
    ----------
    rule : DecisionRule
        The rule.
    value : float
        The measure of the rule's expected confusion matrix.
    bound : float
        No labeling of these rows has an expected confusion matrix of a higher value; infinite if no bound is
        known.
    is_exact : bool
        Whether the method finds the best labeling, so that value and bound differ by rounding errors only.
    """

    rule: DecisionRule
    value: float
    bound: float
    is_exact: bool

    @property
    def gap(self) -> float:
        """The difference between the bound and the value."""
        return max(self.bound - self.value, 0.0)


class MulticlassMeasure(ABC):
    """A performance measure of K classes; higher is better."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name for `capo.multiclass.get`."""

    @abstractmethod
    def score(
        self,
        codes: IntArray,
        labels: IntArray,
        probabilities: FloatArray,
        sample_weight: FloatArray | None = None,
    ) -> float:
        """Return the value for true classes, predicted classes and probabilities of the classes."""

    @abstractmethod
    def search(self, rows: ExpectedRows) -> RuleSearch:
        """Return the rule with the best expected value that is found, and a bound."""

    def find_rule(self, rows: ExpectedRows) -> DecisionRule:
        """Return the rule of `search`, without the bound."""
        return self.search(rows).rule

    def for_classes(self, classes: NDArray[Any]) -> MulticlassMeasure:
        """Return the measure with parameters that refer to labels resolved for these classes."""
        return self

    def with_order(self, labels: list[Any]) -> MulticlassMeasure:
        """Return the measure for classes in this order, if their order matters and is not given."""
        return self

    @property
    def assumes_order(self) -> bool:
        """Whether the order of the classes matters and is not given, so that the labels are sorted."""
        return False

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the measure."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        """The name with the parameters that differ from their defaults, as printed for users."""
        parts = [f"{key}={_format(value)}" for key, value in self.params.items() if value is not None]
        return f"{self.name}({', '.join(parts)})" if parts else self.name


class ConfusionMatrixMeasure(MulticlassMeasure):
    """A measure of labels: a function of the K x K confusion matrix."""

    @abstractmethod
    def value(self, confusion: FloatArray) -> FloatArray:
        """Return the value of each matrix along the leading axes."""

    def score(
        self,
        codes: IntArray,
        labels: IntArray,
        probabilities: FloatArray,
        sample_weight: FloatArray | None = None,
    ) -> float:
        return float(self.value(confusion_matrix(codes, labels, probabilities.shape[1], sample_weight)))

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivatives by the cells of one matrix, up to a constant in each row."""
        return numeric_gradient(self.value, confusion)

    def bound(self, rows: ExpectedRows) -> float:
        """Return a value that no labeling's expected confusion matrix exceeds."""
        return np.inf

    def starts(self, rows: ExpectedRows) -> list[DecisionRule]:
        """Return the starting points of the ascent."""
        starts = starting_rules(rows)
        return [*starts, _best_threshold(self, rows)] if rows.n_classes == 2 else starts

    def find_rule(self, rows: ExpectedRows) -> DecisionRule:
        return best_ascent(self, rows, self.starts(rows)).rule

    def search(self, rows: ExpectedRows) -> RuleSearch:
        found = best_ascent(self, rows, self.starts(rows))
        return RuleSearch(found.rule, found.value, max(self.bound(rows), found.value), False)


class LinearMeasure(ConfusionMatrixMeasure):
    """A measure that is linear in the confusion matrix, given the masses of the true classes."""

    @abstractmethod
    def gain(self, true_mass: FloatArray) -> FloatArray:
        """Return the gain of a unit of mass in each cell, for masses along the last axis."""

    def value(self, confusion: FloatArray) -> FloatArray:
        return np.asarray((self.gain(confusion.sum(axis=-1)) * confusion).sum(axis=(-2, -1)))

    def gradient(self, confusion: FloatArray) -> FloatArray:
        return self.gain(confusion.sum(axis=-1))

    def find_rule(self, rows: ExpectedRows) -> DecisionRule:
        return self.search(rows).rule

    def search(self, rows: ExpectedRows) -> RuleSearch:
        found = evaluate_rule(self, rows, DecisionRule(self.gain(rows.true_mass)).normalize())
        return RuleSearch(found.rule, found.value, found.value, True)


class FractionMeasure(ConfusionMatrixMeasure):
    """A ratio of two functions that are linear in the confusion matrix, given the true classes' masses."""

    @abstractmethod
    def fraction(self, true_mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return numerator and denominator of a unit of mass in each cell; masses along the last axis."""

    def value(self, confusion: FloatArray) -> FloatArray:
        above, below = self.fraction(confusion.sum(axis=-1))
        return ratio((above * confusion).sum(axis=(-2, -1)), (below * confusion).sum(axis=(-2, -1)))

    def find_rule(self, rows: ExpectedRows) -> DecisionRule:
        return self.search(rows).rule

    def search(self, rows: ExpectedRows) -> RuleSearch:
        """Find the best labeling by Dinkelbach's method.

        If no labeling has a numerator above ``value`` times its denominator, no labeling has a higher ratio.
        """
        above, below = self.fraction(rows.true_mass)
        best = evaluate_rule(self, rows, DecisionRule.most_probable(rows.n_classes))
        for _ in range(MAX_FRACTION_STEPS):
            found = evaluate_rule(self, rows, DecisionRule(above - best.value * below).normalize())
            if found.value <= best.value + FRACTION_TOL * max(1.0, abs(best.value)):
                break
            best = found
        return RuleSearch(best.rule, best.value, best.value, True)


def _best_threshold(measure: ConfusionMatrixMeasure, rows: ExpectedRows) -> DecisionRule:
    """Return the rule of the best threshold on the probability of the second of two classes."""
    rows = rows.sample(MAX_ROWS_FOR_START)
    order = np.argsort(-rows.probabilities[:, 1], kind="stable")
    predicted = np.concatenate((np.zeros((1, 2)), np.cumsum(rows.mass[order], axis=0)))
    matrices = np.stack((rows.true_mass - predicted, predicted), axis=-1)
    ranked = np.concatenate(([1.5], rows.probabilities[order, 1], [-0.5]))
    is_cut = ranked[:-1] > ranked[1:]
    best = int(np.where(is_cut, measure.value(np.maximum(matrices, 0.0)), -np.inf).argmax())
    threshold = 0.5 * (ranked[best] + ranked[best + 1])
    return DecisionRule.from_multipliers(np.array([0.0, 1.0]), np.array([0.0, threshold]))


def _format(value: object) -> str:
    return f"<{np.size(value)} values>" if isinstance(value, np.ndarray) else str(value)
