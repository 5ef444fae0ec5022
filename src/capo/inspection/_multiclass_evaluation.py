"""Evaluate predictions of many classes: measures, the rates of each class, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .. import multiclass
from .._typing import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..multiclass import ConfusionMatrixMeasure, MulticlassMeasure, confusion_matrix
from ..preprocessing import class_positions
from ._class_rates import (
    N_LISTED,
    ClassRates,
    describe_few_rows,
    estimate_class_rates,
    format_class_rates,
    format_estimates,
)
from ._evaluation import MIN_CLASS_ROWS, MeasureEstimate
from ._formatting import format_table, format_value
from ._row_sampler import RowSampler, join_cautions

#: Measures that follow the model's own.
MEASURES = (
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "f1_weighted",
    "jaccard_macro",
    "mcc",
    "cohen_kappa",
    "gmean",
    "roc_auc_ovr",
)
#: The measure of ordered classes, which is listed for numbers.
ORDINAL_MEASURE = "quadratic_kappa"
#: Bootstrap resamples of the confusion matrix, and of the rows for other measures.
N_CONFUSION_RESAMPLES, N_ROW_RESAMPLES = 1000, 100
#: Cells of the resampled matrices that are held at once.
MAX_BLOCK_CELLS = 2**21
#: Matrices of more classes are shown as their largest confusions.
MAX_SHOWN_CLASSES = 10
#: Probabilities below this are raised to it for the log loss.
MIN_PROBABILITY = 1e-15
LOG_LOSS = "log_loss (lower is better)"


@dataclass(frozen=True)
class MulticlassEvaluation:
    """All measures of many classes on a set of rows; prints as tables.

    Attributes
    ----------
    estimates : list of MeasureEstimate
        The measures, the model's own first.
    classes : list of ClassRates
        The rates of each class.
    confusion : ndarray of shape (n_classes, n_classes)
        Numbers of rows, or sums of their weights: true classes in rows, predicted classes in columns.
    caution : str
        What limits the trust in the values; empty if there is nothing.
    """

    estimates: list[MeasureEstimate]
    classes: list[ClassRates]
    confusion: FloatArray
    caution: str = ""

    @property
    def class_names(self) -> list[str]:
        """The names of the classes."""
        return [each.name for each in self.classes]

    def largest_confusions(self, n: int = N_LISTED) -> list[tuple[str, str, float]]:
        """Return the largest cells off the diagonal: true class, predicted class and number of rows."""
        wrong = self.confusion - np.diag(np.diag(self.confusion))
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        cells = zip(*np.unravel_index(order, wrong.shape), strict=True)
        names = self.class_names
        return [(names[j], names[k], float(wrong[j, k])) for j, k in cells if wrong[j, k] > 0]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        return {
            "measures": [asdict(each) for each in self.estimates],
            "classes": [each.to_dict() for each in self.classes],
            "confusion": self.confusion.tolist(),
            "labels": self.class_names,
            "caution": self.caution,
        }

    def __str__(self) -> str:
        small = len(self.classes) <= MAX_SHOWN_CLASSES
        matrix = self._confusion_lines() if small else self._largest_lines()
        caution = ["", f"caution: {self.caution}"] if self.caution else []
        rates = format_class_rates(self.classes, "class")
        return "\n".join([*format_estimates(self.estimates), "", *rates, "", *matrix, *caution])

    __repr__ = __str__

    def _confusion_lines(self) -> list[str]:
        names = [name[:20] for name in self.class_names]
        rows = [("predicted", *names)]
        for name, cells in zip(names, self.confusion, strict=True):
            rows.append((f"actual {name}", *(format_value(each, _decimals(each)) for each in cells)))
        return format_table(rows, (0, *(6 for _ in names)))

    def _largest_lines(self) -> list[str]:
        confusions = self.largest_confusions()
        if not confusions:
            return ["no row is predicted as another class"]
        rows = [("largest confusions: actual", "predicted", "rows")]
        rows += [(true[:30], guess[:30], format_value(n, _decimals(n))) for true, guess, n in confusions]
        return format_table(rows, (0, 0, 6))


def evaluate_multiclass(
    measure: MulticlassMeasure,
    y: ArrayLike,
    predicted: ArrayLike,
    probabilities: ArrayLike,
    classes: NDArray[Any],
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> MulticlassEvaluation:
    """Evaluate predictions of many classes on labeled rows.

    Parameters
    ----------
    measure : MulticlassMeasure
        The measure to list first; a selection of others follows.
    y, predicted : array-like of shape (n_samples,)
        True and predicted labels, all of them among `classes`.
    probabilities : array-like of shape (n_samples, n_classes)
        Probabilities in the order of `classes`.
    classes : ndarray of shape (n_classes,)
        The sorted labels of the classifier.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient: the bootstrap then draws whole groups.
    random_state : int, RandomState instance or None
        Seed of the bootstrap, which draws rows with replacement. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with the name of each measure before it is resampled.

    Returns
    -------
    MulticlassEvaluation
        The value and the 95% interval of each measure, the rates of each class and the confusion matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import multiclass
    >>> from capo.inspection import evaluate_multiclass
    >>> y = np.array(["a", "b", "c", "c"] * 10)
    >>> predicted = np.array(["a", "b", "c", "b"] * 10)
    >>> probabilities = np.eye(3)[np.array([0, 1, 2, 1] * 10)] * 0.7 + 0.1
    >>> evaluation = evaluate_multiclass(
    ...     multiclass.get("accuracy"), y, predicted, probabilities, np.array(["a", "b", "c"]), random_state=0
    ... )
    >>> evaluation.estimates[0].value
    0.75
    >>> evaluation.confusion.astype(int).tolist()
    [[10, 0, 0], [0, 10, 0], [0, 10, 10]]
    """
    codes, labels = class_positions(y, classes), class_positions(predicted, classes)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight is not None and not weight.any():
        raise InvalidInputError("the weights of all rows are 0: at least one must be positive.")
    rows = _Rows(codes, labels, np.asarray(probabilities, dtype=np.float64), weight)
    sampler = RowSampler(len(codes), groups)
    bootstrap = _Bootstrap(rows, check_random_state(random_state), sampler)
    estimates = [*bootstrap.estimate_all(_listed_measures(measure, classes), on_progress)]
    names = [str(label) for label in classes.tolist()]
    counted = codes if weight is None else codes[weight > 0]
    counts = np.bincount(counted, minlength=len(classes))
    few_rows = describe_few_rows(counts, names, MIN_CLASS_ROWS, "classes with fewer than {} of these rows")
    squared = None if sampler.has_groups else _class_counts(rows.squared_confusion)
    rates = estimate_class_rates(names, _class_counts(rows.confusion), bootstrap.class_counts, squared)
    caution = join_cautions(few_rows, sampler.caution)
    return MulticlassEvaluation([*estimates, bootstrap.log_loss()], rates, rows.confusion, caution)


def _listed_measures(own: MulticlassMeasure, classes: NDArray[Any]) -> Iterator[MulticlassMeasure]:
    yield own
    is_ordinal = classes.dtype.kind in "iuf" and len(classes) > 2
    names = (*MEASURES, ORDINAL_MEASURE) if is_ordinal else MEASURES
    for name in names:
        if name != own.label:
            yield multiclass.get(name).for_classes(classes)


def _class_counts(confusion: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hits, predicted rows and true rows of each class."""
    return np.diagonal(confusion, axis1=-2, axis2=-1), confusion.sum(axis=-2), confusion.sum(axis=-1)


