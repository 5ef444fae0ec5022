"""Evaluation on labeled rows, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrc, betaincinv
from sklearn.utils import check_random_state

from .._compat import ArrayLike, FloatArray, NDArray
from ..decisions import Constraint, Guarantee, RowPrices, Savings, estimate_savings, format_money
from ..exceptions import InvalidInputError
from ..measures import ConstrainedMeasure, FunctionMeasure, Labels, Measure, ratio
from ..tables.checks import canonical_segments
from ._bootstrap import N_RESAMPLES, TAIL, Bootstrap, RandomWeights, ScoreGroups, describe_few_groups
from ._formatting import count_decimals, format_interval, format_table, format_value
from ._targets import BinaryTargets, ClassTargets, LabelTargets, Targets, make_targets, negative_and_positive

#: Rates of two classes at the model's threshold.
RATES: dict[str, Callable[..., FloatArray]] = {
    "precision": lambda tp, fp, fn, tn: ratio(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: ratio(tp, tp + fn),
    "specificity": lambda tp, fp, fn, tn: ratio(tn, tn + fp),
    "predicted positive": lambda tp, fp, fn, tn: ratio(tp + fp, tp + fp + fn + tn),
}
#: Follows the name of a measure that is the best value of all thresholds on the rows.
BEST_THRESHOLD = ", best threshold"
#: For more classes, only the largest confusions are printed.
MAX_SHOWN_CLASSES = 10
#: Of more rows, resamples are drawn from groups of rows with similar scores.
MAX_RESAMPLED_ROWS = 10_000
#: Rows contradict a promise if the p-value of their test is at most this.
SIGNIFICANCE_LEVEL = 0.05
#: Cautions about rows that get no label, and about promises that cannot be tested.
ASKED_ROWS = "{:,} rows that get no label count as predicted negative"
UNTESTED_SEGMENTS = (
    "the promises are not tested, and rankings compare scores relative to the threshold of their segment, "
    "since the segments of the rows are not known"
)
UNTESTED_LABELS = "rows that get no label count as predicted negative, and promises about them are not tested"
#: The rates of each of many classes or labels.
CLASS_RATES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class MeasureEstimate:
    """A measure's value and its 95% interval.

    Attributes
    ----------
    name : str
        The measure.
    value : float
        Its value on all rows.
    low, high : float
        The ends of the interval; NaN for the best value of all thresholds on these rows, which is higher than
        on new rows.
    """

    name: str
    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """The fields as values that JSON can hold; None for what is not defined."""
        return {key: None if each != each else each for key, each in asdict(self).items()}  # noqa: PLR0124


@dataclass(frozen=True)
class PromiseTest:
    """Whether rows contradict a promise of a model: an exact binomial test.

    Attributes
    ----------
    constraint : capo.decisions.Constraint
        The promise of the model.
    confidence : float
        The probability that all promises of the model hold.
    n_failures, n_trials : int
        The rows that count against it, and the rows that it refers to. With groups, one row of each group.
    p_value : float
        The probability of as many failures or more where the promise just holds; with segments, times their
        number.
    segment : str
        The segment of the promise, if there are segments.
    """

    constraint: Constraint
    confidence: float
    n_failures: int
    n_trials: int
    p_value: float
    segment: str = ""

    @property
    def verdict(self) -> str:
        """Whether the rows contradict the promise, as text."""
        if not self.n_trials:
            trials = self.constraint.rate.failure_phrase.partition(" were")[0]
            return f"these rows cannot test it: there are no {trials}"
        verb = "contradict" if self.p_value <= SIGNIFICANCE_LEVEL else "do not contradict"
        counts = f"{self.n_failures:,} of {self.n_trials:,} {self.constraint.rate.failure_phrase}"
        return f"these rows {verb} it: {counts} (p = {self.p_value:.2g})"

    def __str__(self) -> str:
        confidence = f"{100 * self.confidence:.10g}% confidence"
        where = f" for {self.segment}" if self.segment else ""
        return f"promise: {self.constraint}{where} with {confidence}; {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """The test as values for JSON."""
        return {**asdict(self), "constraint": str(self.constraint), "verdict": self.verdict}


class ConfusionCounts(NamedTuple):
    """The confusion matrix: numbers of rows, or sums of weights."""

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
        return {**asdict(self), **{rate: getattr(self, rate).to_dict() for rate in CLASS_RATES}}


@dataclass(frozen=True)
class Evaluation:
    """Measures on a set of rows; prints as tables.

    Attributes
    ----------
    estimates : list of MeasureEstimate
        The measures: the model's own, for two classes the rates at its threshold, then others. If it has a
        constraint, the first two are the rate that it maximizes and the one that it limits, at the model's
        threshold; the measure itself is the best value of all thresholds on these rows, as its name says.
    confusion : ConfusionCounts, ndarray or None
        The confusion matrix. For many classes, true classes are in rows and predicted classes in columns;
        label matrices have none.
    class_names : sequence of str
        Names of the negative and the positive class, of the classes, or of the labels.
    constraint : str
        The constraint of the measure in words; empty if it has none.
    is_satisfied : bool
        Whether the rows satisfy the constraint at the model's threshold.
    promises : tuple of PromiseTest
        Whether these rows contradict the promises of the model, if there are any.
    caution : str
        A reason to doubt the values; empty if there is none.
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
    constraint: str = ""
    is_satisfied: bool = True
    promises: tuple[PromiseTest, ...] = ()
    caution: str = ""
    max_error: float = 0.0
    classes: list[ClassRates] = field(default_factory=list)
    savings: Savings | None = None

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values for JSON."""
        confusion: Any = self.confusion
        if isinstance(confusion, ConfusionCounts):
            confusion = confusion._asdict()
        elif confusion is not None:
            confusion = confusion.tolist()
        limit = {"text": self.constraint, "is_satisfied": self.is_satisfied} if self.constraint else None
        return {
            "measures": [each.to_dict() for each in self.estimates],
            "confusion": confusion,
            "labels": list(self.class_names),
            "classes": [each.to_dict() for each in self.classes],
            "caution": self.caution,
            "max_error": self.max_error,
            "constraint": limit,
            "promises": [each.to_dict() for each in self.promises],
            "savings": self.savings and self.savings.to_dict(),
        }

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
        estimates = []
        for each in self.estimates:
            value, interval = format_interval(each.value, each.low, each.high)
            estimates.append((each.name, value, "-" if isnan(each.low) else interval))
        parts.append(format_table([("measure", "value", "95% interval"), *estimates], (0, 9, 20)))
        if self.constraint:
            state = "satisfied" if self.is_satisfied else "NOT satisfied"
            parts.append([f"constraint: {self.constraint}; {state} at the model's threshold"])
        if self.promises:
            parts.append([str(each) for each in self.promises])
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
    segments: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    class_names: ArrayLike = ("negative", "positive"),
    all_measures: bool = False,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Evaluation:
    """Evaluate the outputs of a model on labeled rows, with 95% intervals.

    `capo.dask.evaluate` does the same for rows on a cluster, and `capo evaluate` for a file.

    The intervals are quantiles of a Bayesian bootstrap with pseudo-rows in each cell of the confusion matrix;
    those of the rates of many classes and labels are exact. For two classes they cover the value on new rows
    with a probability of 0.9 or more from about 10 rows of the rarer class on.

    Parameters
    ----------
    measure : Measure, MulticlassMeasure, MultilabelMeasure or fitted CAPOClassifier
        The measure to list first. A fitted model provides its measure, its class names, its decision rule and
        its guarantee, which is tested if the rows have no weights.
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
    segments : array-like of shape (n_samples,), optional
        The segment of each row, to test the promises of a model that has them for segments, and to compare
        the scores of all rows in rankings.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient: the bootstrap then weights whole groups.
    class_names : array-like
        The negative and the positive class; the sorted classes; or the labels.
    all_measures : bool, default=False
        Whether to list all measures of the same kind, and not only the first one and the rates at the model's
        threshold: precision, recall, specificity and the share of predicted positives.
    random_state : int, RandomState instance or None
        Seed of the bootstrap. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with a message after each resample.

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
        decided = prices.decide(scores + prices.log_odds)
        savings = estimate_savings(prices, positive, decided, weight, groups=groups, random_state=seed)
    targets = make_targets(measure, y, class_names)
    if isinstance(targets, ClassTargets):
        codes = scores.argmax(axis=1) if model is None else model.rule_.predict(scores)
        scores = np.column_stack((scores, codes))
    # Measures of sorted scores are fast, and rows of weight 0 have no influence on the resamples.
    is_binary = isinstance(targets, BinaryTargets)
    rows = np.argsort(scores, kind="stable") if is_binary else np.arange(len(scores))
    if weight is not None:
        rows = rows[weight[rows] > 0]
        weight = weight[rows]
    group = None if groups is None else np.asarray(groups)[rows]
    targets, scores = targets.take(rows), scores[rows]
    targets.check_classes()
    random = check_random_state(random_state)
    if is_binary and weight is None and group is None and prices is None and len(rows) > MAX_RESAMPLED_ROWS:
        binned = ScoreGroups.from_rows(targets.truth, scores)
        bin_targets = make_targets(measure, binned.positive, class_names)
        bootstrap = Bootstrap(bin_targets, binned.position, None, None, random, binned.count)
    else:
        bootstrap = Bootstrap(targets, scores, weight, group, random)
    found = _estimate_all(targets, scores, weight, bootstrap, all_measures, on_progress)
    if not is_binary:
        found = replace(found, classes=_estimate_class_rates(targets, scores, weight, group, random))
    guarantee = getattr(model, "guarantee_", None) if weight is None else None
    cautions = [targets.describe_few_rows(), describe_few_groups(group)]
    if guarantee is not None:
        names = None if segments is None else canonical_segments(np.ravel(segments).tolist())
        if names is not None and len(names) != np.shape(outputs)[0]:
            raise InvalidInputError(f"segments must have one value for each row: got {len(names):,} values.")
        names = None if names is None else names[rows]
        found = _rank_all_rows(found, guarantee, targets, scores, group, names, all_measures, random_state)
        tests, more = _test_segments(guarantee, targets, scores, group, names, random)
        found, cautions = replace(found, promises=tests), [*more, *cautions]
    elif savings is not None and savings.n_asked:
        cautions.insert(0, ASKED_ROWS.format(savings.n_asked))
    return replace(found, caution="; ".join(filter(None, cautions)), savings=savings)


