"""Evaluation on labeled rows, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .. import measures
from .._compat import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import (
    ConstrainedMeasure,
    FunctionMeasure,
    Labels,
    Measure,
    confusion_matrix,
    multiclass,
    multilabel,
    ratio,
)
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure
from ..tables.targets import class_positions
from ._bootstrap import Bootstrap, GroupBootstrap, RowBootstrap, RowSampler, ScoreGroups, join_cautions
from ._formatting import count_decimals, format_table, format_value

#: Quantiles of the resampled values that bound the 95% interval.
INTERVAL_QUANTILES = (0.025, 0.975)

#: With fewer rows of a class the values are called uncertain.
MIN_CLASS_ROWS = 20
#: The smallest width of each column of the table.
MIN_WIDTHS = (0, 9, 20)
#: Follows the name of a rate that is computed from the labels that the model predicts.
AT_THRESHOLD = " at the model's threshold"
#: Follows the name of a measure that is the best value of all thresholds on the rows.
BEST_THRESHOLD = ", best threshold"

#: Parameters for measures whose defaults would repeat another measure: fbeta with beta=1 is f1.
PARAMETER_OVERRIDES: dict[str, dict[str, Any]] = {"fbeta": {"beta": 2}}


@dataclass(frozen=True)
class MeasureEstimate:
    """A measure's value and its 95% bootstrap interval.

    Attributes
    ----------
    name : str
        The measure.
    value : float
        Its value on all rows.
    low, high : float
        The 2.5% and 97.5% quantiles of its values on rows drawn with replacement.
    """

    name: str
    value: float
    low: float
    high: float

    @classmethod
    def from_resamples(cls, name: str, value: float, resampled: ArrayLike) -> MeasureEstimate:
        """Return the estimate from values on rows drawn with replacement; NaN are left out."""
        low, high = np.nanquantile(np.asarray(resampled), INTERVAL_QUANTILES).tolist()
        return cls(name, value, low, high)


@dataclass(frozen=True)
class ConstraintResult:
    """A measure with a constraint at the model's own threshold.

    Attributes
    ----------
    rate : MeasureEstimate
        The rate that the measure maximizes.
    limited_rate : MeasureEstimate
        The rate that the constraint limits.
    constraint : str
        The constraint in words.
    is_satisfied : bool
        Whether the rows satisfy the constraint.
    """

    rate: MeasureEstimate
    limited_rate: MeasureEstimate
    constraint: str
    is_satisfied: bool

    def __str__(self) -> str:
        state = "satisfied" if self.is_satisfied else "NOT satisfied"
        return f"constraint: {self.constraint}; {state} at the model's threshold"


class ConfusionCounts(NamedTuple):
    """The confusion matrix: numbers of rows, or sums of their weights if they have any."""

    tp: float
    fp: float
    fn: float
    tn: float


@dataclass(frozen=True)
class Evaluation:
    """All measures on a set of rows; prints as a table.

    Attributes
    ----------
    estimates : list of MeasureEstimate
        The measures, the model's own first. A measure with a constraint is the best value of all thresholds
        on these rows, as its name says.
    confusion : ConfusionCounts
        The confusion matrix.
    class_names : tuple of str
        Names of the negative and the positive class.
    constraint : ConstraintResult, optional
        The rates at the model's threshold, if its measure has a constraint.
    caution : str
        What limits the trust in the values; empty if there is nothing.
    max_error : float
        The largest error of a value, if the rows were counted in bins of scores; 0 if all values are exact.

    Examples
    --------
    >>> from capo.inspection import ConfusionCounts, Evaluation, MeasureEstimate
    >>> estimates = [MeasureEstimate("f1", 0.5, low=0.4, high=0.6)]
    >>> print(Evaluation(estimates, ConfusionCounts(tp=20, fp=20, fn=20, tn=40), ("no", "yes")))
    measure      value          95% interval
    f1          0.5000      0.4000 to 0.6000
    <BLANKLINE>
    predicted          no        yes
    actual no          40         20
    actual yes         20         20
    """

    estimates: list[MeasureEstimate]
    confusion: ConfusionCounts
    class_names: tuple[str, str]
    constraint: ConstraintResult | None = None
    caution: str = ""
    max_error: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        return {
            "measures": [asdict(each) for each in self.rows],
            "confusion": self.confusion._asdict(),
            "labels": list(self.class_names),
            "caution": self.caution,
            "max_error": self.max_error,
            "constraint": self.constraint
            and {
                "text": self.constraint.constraint,
                "is_satisfied": self.constraint.is_satisfied,
            },
        }

    @property
    def rows(self) -> list[MeasureEstimate]:
        """The rates at the model's threshold, if the measure has a constraint, and all measures."""
        own = [self.constraint.rate, self.constraint.limited_rate] if self.constraint else []
        return [*own, *self.estimates]

    def __str__(self) -> str:
        rows = [("measure", "value", "95% interval"), *(_format_estimate(each) for each in self.rows)]
        lines = format_table(rows, MIN_WIDTHS)
        if self.constraint:
            lines += ["", str(self.constraint)]
        lines += ["", *self._confusion_lines()]
        if self.max_error:
            lines += [
                "",
                f"Measures that depend on the order of the scores are exact to {self.max_error:.1g}.",
            ]
        if self.caution:
            lines += ["", f"caution: {self.caution}"]
        return "\n".join(lines)

    __repr__ = __str__

    def _confusion_lines(self) -> list[str]:
        decimals = min(count_decimals(self.confusion), 3) if any(cell % 1 for cell in self.confusion) else 0
        tp, fp, fn, tn = (format_value(cell, decimals) for cell in self.confusion)
        negative, positive = (f"{name[:20]}" for name in self.class_names)
        first = max(len(f"actual {name}") for name in (negative, positive))
        column = max(9, len(negative), len(positive), *(len(cell) for cell in (tp, fp, fn, tn)))
        return [
            f"{'predicted':<{first}}  {negative:>{column}}  {positive:>{column}}",
            f"{'actual ' + negative:<{first}}  {tn:>{column}}  {fp:>{column}}",
            f"{'actual ' + positive:<{first}}  {fn:>{column}}  {tp:>{column}}",
        ]


