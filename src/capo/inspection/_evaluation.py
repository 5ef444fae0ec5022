"""Evaluation on labeled rows, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._compat import FloatArray
from ..decisions import RowPrices, Savings, estimate_savings, format_money
from ..measures import ConstrainedMeasure, FunctionMeasure, Labels, Measure, ratio
from ._bootstrap import Bootstrap, ScoreGroups, describe_few_groups
from ._formatting import count_decimals, format_interval, format_table, format_value
from ._targets import BinaryTargets, ClassTargets, make_targets, negative_and_positive

#: Quantiles of the resampled values that bound the 95% interval.
INTERVAL_QUANTILES = (0.025, 0.975)
#: Follows the name of a rate that is computed from the labels that the model predicts.
AT_THRESHOLD = " at the model's threshold"
#: Follows the name of a measure that is the best value of all thresholds on the rows.
BEST_THRESHOLD = ", best threshold"
#: Matrices of more classes are printed as their largest confusions.
MAX_SHOWN_CLASSES = 10
#: The rates of each of many classes or labels.
CLASS_RATES = ("precision", "recall", "f1")


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
        for rate in CLASS_RATES:
            if isnan(found[rate]["value"]):
                found[rate] |= {"value": None, "low": None, "high": None}
        return found


@dataclass(frozen=True)
class Evaluation:
    """All measures on a set of rows; prints as tables.

    Attributes
    ----------
    estimates : list of MeasureEstimate
        The measures, the model's own first. A measure with a constraint is the best value of all thresholds
        on these rows, as its name says.
    confusion : ConfusionCounts, ndarray or None
        The confusion matrix. For many classes, true classes are in rows and predicted classes in columns;
        label matrices have none.
    class_names : sequence of str
        Names of the negative and the positive class, of the classes, or of the labels.
    constraint : ConstraintResult, optional
        The rates at the model's threshold, if its measure has a constraint.
    caution : str
        What limits the trust in the values; empty if there is nothing.
    max_error : float
        The largest error of a value, if the rows were counted in bins of scores; 0 if all values are exact.
    classes : list of ClassRates
        The rates of each class or label, if there are more than two classes.
    savings : capo.decisions.Savings, optional
        The money of the decisions, if rows have prices.

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
    confusion: ConfusionCounts | FloatArray | None
    class_names: Sequence[str]
    constraint: ConstraintResult | None = None
    caution: str = ""
    max_error: float = 0.0
    classes: list[ClassRates] = field(default_factory=list)
    savings: Savings | None = None

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        confusion: Any = self.confusion
        if isinstance(confusion, ConfusionCounts):
            confusion = confusion._asdict()
        elif confusion is not None:
            confusion = confusion.tolist()
        limit = self.constraint
        return {
            "measures": [asdict(each) for each in self.rows],
            "confusion": confusion,
            "labels": list(self.class_names),
            "classes": [each.to_dict() for each in self.classes],
            "caution": self.caution,
            "max_error": self.max_error,
            "constraint": limit and {"text": limit.constraint, "is_satisfied": limit.is_satisfied},
            "savings": self.savings and self.savings.to_dict(),
        }

    @property
    def rows(self) -> list[MeasureEstimate]:
        """The rates at the model's threshold, if the measure has a constraint, and all measures."""
        own = [self.constraint.rate, self.constraint.limited_rate] if self.constraint else []
        return [*own, *self.estimates]

    def largest_confusions(self, n: int = MAX_SHOWN_CLASSES) -> list[tuple[str, str, float]]:
        """Return the largest cells off the diagonal: true class, predicted class and number of rows."""
        confusion = self._matrix
        wrong = confusion - np.diag(np.diag(confusion))
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        cells = zip(*np.unravel_index(order, wrong.shape), strict=True)
        names = self.class_names
        return [(names[j], names[k], float(wrong[j, k])) for j, k in cells if wrong[j, k] > 0]

    def __str__(self) -> str:
        parts = []
        if self.savings is not None:
            totals = {
                "total with the model": self.savings.total,
                "calling no row positive": self.savings.total_of_none,
                "calling every row positive": self.savings.total_of_all,
            }
            money = [(name, format_money(value)) for name, value in totals.items()]
            parts.append([*format_table(money, (26, 0)), f"the model {self.savings}"])
        estimates = [(each.name, *format_interval(each.value, each.low, each.high)) for each in self.rows]
        parts.append(format_table([("measure", "value", "95% interval"), *estimates], (0, 9, 20)))
        if self.constraint:
            parts.append([str(self.constraint)])
        if self.classes:
            parts.append(self._format_rates())
        if self.confusion is not None:
            parts.append(self._format_confusion())
        if self.max_error:
            sentence = "Measures that depend on the order of the scores are exact to"
            parts.append([f"{sentence} {self.max_error:.1g}."])
        if self.caution:
            parts.append([f"caution: {self.caution}"])
        return "\n\n".join("\n".join(lines) for lines in parts)

    __repr__ = __str__

    @property
    def _matrix(self) -> FloatArray:
        if isinstance(self.confusion, ConfusionCounts):
            tp, fp, fn, tn = self.confusion
            return np.array([[tn, fp], [fn, tp]])
        return np.asarray(self.confusion)

    def _format_rates(self) -> list[str]:
        noun = "label" if self.confusion is None else "class"
        rows: list[tuple[str, ...]] = [(noun, "rows", "precision", "recall", "F1")]
        for each in self.classes:
            rates = [
                "-" if isnan(rate.value) else f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})"
                for rate in (each.precision, each.recall, each.f1)
            ]
            rows.append((each.name[:30], format_value(each.n_rows, 1 if each.n_rows % 1 else 0), *rates))
        return format_table(rows, (0, 6, 24, 24, 24))

    def _format_confusion(self) -> list[str]:
        confusion = self._matrix
        decimals = min(count_decimals(confusion.flat), 3) if (confusion % 1).any() else 0
        if len(confusion) > MAX_SHOWN_CLASSES:
            largest = [
                (true[:30], guess[:30], format_value(count, decimals))
                for true, guess, count in self.largest_confusions()
            ]
            if not largest:
                return ["no row is predicted as another class"]
            return format_table([("largest confusions: actual", "predicted", "rows"), *largest], (0, 0, 6))
        names = [name[:20] for name in self.class_names]
        rows = [("predicted", *names)]
        for name, counts in zip(names, confusion.tolist(), strict=True):
            rows.append((f"actual {name}", *(format_value(each, decimals) for each in counts)))
        return format_table(rows, (0, *([9 if len(names) == 2 else 6] * len(names))))


