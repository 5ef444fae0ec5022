"""Decision rules of many classes, and the ascent that finds a good one.

A rule is a gain matrix G: ``G[j, k]`` is the gain of predicting class k for a row of class j, and a row with
the probabilities p gets the label ``argmax_k (p' G)_k``, the one with the largest expected gain. The identity
is the most probable class. Measures of single classes, such as the macro-averaged F1, have rules of the form
``argmax_k (a_k p_k - b_k)``, which is the gain matrix ``diag(a) - 1 b'``, since probabilities sum to 1.

A measure psi is linearized at the confusion matrix C of the current labeling. Its gradient is a gain matrix,
and the labeling that is best for that gain is the next one. The ascent ends in a labeling that no such step
improves, which need not be the best of all: it is started from several rules and the best result is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from .._compat import FloatArray, IntArray


@dataclass(frozen=True)
class DecisionRule:
    """Predict the class with the largest expected gain.

    Attributes
    ----------
    gain : ndarray of shape (n_classes, n_classes)
        The gain for each true class (rows) and predicted class (columns).

    Examples
    --------
    >>> import numpy as np
    >>> from capo.measures import DecisionRule
    >>> rule = DecisionRule.from_multipliers(np.array([1.0, 1.0, 3.0]))
    >>> rule.predict(np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]]))
    array([2, 0])
    """

    gain: FloatArray

    @classmethod
    def most_probable(cls, n_classes: int) -> DecisionRule:
        """Return the rule that predicts the most probable class."""
        return cls(np.eye(n_classes))

    @classmethod
    def from_multipliers(cls, multipliers: FloatArray, offsets: FloatArray | None = None) -> DecisionRule:
        """Return the rule ``argmax_k (multipliers[k] p_k - offsets[k])``."""
        gain = np.diag(np.asarray(multipliers, dtype=np.float64))
        return cls(gain if offsets is None else gain - offsets)

    def decision(self, probabilities: FloatArray) -> FloatArray:
        """Return the expected gain of each class for each row."""
        return np.asarray(probabilities @ self.gain)

    def predict(self, probabilities: FloatArray) -> IntArray:
        """Return the position of the class with the largest expected gain; the first one of several."""
        return np.asarray(self.decision(probabilities).argmax(axis=1))

    @property
    def is_most_probable(self) -> bool:
        """Whether the rule predicts the most probable class."""
        return bool(np.array_equal(self.gain, np.eye(len(self.gain))))

    @property
    def multipliers_and_offsets(self) -> tuple[FloatArray, FloatArray] | None:
        """The numbers a and b of ``argmax_k (a_k p_k - b_k)``; None for a rule of another form."""
        n_classes = len(self.gain)
        offsets = -self.gain[np.arange(1, n_classes + 1) % n_classes, np.arange(n_classes)]
        multipliers = np.diag(self.gain) + offsets
        scale = np.abs(self.gain).max()
        same = np.allclose(self.gain, np.diag(multipliers) - offsets, rtol=0.0, atol=1e-12 * scale)
        return (multipliers, offsets) if same else None

    def normalize(self) -> DecisionRule:
        """Return the same rule on the scale where the gains of a true class differ by at most 1."""
        spread = float(np.ptp(self.gain, axis=1).max())
        return DecisionRule(self.gain / spread) if spread > 0 else self


@dataclass(frozen=True)
class ExpectedRows:
    """Rows whose labels are known as probabilities: row i counts as ``p_ij`` of a row of class j.

    Attributes
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    """

    probabilities: FloatArray
    weight: FloatArray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.probabilities.shape[1])

    @cached_property
    def mass(self) -> FloatArray:
        """The expected mass of each class in each row."""
        return self.probabilities if self.weight is None else self.probabilities * self.weight[:, None]

    @cached_property
    def true_mass(self) -> FloatArray:
        """The expected mass of each class: the row sums of every confusion matrix of these rows."""
        return np.asarray(self.mass.sum(axis=0))

    @cached_property
    def row_mass(self) -> FloatArray:
        """The weight of each row, 1 without weights."""
        return np.ones(len(self.probabilities)) if self.weight is None else self.weight

    def confusion(self, labels: IntArray) -> FloatArray:
        """Return the expected confusion matrix of a labeling: true classes in rows, predicted in columns."""
        n_rows = len(labels)
        columns = csr_array((np.ones(n_rows), labels, np.arange(n_rows + 1)), shape=(n_rows, self.n_classes))
        return np.asarray((columns.T @ self.mass).T)

    def sample(self, n_rows: int) -> ExpectedRows:
        """Return evenly spaced rows, at most `n_rows` of them."""
        step = -(-len(self.probabilities) // n_rows)
        if step <= 1:
            return self
        weight = None if self.weight is None else self.weight[::step]
        return ExpectedRows(self.probabilities[::step], weight)


def confusion_matrix(
    codes: IntArray, labels: IntArray, n_classes: int, weight: FloatArray | None = None
) -> FloatArray:
    """Return the confusion matrix of a labeling: true classes in rows, predicted classes in columns."""
    cells = np.bincount(codes * n_classes + labels, weights=weight, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)


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
