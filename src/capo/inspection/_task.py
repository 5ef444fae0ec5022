"""What differs between two classes, many classes and several labels.

The outputs of a model for n rows are an array: decisions of shape (n,) for two classes and (n, n_labels) for
labels, which are predicted above 0; for many classes the probabilities, and the predicted class in one column
more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy, deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import measures
from .._compat import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, Labels, Measure, multiclass, multilabel
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure
from ..tables.targets import class_positions, encode_label_matrix, positive_mask

#: With fewer rows of a class, or positive rows of a label, the values are called uncertain.
MIN_CLASS_ROWS, MIN_LABEL_ROWS = 20, 10
#: Classes or labels that a caution names.
MAX_NAMED = 10
#: Parameters for measures whose defaults would repeat another measure: fbeta with beta=1 is f1.
PARAMETER_OVERRIDES: dict[str, dict[str, Any]] = {"fbeta": {"beta": 2}}
#: Measures of many classes and of labels that follow the model's own.
CLASS_MEASURES = (
    *("accuracy", "balanced_accuracy", "f1_macro", "f1_weighted", "jaccard_macro", "mcc", "cohen_kappa"),
    *("gmean", "roc_auc_ovr"),
)
LABEL_MEASURES = ("f1_macro", "f1_weighted", "f1_micro", "f1_samples", "jaccard_micro", "accuracy_micro")
#: The measure of ordered classes, which is listed for numbers.
ORDINAL_MEASURE = "quadratic_kappa"
#: Probabilities below this are raised to it for the log loss.
MIN_PROBABILITY = 1e-15
#: Cells of resampled confusion matrices that are held at once.
MAX_BLOCK_CELLS = 2**21


class Task(ABC):
    """Labeled rows, and the measures of outputs for them.

    Parameters
    ----------
    measure : Measure, MulticlassMeasure or MultilabelMeasure
        The model's measure.
    truth : ndarray of shape (n_rows,) or (n_rows, n_labels)
        Which rows are positive, or the positions of their classes, or the label matrix.
    names : ndarray
        The negative and the positive class, or the classes, or the labels.
    """

    #: Resamples are fewer by this factor, since their measures take longer.
    resample_cost: ClassVar[int] = 2
    #: Whether rows are counted in a confusion matrix.
    has_matrix: ClassVar[bool] = True
    #: Whether a measure is defined only for rows of every class.
    needs_every_class: ClassVar[bool] = False

    def __init__(self, measure: Any, truth: NDArray[Any], names: NDArray[Any]) -> None:
        self.measure, self.truth, self.names = measure, truth, names

    def take(self, rows: IntArray) -> Self:
        """Return the task of some of the rows."""
        found = copy(self)
        found.truth = self.truth[rows]
        return found

    @property
    @abstractmethod
    def strata(self) -> IntArray:
        """The class of each row, or 0 for label matrices."""

    @staticmethod
    @abstractmethod
    def predict(model: Any, X: Any) -> FloatArray:
        """Return the outputs of a model."""

    def score(self, measure: Any, outputs: FloatArray, weight: FloatArray | None) -> float:
        """Return a measure of the outputs; rows of weight 0 are left out."""
        if weight is None:
            return self._score(measure, self.truth, outputs, None)
        rows = np.flatnonzero(weight)
        if isinstance(measure, Measure):
            measure = measure.for_rows(rows)
        return self._score(measure, self.truth[rows], outputs[rows], weight[rows])

    def _score(
        self, measure: Any, truth: NDArray[Any], outputs: FloatArray, weight: FloatArray | None
    ) -> float:
        return float(measure.score(truth, outputs, weight))

    def values(self, measure: Any, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        """Return a measure of the outputs for each of several weights of the rows."""
        if not self.is_of_matrix(measure):
            return np.array([self.score(measure, outputs, weight) for weight in weights])
        cells, n_cells = self.cells(outputs), len(self.names) ** 2
        counts = (np.bincount(cells, weight, n_cells).astype(np.float64) for weight in weights)
        return np.concatenate([self.value_of_matrices(measure, each[np.newaxis]) for each in counts])

    def is_of_matrix(self, measure: Any) -> bool:
        """Whether a measure is a function of the confusion matrix at the model's decisions."""
        return False

    def cells(self, outputs: FloatArray) -> IntArray:
        """Return the cell of the confusion matrix that each row is counted in."""
        raise NotImplementedError

    def value_of_matrices(self, measure: Any, counts: FloatArray) -> FloatArray:
        """Return a measure of confusion matrices, given by their cells, of shape (n_matrices, n_cells)."""
        raise NotImplementedError

    def draw_matrices(
        self, counts: FloatArray, n_draws: int, random: np.random.RandomState
    ) -> Callable[[], Iterable[FloatArray]]:
        """Return blocks of confusion matrices of rows drawn with replacement: multinomial draws of cells."""
        raise NotImplementedError

    def class_counts(self, outputs: FloatArray, weight: FloatArray) -> FloatArray:
        """Return hits, predicted rows and true rows of each class or label, of shape (3, n_classes)."""
        counts = np.bincount(self.cells(outputs), weight, len(self.names) ** 2)
        return self.count_classes(counts.astype(np.float64))[:, 0]

    def count_classes(self, counts: FloatArray) -> FloatArray:
        """Return the class counts of confusion matrices, of shape (3, n_matrices, n_classes)."""
        confusion = counts.reshape(-1, len(self.names), len(self.names))
        return np.stack(
            [np.diagonal(confusion, axis1=-2, axis2=-1), confusion.sum(axis=-2), confusion.sum(axis=-1)]
        )

    @abstractmethod
    def listed_measures(self) -> Iterator[Any]:
        """Yield the model's own measure, then others."""

    @abstractmethod
    def describe_few_rows(self, weight: FloatArray | None) -> str:
        """Return a caution if a class has only few rows of a weight above 0, otherwise ""."""

    def _name_rare(self, counts: IntArray, fewest: int, description: str) -> str:
        few = [f"{self.names[k]} ({counts[k]})" for k in np.flatnonzero(counts < fewest).tolist()]
        more = f" and {len(few) - MAX_NAMED} more" if len(few) > MAX_NAMED else ""
        return f"{description}, whose values are uncertain: {', '.join(few[:MAX_NAMED])}{more}" if few else ""


