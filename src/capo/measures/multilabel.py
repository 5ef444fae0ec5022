"""Measures of label matrices.

Y has one row per example and one column per label. A measure is computed from the scores of all entries,
which are positive where the label is predicted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._compat import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from ._base import AveragedMeasure, DerivedMeasure, Measure
from ._confusion import FunctionMeasure, ratio
from ._registry import Description, Registry

__all__ = ["EntryAverage", "LabelAverage", "MultilabelMeasure", "RowAverage", "describe", "get", "names"]

#: Weights of the rows, or None.
Weights = FloatArray | None
#: Number of rows whose expected F1 is computed at once: each takes some kilobytes per label.
F1_BLOCK_ROWS = 1000


class MultilabelMeasure(DerivedMeasure):
    """A performance measure of label matrices; higher is better."""

    @abstractmethod
    def score(self, positive: BoolArray, scores: FloatArray, sample_weight: Weights = None) -> float:
        """Return the value for a label matrix and scores of its entries, positive where predicted."""


@dataclass(frozen=True)
class LabelAverage(AveragedMeasure, MultilabelMeasure):
    """Average over the labels of a binary measure.

    A label with a single class is left out if the measure is not defined for it, as for the ROC area.

    Parameters
    ----------
    measure : Measure
        The binary measure.
    average : "macro" or "weighted", default="macro"
        Whether all labels count the same, or as their number of positive rows.
    """

    def score(self, positive: BoolArray, scores: FloatArray, sample_weight: Weights = None) -> float:
        mass = positive.sum(axis=0) if sample_weight is None else sample_weight @ positive
        counted = np.arange(positive.shape[1])
        if not self.measure.needs_threshold:
            counted = np.flatnonzero(positive.any(axis=0) & ~positive.all(axis=0))
        values = [self.measure.score(positive[:, k], scores[:, k], sample_weight) for k in counted]
        weights = mass[counted] if self.average == "weighted" else np.ones(len(counted))
        return float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.0


@dataclass(frozen=True)
class EntryAverage(AveragedMeasure, MultilabelMeasure):
    """A binary measure of all entries of the label matrix together.

    Parameters
    ----------
    measure : Measure
        The binary measure.
    average : "micro"
        The name of this average.
    """

    average: str = "micro"

    def score(self, positive: BoolArray, scores: FloatArray, sample_weight: Weights = None) -> float:
        weight = None if sample_weight is None else np.repeat(sample_weight, positive.shape[1])
        return self.measure.score(positive.ravel(), scores.ravel(), weight)


class RowAverage(MultilabelMeasure):
    """A mean over the rows of a measure of each row's labels."""

    @abstractmethod
    def row_values(self, positive: BoolArray, predicted: BoolArray) -> FloatArray:
        """Return the value of each row."""

    @abstractmethod
    def cut(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many of the most probable labels of each row to predict, and the expected values."""

    def score(self, positive: BoolArray, scores: FloatArray, sample_weight: Weights = None) -> float:
        return float(np.average(self.row_values(positive, scores > 0), weights=sample_weight))


@dataclass(frozen=True)
class SamplesF1(RowAverage):
    """Mean over the rows of the F1 of each row's labels, 0 for a row without true and predicted labels."""

    name: ClassVar[str] = "f1_samples"

    def row_values(self, positive: BoolArray, predicted: BoolArray) -> FloatArray:
        hits = (positive & predicted).sum(axis=1)
        return ratio(2.0 * hits, positive.sum(axis=1) + predicted.sum(axis=1))

    def cut(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        ranked = np.sort(probabilities, axis=1)[:, ::-1]
        starts = range(0, max(len(ranked), 1), F1_BLOCK_ROWS)
        values = np.concatenate([expected_f1(ranked[start : start + F1_BLOCK_ROWS]) for start in starts])
        return values.argmax(axis=1), values.max(axis=1)


@dataclass(frozen=True)
class PrecisionAtK(RowAverage):
    """Precision at k of label matrices: the mean over the rows for the k labels with the highest scores.

    The measure of two classes with this name refers to the k rows with the highest scores.

    Parameters
    ----------
    k : int, default=1
        Number of labels predicted for each row.
    """

    k: int = 1
    name: ClassVar[str] = "precision_at_k"

    def __post_init__(self) -> None:
        if not (isinstance(self.k, int | np.integer) and self.k >= 1):
            raise InvalidInputError(f"k must be a whole number of labels, at least 1: got {self.k!r}.")

    def row_values(self, positive: BoolArray, predicted: BoolArray) -> FloatArray:
        return (positive & predicted).sum(axis=1) / float(self.k)

    def cut(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        n_rows, n_labels = probabilities.shape
        k = min(self.k, n_labels)
        top = -np.partition(-probabilities, k - 1, axis=1)[:, :k]
        return np.full(n_rows, k), top.sum(axis=1) / self.k

    def score(self, positive: BoolArray, scores: FloatArray, sample_weight: Weights = None) -> float:
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        hits = np.take_along_axis(positive, order, axis=1).sum(axis=1)
        return float(np.average(hits / float(self.k), weights=sample_weight))


def expected_f1(sorted_probabilities: FloatArray) -> FloatArray:
    """Return the expected F1 of predicting the k most probable labels, for k = 0 .. n_labels.

    For independent labels. Let S be the number of true labels among the first k and R that among the others:
    ``E F = sum_a P(S = a) 2 a E[1 / (k + a + R)]``. With ``s(k, t) = E[1 / (t + R_k)]``, both follow from
    adding or removing one label, so that all k take O(n_labels^2) steps (Ye, Chai, Lee and Chieu, ICML 2012).

    Parameters
    ----------
    sorted_probabilities : ndarray of shape (n_samples, n_labels)
        Probabilities of the labels of each row, in descending order.

    Returns
    -------
    ndarray of shape (n_samples, n_labels + 1)
        Expected values.
    """
    n_rows, n_labels = sorted_probabilities.shape
    hits = [np.ones((n_rows, 1))]  # for each k the distribution of S
    for p in sorted_probabilities.T[:, :, None]:
        longer = np.zeros((n_rows, len(hits) + 1))
        longer[:, :-1] = hits[-1] * (1.0 - p)
        longer[:, 1:] += hits[-1] * p
        hits.append(longer)
    inverse = np.broadcast_to(1.0 / np.arange(1.0, 2 * n_labels + 1), (n_rows, 2 * n_labels)).copy()
    values = np.zeros((n_rows, n_labels + 1))
    for k in range(n_labels, 0, -1):
        counts = np.arange(1, k + 1)
        # inverse[:, t - 1] is s(k, t); it is needed for t = k + 1 .. 2 k.
        values[:, k] = np.einsum("ia,a,ia->i", hits[k][:, 1:], 2.0 * counts, inverse[:, k : 2 * k])
        p = sorted_probabilities[:, k - 1, None]
        inverse = p * inverse[:, 1:] + (1.0 - p) * inverse[:, :-1]
    return values


_REGISTRY: Registry[MultilabelMeasure] = Registry(
    MultilabelMeasure,
    {
        "f1_samples": (SamplesF1, "mean F1 of each row's labels", "each row's set of labels matters"),
        "precision_at_k": (PrecisionAtK, "precision of each row's k best labels", "k labels are suggested"),
    },
    lambda each: LabelAverage(each if isinstance(each, Measure) else FunctionMeasure(each)),
    target=" of label matrices",
    average=lambda each, name: EntryAverage(each) if name == "micro" else LabelAverage(each, name),
    averages={
        "macro": "mean over the labels",
        "weighted": "mean over the labels, weighted by their positive rows",
        "micro": "all entries of the label matrix together",
    },
    average_use="each label is a binary problem",
)


def names() -> list[str]:
    """The names of all measures of label matrices, sorted, like `capo.measures.names` for two classes.

    Examples
    --------
    >>> from capo.measures import multilabel
    >>> "f1_samples" in multilabel.names()
    True
    """
    return _REGISTRY.names()


def describe() -> list[Description]:
    """Descriptions of all measures of label matrices, like `capo.measures.describe` for two classes.

    Examples
    --------
    >>> from capo.measures import multilabel
    >>> multilabel.describe()[0].name
    'f1_samples'
    """
    return _REGISTRY.describe()


def get(measure: str | Measure | MultilabelMeasure | Callable[..., Any], **params: Any) -> MultilabelMeasure:
    """A measure of label matrices, like `capo.measures.get` for two classes.

    Parameters
    ----------
    measure : str, Measure, MultilabelMeasure or callable
        A name from `names`: a binary measure's name followed by ``_macro``, ``_weighted`` or ``_micro``,
        ``"f1_samples"`` or ``"precision_at_k"``. A binary measure, by name, as an object, as a formula or
        as a function of (tp, fp, fn, tn), is averaged over the labels.
    **params
        Parameters of the measure, such as ``beta`` for ``"fbeta_macro"`` or ``k`` for ``"precision_at_k"``.

    Examples
    --------
    >>> from capo.measures import multilabel
    >>> multilabel.get("f1").label
    'f1_macro'
    >>> multilabel.get("precision_at_k", k=3).label
    'precision_at_k(k=3)'
    """
    return _REGISTRY.get(measure, params)
