"""Measures of many classes, and the decision rules that are best for them.

A measure of labels is a function psi of the K x K confusion matrix C, with true classes in rows and predicted
classes in columns. For rows whose labels are known as probabilities, a labeling has the *expected* confusion
matrix ``C[j, k] = sum of p_ij over the rows i with the label k``, and `search` looks for the rule whose
labeling has the best value of it. What is known about the result depends on the family of the measure:

- *linear*: the best labeling is found row by row;
- *linear-fractional*, a ratio of two linear functions: Dinkelbach's iteration ends in the best labeling;
- any other: an ascent ends in a good labeling, and a relaxation bounds what any labeling can reach.

A rule is a gain matrix G: ``G[j, k]`` is the gain of predicting class k for a row of class j, and a row with
the probabilities p gets the label ``argmax_k (p' G)_k``, the one with the largest expected gain. The identity
is the most probable class. Measures of single classes, such as the macro-averaged F1, have rules of the form
``argmax_k (a_k p_k - b_k)``, which is the gain matrix ``diag(a) - 1 b'``, since probabilities sum to 1.

A measure psi is linearized at the confusion matrix C of the current labeling. Its gradient is a gain matrix,
and the labeling that is best for that gain is the next one. The ascent ends in a labeling that no such step
improves, which need not be the best of all: it is started from several rules and the best result is kept.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import permutations, product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .._compat import FloatArray, IntArray, NDArray
from ..exceptions import InvalidInputError, list_labels
from ._base import AveragedMeasure, DerivedMeasure, Measure
from ._confusion import ConfusionMeasure, FunctionMeasure, call_function, ratio
from ._ranking import RocAUC
from ._registry import Description, Registry

__all__ = ["ConfusionMatrixMeasure", "MulticlassMeasure", "RuleSearch", "describe", "get", "names"]

#: Largest number of rows to find starting points on, and to compare them on.
MAX_ROWS_FOR_START = 50_000
#: Number of starting points with random multipliers.
N_RANDOM_STARTS = 6
#: Largest number of linearizations of one ascent.
MAX_STEPS = 50
#: Largest number of times to halve a step without improvement.
MAX_HALVINGS = 3
#: Improvements below this are rounding errors.
MIN_IMPROVEMENT = 1e-12
#: Masses are varied by this share of all mass for the gradient.
GRADIENT_STEP = 1e-6
#: Largest number of cells of matrices that are evaluated together for the gradient.
MAX_GRADIENT_CELLS = 2**21
#: Largest number of iterations of Dinkelbach's method; each is an improvement, and a handful suffices.
MAX_FRACTION_STEPS = 100
#: A relative improvement below this is a rounding error.
FRACTION_TOL = 1e-13
#: Steps of the relaxation that bounds the geometric mean.
N_GMEAN_STEPS = 30
#: Labels with a smaller variance are constant up to rounding errors.
MIN_SPREAD = 1e-14
#: Recalls below this are treated as this in the geometric mean's relaxation.
MIN_RECALL = 1e-9

#: Weights of the rows, or None.
Weights = FloatArray | None


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


@dataclass(frozen=True)
class RuleSearch:
    """A rule, its expected value, and a bound on the expected value of any labeling.

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
    bound: float = np.inf
    is_exact: bool = False

    @property
    def gap(self) -> float:
        """The difference between the bound and the value."""
        return max(self.bound - self.value, 0.0)


class MulticlassMeasure(DerivedMeasure):
    """A performance measure of K classes; higher is better."""

    @abstractmethod
    def score(
        self, codes: IntArray, labels: IntArray, probabilities: FloatArray, sample_weight: Weights = None
    ) -> float:
        """Return the value for true classes, predicted classes and probabilities of the classes."""

    @abstractmethod
    def best_rule(self, rows: ExpectedRows) -> RuleSearch:
        """Return the rule with the best expected value found."""

    def search(self, rows: ExpectedRows) -> RuleSearch:
        """Return the best rule found, with a bound on the expected value of any labeling."""
        return self.best_rule(rows)

    def for_classes(self, classes: NDArray[Any]) -> MulticlassMeasure:
        """Return the measure with parameters that refer to labels resolved for these classes."""
        return self

    def with_order(self, labels: list[Any]) -> MulticlassMeasure:
        """Return the measure for classes in this order, if their order matters and is not set."""
        return self

    @property
    def assumes_order(self) -> bool:
        """Whether the order of the classes matters but is not set, so that the sorted labels are used."""
        return False


