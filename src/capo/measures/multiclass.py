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

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import measures
from .._compat import FloatArray, IntArray
from ..exceptions import (
    InvalidInputError,
    MeasureFunctionError,
    UnknownMeasureError,
    check_no_parameters,
    check_parameters,
    list_labels,
    suggest_names,
)
from ._base import Measure
from ._class_rules import (
    DecisionRule,
    ExpectedRows,
    best_ascent,
    confusion_matrix,
    evaluate_rule,
    numeric_gradient,
    starting_rules,
)
from ._confusion import ConfusionMeasure, ratio
from ._formula import FunctionMeasure
from ._registry import Description
from ._registry import get as get_binary_measure

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
        """The name for `capo.measures.multiclass.get`."""

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


#: Masses are varied by this share of all mass for the gradient.
GRADIENT_STEP = 1e-6


@dataclass(frozen=True)
class ClassAverage(ConfusionMatrixMeasure):
    """Average over the classes of a binary measure, each class against all others.

    Classes that are neither among the true nor among the predicted ones do not count.

    Parameters
    ----------
    measure : ConfusionMeasure
        The binary measure.
    average : "macro" or "weighted", default="macro"
        Whether all classes count the same, or as their number of rows.
    """

    measure: ConfusionMeasure
    average: str = "macro"

    @property
    def name(self) -> str:
        """The name of the binary measure and of the average."""
        return f"{self.measure.name}_{self.average}"

    @property
    def label(self) -> str:
        """The label of the binary measure and the average."""
        return f"{self.measure.label}_{self.average}"

    def value(self, confusion: FloatArray) -> FloatArray:
        hits = np.diagonal(confusion, axis1=-2, axis2=-1)
        true, predicted = confusion.sum(axis=-1), confusion.sum(axis=-2)
        values = self._class_values(hits, predicted - hits, true, confusion.sum(axis=(-2, -1))[..., None])
        share = self._class_weights(true, predicted)
        return np.asarray((share * values).sum(axis=-1))

    def _class_weights(self, true: FloatArray, predicted: FloatArray) -> FloatArray:
        counts = true if self.average == "weighted" else ((true > 0) | (predicted > 0)).astype(np.float64)
        return ratio(counts, counts.sum(axis=-1, keepdims=True))

    def _class_values(self, tp: FloatArray, fp: FloatArray, true: FloatArray, total: Any) -> FloatArray:
        return binary_values(self.measure, tp, fp, true, total)

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
            difference = self._class_values(*high, true, total) - self._class_values(*low, true, total)
            return ratio(share * difference, high[0] - low[0] + high[1] - low[1])

        by_hits, by_errors = slope(step, 0.0), slope(0.0, step)
        return np.diag(by_hits - by_errors) + by_errors

    def starts(self, rows: ExpectedRows) -> list[DecisionRule]:
        return [*super().starts(rows), *self._separate_rules(rows.sample(MAX_ROWS_FOR_START))]

    def _separate_rules(self, rows: ExpectedRows) -> list[DecisionRule]:
        """Return rules from the threshold that is best for each class by itself."""
        best = self._best_cuts(rows)
        thresholds, tp, fp = (np.array(part) for part in list(zip(*best, strict=True))[1:])
        share = self._class_weights(rows.true_mass, tp + fp)
        ratio_rule = DecisionRule.from_multipliers(1.0 / np.maximum(thresholds, 1e-9))
        return [ratio_rule, DecisionRule(self._gain(tp, fp, rows.true_mass, share))]

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
    """A bound on the expected value of a binary measure, and the threshold that comes next to it.

    Attributes
    ----------
    bound : float
        No labeling of the rows has a higher expected value.
    threshold : float
        Of all thresholds the one with the best value: rows of a higher probability are positive.
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


#: Steps of the relaxation that bounds the geometric mean.
N_GMEAN_STEPS = 30
#: Labels that vary less than this are all the same, up to rounding errors.
MIN_SPREAD = 1e-14
#: Recalls below this are treated as this in the geometric mean's relaxation.
MIN_RECALL = 1e-9


@dataclass(frozen=True)
class Accuracy(LinearMeasure):
    """Share of correct predictions."""

    name: ClassVar[str] = "accuracy"

    def gain(self, true_mass: FloatArray) -> FloatArray:
        total = true_mass.sum(axis=-1)[..., None, None]
        return ratio(np.eye(true_mass.shape[-1]), total)


@dataclass(frozen=True)
class BalancedAccuracy(LinearMeasure):
    """Mean of the classes' recalls; classes without rows do not count."""

    name: ClassVar[str] = "balanced_accuracy"

    def gain(self, true_mass: FloatArray) -> FloatArray:
        present = np.maximum((true_mass > 0).sum(axis=-1, keepdims=True), 1)
        return _diagonal(ratio(1.0, true_mass) / present)