def evaluate(
    measure: Measure,
    positive: ArrayLike,
    decision: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    class_names: tuple[str, str] = ("negative", "positive"),
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Evaluation:
    """Evaluate decisions on labeled rows by every measure.

    Parameters
    ----------
    measure : Measure
        The measure to list first; all registered measures follow.
    positive : array-like of bool of shape (n_samples,)
        Which rows are positive; both classes must occur.
    decision : array-like of shape (n_samples,)
        The output of a decision function; rows above 0 are predicted as positive.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient: the bootstrap then draws whole groups.
    class_names : tuple of str
        Names of the negative and the positive class.
    random_state : int, RandomState instance or None
        Seed of the bootstrap, which draws rows with replacement. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with the name of each measure before it is resampled.

    Returns
    -------
    Evaluation
        The value and the 95% interval of each measure, and the confusion matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import measures
    >>> from capo.inspection import evaluate
    >>> positive = np.array([True, True, False, False, False] * 20)
    >>> decision = np.array([2.0, -1, -1, -1, 1] * 20)
    >>> evaluation = evaluate(measures.get("f1"), positive, decision, random_state=0)
    >>> evaluation.estimates[0].name, evaluation.estimates[0].value
    ('f1', 0.5)
    >>> evaluation.confusion
    ConfusionCounts(tp=20.0, fp=20.0, fn=20.0, tn=40.0)
    """
    labels = Labels.from_arrays(positive, sample_weight, both_classes=False)
    _check_both_classes(labels.n_neg, labels.n_pos, class_names)
    scores = np.asarray(decision, dtype=np.float64)
    confusion = ConfusionCounts(*(float(cell) for cell in labels.confusion(scores > 0)))
    sampler = RowSampler(len(scores), groups)
    bootstrap = RowBootstrap(labels, scores, check_random_state(random_state), groups)
    estimates, constraint = _estimate_all(measure, confusion, bootstrap, on_progress)
    caution = join_cautions(describe_few_rows(labels.positive, class_names, labels.weight), sampler.caution)
    return Evaluation(estimates, confusion, class_names, constraint, caution)


def evaluate_groups(
    measure: Measure,
    groups: ScoreGroups,
    *,
    class_names: tuple[str, str] = ("negative", "positive"),
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Evaluation:
    """Evaluate decisions on labeled rows that are counted by class and score.

    Measures at the model's threshold are those of the rows. All others are those of rows whose scores are
    equal within each bin; `Evaluation.max_error` is the largest error that this can cause.

    Parameters
    ----------
    measure : Measure
        The measure to list first; all registered measures follow.
    groups : ScoreGroups
        The numbers of rows.
    class_names, random_state, on_progress
        As in `evaluate`.

    Returns
    -------
    Evaluation
        The value and the 95% interval of each measure, and the confusion matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import measures
    >>> from capo.inspection import ScoreGroups, evaluate_groups
    >>> counts = np.array([[60, 20, 0], [0, 20, 20]])  # negative and positive rows in three bins
    >>> groups = ScoreGroups.from_counts(counts, edges=np.array([-1.0, 0.0]))
    >>> evaluation = evaluate_groups(measures.get("recall_at_k", k=40), groups, random_state=0)
    >>> evaluation.estimates[0].value, evaluation.max_error
    (0.75, 0.5)
    >>> evaluation.confusion
    ConfusionCounts(tp=20.0, fp=0.0, fn=20.0, tn=80.0)
    """
    n_neg, n_pos = (float(groups.count[groups.positive == label].sum()) for label in (False, True))
    _check_both_classes(n_neg, n_pos, class_names)
    labels = Labels.from_arrays(groups.positive, groups.count)
    confusion = ConfusionCounts(*(float(cell) for cell in labels.confusion(groups.position > 0)))
    bootstrap = GroupBootstrap(groups, check_random_state(random_state))
    estimates, constraint = _estimate_all(measure, confusion, bootstrap, on_progress)
    caution = describe_few_counts(int(n_neg), int(n_pos), class_names)
    ranges = [groups.score_range(each) for each in _listed_measures(measure)]
    max_error = max(high - low for low, high in ranges)
    return Evaluation(estimates, confusion, class_names, constraint, caution, max_error)


def _check_both_classes(n_neg: float, n_pos: float, class_names: tuple[str, str]) -> None:
    if n_pos <= 0 or n_neg <= 0:
        raise InvalidInputError(
            f"all rows are {class_names[n_neg <= 0]!r}: measures need rows of both classes."
        )


def _estimate_all(
    measure: Measure, confusion: ConfusionCounts, bootstrap: Bootstrap, on_progress: Callable[[str], None]
) -> tuple[list[MeasureEstimate], ConstraintResult | None]:
    """All measures with their intervals, and the constraint of the first at the model's threshold."""

    def estimate(each: Measure) -> MeasureEstimate:
        name = f"{each.label}{BEST_THRESHOLD if isinstance(each, ConstrainedMeasure) else ''}"
        on_progress(name)
        return MeasureEstimate.from_resamples(name, bootstrap.value(each), bootstrap.resample(each))

    constraint = _check_constraint(measure, confusion, estimate)
    return [estimate(each) for each in _listed_measures(measure)], constraint


def describe_few_rows(
    positive: BoolArray, class_names: tuple[str, str], weight: FloatArray | None = None
) -> str:
    """A caution if a class has only few of the rows, those of weight 0 left out, otherwise ""."""
    positive = positive if weight is None else positive[weight > 0]
    n_positive = int(positive.sum())
    return describe_few_counts(len(positive) - n_positive, n_positive, class_names)


def describe_few_counts(n_negative: int, n_positive: int, class_names: tuple[str, str]) -> str:
    """A caution if a class has only few rows, otherwise ""."""
    fewest = min(n_positive, n_negative)
    if fewest >= MIN_CLASS_ROWS:
        return ""
    name, verb = class_names[fewest == n_positive], "is" if fewest == 1 else "are"
    n_rows = n_negative + n_positive
    return f"only {fewest} of these {n_rows:,} rows {verb} {name}, and values and intervals are uncertain"


def _check_constraint(
    measure: Measure, confusion: ConfusionCounts, estimate: Callable[[Measure], MeasureEstimate]
) -> ConstraintResult | None:
    """The rates at the model's threshold, for a measure with a constraint."""
    if not isinstance(measure, ConstrainedMeasure):
        return None
    return ConstraintResult(
        estimate(FunctionMeasure(measure.rate, f"{measure.rate_name}{AT_THRESHOLD}")),
        estimate(FunctionMeasure(measure.limited_rate, f"{measure.limited_rate_name}{AT_THRESHOLD}")),
        measure.constraint,
        bool(measure.is_satisfied(*confusion)),
    )


def _format_estimate(estimate: MeasureEstimate) -> tuple[str, str, str]:
    decimals = count_decimals((estimate.value, estimate.low, estimate.high))
    value, low, high = (
        format_value(each, decimals) for each in (estimate.value, estimate.low, estimate.high)
    )
    return estimate.name, value, f"{low} to {high}"


def _listed_measures(own: Measure) -> Iterable[Measure]:
    """The model's own measure, then all registered ones."""
    yield own
    for name in (each.name for each in measures.describe()):
        measure = measures.get(name, **PARAMETER_OVERRIDES.get(name, {}))
        if measure != own:
            yield measure


#: The smallest width of each column of the table.
CLASS_RATES_MIN_WIDTHS = (0, 6, 24, 24, 24)
#: Confusions and rare classes or labels that are listed.
N_LISTED = 10


@dataclass(frozen=True)
class ClassRates:
    """One class or label: its rows, and its precision, recall and F1.

    Attributes
    ----------
    name : str
        The class or label.
    n_rows : float
        Number of its rows, or the sum of their weights.
    precision, recall, f1 : MeasureEstimate
        The rates; NaN where they are not defined: the precision of a class that is never predicted, the
        recall of a class without rows.
    """

    name: str
    n_rows: float
    precision: MeasureEstimate
    recall: MeasureEstimate
    f1: MeasureEstimate

    def to_dict(self) -> dict[str, Any]:
        """The rates as values that JSON can hold; None for those that are not defined."""
        found = asdict(self)
        for rate in ("precision", "recall", "f1"):
            if isnan(found[rate]["value"]):
                found[rate] |= {"value": None, "low": None, "high": None}
        return found


def estimate_class_rates(
    names: Sequence[str],
    counts: tuple[FloatArray, FloatArray, FloatArray],
    resampled: tuple[FloatArray, FloatArray, FloatArray],
    squared: tuple[FloatArray, FloatArray, FloatArray] | None = None,
) -> list[ClassRates]:
    """Estimate the rates from hits, predicted and true rows of each class, the resampled ones by row.

    A rate of 0 or 1 is the same in all resamples, which says nothing about its error. With `squared`, its
    interval reaches to the rate at which such a result has a probability of 2.5%.

    Parameters
    ----------
    names : sequence of str
        The classes.
    counts : tuple of three ndarray of shape (n_classes,)
        Hits, predicted rows and true rows.
    resampled : tuple of three ndarray of shape (n_resamples, n_classes)
        The same on rows drawn with replacement.
    squared : tuple of three ndarray of shape (n_classes,), optional
        The same with squared weights, if the rows are independent of each other.
    """
    values, samples = _rates(*counts), _rates(*resampled)
    intervals = {rate: _quantiles(each) for rate, each in samples.items()}
    if squared is not None:
        sizes = _sample_sizes(counts, squared)
        intervals = {rate: _widen(rate, values[rate], each, sizes[rate]) for rate, each in intervals.items()}

    def estimate(rate: str, k: int) -> MeasureEstimate:
        low, high = intervals[rate][:, k].tolist()
        return MeasureEstimate(rate, float(values[rate][k]), low, high)

    return [
        ClassRates(name, float(counts[2][k]), *(estimate(rate, k) for rate in ("precision", "recall", "f1")))
        for k, name in enumerate(names)
    ]


def _rates(hits: FloatArray, predicted: FloatArray, true: FloatArray) -> dict[str, FloatArray]:
    """The rates, NaN where they are not defined."""
    with np.errstate(invalid="ignore"):
        return {
            "precision": hits / predicted,
            "recall": hits / true,
            "f1": 2.0 * hits / (predicted + true),
        }


def _quantiles(samples: FloatArray) -> FloatArray:
    """The interval of each class, from the resamples in which the rate is defined."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return np.asarray(np.nanquantile(samples, INTERVAL_QUANTILES, axis=0))


def _sample_sizes(
    counts: tuple[FloatArray, FloatArray, FloatArray], squared: tuple[FloatArray, FloatArray, FloatArray]
) -> dict[str, FloatArray]:
    """The numbers of rows that each rate is a share of; with weights, those of equal weight (Kish)."""
    (hits, predicted, true), (hits2, predicted2, true2) = counts, squared
    return {
        "precision": ratio(predicted**2, predicted2),
        "recall": ratio(true**2, true2),
        "f1": ratio((predicted + true - hits) ** 2, predicted2 + true2 - hits2),
    }


def _widen(rate: str, values: FloatArray, interval: FloatArray, sizes: FloatArray) -> FloatArray:
    """The intervals, those of rates of 0 and 1 with the bound of Clopper and Pearson."""
    reach = INTERVAL_QUANTILES[0] ** (1.0 / np.maximum(sizes, 1.0))
    low, high = reach, 1.0 - reach
    if rate == "f1":  # 2 j / (1 + j) for j, the share of hits among the rows that are predicted or true
        low, high = 2.0 * low / (1.0 + low), 2.0 * high / (1.0 + high)
    widened = np.where(values >= 1.0, low, interval[0]), np.where(values <= 0.0, high, interval[1])
    return np.stack(widened)


def format_class_rates(classes: Sequence[ClassRates], heading: str) -> list[str]:
    """Write the rates as a table."""
    rows: list[tuple[str, ...]] = [(heading, "rows", "precision", "recall", "F1")]
    for each in classes:
        rates = (_format_rate(rate) for rate in (each.precision, each.recall, each.f1))
        rows.append((each.name[:30], format_value(each.n_rows, 1 if each.n_rows % 1 else 0), *rates))
    return format_table(rows, CLASS_RATES_MIN_WIDTHS)


def _format_rate(rate: MeasureEstimate) -> str:
    return "-" if isnan(rate.value) else f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})"


def format_estimates(estimates: Sequence[MeasureEstimate]) -> list[str]:
    """Write measures with their intervals as a table."""
    rows = [("measure", "value", "95% interval")]
    for each in estimates:
        decimals = count_decimals((each.value, each.low, each.high))
        value, low, high = (format_value(number, decimals) for number in (each.value, each.low, each.high))
        rows.append((each.name, value, f"{low} to {high}"))
    return format_table(rows, (0, 9, 20))


def describe_few_rows_class_rates(
    counts: IntArray, names: Sequence[str], fewest: int, description: str
) -> str:
    """A caution that names the classes or labels with fewer rows than these, otherwise ""."""
    few = [f"{names[k]} ({counts[k]})" for k in np.flatnonzero(counts < fewest).tolist()]
    if not few:
        return ""
    more = f" and {len(few) - N_LISTED} more" if len(few) > N_LISTED else ""
    listed = f"{', '.join(few[:N_LISTED])}{more}"
    return f"{description.format(fewest)}, whose values are uncertain: {listed}"


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
    >>> from capo.measures import multiclass
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
    estimates = [
        *bootstrap.estimate_all(_listed_measures_multiclass_evaluation(measure, classes), on_progress)
    ]
    names = [str(label) for label in classes.tolist()]
    counted = codes if weight is None else codes[weight > 0]
    counts = np.bincount(counted, minlength=len(classes))
    few_rows = describe_few_rows_class_rates(
        counts, names, MIN_CLASS_ROWS, "classes with fewer than {} of these rows"
    )
    squared = None if sampler.has_groups else _class_counts(rows.squared_confusion)
    rates = estimate_class_rates(names, _class_counts(rows.confusion), bootstrap.class_counts, squared)
    caution = join_cautions(few_rows, sampler.caution)
    return MulticlassEvaluation([*estimates, bootstrap.log_loss()], rates, rows.confusion, caution)


def _listed_measures_multiclass_evaluation(
    own: MulticlassMeasure, classes: NDArray[Any]
) -> Iterator[MulticlassMeasure]:
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


#: Measures that follow the model's own.
MULTILABEL_EVALUATION_MEASURES = (
    "f1_macro",
    "f1_weighted",
    "f1_micro",
    "f1_samples",
    "jaccard_micro",
    "accuracy_micro",
)
#: Bootstrap resamples.
N_RESAMPLES = 100
#: Labels with fewer positive rows are named as a caution.
MIN_LABEL_ROWS = 10


@dataclass(frozen=True)
class MultilabelEvaluation:
    """All measures of a label matrix on a set of rows; prints as tables.

    Attributes
    ----------
    estimates : list of MeasureEstimate
        The measures, the model's own first.
    labels : list of ClassRates
        The rates of each label.
    caution : str
        What limits the trust in the values; empty if there is nothing.
    """

    estimates: list[MeasureEstimate]
    labels: list[ClassRates]
    caution: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        return {
            "measures": [asdict(each) for each in self.estimates],
            "labels": [each.to_dict() for each in self.labels],
            "caution": self.caution,
        }

    def __str__(self) -> str:
        caution = ["", f"caution: {self.caution}"] if self.caution else []
        rates = format_class_rates(self.labels, "label")
        return "\n".join([*format_estimates(self.estimates), "", *rates, *caution])

    __repr__ = __str__


def evaluate_multilabel(
    measure: MultilabelMeasure,
    positive: ArrayLike,
    decision: ArrayLike,
    labels: NDArray[Any],
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> MultilabelEvaluation:
    """Evaluate decisions about the labels of rows.

    Parameters
    ----------
    measure : MultilabelMeasure
        The measure to list first; a selection of others follows.
    positive : array-like of bool, shape (n_samples, n_labels)
        The label matrix.
    decision : array-like of shape (n_samples, n_labels)
        The output of a decision function; labels above 0 are predicted.
    labels : ndarray of shape (n_labels,)
        The names of the labels.
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
    MultilabelEvaluation
        The value and the 95% interval of each measure, and the rates of each label.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.measures import multilabel
    >>> from capo.inspection import evaluate_multilabel
    >>> positive = np.array([[True, False], [True, True], [False, True], [False, False]])
    >>> decision = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]])
    >>> found = evaluate_multilabel(
    ...     multilabel.get("f1_macro"), positive, decision, np.array(["a", "b"]), random_state=0
    ... )
    >>> [label.recall.value for label in found.labels]
    [1.0, 0.5]
    """
    truth, scores = np.asarray(positive, dtype=bool), np.asarray(decision, dtype=np.float64)
    weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    sampler = RowSampler(len(truth), groups)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=N_RESAMPLES)
    draws = [sampler.draw(seed) for seed in seeds]
    draws = [rows for rows in draws if weight[rows].any()]
    given = None if sample_weight is None else weight

    def score(each: MultilabelMeasure, rows: Any) -> float:
        return each.score(truth[rows], scores[rows], None if given is None else given[rows])

    def estimate(each: MultilabelMeasure) -> MeasureEstimate:
        on_progress(each.label)
        values = [score(each, rows) for rows in draws]
        return MeasureEstimate.from_resamples(each.label, score(each, slice(None)), values)

    estimates = [estimate(each) for each in _listed_measures_multilabel_evaluation(measure)]
    names = [str(name) for name in labels.tolist()]
    resampled = np.stack([np.bincount(rows, minlength=len(truth)) * weight for rows in draws])
    counts, sampled, squared = (
        _label_counts(truth, scores > 0, rows) for rows in (weight, resampled, weight**2)
    )
    positives = truth[weight > 0].sum(axis=0)
    few_rows = describe_few_rows_class_rates(
        positives, names, MIN_LABEL_ROWS, "labels with fewer than {} positive rows"
    )
    caution = join_cautions(few_rows, sampler.caution)
    rates = estimate_class_rates(names, counts, sampled, None if sampler.has_groups else squared)
    return MultilabelEvaluation(estimates, rates, caution)


def _listed_measures_multilabel_evaluation(own: MultilabelMeasure) -> Iterator[MultilabelMeasure]:
    yield own
    for name in MULTILABEL_EVALUATION_MEASURES:
        if name != own.label:
            yield multilabel.get(name)


def _label_counts(
    positive: BoolArray, predicted: BoolArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hits, predicted rows and true rows of each label, for one or several vectors of weights."""
    hits, found, true = (
        weight @ part.astype(np.float64) for part in (positive & predicted, predicted, positive)
    )
    return hits, found, true