class ConfusionMatrixMeasure(MulticlassMeasure):
    """A measure of labels: a function of the K x K confusion matrix."""

    @abstractmethod
    def value(self, confusion: FloatArray) -> FloatArray:
        """Return the value of each matrix along the leading axes."""

    def score(
        self, codes: IntArray, labels: IntArray, probabilities: FloatArray, sample_weight: Weights = None
    ) -> float:
        n_classes = probabilities.shape[1]
        cells = np.bincount(codes * n_classes + labels, weights=sample_weight, minlength=n_classes**2)
        return float(self.value(cells.reshape(n_classes, n_classes).astype(np.float64)))

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivatives by the cells of one matrix, up to a constant in each row.

        The masses of the true classes are given, so that only differences within a row matter.
        """
        flat, step = confusion.ravel(), GRADIENT_STEP * float(confusion.sum())
        low, high = np.maximum(flat - step, 0.0), flat + step
        result = np.empty(len(flat))
        block = max(1, MAX_GRADIENT_CELLS // len(flat))
        for start in range(0, len(flat), block):
            cells = np.arange(start, min(start + block, len(flat)))
            varied = np.tile(flat, (2, len(cells), 1))
            varied[:, np.arange(len(cells)), cells] = low[cells], high[cells]
            values = self.value(varied.reshape(2, len(cells), *confusion.shape))
            result[cells] = (values[1] - values[0]) / (high[cells] - low[cells])
        return result.reshape(confusion.shape)

    def bound(self, rows: ExpectedRows) -> float:
        """Return a value that no labeling's expected confusion matrix exceeds."""
        return np.inf

    def starts(self, rows: ExpectedRows) -> list[DecisionRule]:
        """Return the starting points of the ascent: multipliers by class sizes, and random ones."""
        share = np.maximum(rows.true_mass / rows.true_mass.sum(), 1e-9)
        random = np.exp(np.random.default_rng(0).normal(size=(N_RANDOM_STARTS, rows.n_classes)))
        multipliers = [np.ones(rows.n_classes), 1.0 / share, share**-0.5, *random]
        starts = [DecisionRule.from_multipliers(each) for each in multipliers]
        return [*starts, self._best_threshold(rows)] if rows.n_classes == 2 else starts

    def _best_threshold(self, rows: ExpectedRows) -> DecisionRule:
        """Return the rule of the best threshold on the probability of the second of two classes."""
        rows = rows.sample(MAX_ROWS_FOR_START)
        order = np.argsort(-rows.probabilities[:, 1], kind="stable")
        predicted = np.concatenate((np.zeros((1, 2)), np.cumsum(rows.mass[order], axis=0)))
        matrices = np.stack((rows.true_mass - predicted, predicted), axis=-1)
        ranked = np.concatenate(([1.5], rows.probabilities[order, 1], [-0.5]))
        is_cut = ranked[:-1] > ranked[1:]
        best = int(np.where(is_cut, self.value(np.maximum(matrices, 0.0)), -np.inf).argmax())
        threshold = 0.5 * (ranked[best] + ranked[best + 1])
        return DecisionRule.from_multipliers(np.array([0.0, 1.0]), np.array([0.0, threshold]))

    def search(self, rows: ExpectedRows) -> RuleSearch:
        found = self.best_rule(rows)
        return found if found.is_exact else replace(found, bound=max(self.bound(rows), found.value))

    def best_rule(self, rows: ExpectedRows) -> RuleSearch:
        """Return the best result of the ascents from several rules.

        With many rows, a sample decides which starting point is followed up on all of them.
        """
        sample = rows.sample(MAX_ROWS_FOR_START)
        found = [self._ascend(sample, start) for start in self.starts(rows)]
        if sample is not rows:
            best = max(found, key=lambda each: each.value)
            most_probable = DecisionRule.most_probable(rows.n_classes)
            found = [self._ascend(rows, best.rule), evaluate_rule(self, rows, most_probable)]
        return max(found, key=lambda each: each.value)

    def _ascend(self, rows: ExpectedRows, start: DecisionRule) -> RuleSearch:
        """Improve a rule by linearization until no step improves it; steps without improvement are halved."""

        def evaluate(rule: DecisionRule) -> tuple[DecisionRule, FloatArray, float]:
            confusion = rows.confusion(rule.predict(rows.probabilities))
            return rule, confusion, float(self.value(confusion))

        rule, confusion, value = evaluate(start.normalize())
        for _ in range(MAX_STEPS):
            target = DecisionRule(self.gradient(confusion)).normalize()
            for share in 0.5 ** np.arange(MAX_HALVINGS + 1):
                step = evaluate(DecisionRule(share * target.gain + (1.0 - share) * rule.gain))
                if step[2] > value + MIN_IMPROVEMENT * max(1.0, abs(value)):
                    break
            else:
                break
            rule, confusion, value = step
        return RuleSearch(rule, value)