def evaluate_groups(
    measure: Measure,
    groups: ScoreGroups,
    *,
    class_names: ArrayLike = ("negative", "positive"),
    guarantee: Guarantee | None = None,
    all_measures: bool = False,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Evaluation:
    """Evaluate decisions on labeled rows that are counted by class and score.

    Measures at the model's threshold are those of the rows. All others are those of rows whose scores are
    equal within each bin; `Evaluation.max_error` is the largest error that this can cause.

    Parameters
    ----------
    measure : Measure
        The measure to list first.
    groups : ScoreGroups
        The numbers of rows.
    guarantee : capo.decisions.Guarantee, optional
        The guarantee of the model, to test on the rows.
    class_names, all_measures, random_state, on_progress
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
    bootstrap = Bootstrap(
        targets, groups.position, None, None, check_random_state(random_state), groups.count
    )
    found = _estimate_all(targets, groups.position, groups.count, bootstrap, all_measures, on_progress)
    ranges = [groups.score_range(each) for each in _list_measures(targets, all_measures)]
    untested = ""
    if guarantee is not None and (guarantee.segments or guarantee.abstain_label is not None):
        untested = UNTESTED_SEGMENTS if guarantee.segments else UNTESTED_LABELS
    return replace(
        found,
        promises=()
        if guarantee is None
        else _test_promises(guarantee, targets, groups.position, groups.count),
        caution="; ".join(filter(None, (untested, targets.describe_few_rows(groups.count)))),
        max_error=max(high - low for low, high in ranges),
    )


def _list_measures(targets: Targets, all_measures: bool) -> list[Any]:
    """The model's own measure, the rates of two classes at its threshold, and all others if wanted."""
    own, limits, rates, at_threshold = targets.measure, {}, {}, []
    if isinstance(own, ConstrainedMeasure):
        at_threshold = [own.at_threshold()]
        limits = {own.rate_name: own.rate, own.limited_rate_name: own.limited_rate}
    if isinstance(targets, BinaryTargets):
        rates = {name: rate for name, rate in RATES.items() if name not in limits}
    first, later = ([FunctionMeasure(rate, name) for name, rate in each.items()] for each in (limits, rates))
    return [*at_threshold, *first, own, *later, *(targets.other_measures() if all_measures else ())]


def _estimate_all(
    targets: Targets,
    outputs: FloatArray,
    weight: FloatArray | None,
    bootstrap: Bootstrap,
    all_measures: bool,
    on_progress: Callable[[str], None],
) -> Evaluation:
    """Measures with their intervals, the confusion matrix, and a constraint at the model's threshold."""
    listed, own, estimates = _list_measures(targets, all_measures), targets.measure, []
    resampled = [each for each in listed if not isinstance(each, ConstrainedMeasure)]
    ends = iter(bootstrap.intervals(resampled, on_progress).tolist())
    for each in listed:
        value = targets.score(each, outputs, weight)
        if isinstance(each, ConstrainedMeasure):  # its threshold is chosen on these rows
            estimates.append(MeasureEstimate(f"{each.label}{BEST_THRESHOLD}", value, np.nan, np.nan))
        else:
            low, high = next(ends)
            estimates.append(MeasureEstimate(each.label, value, min(low, value), max(high, value)))
    names = [str(name) for name in targets.names.tolist()]
    if isinstance(targets, LabelTargets):
        return Evaluation(estimates, None, names)
    counts = targets.count(outputs, weight)
    if counts.ndim > 1:
        return Evaluation(estimates, counts, names)
    found = Evaluation(estimates, ConfusionCounts(*counts.tolist()), names)
    if isinstance(own, ConstrainedMeasure):
        found = replace(found, constraint=own.constraint, is_satisfied=bool(own.is_satisfied(*counts)))
    return found


def _rank_all_rows(
    found: Evaluation,
    guarantee: Guarantee,
    targets: Targets,
    scores: FloatArray,
    group: NDArray[Any] | None,
    names: NDArray[Any] | None,
    all_measures: bool,
    random_state: Any,
) -> Evaluation:
    """With segments, replace the values of rankings: they compare the log-odds of all rows."""
    listed = _list_measures(targets, all_measures)
    if not guarantee.segments or names is None or all(each.needs_threshold for each in listed):
        return found
    ranked = evaluate(
        targets.measure,
        targets.truth,
        scores + guarantee.for_rows(names).cut,
        groups=group,
        class_names=targets.names,
        all_measures=all_measures,
        random_state=random_state,
    )
    values = zip(listed, found.estimates, ranked.estimates, strict=True)
    return replace(found, estimates=[own if each.needs_threshold else rank for each, own, rank in values])


def _test_segments(
    guarantee: Guarantee,
    targets: Targets,
    scores: FloatArray,
    group: NDArray[Any] | None,
    names: NDArray[Any] | None,
    random: np.random.RandomState,
) -> tuple[tuple[PromiseTest, ...], list[str]]:
    """Test the promises for all rows or for each segment; also return cautions."""
    rows = np.arange(len(scores))
    if group is not None:  # a random row of each group
        rows = random.permutation(len(scores))
        rows = rows[np.unique(group[rows], return_index=True)[1]]
    parts = {"": (guarantee, rows)}
    if guarantee.segments and names is not None:
        guarantee = guarantee.for_rows(names)
        parts = {name: (each, rows[names[rows] == name]) for name, each in guarantee.segments.items()}
    tests = [
        replace(test, segment=name, p_value=min(1.0, test.p_value * len(parts)))
        for name, (each, at) in parts.items()
        for test in _test_promises(each, targets.take(at), scores[at])
    ]
    between = (scores <= 0) & (scores + (guarantee.cut - guarantee.lower_cut) > 0)
    cautions = [ASKED_ROWS.format(int(between.sum()))] if between.any() else []
    if guarantee.segments and names is None:
        cautions = [UNTESTED_SEGMENTS]
    return tuple(tests), cautions


def _test_promises(
    guarantee: Guarantee, targets: Targets, outputs: FloatArray, weight: FloatArray | None = None
) -> tuple[PromiseTest, ...]:
    """Test the promises of a guarantee that are kept by a threshold; outputs are above 0 above the upper one.

    Of rows in bins, `weight` are their numbers, and only promises about the upper threshold can be tested.
    """
    tests = []
    for promise in guarantee.promises:
        constraint = promise.constraint
        to_lower = guarantee.cut - guarantee.lower_cut if constraint.rate.safe_end == "all" else 0.0
        if promise.is_certified and (weight is None or to_lower == 0.0):
            cells = targets.count(outputs + to_lower, weight).astype(int).tolist()
            counts = dict(zip(ConfusionCounts._fields, cells, strict=True))
            rate = constraint.rate
            failures, trials = (sum(counts[name] for name in cell) for cell in (rate.failures, rate.trials))
            p_value = float(bdtrc(failures - 1, trials, constraint.max_failure_rate))
            tests.append(PromiseTest(constraint, guarantee.confidence, failures, trials, p_value))
    return tuple(tests)


def _estimate_class_rates(
    targets: Any,
    outputs: FloatArray,
    weight: FloatArray | None,
    groups: NDArray[Any] | None,
    random: np.random.RandomState,
) -> list[ClassRates]:
    """Estimate precision, recall and F1 of each class or label.

    The intervals are those of Clopper and Pearson for a share of independent rows. F1 is 2 j / (1 + j) for j,
    the share of hits among the rows that are predicted or true. With groups, intervals are at least as wide
    as those of a bootstrap of the groups.
    """
    mass = np.ones(len(outputs)) if weight is None else weight
    counts, squared = (targets.class_counts(outputs, each) for each in (mass, mass**2))
    values = _rates(counts)
    # The numbers of rows that each rate is a share of; with weights, those of equal weight (Kish).
    masses, squares = (np.vstack((each[1:], each[1] + each[2] - each[0])) for each in (counts, squared))
    n_rows, hits = ratio(masses**2, squares), ratio(counts[0], masses)
    hits = hits * n_rows
    low = np.where(hits > 0, betaincinv(hits, n_rows - hits + 1.0, TAIL), 0.0)
    high = np.where(hits < n_rows, betaincinv(hits + 1.0, n_rows - hits, 1.0 - TAIL), 1.0)
    low[2], high[2] = (2.0 * each[2] / (1.0 + each[2]) for each in (low, high))
    if groups is not None:
        weights = RandomWeights(mass, groups, N_RESAMPLES, random)
        rates = np.stack([_rates(targets.class_counts(outputs, each)) for each in weights])
        low = np.fmin(low, np.quantile(rates, TAIL, axis=0))
        high = np.fmax(high, np.quantile(rates, 1.0 - TAIL, axis=0))
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
