"""Evaluate decisions by every measure, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .. import measures
from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidInputError
from ..measures import ConstrainedMeasure, FunctionMeasure, Labels, Measure
from ._bootstrap import Bootstrap, GroupBootstrap, RowBootstrap
from ._formatting import count_decimals, format_table, format_value
from ._row_sampler import RowSampler, join_cautions
from ._score_groups import ScoreGroups

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
