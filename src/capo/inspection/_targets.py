"""The true labels of rows for two classes, many classes and several labels.

The outputs of a model for n rows are an array: decisions of shape (n,) for two classes and (n, n_labels) for
labels, which are predicted above 0; for many classes the probabilities, and the predicted class in one column
more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from .. import measures
from .._compat import ArrayLike, FloatArray, IntArray, NDArray
from ..exceptions import InvalidInputError
from ..measures import Measure, multiclass, multilabel
from ..tables.targets import class_positions, encode_label_matrix, positive_mask

#: Classes or labels that a caution names.
MAX_NAMED = 10
#: Parameters for measures whose defaults would repeat another measure: fbeta with beta=1 is f1.
PARAMETER_OVERRIDES: dict[str, dict[str, Any]] = {"fbeta": {"beta": 2}}
#: Measures of many classes and of labels listed after the model's own.
CLASS_MEASURES = (
    *("accuracy", "balanced_accuracy", "f1_macro", "f1_weighted", "jaccard_macro", "mcc", "cohen_kappa"),
    *("gmean", "roc_auc_ovr"),
)
LABEL_MEASURES = ("f1_macro", "f1_weighted", "f1_micro", "f1_samples", "jaccard_micro", "accuracy_micro")
#: The measure of ordered classes, which is listed for numbers.
ORDINAL_MEASURE = "quadratic_kappa"
#: Probabilities below this are raised to it for the log loss.
MIN_PROBABILITY = 1e-15
#: Right and wrong pseudo-rows of each class.
N_PSEUDO_ROWS = 4
#: The smallest score above the threshold.
TINY = float(np.finfo(np.float64).tiny)


class Targets(ABC):
    """The true labels of rows, and the measures of outputs for them.

    Parameters
    ----------
    measure : Measure, MulticlassMeasure or MultilabelMeasure
        The model's measure.
    truth : ndarray of shape (n_rows,) or (n_rows, n_labels)
        Which rows are positive, or the positions of their classes, or the label matrix.
    names : ndarray
        The negative and the positive class, or the classes, or the labels.
    """

    #: Whether a measure is defined only for rows of every class.
    needs_every_class: ClassVar[bool] = False
    #: With fewer rows of a class, or positive rows of a label, the values are called uncertain.
    min_rows: ClassVar[int] = 20
    noun: ClassVar[str] = "rows"

    def __init__(self, measure: Any, truth: NDArray[Any], names: NDArray[Any]) -> None:
        self.measure, self.truth, self.names = measure, truth, names

    def take(self, rows: IntArray) -> Self:
        """Return the targets of some of the rows."""
        found = copy(self)
        found.truth = self.truth[rows]
        return found

    @property
    def strata(self) -> IntArray:
        """The class of each row, or 0 for label matrices."""
        return self.truth.astype(np.intp)

    @staticmethod
    @abstractmethod
    def predict(model: Any, X: Any) -> FloatArray:
        """Return the outputs of a model."""

    def score(self, measure: Any, outputs: FloatArray, weight: FloatArray | None) -> float:
        """Return a measure of the outputs."""
        return float(measure.score(self.truth, *self._arguments(outputs), weight))

    def _arguments(self, outputs: FloatArray) -> tuple[NDArray[Any], ...]:
        """The outputs as a measure takes them."""
        return (outputs,)

    @abstractmethod
    def count(self, outputs: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return the confusion matrix, in sums of weights if the rows have any.

        Of labels, which have none: hits, predicted rows and true rows of each label.
        """

    @abstractmethod
    def pseudo_rows(self, outputs: FloatArray) -> tuple[IntArray, NDArray[Any], FloatArray]:
        """Return pseudo-rows of the bootstrap: the rows that they are copies of, true labels and outputs."""

    @abstractmethod
    def other_measures(self) -> Iterator[Any]:
        """Yield measures to list beside the model's own and the rates at its threshold."""

    def class_sizes(self, counts: FloatArray | None) -> IntArray:
        """Return the number of rows of each class, or of positive rows of each label.

        `counts` are the numbers of rows that each row stands for, by default 1.
        """
        return np.bincount(self.strata, counts, len(self.names)).astype(np.intp)

    def check_classes(self, counts: FloatArray | None = None) -> None:
        """Raise an error if one of two classes has no rows."""
        sizes = self.class_sizes(counts)
        if self.needs_every_class and not sizes.all():
            name = self.names.tolist()[int(sizes[0] == 0)]
            raise InvalidInputError(f"all rows are {name!r}: measures need rows of both classes.")

    def describe_few_rows(self, counts: FloatArray | None = None) -> str:
        """Return a caution if a class or label has only few rows, otherwise ""."""
        sizes = self.class_sizes(counts)
        few = [f"{self.names[k]} ({sizes[k]})" for k in np.flatnonzero(sizes < self.min_rows).tolist()]
        more = f" and {len(few) - MAX_NAMED} more" if len(few) > MAX_NAMED else ""
        names = f"{', '.join(few[:MAX_NAMED])}{more}"
        return (
            f"values and intervals are uncertain: there are only a few {self.noun} of {names}" if few else ""
        )