class BinaryTask(Task):
    """Two classes."""

    resample_cost, needs_every_class = 1, True

    def take(self, rows: IntArray) -> Self:
        found = super().take(rows)
        found.measure = self.measure.for_rows(rows)
        return found

    @property
    def strata(self) -> IntArray:
        return self.truth.astype(np.intp)

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        return decide(model, X)

    def is_of_matrix(self, measure: Measure) -> bool:
        return isinstance(measure, ConfusionMeasure) and measure.needs_threshold

    def cells(self, outputs: FloatArray) -> IntArray:
        """Return 0 for true and 1 for false positives, 2 for false and 3 for true negatives."""
        return np.where(self.truth, 0, 1) + np.where(outputs > 0, 0, 2)

    def value_of_matrices(self, measure: Any, counts: FloatArray) -> FloatArray:
        tp, fp, fn, tn = counts.T
        both = (tp + fn > 0) & (fp + tn > 0)
        return np.asarray(measure.value(*counts.T[:, both]), dtype=np.float64)

    def draw_matrices(
        self, counts: FloatArray, n_draws: int, random: np.random.RandomState
    ) -> Callable[[], Iterable[FloatArray]]:
        drawn = random.multinomial(int(counts.sum()), counts / counts.sum(), size=n_draws)
        return lambda: [np.asarray(drawn, dtype=np.float64)]

    def listed_measures(self) -> Iterator[Measure]:
        yield self.measure
        for each in measures.describe():
            measure = measures.get(each.name, **PARAMETER_OVERRIDES.get(each.name, {}))
            if measure != self.measure:
                yield measure

    def describe_few_rows(self, weight: FloatArray | None) -> str:
        counted = self.truth if weight is None else self.truth[weight > 0]
        n_positive = int(counted.sum())
        return describe_few_rows(len(counted) - n_positive, n_positive, self.names)