@dataclass(frozen=True, eq=False)
class GainMatrix(LinearMeasure):
    """Mean gain per row, from the gain of each pair of a true and a predicted class.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The gains: true classes in rows, predicted classes in columns.
    classes : list of labels, optional
        The classes of the rows and columns; the sorted labels by default.
    """

    matrix: Any
    classes: Any = None
    name: ClassVar[str] = "gain"
    sign: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
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
        order = np.argsort(_find_all_labels(self.classes, classes, f"the {self.name} matrix"))
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
    positions: tuple[int, ...] | None = field(default=None, repr=False)
    name: ClassVar[str] = "f1_micro"

    @property
    def params(self) -> dict[str, Any]:
        return {"classes": self.classes}

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
    """Cohen's kappa: agreement beyond chance; with weights, nearer classes are smaller errors.

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
    positions: tuple[int, ...] | None = field(default=None, repr=False)

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
        weights = {} if self.weights == "quadratic" else {"weights": self.weights}
        return {**weights, "order": self.order}

    def for_classes(self, classes: NDArray[Any]) -> CohenKappa:
        if self.order is None:
            return self
        found = _find_all_labels(self.order, classes, f"order of {self.name}")
        return replace(self, positions=tuple(np.argsort(found).tolist()))

    def with_order(self, labels: list[Any]) -> CohenKappa:
        return replace(self, order=labels) if self.assumes_order else self

    @property
    def assumes_order(self) -> bool:
        return self.weights is not None and self.order is None

    def _errors(self, n_classes: int) -> FloatArray:
        place = np.arange(n_classes) if self.positions is None else np.array(self.positions)
        distance = np.abs(place[:, None] - place).astype(np.float64)
        if self.weights is None:
            return (distance > 0).astype(np.float64)
        return distance if self.weights == "linear" else distance**2

    def fraction(self, true_mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        errors = self._errors(true_mass.shape[-1])
        share = ratio(true_mass, true_mass.sum(axis=-1, keepdims=True))
        by_chance = (share @ errors)[..., None, :]  # of a row with this prediction
        return by_chance - errors, np.broadcast_to(by_chance, (by_chance - errors).shape)


@dataclass(frozen=True)
class GMean(ConfusionMatrixMeasure):
    """Geometric mean of the classes' recalls; classes without rows do not count."""

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
    """Matthews' correlation coefficient of K classes (Gorodkin's R_K)."""

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
        """Return the bound by the inequality of Cauchy and Schwarz.

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
        shape = confusion.shape[:-2]
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.asarray(self.function(confusion), dtype=np.float64)
        except Exception as error:
            raise MeasureFunctionError(
                f"the measure function {self.label!r} failed on shape {confusion.shape}: {error}. It gets "
                "confusion matrices along the leading axes: write it for the last two, as "
                "in `lambda C: C[..., 0, 0] - C[..., 1, 0]`."
            ) from error
        if values.shape != shape or not np.isfinite(values).all():
            found = f"shape {values.shape}" if values.shape != shape else "values that are not finite"
            raise MeasureFunctionError(
                f"the measure function {self.label!r} must return one finite number for each matrix along "
                f"the leading axes: for an array of shape {confusion.shape} it returned {found}."
            )
        return values


def _diagonal(values: FloatArray) -> FloatArray:
    """Return diagonal matrices from diagonals along the last axis."""
    return values[..., None] * np.eye(values.shape[-1])


def _find_labels(labels: Any, classes: NDArray[Any], name: str) -> list[int]:
    """Return the positions of labels among the classes."""
    known = classes.tolist()
    listed = [labels] if np.ndim(labels) == 0 else np.asarray(labels, dtype=object).tolist()
    unknown = [label for label in listed if label not in known]
    if unknown:
        raise InvalidInputError(
            f"{name} names the label {unknown[0]!r}, which y does not have: its labels are "
            f"{list_labels(known)}."
        )
    return [known.index(label) for label in listed]


def _find_all_labels(labels: Any, classes: NDArray[Any], name: str) -> list[int]:
    """Return the positions of labels that name each class once."""
    found = _find_labels(labels, classes, name)
    if sorted(found) != list(range(len(classes))):
        raise InvalidInputError(
            f"{name} must name each class of y once: y has {len(classes)} classes, and {len(found)} are "
            "named."
        )
    return found


#: The area under the ROC curve of positive masses, negative masses and scores.
_AREA = get_binary_measure("roc_auc")


@dataclass(frozen=True)
class _RocAUC(MulticlassMeasure):
    """Mean of areas under binary ROC curves of the probabilities."""

    is_weighted: ClassVar[bool] = False

    def score(
        self,
        codes: IntArray,
        labels: IntArray,
        probabilities: FloatArray,
        sample_weight: FloatArray | None = None,
    ) -> float:
        truth = np.eye(probabilities.shape[1])[codes]
        rows = ExpectedRows(truth, sample_weight)
        return self._mean_area(rows, lambda k, other: probabilities[:, k])

    def search(self, rows: ExpectedRows) -> RuleSearch:
        value = self._mean_area(rows, lambda k, other: rows.probabilities[:, k])
        best = self._mean_area(rows, lambda k, other: _best_ranking(rows.probabilities, k, other))
        rule = DecisionRule.most_probable(rows.n_classes)
        return RuleSearch(rule, value, max(best, value), self._is_exact)

    def _mean_area(self, rows: ExpectedRows, scores: Callable[[int, int | None], FloatArray]) -> float:
        """Return the mean area for the scores of each comparison; 0.5 if no class can be compared."""
        areas, shares = [], []
        for k, other, share in self._comparisons(rows):
            negative = rows.row_mass - rows.mass[:, k] if other is None else rows.mass[:, other]
            area = _area(rows.mass[:, k], np.maximum(negative, 0.0), scores(k, other))
            if area is not None:
                areas.append(area)
                shares.append(share if self.is_weighted else 1.0)
        return float(np.average(areas, weights=shares)) if areas else 0.5

    _is_exact: ClassVar[bool]

    @abstractmethod
    def _comparisons(self, rows: ExpectedRows) -> Iterator[tuple[int, int | None, float]]:
        """Yield each class with the one that it is compared with, None for the rest, and its weight."""


@dataclass(frozen=True)
class RocAUCOneVsRest(_RocAUC):
    """Mean over the classes of the ROC area of each class against all others."""

    name: ClassVar[str] = "roc_auc_ovr"
    _is_exact: ClassVar[bool] = True

    def _comparisons(self, rows: ExpectedRows) -> Iterator[tuple[int, int | None, float]]:
        return ((k, None, float(mass)) for k, mass in enumerate(rows.true_mass))


@dataclass(frozen=True)
class RocAUCOneVsRestWeighted(RocAUCOneVsRest):
    """ROC area of each class against all others, averaged with the classes' sizes as weights."""

    name: ClassVar[str] = "roc_auc_ovr_weighted"
    is_weighted: ClassVar[bool] = True