@dataclass(frozen=True)
class _Rows:
    """True and predicted classes, probabilities and weights of rows."""

    codes: IntArray
    labels: IntArray
    probabilities: FloatArray
    weight: FloatArray | None

    @property
    def confusion(self) -> FloatArray:
        return confusion_matrix(self.codes, self.labels, self.probabilities.shape[1], self.weight)

    @property
    def squared_confusion(self) -> FloatArray:
        weight = None if self.weight is None else self.weight**2
        return confusion_matrix(self.codes, self.labels, self.probabilities.shape[1], weight)

    def take(self, rows: IntArray) -> _Rows:
        weight = None if self.weight is None else self.weight[rows]
        return _Rows(self.codes[rows], self.labels[rows], self.probabilities[rows], weight)

    def score(self, measure: MulticlassMeasure) -> float:
        return measure.score(self.codes, self.labels, self.probabilities, self.weight)


class _Bootstrap:
    """Values on rows drawn with replacement."""

    def __init__(self, rows: _Rows, random: np.random.RandomState, sampler: RowSampler) -> None:
        self.rows, self.sampler = rows, sampler
        self.seeds = random.randint(2**31 - 1, size=N_CONFUSION_RESAMPLES)
        counts = [_class_counts(block) for block in self._confusions()]
        hits, predicted, true = (np.concatenate(part) for part in zip(*counts, strict=True))
        self.class_counts = hits, predicted, true

    def _confusions(self) -> Iterator[FloatArray]:
        """Confusion matrices of the resamples, in blocks."""
        n_classes = self.rows.probabilities.shape[1]
        block = max(1, MAX_BLOCK_CELLS // n_classes**2)
        is_plain = self.rows.weight is None and not self.sampler.has_groups
        draw = self._draw_cells if is_plain else self._draw_rows
        seeds = self.seeds if is_plain else self.seeds[:N_ROW_RESAMPLES]
        for start in range(0, len(seeds), block):
            yield draw(seeds[start : start + block])

    def _draw_cells(self, seeds: IntArray) -> FloatArray:
        """Rows drawn with replacement are a multinomial draw of the cells of their matrix."""
        confusion, n = self.rows.confusion, len(self.rows.codes)
        cells = np.random.default_rng(seeds[0]).multinomial(n, confusion.ravel() / n, size=len(seeds))
        return cells.reshape(len(seeds), *confusion.shape).astype(np.float64)

    def _draw_rows(self, seeds: IntArray) -> FloatArray:
        return np.stack([self._resample(seed).confusion for seed in seeds])

    def _resample(self, seed: int) -> _Rows:
        return self.rows.take(self.sampler.draw(seed))

    def estimate_all(
        self, measures: Iterator[MulticlassMeasure], on_progress: Callable[[str], None]
    ) -> Iterator[MeasureEstimate]:
        for measure in measures:
            on_progress(measure.label)
            yield MeasureEstimate.from_resamples(
                measure.label, self.rows.score(measure), self._values(measure)
            )

    def _values(self, measure: MulticlassMeasure) -> FloatArray:
        if isinstance(measure, ConfusionMatrixMeasure):
            return np.concatenate([measure.value(block) for block in self._confusions()])
        return np.array([self._resample(seed).score(measure) for seed in self.seeds[:N_ROW_RESAMPLES]])

    def log_loss(self) -> MeasureEstimate:
        codes, weight = self.rows.codes, self.rows.weight
        chosen = self.rows.probabilities[np.arange(len(codes)), codes]
        losses = -np.log(np.maximum(chosen, MIN_PROBABILITY))
        weight = np.ones(len(codes)) if weight is None else weight
        draws = (self.sampler.draw(seed) for seed in self.seeds[:N_ROW_RESAMPLES])
        values = [np.average(losses[each], weights=weight[each]) for each in draws if weight[each].any()]
        return MeasureEstimate.from_resamples(
            LOG_LOSS, float(np.average(losses, weights=weight)), np.array(values)
        )


def _decimals(value: float) -> int:
    return 1 if value % 1 else 0