class MulticlassTask(Task):
    """Many classes."""

    @property
    def strata(self) -> IntArray:
        return self.truth

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        probabilities = model.predict_proba(X)
        return np.column_stack((probabilities, model.rule_.predict(probabilities)))

    def _score(
        self, measure: Any, truth: NDArray[Any], outputs: FloatArray, weight: FloatArray | None
    ) -> float:
        return float(measure.score(truth, outputs[:, -1].astype(np.intp), outputs[:, :-1], weight))

    def is_of_matrix(self, measure: Any) -> bool:
        return isinstance(measure, ConfusionMatrixMeasure)

    def cells(self, outputs: FloatArray) -> IntArray:
        return np.asarray(self.truth * len(self.names) + outputs[:, -1].astype(np.intp))

    def value_of_matrices(self, measure: Any, counts: FloatArray) -> FloatArray:
        shape = (-1, len(self.names), len(self.names))
        return np.asarray(measure.value(counts.reshape(shape)), dtype=np.float64)

    def draw_matrices(
        self, counts: FloatArray, n_draws: int, random: np.random.RandomState
    ) -> Callable[[], Iterable[FloatArray]]:
        seed = deepcopy(random).randint(2**31 - 1)  # that of the first resample of rows
        n_rows, block = counts.sum(), max(1, MAX_BLOCK_CELLS // len(counts))

        def draw() -> Iterator[FloatArray]:
            generator = np.random.default_rng(seed)
            for start in range(0, n_draws, block):
                size = min(block, n_draws - start)
                yield generator.multinomial(int(n_rows), counts / n_rows, size=size).astype(np.float64)

        return draw

    def listed_measures(self) -> Iterator[Any]:
        yield self.measure
        is_ordinal = self.names.dtype.kind in "iuf" and len(self.names) > 2
        for name in (*CLASS_MEASURES, ORDINAL_MEASURE) if is_ordinal else CLASS_MEASURES:
            if name != self.measure.label:
                yield multiclass.get(name).for_classes(self.names)
        yield _LogLoss()

    def describe_few_rows(self, weight: FloatArray | None) -> str:
        counted = self.truth if weight is None else self.truth[weight > 0]
        counts = np.bincount(counted, minlength=len(self.names))
        description = f"classes with fewer than {MIN_CLASS_ROWS} of these rows"
        return self._name_rare(counts, MIN_CLASS_ROWS, description)


class MultilabelTask(Task):
    """Several labels."""

    has_matrix = False

    @property
    def strata(self) -> IntArray:
        return np.zeros(len(self.truth), dtype=np.intp)

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        return np.asarray(model.decision_function(X), dtype=np.float64)

    def class_counts(self, outputs: FloatArray, weight: FloatArray) -> FloatArray:
        predicted = outputs > 0
        return np.stack([weight @ each for each in (self.truth & predicted, predicted, self.truth)])

    def listed_measures(self) -> Iterator[MultilabelMeasure]:
        yield self.measure
        yield from (multilabel.get(name) for name in LABEL_MEASURES if name != self.measure.label)

    def describe_few_rows(self, weight: FloatArray | None) -> str:
        counted = self.truth if weight is None else self.truth[weight > 0]
        description = f"labels with fewer than {MIN_LABEL_ROWS} positive rows"
        return self._name_rare(counted.sum(axis=0), MIN_LABEL_ROWS, description)


class _LogLoss:
    """The mean negative logarithm of the probability of the true class."""

    label = "log_loss (lower is better)"

    def score(
        self, codes: IntArray, labels: IntArray, probabilities: FloatArray, weight: FloatArray | None
    ) -> float:
        chosen = probabilities[np.arange(len(codes)), codes]
        return float(np.average(-np.log(np.maximum(chosen, MIN_PROBABILITY)), weights=weight))


def make_task(measure: Any, y: ArrayLike, names: ArrayLike) -> Task:
    """Return the task of a measure; `y` are positive rows, labels of classes or a label matrix."""
    if isinstance(measure, MulticlassMeasure):
        return MulticlassTask(measure, class_positions(y, np.asarray(names)), np.asarray(names))
    if isinstance(measure, MultilabelMeasure):
        return MultilabelTask(measure, np.asarray(y, dtype=bool), np.asarray(names))
    return BinaryTask(measure, Labels.from_arrays(y, both_classes=False).positive, np.asarray(names))


def task_of_model(model: Any, y: ArrayLike, measure: Any = None) -> Task:
    """Return the task of a fitted model on rows with the labels y, for its own measure or another one."""
    kind = target_type(model)
    own: Any = getattr(model, "measure_", None)
    if kind == "multiclass":
        chosen = own if measure is None else multiclass.get(measure).for_classes(model.classes_)
        return make_task(chosen, y, model.classes_)
    if kind == "multilabel":
        chosen = own if measure is None else multilabel.get(measure)
        return make_task(chosen, encode_label_matrix(y)[1], model.classes_)
    if own is None and measure is None:
        raise InvalidInputError(
            f"{type(model).__name__} has no measure_: pass the measure to explain, such as measure='f1'."
        )
    names = negative_and_positive(model)
    return make_task(measures.get(own if measure is None else measure), positive_mask(y, names), names)


def target_type(model: Any) -> str:
    """Return "binary", "multiclass" or "multilabel"; other classifiers than capo's have two classes."""
    return str(getattr(model, "target_type_", "binary"))


def decide(model: Any, X: Any) -> FloatArray:
    """Return the decisions of a model of two classes, above 0 for rows that are predicted as positive."""
    decision = getattr(model, "positive_decision", model.decision_function)
    return np.asarray(decision(X), dtype=np.float64)


def negative_and_positive(model: Any) -> NDArray[Any]:
    """Return the labels of the negative and of the positive class of a model of two classes."""
    return np.asarray(getattr(model, "label_pair", model.classes_))


def check_classes(task: Task, weight: FloatArray | None) -> None:
    """Raise an error if one of two classes has no rows of a weight above 0."""
    counts = np.bincount(task.strata, weight, len(task.names))
    if task.needs_every_class and not counts.all():
        name = task.names.tolist()[int(counts[0] == 0)]
        raise InvalidInputError(f"all rows are {name!r}: measures need rows of both classes.")


def describe_few_rows(n_negative: int, n_positive: int, names: Sequence[Any] | NDArray[Any]) -> str:
    """Return a caution if one of two classes has only few rows, otherwise ""."""
    fewest = min(n_positive, n_negative)
    if fewest >= MIN_CLASS_ROWS:
        return ""
    name, verb = names[int(fewest == n_positive)], "is" if fewest == 1 else "are"
    n_rows = n_negative + n_positive
    return f"only {fewest} of these {n_rows:,} rows {verb} {name}, and values and intervals are uncertain"
