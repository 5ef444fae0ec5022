"""Outputs of a fitted classifier, and their value by a measure, for all kinds of targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import measures, multiclass, multilabel
from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, Measure
from ..multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..multilabel import MultilabelMeasure
from ..preprocessing import class_positions, encode_label_matrix, positive_mask


def decide(model: Any, X: Any) -> FloatArray:
    """Return the decisions of a model of two classes, above 0 for rows that are predicted as positive."""
    decision = getattr(model, "positive_decision", model.decision_function)
    return np.asarray(decision(X), dtype=np.float64)


def negative_and_positive(model: Any) -> NDArray[Any]:
    """Return the labels of the negative and of the positive class of a model of two classes."""
    return np.asarray(getattr(model, "label_pair", model.classes_))


class ScoredOutputs(ABC):
    """Predicts rows with a model, and evaluates the predictions of labeled rows.

    Attributes
    ----------
    measure : Measure, MulticlassMeasure or MultilabelMeasure
        The measure.
    """

    measure: Any

    @abstractmethod
    def predict(self, model: Any, X: Any) -> FloatArray:
        """Return the outputs of a model, one row of them per row of X."""

    @abstractmethod
    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        """Return the measure of outputs for rows, given by their positions among the labels."""

    def values(self, rows: IntArray, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        """Return the measure for each of several weightings of the rows."""
        return np.array([self.value(rows, outputs, weight) for weight in weights])

    @property
    @abstractmethod
    def strata(self) -> IntArray:
        """A number for each row; a resample needs rows of each number."""


class BinaryOutputs(ScoredOutputs):
    """Decisions of a model of two classes."""

    def __init__(self, measure: Measure, positive: BoolArray) -> None:
        self.measure, self.positive = measure, positive

    def predict(self, model: Any, X: Any) -> FloatArray:
        return decide(model, X)

    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        return float(self.measure.score(self.positive[rows], outputs, weight))

    def values(self, rows: IntArray, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        if not (isinstance(self.measure, ConfusionMeasure) and self.measure.needs_threshold):
            return super().values(rows, outputs, weights)
        cell = np.where(self.positive[rows], np.where(outputs > 0, 0, 2), np.where(outputs > 0, 1, 3))
        cells = np.array([np.bincount(cell, weight, minlength=4) for weight in weights])
        return np.asarray(self.measure.value(*cells.T), dtype=np.float64)

    @property
    def strata(self) -> IntArray:
        return self.positive.astype(np.intp)


class MulticlassOutputs(ScoredOutputs):
    """Probabilities of a model of many classes."""

    def __init__(self, measure: MulticlassMeasure, codes: IntArray) -> None:
        self.measure, self.codes = measure, codes

    def predict(self, model: Any, X: Any) -> FloatArray:
        """Return the probabilities of the classes, and in the last column the predicted class."""
        probabilities = model.predict_proba(X)
        return np.column_stack((probabilities, model.rule_.predict(probabilities)))

    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        labels = outputs[:, -1].astype(np.intp)
        return float(self.measure.score(self.codes[rows], labels, outputs[:, :-1], weight))

    def values(self, rows: IntArray, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        if not isinstance(self.measure, ConfusionMatrixMeasure):
            return super().values(rows, outputs, weights)
        n_classes = outputs.shape[1] - 1
        cell = self.codes[rows] * n_classes + outputs[:, -1].astype(np.intp)
        cells = np.array([np.bincount(cell, weight, minlength=n_classes**2) for weight in weights])
        return np.asarray(self.measure.value(cells.reshape(-1, n_classes, n_classes)), dtype=np.float64)

    @property
    def strata(self) -> IntArray:
        return self.codes


class MultilabelOutputs(ScoredOutputs):
    """Decisions of a model of many labels."""

    def __init__(self, measure: MultilabelMeasure, positive: BoolArray) -> None:
        self.measure, self.positive = measure, positive

    def predict(self, model: Any, X: Any) -> FloatArray:
        return np.asarray(model.decision_function(X), dtype=np.float64)

    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        return float(self.measure.score(self.positive[rows], outputs, weight))

    @property
    def strata(self) -> IntArray:
        return np.zeros(len(self.positive), dtype=np.intp)


def score_outputs(model: Any, y: ArrayLike, measure: Any = None) -> ScoredOutputs:
    """Return what evaluates a fitted model on rows with the labels y, by its own measure or another one."""
    worker = getattr(model, "delegate_", model)
    own = getattr(worker, "measure_", None)
    if isinstance(own, MulticlassMeasure):
        classes: NDArray[Any] = worker.classes_
        chosen = own if measure is None else multiclass.get(measure).for_classes(classes)
        return MulticlassOutputs(chosen, class_positions(y, classes))
    if isinstance(own, MultilabelMeasure):
        chosen_label = own if measure is None else multilabel.get(measure)
        return MultilabelOutputs(chosen_label, encode_label_matrix(y)[1])
    if own is None and measure is None:
        raise InvalidInputError(
            f"{type(model).__name__} has no measure_: pass the measure to explain, such as measure='f1'."
        )
    chosen_measure: Any = own if measure is None else measure
    return BinaryOutputs(measures.get(chosen_measure), positive_mask(y, negative_and_positive(model)))
