"""Measures of many classes that are functions of the whole confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._lookup import list_labels
from .._typing import FloatArray
from ..exceptions import InvalidInputError, MeasureFunctionError
from ..measures import ratio
from ._base import MAX_ROWS_FOR_START, ConfusionMatrixMeasure, FractionMeasure, LinearMeasure
from ._rules import DecisionRule, ExpectedRows

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
        """The name for `capo.multiclass.get`."""
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
