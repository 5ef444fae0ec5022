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
from ..measures import ConfusionMeasure, ConstrainedMeasure, FunctionMeasure, Labels, Measure
from ._formatting import count_decimals, format_table, format_value
from ._row_sampler import RowSampler, join_cautions

#: Bootstrap resamples for measures of the confusion matrix, which are cheap.
N_CONFUSION_RESAMPLES = 2000
#: Bootstrap resamples for all other measures.
N_ROW_RESAMPLES = 200
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

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as values that JSON can hold."""
        return {
            "measures": [asdict(each) for each in self.rows],
            "confusion": self.confusion._asdict(),
            "labels": list(self.class_names),
            "caution": self.caution,
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
        caution = ["", f"caution: {self.caution}"] if self.caution else []
        return "\n".join([*lines, "", *self._confusion_lines(), *caution])

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
    if labels.n_pos <= 0 or labels.n_neg <= 0:
        raise InvalidInputError(
            f"all rows are {class_names[labels.n_neg <= 0]!r}: measures need rows of both classes."
        )
    scores = np.asarray(decision, dtype=np.float64)
    confusion = ConfusionCounts(*(float(cell) for cell in labels.confusion(scores > 0)))
    sampler = RowSampler(len(scores), groups)
    bootstrap = _Bootstrap(labels, scores, confusion, check_random_state(random_state), groups)

    def estimate(each: Measure) -> MeasureEstimate:
        name = f"{each.label}{BEST_THRESHOLD if isinstance(each, ConstrainedMeasure) else ''}"
        on_progress(name)
        return bootstrap.estimate(each, name)

    constraint = _check_constraint(measure, confusion, estimate)
    estimates = [estimate(each) for each in _own_then_registered(measure)]
    caution = join_cautions(describe_few_rows(labels.positive, class_names, labels.weight), sampler.caution)
    return Evaluation(estimates, confusion, class_names, constraint, caution)


def describe_few_rows(
    positive: BoolArray, class_names: tuple[str, str], weight: FloatArray | None = None
) -> str:
    """A caution if a class has only few of the rows, those of weight 0 left out, otherwise ""."""
    positive = positive if weight is None else positive[weight > 0]
    n_rows, n_positive = len(positive), int(positive.sum())
    fewest = min(n_positive, n_rows - n_positive)
    if fewest >= MIN_CLASS_ROWS:
        return ""
    name, verb = class_names[fewest == n_positive], "is" if fewest == 1 else "are"
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


class _Bootstrap:
    """Values of a measure on rows drawn with replacement."""

    def __init__(
        self,
        labels: Labels,
        scores: FloatArray,
        confusion: ConfusionCounts,
        random: np.random.RandomState,
        groups: ArrayLike | None,
    ) -> None:
        self.random, self.labels, self.all_scores = random, labels, scores
        order = np.argsort(scores, kind="stable")
        order = order if labels.weight is None else order[labels.weight[order] > 0]
        self.order, self.scores, self.positive = order, scores[order], labels.positive[order]
        self.weight = None if labels.weight is None else labels.weight[order]
        self.sampler = RowSampler(len(order), None if groups is None else np.asarray(groups)[order])
        is_plain = self.weight is None and groups is None
        self.cells = self._draw_cells(confusion) if is_plain else None
        self.seeds = random.randint(2**31 - 1, size=N_ROW_RESAMPLES)

    def _draw_cells(self, confusion: ConfusionCounts) -> FloatArray:
        """Confusion matrices of rows drawn with replacement: a multinomial draw of the four cells."""
        n = len(self.scores)
        cells = self.random.multinomial(n, np.array(confusion) / n, size=N_CONFUSION_RESAMPLES)
        return cells.T.astype(np.float64)

    def estimate(self, measure: Measure, name: str) -> MeasureEstimate:
        """The measure on all rows, and the interval of its values on the resamples."""
        value = measure.score(self.labels.positive, self.all_scores, self.labels.weight)
        return MeasureEstimate.from_resamples(name, float(value), self.values(measure))

    def values(self, measure: Measure) -> FloatArray:
        """The measure on each resample."""
        if self.cells is not None and isinstance(measure, ConfusionMeasure) and measure.needs_threshold:
            both = (self.cells[0] + self.cells[2] > 0) & (self.cells[1] + self.cells[3] > 0)
            return np.asarray(measure.value(*self.cells[:, both]))
        return np.array([self._value_on_resample(measure, seed) for seed in self.seeds])

    def _value_on_resample(self, measure: Measure, seed: int) -> float:
        rows = self.sampler.draw(seed)
        if not 0 < np.count_nonzero(self.positive[rows]) < len(rows):  # measures need both classes
            rows[:2] = np.argmin(self.positive), np.argmax(self.positive)
        rows.sort()
        weight = None if self.weight is None else self.weight[rows]
        drawn = measure.for_rows(self.order[rows])
        return drawn.score(self.positive[rows], self.scores[rows], weight)


def _own_then_registered(own: Measure) -> Iterable[Measure]:
    """The model's own measure, then all registered ones."""
    yield own
    for name in (each.name for each in measures.describe()):
        measure = measures.get(name, **PARAMETER_OVERRIDES.get(name, {}))
        if measure != own:
            yield measure