def evaluate(
    measure: Any,
    y: ArrayLike,
    outputs: ArrayLike,
    *,
    prices: RowPrices | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    class_names: ArrayLike = ("negative", "positive"),
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Evaluation:
    """Evaluate the outputs of a model on labeled rows by every measure.

    Parameters
    ----------
    measure : Measure, MulticlassMeasure, MultilabelMeasure or fitted CAPOClassifier
        The measure to list first; others of the same kind follow. A fitted model stands for its measure, its
        class names and its decision rule.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        For two classes, which rows are positive; both classes must occur. For many classes the labels, for
        labels the label matrix.
    outputs : array-like of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
        For two classes and for labels the output of a decision function, which predicts what is above 0; for
        many classes the probabilities, in the order of `class_names`, of which the model's rule or the
        largest one predicts a class.
    prices : RowPrices, optional
        The prices of the rows: `outputs`, those of ``model.positive_decision``, are then evaluated at the
        threshold of each row, also in money.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient: the bootstrap then draws whole groups.
    class_names : array-like
        The negative and the positive class; the sorted classes; or the labels.
    random_state : int, RandomState instance or None
        Seed of the bootstrap, which draws rows with replacement. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with the name of each measure before it is resampled.

    Returns
    -------
    Evaluation
        The value and the 95% interval of each measure, the confusion matrix, and the rates of each of many
        classes or labels.

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

    Many classes:

    >>> from capo.measures import multiclass
    >>> y = np.array(["a", "b", "c", "c"] * 10)
    >>> p = np.eye(3)[np.array([0, 1, 2, 1] * 10)] * 0.7 + 0.1
    >>> names = ["a", "b", "c"]
    >>> evaluation = evaluate(multiclass.get("accuracy"), y, p, class_names=names, random_state=0)
    >>> evaluation.confusion.astype(int).tolist()
    [[10, 0, 0], [0, 10, 0], [0, 10, 10]]
    """
    scores, savings = np.asarray(outputs, dtype=np.float64), None
    weight = Labels.from_arrays(np.zeros(len(scores)), sample_weight, both_classes=False).weight
    model = measure if hasattr(measure, "measure_") else None
    if model is not None:
        measure, class_names = model.measure_, negative_and_positive(model)
    if prices is not None:
        measure = prices.measure
        scores = scores + model.decision_.log_odds - prices.log_odds if model else scores
        positive, seed = np.asarray(y, dtype=bool), random_state or 0
        savings = estimate_savings(prices, positive, scores > 0, weight, groups=groups, random_state=seed)
    targets = make_targets(measure, y, class_names)
    if isinstance(targets, ClassTargets):
        codes = scores.argmax(axis=1) if model is None else model.rule_.predict(scores)
        scores = np.column_stack((scores, codes))
    targets.check_classes(weight)
    few_rows = targets.describe_few_rows(targets.class_sizes(weight))
    # Measures of sorted scores are fast, and rows of weight 0 have no influence on the resamples.
    is_binary = isinstance(targets, BinaryTargets)
    rows = np.argsort(scores, kind="stable") if is_binary else np.arange(len(scores))
    if weight is not None:
        rows = rows[weight[rows] > 0]
        weight = weight[rows]
    group = None if groups is None else np.asarray(groups)[rows]
    targets, scores = targets.take(rows), scores[rows]
    bootstrap = Bootstrap.of_rows(targets, scores, weight, group, check_random_state(random_state))
    found = _estimate_all(bootstrap, weight, on_progress)
    if not is_binary:
        found = replace(found, classes=_estimate_class_rates(bootstrap, weight, group is None))
    guarantee = getattr(model, "guarantee_", None)
    asks = guarantee is not None and guarantee.abstain_label is not None
    asked = "rows that get no label count as predicted negative" if asks else ""
    caution = "; ".join(filter(None, (asked, few_rows, describe_few_groups(group))))
    return replace(found, caution=caution, savings=savings)


def evaluate_groups(
    measure: Measure,
    groups: ScoreGroups,
    *,
    class_names: ArrayLike = ("negative", "positive"),
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
    targets = make_targets(measure, groups.positive, class_names)
    targets.check_classes(groups.count)
    bootstrap = Bootstrap.of_counts(targets, groups, check_random_state(random_state))
    found = _estimate_all(bootstrap, groups.count, on_progress)
    sizes = np.bincount(groups.positive, groups.count, 2).astype(np.intp)
    ranges = [groups.score_range(each) for each in targets.listed_measures()]
    max_error = max(high - low for low, high in ranges)
    return replace(found, caution=targets.describe_few_rows(sizes), max_error=max_error)


def _estimate_all(
    bootstrap: Bootstrap, weight: FloatArray | None, on_progress: Callable[[str], None]
) -> Evaluation:
    """All measures with their intervals, the confusion matrix, and a constraint at the model's threshold."""
    targets, outputs = bootstrap.targets, bootstrap.outputs
    names, own, constraint = [str(name) for name in targets.names.tolist()], targets.measure, None
    confusion: Any = None
    if targets.matrix_measures:
        cells = targets.count(outputs, weight)
        confusion = ConfusionCounts(*cells.tolist()) if len(names) == 2 else cells.reshape(len(names), -1)

    def estimate(measure: Any) -> MeasureEstimate:
        name = f"{measure.label}{BEST_THRESHOLD if isinstance(measure, ConstrainedMeasure) else ''}"
        on_progress(name)
        low, high = np.nanquantile(bootstrap.resample(measure), INTERVAL_QUANTILES).tolist()
        return MeasureEstimate(name, targets.score(measure, outputs, weight), low, high)

    if isinstance(own, ConstrainedMeasure):
        constraint = ConstraintResult(
            estimate(FunctionMeasure(own.rate, f"{own.rate_name}{AT_THRESHOLD}")),
            estimate(FunctionMeasure(own.limited_rate, f"{own.limited_rate_name}{AT_THRESHOLD}")),
            own.constraint,
            bool(own.is_satisfied(*confusion)),
        )
    estimates = [estimate(each) for each in targets.listed_measures()]
    return Evaluation(estimates, confusion, names, constraint)


def _estimate_class_rates(
    bootstrap: Bootstrap, weight: FloatArray | None, are_independent: bool
) -> list[ClassRates]:
    """Estimate precision, recall and F1 of each class or label.

    A rate of 0 or 1 is the same in all resamples, which says nothing about its error. If rows are independent
    of each other, its interval reaches to the rate at which such a result has a probability of 2.5%, the
    bound of Clopper and Pearson.
    """
    targets, outputs = bootstrap.targets, bootstrap.outputs
    mass = np.ones(len(outputs)) if weight is None else weight
    counts, squared = (targets.class_counts(outputs, each) for each in (mass, mass**2))
    values = _rates(counts)
    with warnings.catch_warnings():  # a rate may be defined in no resample
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanquantile(_rates(bootstrap.class_counts()), INTERVAL_QUANTILES, axis=1)
    if are_independent:
        # The numbers of rows that each rate is a share of; with weights, those of equal weight (Kish).
        masses, squares = (np.vstack((each[1:], each[1] + each[2] - each[0])) for each in (counts, squared))
        reach = INTERVAL_QUANTILES[0] ** (1.0 / np.maximum(ratio(masses**2, squares), 1.0))
        bounds = np.stack((reach, 1.0 - reach))
        # F1 is 2 j / (1 + j) for j, the share of hits among the rows that are predicted or true.
        bounds[:, 2] = 2.0 * bounds[:, 2] / (1.0 + bounds[:, 2])
        low, high = np.where(values >= 1.0, bounds[0], low), np.where(values <= 0.0, bounds[1], high)
    numbers = np.stack((values, low, high), axis=-1).tolist()
    return [
        ClassRates(
            str(name),
            float(counts[2, k]),
            *(MeasureEstimate(rate, *each[k]) for rate, each in zip(CLASS_RATES, numbers, strict=True)),
        )
        for k, name in enumerate(targets.names.tolist())
    ]


def _rates(counts: FloatArray) -> FloatArray:
    """Precision, recall and F1 from hits, predicted and true rows; NaN where they are not defined."""
    hits, predicted, true = counts
    with np.errstate(invalid="ignore"):
        return np.stack([hits / predicted, hits / true, 2.0 * hits / (predicted + true)])
