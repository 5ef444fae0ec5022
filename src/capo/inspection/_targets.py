"""The true labels of rows: what differs between two classes, many classes and several labels.

The outputs of a model for n rows are an array: decisions of shape (n,) for two classes and (n, n_labels) for
labels, which are predicted above 0; for many classes the probabilities, and the predicted class in one column
more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy, deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import measures
from .._compat import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, ConstrainedMeasure, FunctionMeasure, Measure, multiclass, multilabel
from ..tables.targets import class_positions, encode_label_matrix, positive_mask

#: Classes or labels that a caution names.
MAX_NAMED = 10
#: Rates of two classes at the model's threshold, which follow the model's own measure.
RATES: dict[str, Callable[..., FloatArray]] = {
    "precision": lambda tp, fp, fn, tn: measures.ratio(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: measures.ratio(tp, tp + fn),
    "specificity": lambda tp, fp, fn, tn: measures.ratio(tn, tn + fp),
    "predicted positive": lambda tp, fp, fn, tn: measures.ratio(tp + fp, tp + fp + fn + tn),
}
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

    #: Resamples are fewer by this factor, since their measures take longer.
    resample_cost: ClassVar[int] = 2
    #: The measures that are functions of a confusion matrix.
    matrix_measures: ClassVar[tuple[type, ...]] = ()
    #: Whether a measure is defined only for rows of every class.
    needs_every_class: ClassVar[bool] = False
    #: With fewer rows of a class, or positive rows of a label, the values are called uncertain.
    min_rows: ClassVar[int] = 20

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
        """Return a measure of the outputs; rows of weight 0 are left out."""
        truth = self.truth
        if weight is not None:
            rows = np.flatnonzero(weight)
            truth, outputs, weight = truth[rows], outputs[rows], weight[rows]
            measure = measure.for_rows(rows) if isinstance(measure, Measure) else measure
        return float(measure.score(truth, *self._arguments(outputs), weight))

    def _arguments(self, outputs: FloatArray) -> tuple[NDArray[Any], ...]:
        """The outputs as a measure takes them."""
        return (outputs,)

    def values(self, measure: Any, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        """Return a measure of the outputs for each of several weights of the rows."""
        if not self.is_of_matrix(measure):
            return np.array([self.score(measure, outputs, weight) for weight in weights])
        counts = (self.count(outputs, weight) for weight in weights)
        return np.concatenate([self.value_of_matrices(measure, each[np.newaxis]) for each in counts])

    def is_of_matrix(self, measure: Any) -> bool:
        """Whether a measure is a function of the confusion matrix at the model's decisions."""
        return isinstance(measure, self.matrix_measures)

    def count(self, outputs: FloatArray, weight: FloatArray | None) -> FloatArray:
        """Return the cells of the confusion matrix, sums of weights if the rows have any."""
        return np.bincount(self._cells(outputs), weight, len(self.names) ** 2).astype(np.float64)

    def _cells(self, outputs: FloatArray) -> IntArray:
        """The cell of the confusion matrix that each row is counted in."""
        raise NotImplementedError

    def value_of_matrices(self, measure: Any, counts: FloatArray) -> FloatArray:
        """Return a measure of confusion matrices, given by their cells, of shape (n_matrices, n_cells)."""
        shape = (-1, len(self.names), len(self.names))
        return np.asarray(measure.value(counts.reshape(shape)), dtype=np.float64)

    def draw_matrices(
        self, counts: FloatArray, n_draws: int, random: np.random.RandomState
    ) -> Callable[[], Iterable[FloatArray]]:
        """Return blocks of confusion matrices of rows drawn with replacement: multinomial draws of cells."""
        seed = deepcopy(random).randint(2**31 - 1)  # that of the first resample of rows
        n_rows, block = counts.sum(), max(1, MAX_BLOCK_CELLS // len(counts))

        def draw() -> Iterator[FloatArray]:
            generator = np.random.default_rng(seed)
            for start in range(0, n_draws, block):
                size = min(block, n_draws - start)
                yield generator.multinomial(int(n_rows), counts / n_rows, size=size).astype(np.float64)

        return draw

    def class_counts(self, outputs: FloatArray, weight: FloatArray) -> FloatArray:
        """Return hits, predicted rows and true rows of each class or label, of shape (3, n_classes)."""
        return self.count_classes(self.count(outputs, weight))[:, 0]

    def count_classes(self, counts: FloatArray) -> FloatArray:
        """Return the class counts of confusion matrices, of shape (3, n_matrices, n_classes)."""
        confusion = counts.reshape(-1, len(self.names), len(self.names))
        return np.stack(
            [np.diagonal(confusion, axis1=-2, axis2=-1), confusion.sum(axis=-2), confusion.sum(axis=-1)]
        )

    @abstractmethod
    def listed_measures(self) -> Iterator[Any]:
        """Yield the model's own measure, then others."""

    def class_sizes(self, weight: FloatArray | None) -> IntArray:
        """Return the number of rows of each class, or of positive rows of each label, of a weight above 0."""
        strata = self.strata if weight is None else self.strata[weight > 0]
        return np.bincount(strata, minlength=len(self.names))

    def check_classes(self, weight: FloatArray | None) -> None:
        """Raise an error if one of two classes has no rows of a weight above 0."""
        counts = np.bincount(self.strata, weight, len(self.names))
        if self.needs_every_class and not counts.all():
            name = self.names.tolist()[int(counts[0] == 0)]
            raise InvalidInputError(f"all rows are {name!r}: measures need rows of both classes.")

    def describe_few_rows(self, sizes: IntArray) -> str:
        """Return a caution if a class or label has only few rows, otherwise ""."""
        few = [f"{self.names[k]} ({sizes[k]})" for k in np.flatnonzero(sizes < self.min_rows).tolist()]
        more = f" and {len(few) - MAX_NAMED} more" if len(few) > MAX_NAMED else ""
        names = f"whose values are uncertain: {', '.join(few[:MAX_NAMED])}{more}"
        return f"{self._few_rows.format(self.min_rows)}, {names}" if few else ""

    _few_rows: ClassVar[str] = "classes with fewer than {} of these rows"


class BinaryTargets(Targets):
    """Two classes: the cells of the confusion matrix are tp, fp, fn and tn."""

    resample_cost, needs_every_class, matrix_measures = 1, True, (ConfusionMeasure,)

    def take(self, rows: IntArray) -> Self:
        found = super().take(rows)
        found.measure = self.measure.for_rows(rows)
        return found

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        return decide(model, X)

    def is_of_matrix(self, measure: Measure) -> bool:
        return super().is_of_matrix(measure) and measure.needs_threshold

    def _cells(self, outputs: FloatArray) -> IntArray:
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
        own = self.measure
        if isinstance(own, ConstrainedMeasure):
            yield own.at_threshold()
        yield own
        # The rates of a constraint are listed with it.
        known = (own.rate_name, own.limited_rate_name) if isinstance(own, ConstrainedMeasure) else ()
        yield from (FunctionMeasure(rate, name) for name, rate in RATES.items() if name not in known)
        for each in measures.describe():
            measure = measures.get(each.name, **PARAMETER_OVERRIDES.get(each.name, {}))
            if measure != own:
                yield measure

    def describe_few_rows(self, sizes: IntArray) -> str:
        fewest = int(sizes.min())
        if fewest >= self.min_rows:
            return ""
        name, verb = self.names[int(fewest == sizes[1])], "is" if fewest == 1 else "are"
        n_rows = f"{sizes.sum():,} rows"
        return f"only {fewest} of these {n_rows} {verb} {name}, and values and intervals are uncertain"


class ClassTargets(Targets):
    """Many classes."""

    matrix_measures = (multiclass.ConfusionMatrixMeasure,)

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        probabilities = model.predict_proba(X)
        return np.column_stack((probabilities, model.rule_.predict(probabilities)))

    def _arguments(self, outputs: FloatArray) -> tuple[NDArray[Any], ...]:
        return outputs[:, -1].astype(np.intp), outputs[:, :-1]

    def _cells(self, outputs: FloatArray) -> IntArray:
        return np.asarray(self.truth * len(self.names) + outputs[:, -1].astype(np.intp))

    def listed_measures(self) -> Iterator[Any]:
        yield self.measure
        is_ordinal = self.names.dtype.kind in "iuf" and len(self.names) > 2
        for name in (*CLASS_MEASURES, ORDINAL_MEASURE) if is_ordinal else CLASS_MEASURES:
            if name != self.measure.label:
                yield multiclass.get(name).for_classes(self.names)
        yield _LogLoss()


class LabelTargets(Targets):
    """Several labels."""

    min_rows, _few_rows = 10, "labels with fewer than {} positive rows"

    @property
    def strata(self) -> IntArray:
        return np.zeros(len(self.truth), dtype=np.intp)

    @staticmethod
    def predict(model: Any, X: Any) -> FloatArray:
        return np.asarray(model.decision_function(X), dtype=np.float64)

    def class_counts(self, outputs: FloatArray, weight: FloatArray) -> FloatArray:
        predicted = outputs > 0
        return np.stack([weight @ each for each in (self.truth & predicted, predicted, self.truth)])

    def listed_measures(self) -> Iterator[Any]:
        yield self.measure
        yield from (multilabel.get(name) for name in LABEL_MEASURES if name != self.measure.label)

    def class_sizes(self, weight: FloatArray | None) -> IntArray:
        return np.sum(self.truth if weight is None else self.truth[weight > 0], axis=0)


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
    """Return "binary", "multiclass" or "multilabel"; other classifiers than capo's have two classes."""
    return str(getattr(model, "target_type_", "binary"))


def decide(model: Any, X: Any) -> FloatArray:
    """Return the decisions of a model of two classes, above 0 for rows that are predicted as positive."""
    decision = getattr(model, "positive_decision", model.decision_function)
    return np.asarray(decision(X), dtype=np.float64)


def negative_and_positive(model: Any) -> NDArray[Any]:
    """Return the labels of a model's classes; of two, the negative one is the first."""
    return np.asarray(getattr(model, "label_pair", model.classes_))