class BinaryTargets(Targets):
    """Two classes: the cells of the confusion matrix are tp, fp, fn and tn."""

    needs_every_class = True

    def take(self, rows: IntArray) -> Self:
        found = super().take(rows)
        found.measure = self.measure.for_rows(rows)
        return found

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        return decide(model, X)

    def count(self, outputs: FloatArray, weight: FloatArray | None) -> FloatArray:
        cells = np.where(self.truth, 0, 1) + np.where(outputs > 0, 0, 2)
        return np.bincount(cells, weight, 4).astype(np.float64)

    def pseudo_rows(self, outputs: FloatArray) -> tuple[IntArray, NDArray[Any], FloatArray]:
        above = outputs > 0
        # If no row is above the threshold, one just above it is, and if none is below, one at it.
        found = [_spread(np.flatnonzero(each), outputs, end) for each, end in ((above, TINY), (~above, 0.0))]
        rows, values = (np.concatenate(each) for each in zip(*found, strict=True))
        return np.tile(rows, 2), np.repeat((False, True), len(rows)), np.tile(values, 2)

    def other_measures(self) -> Iterator[Measure]:
        for each in measures.describe():
            measure = measures.get(each.name, **PARAMETER_OVERRIDES.get(each.name, {}))
            if measure != self.measure:
                yield measure