@dataclass(frozen=True)
class RocAUCOneVsOne(_RocAUC):
    """Mean over all ordered pairs of classes of the ROC area of one against the other (Hand and Till)."""

    name: ClassVar[str] = "roc_auc_ovo"
    _is_exact: ClassVar[bool] = False

    def _comparisons(self, rows: ExpectedRows) -> Iterator[tuple[int, int | None, float]]:
        for k, other in permutations(range(rows.n_classes), 2):
            yield k, other, float(rows.true_mass[k] + rows.true_mass[other])


@dataclass(frozen=True)
class RocAUCOneVsOneWeighted(RocAUCOneVsOne):
    """ROC area of all pairs of classes, averaged with the pairs' sizes as weights."""

    name: ClassVar[str] = "roc_auc_ovo_weighted"
    is_weighted: ClassVar[bool] = True


def _best_ranking(probabilities: FloatArray, k: int, other: int | None) -> FloatArray:
    """Return the scores with the largest expected area: no order of the rows has a larger one."""
    if other is None:
        return probabilities[:, k]
    both = probabilities[:, k] + probabilities[:, other]
    return np.divide(probabilities[:, k], both, out=np.zeros(len(both)), where=both > 0)


def _area(positive: FloatArray, negative: FloatArray, scores: FloatArray) -> float | None:
    """Return the area for masses of positives and negatives in each row; None without one of them."""
    if not (positive.sum() > 0 and negative.sum() > 0):
        return None
    labels = np.repeat((True, False), len(scores))
    return _AREA.score(labels, np.tile(scores, 2), np.concatenate((positive, negative)))