def evaluate_rule(measure: ConfusionMatrixMeasure, rows: ExpectedRows, rule: DecisionRule) -> RuleSearch:
    """Return a rule with the value of its expected confusion matrix."""
    return RuleSearch(rule, float(measure.value(rows.confusion(rule.predict(rows.probabilities)))))


class GainMeasure(ConfusionMatrixMeasure):
    """A measure that is linear in the confusion matrix, given the true classes' masses."""

    @abstractmethod
    def gain(self, true_mass: FloatArray) -> FloatArray:
        """Return the gain of a unit of mass in each cell, for masses along the last axis."""

    def value(self, confusion: FloatArray) -> FloatArray:
        return np.asarray((self.gain(confusion.sum(axis=-1)) * confusion).sum(axis=(-2, -1)))

    def best_rule(self, rows: ExpectedRows) -> RuleSearch:
        found = evaluate_rule(self, rows, DecisionRule(self.gain(rows.true_mass)).normalize())
        return replace(found, bound=found.value, is_exact=True)


class FractionMeasure(ConfusionMatrixMeasure):
    """A ratio of two functions that are linear in the confusion matrix, given the true classes' masses."""

    @abstractmethod
    def fraction(self, true_mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return numerator and denominator of a unit of mass in each cell; masses along the last axis."""

    def value(self, confusion: FloatArray) -> FloatArray:
        above, below = self.fraction(confusion.sum(axis=-1))
        return ratio((above * confusion).sum(axis=(-2, -1)), (below * confusion).sum(axis=(-2, -1)))

    def best_rule(self, rows: ExpectedRows) -> RuleSearch:
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
        return replace(best, bound=best.value, is_exact=True)


@dataclass(frozen=True)
class ClassAverage(AveragedMeasure, ConfusionMatrixMeasure):
    """Average over the classes of a binary measure, each class against all others.

    Classes that are neither among the true nor among the predicted ones do not count.

    Parameters
    ----------
    measure : ConfusionMeasure
        The binary measure.
    average : "macro" or "weighted", default="macro"
        Whether all classes count the same, or as their number of rows.
    """

    def value(self, confusion: FloatArray) -> FloatArray:
        hits = np.diagonal(confusion, axis1=-2, axis2=-1)
        true, predicted = confusion.sum(axis=-1), confusion.sum(axis=-2)
        total = confusion.sum(axis=(-2, -1))[..., None]
        values = binary_values(self.measure, hits, predicted - hits, true, total)
        share = self._class_weights(true, predicted)
        return np.asarray((share * values).sum(axis=-1))

    def _class_weights(self, true: FloatArray, predicted: FloatArray) -> FloatArray:
        counts = true if self.average == "weighted" else ((true > 0) | (predicted > 0)).astype(np.float64)
        return ratio(counts, counts.sum(axis=-1, keepdims=True))

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return ``diag(a) - 1 b'``: only the hits and the other predictions of each class matter."""
        tp, true = np.diag(confusion), confusion.sum(axis=1)
        predicted = confusion.sum(axis=0)
        return self._gain(tp, predicted - tp, true, self._class_weights(true, predicted))

    def _gain(self, tp: FloatArray, fp: FloatArray, true: FloatArray, share: FloatArray) -> FloatArray:
        total = float(true.sum())
        step = GRADIENT_STEP * total

        def slope(vary_tp: float, vary_fp: float) -> FloatArray:
            high = np.minimum(tp + vary_tp, true), fp + vary_fp
            low = np.maximum(tp - vary_tp, 0.0), np.maximum(fp - vary_fp, 0.0)
            above, below = (binary_values(self.measure, tp, fp, true, total) for tp, fp in (high, low))
            return ratio(share * (above - below), high[0] - low[0] + high[1] - low[1])

        by_hits, by_errors = slope(step, 0.0), slope(0.0, step)
        return np.diag(by_hits - by_errors) + by_errors

    def starts(self, rows: ExpectedRows) -> list[DecisionRule]:
        """Return also two rules from the threshold that is best for each class by itself."""
        sample = rows.sample(MAX_ROWS_FOR_START)
        _, thresholds, tp, fp = (np.array(part) for part in zip(*self._best_cuts(sample), strict=True))
        share = self._class_weights(sample.true_mass, tp + fp)
        ratio_rule = DecisionRule.from_multipliers(1.0 / np.maximum(thresholds, 1e-9))
        gain = self._gain(tp, fp, sample.true_mass, share)
        return [*super().starts(rows), ratio_rule, DecisionRule(gain)]

    def bound(self, rows: ExpectedRows) -> float:
        """Return the average of the best values that each class could have by itself."""
        if isinstance(self.measure, FunctionMeasure):
            return np.inf  # the best labeling of a class need not be a threshold
        if not (self.measure.is_monotone or rows.true_mass.all()):
            return self.measure.best  # a class without mass may raise the average where it is predicted
        best = np.array([cut.bound for cut in self._best_cuts(rows)])
        # A class without mass counts only where it is predicted, with the value 0 of a class without hits.
        return float(best @ self._class_weights(rows.true_mass, np.zeros(rows.n_classes)))

    def _best_cuts(self, rows: ExpectedRows) -> list[BestCut]:
        return [best_cut(self.measure, column, rows.weight) for column in rows.probabilities.T]


class BestCut(NamedTuple):
    """A bound on the expected value of a binary measure, and the best threshold.

    Attributes
    ----------
    bound : float
        No labeling of the rows has a higher expected value.
    threshold : float
        The threshold with the best value: rows with a higher probability are positive.
    tp, fp : float
        Its expected true and false positives.
    """

    bound: float
    threshold: float
    tp: float
    fp: float


def best_cut(
    measure: ConfusionMeasure, probabilities: FloatArray, weight: FloatArray | None = None
) -> BestCut:
    """Return the best threshold on the probabilities of a class, and a bound on any labeling.

    Of the labelings with a given number of positive rows, the one of the most probable rows has the most
    true positives, so that the best one is a threshold. With weights this holds for ratios of linear
    functions; for other measures that rise with tp and fall with fp, what lies between two thresholds is
    bounded by the hits of one and the errors of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import measures
    >>> from capo.measures.multiclass import best_cut
    >>> best_cut(measures.get("jaccard"), np.array([0.75, 0.25]))
    BestCut(bound=0.6, threshold=0.25, tp=0.75, fp=0.25)
    """
    row_mass = np.ones(len(probabilities)) if weight is None else weight
    order = np.argsort(-probabilities, kind="stable")
    ranked, mass = probabilities[order], row_mass[order]
    hits = np.append(0.0, np.cumsum(ranked * mass))
    errors = np.maximum(np.append(0.0, np.cumsum(mass)) - hits, 0.0)
    true, total = hits[-1], float(mass.sum())
    values = binary_values(measure, hits, errors, true, total)
    best = int(values.argmax())
    bound = float(values[best])
    if weight is not None and not measure.is_monotone:
        bound = measure.best
    elif weight is not None and not measure.is_fractional:
        bound = max(bound, float(binary_values(measure, hits[1:], errors[:-1], true, total).max()))
    threshold = float(ranked[min(best, len(ranked) - 1)])
    return BestCut(bound, threshold, float(hits[best]), float(errors[best]))


def binary_values(
    measure: ConfusionMeasure, tp: FloatArray, fp: FloatArray, true: Any, total: Any
) -> FloatArray:
    """Return the values for true and false positives, the mass of the class and that of all rows."""
    fp = np.maximum(fp, 0.0)
    return np.asarray(measure.value(tp, fp, np.maximum(true - tp, 0.0), np.maximum(total - true - fp, 0.0)))


@dataclass(frozen=True)
class Accuracy(GainMeasure):
    """Accuracy of many classes: the share of correct predictions, as a gain matrix.

    Measures of this module that generalize a measure of two classes have the same name.
    """

    name: ClassVar[str] = "accuracy"

    def gain(self, true_mass: FloatArray) -> FloatArray:
        total = true_mass.sum(axis=-1)[..., None, None]
        return ratio(np.eye(true_mass.shape[-1]), total)


@dataclass(frozen=True)
class BalancedAccuracy(GainMeasure):
    """Balanced accuracy of many classes: the mean of their recalls; classes without rows do not count.

    Generalizes the measure of two classes of this name.
    """

    name: ClassVar[str] = "balanced_accuracy"

    def gain(self, true_mass: FloatArray) -> FloatArray:
        present = np.maximum((true_mass > 0).sum(axis=-1, keepdims=True), 1)
        return (ratio(1.0, true_mass) / present)[..., None] * np.eye(true_mass.shape[-1])


@dataclass(frozen=True, eq=False)
class GainMatrix(GainMeasure):
    """Mean gain per row, from the gain of each pair of a true and a predicted class.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The gains: true classes in rows, predicted classes in columns.
    classes : list of labels, optional
        The classes of the rows and columns; the sorted labels by default.
    """

    matrix: Any = None
    classes: Any = None
    name: ClassVar[str] = "gain"
    sign: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.matrix is None:
            raise InvalidInputError(
                f"measure {self.name!r} needs a matrix of {self.name}s: pass "
                f"capo.measures.multiclass.get({self.name!r}, matrix=...), true classes in rows, predicted "
                "classes in columns."
            )
        try:
            matrix = np.asarray(self.matrix, dtype=np.float64)
        except (TypeError, ValueError):  # texts, or rows of different lengths
            matrix = np.full(0, np.nan)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise InvalidInputError(
                f"the {self.name} matrix must be square, with a finite number for each pair of a true class "
                f"(rows) and a predicted class (columns): got {self.matrix!r}."
            )
        object.__setattr__(self, "matrix", matrix)

    def for_classes(self, classes: NDArray[Any]) -> GainMatrix:
        if len(self.matrix) != len(classes):
            raise InvalidInputError(
                f"the {self.name} matrix has {len(self.matrix)} rows, but y has {len(classes)} classes."
            )
        if self.classes is None:
            return self
        order = np.argsort(_find_labels(self.classes, classes, f"the {self.name} matrix", each_once=True))
        return replace(self, matrix=self.matrix[np.ix_(order, order)], classes=None)

    def gain(self, true_mass: FloatArray) -> FloatArray:
        return ratio(self.sign * self.matrix, true_mass.sum(axis=-1)[..., None, None])


@dataclass(frozen=True, eq=False)
class CostMatrix(GainMatrix):
    """Negative mean cost per row, from the cost of each pair of a true and a predicted class.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The costs: true classes in rows, predicted classes in columns.
    classes : list of labels, optional
        The classes of the rows and columns; the sorted labels by default.
    """

    name: ClassVar[str] = "cost"
    sign: ClassVar[float] = -1.0


@dataclass(frozen=True)
class MicroF1(FractionMeasure):
    """F1 of several classes together: twice their hits over the sum of their predicted and true masses.

    Parameters
    ----------
    classes : list of labels, optional
        The classes that count, such as all but the background; all of them by default, for which the measure
        is the accuracy.
    positions : tuple of int, optional
        The positions of these classes; found from `classes` in `fit`.
    """

    classes: Any = None
    positions: tuple[int, ...] | None = field(default=None, kw_only=True)
    name: ClassVar[str] = "f1_micro"

    def for_classes(self, classes: NDArray[Any]) -> MicroF1:
        if self.classes is None:
            return self
        positions = tuple(_find_labels(self.classes, classes, self.name))
        if not positions:
            raise InvalidInputError("f1_micro needs at least one class: its list of classes is empty.")
        return replace(self, positions=positions)

    def fraction(self, true_mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        n_classes = true_mass.shape[-1]
        counted = np.zeros(n_classes)
        counted[slice(None) if self.positions is None else list(self.positions)] = 1.0
        below = np.broadcast_to(counted, (n_classes, n_classes)) + counted[:, None]
        return 2.0 * np.diag(counted), below


@dataclass(frozen=True)
class CohenKappa(FractionMeasure):
    """Cohen's kappa of many classes: agreement beyond chance.

    With weights, errors between near classes count less. Generalizes the measure of two classes of this name.

    Parameters
    ----------
    weights : "linear", "quadratic" or None, default=None
        The size of an error: 1, or the distance of the classes in their order, or its square.
    order : list of labels, optional
        The order of the classes; the sorted labels by default.
    positions : tuple of float, optional
        The place of each class in the order; found from `order` in `fit`.
    """

    weights: str | None = None
    order: Any = None
    positions: tuple[int, ...] | None = field(default=None, kw_only=True)

    @property
    def name(self) -> str:
        """The name for `capo.measures.multiclass.get`."""
        return "quadratic_kappa" if self.weights == "quadratic" else "cohen_kappa"

    def __post_init__(self) -> None:
        if self.weights not in (None, "linear", "quadratic"):
            raise InvalidInputError(
                f"weights of cohen_kappa must be None, 'linear' or 'quadratic': got {self.weights!r}."
            )

    @property
    def params(self) -> dict[str, Any]:
        return {"order": self.order} if self.weights == "quadratic" else super().params

    def for_classes(self, classes: NDArray[Any]) -> CohenKappa:
        if self.order is None:
            return self
        found = _find_labels(self.order, classes, f"order of {self.name}", each_once=True)
        return replace(self, positions=tuple(np.argsort(found).tolist()))

    def with_order(self, labels: list[Any]) -> CohenKappa:
        return replace(self, order=labels) if self.assumes_order else self

    @property
    def assumes_order(self) -> bool:
        return self.weights is not None and self.order is None

    def fraction(self, true_mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        place = np.arange(true_mass.shape[-1]) if self.positions is None else np.array(self.positions)
        distance = np.abs(place[:, None] - place).astype(np.float64)
        errors = distance ** {None: 0, "linear": 1, "quadratic": 2}[self.weights] * (distance > 0)
        share = ratio(true_mass, true_mass.sum(axis=-1, keepdims=True))
        by_chance = (share @ errors)[..., None, :]  # of a row with this prediction
        return by_chance - errors, np.broadcast_to(by_chance, (by_chance - errors).shape)


@dataclass(frozen=True)
class GMean(ConfusionMatrixMeasure):
    """Geometric mean of many classes' recalls; classes without rows do not count.

    Generalizes the measure of two classes of this name.
    """

    name: ClassVar[str] = "gmean"

    def value(self, confusion: FloatArray) -> FloatArray:
        hits, true = np.diagonal(confusion, axis1=-2, axis2=-1), confusion.sum(axis=-1)
        present = true > 0
        with np.errstate(divide="ignore"):
            logs = np.where(present, np.log(np.maximum(ratio(hits, true), 0.0)), 0.0)
        return np.exp(logs.sum(axis=-1) / np.maximum(present.sum(axis=-1), 1))

    def bound(self, rows: ExpectedRows) -> float:
        """Return the smallest bound by inequalities between geometric and arithmetic means.

        For positive v whose product is 1, the geometric mean of recalls r is at most the mean of
        ``v_k r_k``, whose maximum over all labelings is found row by row.
        """
        return min(value for _, value in self._relaxation(rows))

    def starts(self, rows: ExpectedRows) -> list[DecisionRule]:
        rules = [rule for rule, _ in self._relaxation(rows.sample(MAX_ROWS_FOR_START))]
        return [*super().starts(rows), rules[0], rules[-1]]

    def _relaxation(self, rows: ExpectedRows) -> list[tuple[DecisionRule, float]]:
        """Frank-Wolfe steps of the concave problem over mixtures of labelings: rules and their bounds."""
        present = rows.true_mass > 0
        true = np.where(present, rows.true_mass, 1.0)
        v, mixed, steps = present.astype(np.float64), np.zeros(rows.n_classes), []
        for number in range(N_GMEAN_STEPS):
            rule = DecisionRule.from_multipliers(v / true)
            recalls = np.diag(rows.confusion(rule.predict(rows.probabilities))) / true
            steps.append((rule, float(np.sum(v * recalls) / present.sum())))
            mixed += (recalls - mixed) * 2.0 / (number + 2.0)
            logs = np.log(np.maximum(mixed, MIN_RECALL))
            v = np.where(present, np.exp(logs[present].mean() - logs), 0.0)
        return steps


@dataclass(frozen=True)
class MCC(ConfusionMatrixMeasure):
    """Matthews' correlation coefficient of many classes (Gorodkin's R_K).

    Generalizes the measure of two classes of this name.
    """

    name: ClassVar[str] = "mcc"

    def value(self, confusion: FloatArray) -> FloatArray:
        total = confusion.sum(axis=(-2, -1))
        true = ratio(confusion.sum(axis=-1), total[..., None])
        predicted = ratio(confusion.sum(axis=-2), total[..., None])
        hits = ratio(np.trace(confusion, axis1=-2, axis2=-1), total)
        spread = [np.maximum((share * (1.0 - share)).sum(axis=-1), 0.0) for share in (true, predicted)]
        is_varied = np.minimum(*spread) > MIN_SPREAD
        root = np.sqrt(spread[0]) * np.sqrt(spread[1])
        return ratio(hits - (true * predicted).sum(axis=-1), np.where(is_varied, root, 0.0))

    def bound(self, rows: ExpectedRows) -> float:
        """Return the bound by the Cauchy-Schwarz inequality.

        The covariance of probabilities and labels is at most the product of their standard deviations.
        """
        total = float(rows.row_mass.sum())
        share = rows.true_mass / total
        variance = float((rows.row_mass @ (rows.probabilities - share) ** 2).sum() / total)
        return float(np.sqrt(ratio(variance, 1.0 - share @ share)))


@dataclass(frozen=True, eq=False)
class ConfusionMatrixFunction(ConfusionMatrixMeasure):
    """A user's function of the K x K confusion matrix.

    Parameters
    ----------
    function : callable
        Takes an array of shape (..., n_classes, n_classes), with true classes in rows and predicted classes
        in columns, and returns one number per matrix; higher is better.
    name : str, optional
        The name of the measure; that of the function by default.
    """

    function: Callable[[FloatArray], Any]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or getattr(self.function, "__name__", "function"))

    @property
    def label(self) -> str:
        """The name of the function; a lambda has none."""
        return "custom measure" if self.name == "<lambda>" else self.name

    def value(self, confusion: FloatArray) -> FloatArray:
        return call_function(
            self.function,
            [confusion],
            confusion.shape[:-2],
            self.label,
            "It gets confusion matrices along the leading axes: write it for the last two, as in "
            "`lambda C: C[..., 0, 0] - C[..., 1, 0]`.",
        )


def _find_labels(labels: Any, classes: NDArray[Any], name: str, *, each_once: bool = False) -> list[int]:
    """Return the positions of labels among the classes, or an error unless they are among them."""
    known = classes.tolist()
    listed = [labels] if np.ndim(labels) == 0 else np.asarray(labels, dtype=object).tolist()
    if unknown := [label for label in listed if label not in known]:
        raise InvalidInputError(
            f"{name} names the label {unknown[0]!r}, which y does not have: its labels are "
            f"{list_labels(known)}."
        )
    found = [known.index(label) for label in listed]
    if each_once and sorted(found) != list(range(len(known))):
        raise InvalidInputError(
            f"{name} must name each class of y once: y has {len(known)} classes, and {len(found)} are named."
        )
    return found


@dataclass(frozen=True, kw_only=True)
class MeanRocAUC(MulticlassMeasure):
    """Mean of areas under binary ROC curves of the probabilities.

    Parameters
    ----------
    comparison : "ovr" or "ovo", default="ovr"
        Whether each class is compared with all others, or with every other one (Hand and Till).
    average : "macro" or "weighted", default="macro"
        Whether all comparisons count the same, or as the number of rows of their classes.
    """

    comparison: str = "ovr"
    average: str = "macro"

    @property
    def name(self) -> str:
        """The name for `capo.measures.multiclass.get`."""
        return f"roc_auc_{self.comparison}{'_weighted' if self.average == 'weighted' else ''}"

    def score(
        self, codes: IntArray, labels: IntArray, probabilities: FloatArray, sample_weight: Weights = None
    ) -> float:
        rows = ExpectedRows(np.eye(probabilities.shape[1])[codes], sample_weight)
        return self._mean_area(rows, lambda k, other: probabilities[:, k])

    def best_rule(self, rows: ExpectedRows) -> RuleSearch:
        def best_ranking(k: int, other: int | None) -> FloatArray:
            """Return the scores with the largest expected area: no order of the rows has a larger one."""
            p = rows.probabilities
            return p[:, k] if other is None else ratio(p[:, k], p[:, k] + p[:, other])

        value = self._mean_area(rows, lambda k, other: rows.probabilities[:, k])
        bound = max(self._mean_area(rows, best_ranking), value)
        return RuleSearch(
            DecisionRule.most_probable(rows.n_classes), value, bound, is_exact=self.comparison == "ovr"
        )

    def _mean_area(self, rows: ExpectedRows, scores: Callable[[int, int | None], FloatArray]) -> float:
        """Return the mean area for the scores of each comparison; 0.5 if no class can be compared."""
        classes = range(rows.n_classes)
        pairs: Iterable[tuple[int, int | None]] = product(classes, [None])
        areas, shares = [], []
        for k, other in permutations(classes, 2) if self.comparison == "ovo" else pairs:
            positive, share = rows.mass[:, k], rows.true_mass[k]
            negative = np.maximum(rows.row_mass - positive, 0.0)
            if other is not None:
                negative, share = rows.mass[:, other], share + rows.true_mass[other]
            if positive.sum() > 0 and negative.sum() > 0:
                labels, mass = np.repeat((True, False), len(positive)), np.concatenate((positive, negative))
                areas.append(RocAUC().score(labels, np.tile(scores(k, other), 2), mass))
                shares.append(float(share) if self.average == "weighted" else 1.0)
        return float(np.average(areas, weights=shares)) if areas else 0.5


def _convert(measure: Measure | Callable[..., Any]) -> MulticlassMeasure:
    """Return the counterpart or the class average of a binary measure, or the measure of a function."""
    if not isinstance(measure, Measure):
        is_for_matrix = is_matrix_function(measure)
        return ConfusionMatrixFunction(measure) if is_for_matrix else ClassAverage(FunctionMeasure(measure))
    name = _REGISTRY.aliases.get(measure.name, measure.name)
    if name in _REGISTRY.entries and not measure.params:
        return get(name)
    if isinstance(measure, ConfusionMeasure):
        return ClassAverage(measure)
    raise InvalidInputError(
        f"the measure {measure.label!r} is for two classes only. For many classes, choose one of "
        f"{', '.join(_REGISTRY.entries)}, or the mean of a measure over the classes, such as 'f1_macro'."
    )


def _roc_areas(comparison: str, value: str, use: str) -> dict[str, tuple[Any, str, str]]:
    """The plain and the weighted mean of ROC areas, as entries of the registry."""
    plain = partial(MeanRocAUC, comparison=comparison)
    weighted = partial(plain, average="weighted")
    name, same = f"roc_auc_{comparison}", "the same, weighted by size"
    return {name: (plain, value, use), f"{name}_weighted": (weighted, same, "ranking")}


_REGISTRY: Registry[MulticlassMeasure] = Registry(
    MulticlassMeasure,
    {
        "accuracy": (Accuracy, "share of correct predictions", "all errors cost the same"),
        "balanced_accuracy": (BalancedAccuracy, "mean recall of the classes", "each class counts the same"),
        "f1_micro": (MicroF1, "F1 of several classes together", "all classes but a background class"),
        "mcc": (MCC, "Gorodkin's correlation R_K", "one number for the whole matrix"),
        "cohen_kappa": (CohenKappa, "agreement beyond chance", "comparison with human raters"),
        "quadratic_kappa": (
            partial(CohenKappa, "quadratic"),
            "kappa with squared distances",
            "ordered classes, such as grades",
        ),
        "gmean": (GMean, "geometric mean of the recalls", "no class may be neglected"),
        "cost": (CostMatrix, "negative mean cost per row", "a known cost of each kind of error"),
        "gain": (GainMatrix, "mean gain per row", "a known gain of each decision"),
        **_roc_areas("ovr", "mean ROC area, class against rest", "ranking"),
        **_roc_areas("ovo", "mean ROC area of pairs of classes", "ranking, insensitive to sizes"),
    },
    _convert,
    # scikit-learn's names, and names of binary measures that have a counterpart of another name.
    aliases={
        "matthews_corrcoef": "mcc",
        "recall_macro": "balanced_accuracy",
        "recall_weighted": "accuracy",
        "roc_auc": "roc_auc_ovr",
    },
    target=" of many classes",
    average=ClassAverage,
    averages={
        "macro": "mean over the classes, each against the rest",
        "weighted": "mean over the classes, weighted by their size",
    },
    averaged_kind=ConfusionMeasure,
    average_use="each class matters by itself",
)


def names() -> list[str]:
    """The names of all measures of many classes, sorted.

    Each kind of target has its own `get`, `names` and `describe`: here, in `capo.measures` for two classes,
    and in `capo.measures.multilabel`.

    Examples
    --------
    >>> from capo.measures import multiclass
    >>> "f1_macro" in multiclass.names()
    True
    """
    return _REGISTRY.names()


def describe() -> list[Description]:
    """Descriptions of all measures of many classes, like `capo.measures.describe` for two classes.

    Examples
    --------
    >>> from capo.measures import multiclass
    >>> multiclass.describe()[0].name
    'accuracy'
    """
    return _REGISTRY.describe()


def get(measure: str | Measure | MulticlassMeasure | Callable[..., Any], **params: Any) -> MulticlassMeasure:
    """A measure of many classes, like `capo.measures.get` for two classes.

    Parameters
    ----------
    measure : str, Measure, MulticlassMeasure or callable
        A name from `names`; a measure of two classes, by name or as an object, which is replaced by its
        counterpart for many classes or, if there is none, by its mean over the classes, each against the
        rest; or a function of confusion matrices of shape (..., n_classes, n_classes).
    **params
        Parameters of a named measure, such as ``classes`` for ``"f1_micro"``.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.measures import multiclass
    >>> multiclass.get("f1").label
    'f1_macro'
    >>> multiclass.get("f1_micro", classes=["cat", "dog"]).label
    "f1_micro(classes=['cat', 'dog'])"
    >>> hits = multiclass.get(lambda C: np.trace(C, axis1=-2, axis2=-1))
    >>> float(hits.value(np.diag([3.0, 4.0, 5.0])))
    12.0
    """
    return _REGISTRY.get(measure, params)


def is_matrix_function(measure: object) -> bool:
    """Whether an object is a function of one required argument, the confusion matrix.

    Examples
    --------
    >>> from capo.measures.multiclass import is_matrix_function
    >>> is_matrix_function(lambda C: C[..., 0, 0]), is_matrix_function(lambda tp, fp, fn, tn: tp)
    (True, False)
    """
    if not callable(measure) or inspect.isclass(measure):
        return False
    try:
        parameters = inspect.signature(measure).parameters.values()
    except (TypeError, ValueError):  # not known for some compiled functions
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in positional and each.default is each.empty for each in parameters) == 1