class ClassTargets(Targets):
    """Many classes."""

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        probabilities = model.predict_proba(X)
        return np.column_stack((probabilities, model.rule_.predict(probabilities)))

    def _arguments(self, outputs: FloatArray) -> tuple[NDArray[Any], ...]:
        return outputs[:, -1].astype(np.intp), outputs[:, :-1]

    def count(self, outputs: FloatArray, weight: FloatArray | None) -> FloatArray:
        n_classes = len(self.names)
        cells = self.truth * n_classes + outputs[:, -1].astype(np.intp)
        return np.bincount(cells, weight, n_classes**2).reshape(n_classes, -1).astype(np.float64)

    def class_counts(self, outputs: FloatArray, weight: FloatArray) -> FloatArray:
        confusion = self.count(outputs, weight)
        return np.stack([np.diag(confusion), confusion.sum(axis=0), confusion.sum(axis=1)])

    def pseudo_rows(self, outputs: FloatArray) -> tuple[IntArray, NDArray[Any], FloatArray]:
        n_classes, present, found = len(self.names), np.unique(self.truth), []
        for code in present:
            is_right = outputs[:, -1] == code
            for mask, label in ((is_right, code), (~is_right, (code + 1) % n_classes)):
                unsure = np.append(np.full(n_classes, 1.0 / n_classes), label)
                found.append(_spread(np.flatnonzero(mask), outputs, unsure))
        rows, values = (np.concatenate(each) for each in zip(*found, strict=True))
        return rows, np.repeat(present, len(rows) // len(present)), values

    def other_measures(self) -> Iterator[Any]:
        is_ordinal = self.names.dtype.kind in "iuf" and len(self.names) > 2
        for name in (*CLASS_MEASURES, ORDINAL_MEASURE) if is_ordinal else CLASS_MEASURES:
            if name != self.measure.label:
                yield multiclass.get(name).for_classes(self.names)
        yield _LogLoss()


class LabelTargets(Targets):
    """Several labels."""

    min_rows, noun = 10, "positive rows"

    @property
    def strata(self) -> IntArray:
        return np.zeros(len(self.truth), dtype=np.intp)

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        return np.asarray(model.decision_function(X), dtype=np.float64)

    def count(self, outputs: FloatArray, weight: FloatArray | None) -> FloatArray:
        predicted, mass = outputs > 0, np.ones(len(outputs)) if weight is None else weight
        return np.stack([mass @ each for each in (self.truth & predicted, predicted, self.truth)])

    class_counts = count

    def pseudo_rows(self, outputs: FloatArray) -> tuple[IntArray, NDArray[Any], FloatArray]:
        rows, values = _spread(np.arange(len(outputs)), outputs, 0.0)
        return np.tile(rows, 2), np.concatenate((values > 0, values <= 0)), np.tile(values, (2, 1))

    def other_measures(self) -> Iterator[Any]:
        yield from (multilabel.get(name) for name in LABEL_MEASURES if name != self.measure.label)

    def class_sizes(self, counts: FloatArray | None) -> IntArray:
        return np.sum(self.truth, axis=0)


def _spread(rows: IntArray, outputs: FloatArray, default: Any) -> tuple[IntArray, FloatArray]:
    """Evenly spaced rows and their outputs; if there are none, the first row of all with default outputs."""
    if not len(rows):
        return np.zeros(N_PSEUDO_ROWS, dtype=np.intp), np.array([default] * N_PSEUDO_ROWS)
    chosen = rows[((np.arange(N_PSEUDO_ROWS) + 0.5) / N_PSEUDO_ROWS * len(rows)).astype(np.intp)]
    return chosen, outputs[chosen]


class _LogLoss:
    """The mean negative logarithm of the probability of the true class."""

    label = "log_loss (lower is better)"

    def score(
        self, codes: IntArray, labels: IntArray, probabilities: FloatArray, weight: FloatArray | None
    ) -> float:
        chosen = probabilities[np.arange(len(codes)), codes]
        return float(np.average(-np.log(np.maximum(chosen, MIN_PROBABILITY)), weights=weight))


def make_targets(measure: Any, y: ArrayLike, names: ArrayLike) -> Targets:
    """Return the targets for a measure; `y` are positive rows, labels of classes or a label matrix."""
    classes = np.asarray(names)
    if isinstance(measure, multiclass.MulticlassMeasure):
        return ClassTargets(measure, class_positions(y, classes), classes)
    if isinstance(measure, multilabel.MultilabelMeasure):
        return LabelTargets(measure, np.asarray(y, dtype=bool), classes)
    positive = measures.Labels.from_arrays(y, both_classes=False).positive
    return BinaryTargets(measure, positive, classes)


def targets_of_model(model: Any, y: ArrayLike, measure: Any = None) -> Targets:
    """Return the targets of a fitted model from the labels y, for its own measure or another one."""
    kind, own = target_type(model), getattr(model, "measure_", None)
    if kind == "multiclass":
        chosen = own if measure is None else multiclass.get(measure).for_classes(model.classes_)
        return make_targets(chosen, y, model.classes_)
    if kind == "multilabel":
        chosen = own if measure is None else multilabel.get(measure)
        return make_targets(chosen, encode_label_matrix(y)[1], model.classes_)
    chosen = own if measure is None else measure
    if chosen is None:
        raise InvalidInputError(
            f"{type(model).__name__} has no measure_: pass the measure to explain, such as measure='f1'."
        )
    names = negative_and_positive(model)
    return make_targets(measures.get(chosen), positive_mask(y, names), names)


def target_type(model: Any) -> str:
    """Return "binary", "multiclass" or "multilabel"; classifiers of other packages must have two classes."""
    return str(getattr(model, "target_type_", "binary"))


def decide(model: Any, X: Any) -> FloatArray:
    """Return the decisions of a model of two classes, above 0 for rows that are predicted as positive."""
    found = getattr(model, "guarantee_", None)
    if found is not None and found.segments:
        raise InvalidInputError(
            f"each {found.column} has its own threshold, which explanations do not support: explain the "
            "model without the guarantee."
        )
    decision = getattr(model, "positive_decision", model.decision_function)
    return np.asarray(decision(X), dtype=np.float64)


def negative_and_positive(model: Any) -> NDArray[Any]:
    """Return the labels of a model's classes; of two, the negative one is the first."""
    return np.asarray(getattr(model, "label_pair", model.classes_))