AVERAGES = ("macro", "weighted")


def _quadratic_kappa(order: Any = None) -> CohenKappa:
    return CohenKappa("quadratic", order)


#: Each name with what makes the measure, its formula and its use.
_ENTRIES: dict[str, tuple[Callable[..., MulticlassMeasure], str, str]] = {
    "accuracy": (Accuracy, "share of correct predictions", "all errors cost the same"),
    "balanced_accuracy": (BalancedAccuracy, "mean recall of the classes", "each class counts the same"),
    "f1_micro": (MicroF1, "F1 of several classes together", "all classes but a background class"),
    "mcc": (MCC, "Gorodkin's correlation R_K", "one number for the whole matrix"),
    "cohen_kappa": (CohenKappa, "agreement beyond chance", "comparison with human raters"),
    "quadratic_kappa": (_quadratic_kappa, "kappa with squared distances", "ordered classes, such as grades"),
    "gmean": (GMean, "geometric mean of the recalls", "no class may be neglected"),
    "cost": (CostMatrix, "negative mean cost per row", "a known cost of each kind of error"),
    "gain": (GainMatrix, "mean gain per row", "a known gain of each decision"),
    "roc_auc_ovr": (RocAUCOneVsRest, "mean ROC area, class against rest", "ranking"),
    "roc_auc_ovr_weighted": (RocAUCOneVsRestWeighted, "the same, weighted by size", "ranking"),
    "roc_auc_ovo": (RocAUCOneVsOne, "mean ROC area of pairs of classes", "ranking, insensitive to sizes"),
    "roc_auc_ovo_weighted": (RocAUCOneVsOneWeighted, "the same, weighted by size", "ranking"),
}
_AVERAGE_TEXTS = {
    "macro": "mean over the classes, each against the rest",
    "weighted": "mean over the classes, weighted by their size",
}
#: scikit-learn's names, and names of binary measures that have a counterpart of another name.
_ALIASES = {
    "matthews_corrcoef": "mcc",
    "recall_macro": "balanced_accuracy",
    "recall_weighted": "accuracy",
    "roc_auc": "roc_auc_ovr",
}


def _averaged_names() -> dict[str, tuple[str, str]]:
    """The names of averaged binary measures, as (binary measure, average)."""
    binary = [name for name in measures.names() if issubclass(type(measures.get(name)), ConfusionMeasure)]
    return {f"{name}_{average}": (name, average) for name in binary for average in AVERAGES}


def names() -> list[str]:
    """The names of all measures of many classes, sorted.

    Examples
    --------
    >>> from capo.measures import multiclass
    >>> "f1_macro" in multiclass.names()
    True
    """
    return sorted([*_ENTRIES, *_averaged_names()])


def describe() -> list[Description]:
    """Descriptions of all measures of many classes.

    Examples
    --------
    >>> from capo.measures import multiclass
    >>> multiclass.describe()[0].name
    'accuracy'
    """
    plain = [Description(name, _parameters(make), text, use) for name, (make, text, use) in _ENTRIES.items()]
    averaged = [
        Description(name, {}, f"{binary}: {_AVERAGE_TEXTS[average]}", "each class matters by itself")
        for name, (binary, average) in _averaged_names().items()
    ]
    return [*plain, *averaged]


