"""Every measure on labelled rows, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .. import measures
from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ..measures import ConfusionMeasure, Labels, Measure

#: Resamples for measures of the table, which take no time, and for those of the order of rows.
TABLE_RESAMPLES, ORDER_RESAMPLES = 2000, 200

#: Parameters in the place of defaults that make a measure another one.
INSTEAD: dict[str, dict[str, Any]] = {"fbeta": {"beta": 2}}


@dataclass(frozen=True)
class Value:
    """A measure's value and the interval in which the bootstrap finds 95% of its values."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """All measures on some rows; prints as a table.

    Attributes
    ----------
    values : list of Value
        The measures, the model's own first.
    table : tuple of float
        True positives, false positives, false negatives and true negatives; weights if rows have any.
    labels : tuple of str
        What the negatives and the positives are called.
    """

    values: list[Value]
    table: tuple[float, float, float, float]
    labels: tuple[str, str]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        cells = dict(zip(("tp", "fp", "fn", "tn"), self.table, strict=True))
        return {
            "measures": [asdict(each) for each in self.values],
            "table": cells,
            "labels": list(self.labels),
        }

    def __str__(self) -> str:
        wide = max(len("measure"), *(len(each.name) for each in self.values))
        lines = [f"{'measure':<{wide}}  {'value':>9}  {'95% interval':>20}"]
        for each in self.values:
            interval = f"{each.low:.4f} to {each.high:.4f}"
            lines.append(f"{each.name:<{wide}}  {each.value:>9.4f}  {interval:>20}")
        return "\n".join([*lines, "", *self._confusion()])

    __repr__ = __str__

    def _confusion(self) -> list[str]:
        tp, fp, fn, tn = (f"{cell:,.6g}" if cell % 1 else f"{cell:,.0f}" for cell in self.table)
        negative, positive = (f"{label[:20]}" for label in self.labels)
        first = max(len(f"truly {label}") for label in (negative, positive))
        column = max(9, len(negative), len(positive), *(len(cell) for cell in (tp, fp, fn, tn)))
        return [
            f"{'predicted':<{first}}  {negative:>{column}}  {positive:>{column}}",
            f"{'truly ' + negative:<{first}}  {tn:>{column}}  {fp:>{column}}",
            f"{'truly ' + positive:<{first}}  {fn:>{column}}  {tp:>{column}}",
        ]


def evaluate(
    own: Measure,
    y: ArrayLike,
    decision: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: tuple[str, str] = ("negative", "positive"),
    random_state: Any = None,
    say: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """All measures of decisions, above 0 positive, on rows with known labels.

    Parameters
    ----------
    own : Measure
        The measure that comes first.
    y : array-like of bool
        Which rows are positive; both classes must be there.
    decision : array-like
        One number a row.
    sample_weight : array-like, optional
        Weights of the rows.
    labels : tuple of str
        Names of the two classes.
    random_state : int, RandomState instance or None
        Seed of the bootstrap, which draws rows with replacement.
    say : callable, optional
        Is told the name of each measure before its resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import measures
    >>> from capo.inspection._evaluation import evaluate
    >>> found = evaluate(measures.get("f1"), [1, 1, 0, 0, 0] * 20, [2.0, -1, -1, -1, 1] * 20, random_state=0)
    >>> found.values[0].name, found.values[0].value
    ('f1', 0.5)
    >>> found.table
    (20.0, 20.0, 20.0, 40.0)
    """
    known = Labels.lenient(y, sample_weight)
    if known.n_pos <= 0 or known.n_neg <= 0:
        raise InvalidInputError(
            f"all rows are {labels[known.n_neg <= 0]!r}: measures need rows of both classes."
        )
    scores = np.asarray(decision, dtype=np.float64)
    table = tuple(float(cell) for cell in known.table(scores > 0))
    draw = _Bootstrap(known, scores, table, check_random_state(random_state))
    values = []
    for measure in _all(own):
        say(measure.label)
        low, high = np.quantile(draw(measure), (0.025, 0.975))
        value = measure.score(known.positive, scores, known.weight)
        values.append(Value(measure.label, float(value), float(low), float(high)))
    return Evaluation(values, table, labels)  # type: ignore[arg-type]


class _Bootstrap:
    """The values of a measure on rows drawn with replacement."""

    def __init__(
        self, labels: Labels, scores: FloatArray, table: tuple[float, ...], random: np.random.RandomState
    ) -> None:
        self.labels, self.random = labels, random
        order = np.argsort(scores, kind="stable")
        order = order if labels.weight is None else order[labels.weight[order] > 0]
        self.scores, self.positive = scores[order], labels.positive[order]
        self.weight = None if labels.weight is None else labels.weight[order]
        self.cells = None if self.weight is not None else self._cells(table)
        self.seeds = random.randint(2**31 - 1, size=ORDER_RESAMPLES)

    def _cells(self, table: tuple[float, ...]) -> FloatArray:
        """Confusion tables of rows drawn with replacement: a multinomial draw of the four cells."""
        n = len(self.scores)
        return self.random.multinomial(n, np.array(table) / n, size=TABLE_RESAMPLES).T.astype(np.float64)

    def __call__(self, measure: Measure) -> FloatArray:
        if self.cells is not None and isinstance(measure, ConfusionMeasure) and measure.needs_threshold:
            both = (self.cells[0] + self.cells[2] > 0) & (self.cells[1] + self.cells[3] > 0)
            return np.asarray(measure.value(*self.cells[:, both]))
        return np.array([self._resampled(measure, seed) for seed in self.seeds])

    def _resampled(self, measure: Measure, seed: int) -> float:
        n = len(self.scores)
        drawn = np.random.default_rng(seed).integers(n, size=n)
        if not 0 < np.count_nonzero(self.positive[drawn]) < n:  # both classes, so that there is a value
            drawn[:2] = np.argmin(self.positive), np.argmax(self.positive)
        drawn.sort()
        weight = None if self.weight is None else self.weight[drawn]
        return measure.score(self.positive[drawn], self.scores[drawn], weight)


def _all(own: Measure) -> Iterable[Measure]:
    """The model's own measure, then all others with their defaults."""
    yield own
    for name in (each.name for each in measures.describe()):
        measure = measures.get(name, **INSTEAD.get(name, {}))
        if measure != own:
            yield measure