def get(measure: str | Measure | MulticlassMeasure | Callable[..., Any], **params: Any) -> MulticlassMeasure:
    """A measure of many classes.

    Parameters
    ----------
    measure : str, Measure, MulticlassMeasure or callable
        A name from `names`; a measure of two classes, by name or as an object, which stands for its
        counterpart of many classes, or else for its mean over the classes, each against the rest; or a
        function of confusion matrices of shape (..., n_classes, n_classes).
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
    if isinstance(measure, str):
        return _by_name(measure.strip(), params)
    check_no_parameters(measure, params)
    if isinstance(measure, MulticlassMeasure):
        return measure
    if isinstance(measure, Measure):
        return _from_binary(measure)
    if callable(measure) and not inspect.isclass(measure):
        return _from_function(measure)
    raise InvalidInputError(
        f"measure must be a name, a measure or a function of the confusion matrix: got {measure!r}."
    )


def _by_name(name: str, params: dict[str, Any]) -> MulticlassMeasure:
    known = _ALIASES.get(name, name)
    if known in _ENTRIES:
        return _make(known, params)
    averaged = _averaged_names()
    if known in averaged:
        binary, average = averaged[known]
        found = measures.get(binary, **params)
        assert isinstance(found, ConfusionMeasure)
        return ClassAverage(found, average)
    if name in measures.names() or not name.isidentifier():
        return _from_binary(measures.get(name, **params))
    hint = suggest_names(name, [*names(), *measures.names()], f"Choose one of {', '.join(_ENTRIES)}.")
    raise UnknownMeasureError(f"there is no measure {name!r} of many classes. {hint}")


def _make(name: str, params: dict[str, Any]) -> MulticlassMeasure:
    make, _, _ = _ENTRIES[name]
    known = list(_parameters(make))
    check_parameters(name, known, params)
    if "matrix" in known and "matrix" not in params:
        raise InvalidInputError(
            f"measure {name!r} needs a matrix of {name}s: pass "
            f"capo.measures.multiclass.get({name!r}, matrix=...), true classes in rows, predicted classes in "
            "columns."
        )
    return make(**params)


def _from_binary(measure: Measure) -> MulticlassMeasure:
    """Return the counterpart of a measure of two classes: that of its name, or its mean over the classes."""
    name = _ALIASES.get(measure.name, measure.name)
    if name in _ENTRIES and not measure.params:
        return _make(name, {})
    if isinstance(measure, ConfusionMeasure):
        return ClassAverage(measure)
    raise InvalidInputError(
        f"the measure {measure.label!r} is for two classes only. For many classes, choose one of "
        f"{', '.join(_ENTRIES)}, or the mean of a measure over the classes, such as 'f1_macro'."
    )


def is_matrix_function(measure: object) -> bool:
    """Whether an object is a function of one argument, the confusion matrix.

    Examples
    --------
    >>> from capo.measures.multiclass import is_matrix_function
    >>> is_matrix_function(lambda C: C[..., 0, 0]), is_matrix_function(lambda tp, fp, fn, tn: tp)
    (True, False)
    """
    parameters = _parameters_of(measure)
    return len(parameters) == 1 and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL


def _from_function(function: Callable[..., Any]) -> MulticlassMeasure:
    """Return the measure of a function of one matrix, or the mean of one of (tp, fp, fn, tn)."""
    is_binary = len(_parameters_of(function)) == 4
    return ClassAverage(FunctionMeasure(function)) if is_binary else ConfusionMatrixFunction(function)


def _parameters_of(function: object) -> list[inspect.Parameter]:
    """The parameters of a function; none for anything else, or if they are not known."""
    if not callable(function) or inspect.isclass(function):
        return []
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _parameters(make: Callable[..., MulticlassMeasure]) -> dict[str, Any]:
    """The parameters that users give, with their defaults."""
    if not inspect.isclass(make):
        return {name: each.default for name, each in inspect.signature(make).parameters.items()}
    shown = [each for each in fields(make) if each.init and each.repr]  # type: ignore[arg-type]
    return {each.name: None for each in shown}
