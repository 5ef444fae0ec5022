"""Importance of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._compat import FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..learning.folds import check_groups
from ._bootstrap import RowSampler, join_cautions
from ._evaluation import describe_few_rows
from ._formatting import count_decimals, format_table, format_value
from ._permutation import (
    N_STD_ERRORS,
    BinaryOutputs,
    ColumnEffect,
    ColumnGroup,
    EffectScale,
    ExplainedTable,
    PermutedOutputs,
    RowBootstrap,
    ScoredOutputs,
    as_table,
    choose_columns,
    choose_sample_size,
    estimate_effect,
    group_columns,
    join_names,
    make_evaluated_rows,
    negative_and_positive,
    sample_rows,
    score_outputs,
    split_weight,
)

#: The smallest width of each column of the table.
MIN_WIDTHS = (0, 9, 20)
#: What the rows are.
GIVEN_ROWS, OUT_OF_FOLD = "given rows", "out of fold"


@dataclass(frozen=True)
class ColumnImportance:
    """What the measure loses if some columns are shuffled.

    Attributes
    ----------
    columns : tuple of str
        The columns that are shuffled together.
    value : float
        The measure as it is, minus the measure with the columns shuffled.
    low, high : float
        The ends of the 95% interval.
    """

    columns: tuple[str, ...]
    value: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """The names of the columns as one text; of many, the first ones."""
        return join_names(self.columns)


@dataclass(frozen=True)
class Importance:
    """How much a model's measure depends on each column; prints as a table.

    Attributes
    ----------
    measure : str
        The measure.
    value : float
        The measure on the rows as they are.
    columns : list of ColumnImportance
        The columns, the most important first.
    effects : list of ColumnEffect
        How the model's output changes with the strongest columns.
    n_rows, n_total_rows : int
        The number of rows that were used, drawn at random, and of all rows.
    n_repeats : int
        The number of times that each column was shuffled.
    rows : str
        What the rows are: "given rows" or "out of fold".
    caution : str, default=""
        What limits the trust in the intervals; empty if there is nothing.
    """

    measure: str
    value: float
    columns: list[ColumnImportance]
    effects: list[ColumnEffect]
    n_rows: int
    n_total_rows: int
    n_repeats: int
    rows: str
    caution: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The importance as values that JSON can hold."""
        return {
            "measure": self.measure,
            "value": self.value,
            "evaluated_on": self.rows,
            "rows_used": self.n_rows,
            "rows_given": self.n_total_rows,
            "repeats": self.n_repeats,
            "caution": self.caution,
            "importance": [{"name": each.name, **asdict(each)} for each in self.columns],
            "effects": [each.to_dict() for each in self.effects],
        }

    def __str__(self) -> str:
        rows = [("shuffled column", f"loss of {self.measure}", "95% interval")]
        rows += [_format_column(each) for each in self.columns]
        parts = [self._format_heading(), "", *format_table(rows, MIN_WIDTHS)]
        if self.caution:
            parts += ["", f"caution: {self.caution}"]
        for effect in self.effects:
            parts += ["", str(effect)]
        return "\n".join(parts)

    __repr__ = __str__

    def _format_heading(self) -> str:
        used = "" if self.n_rows == self.n_total_rows else f"{self.n_rows:,} of "
        repeats = "once" if self.n_repeats == 1 else f"{self.n_repeats} times"
        kind = ", out of fold" if self.rows == OUT_OF_FOLD else ""
        return (
            f"{self.measure} is {format_value(self.value)} on {used}{self.n_total_rows:,} rows{kind}; each "
            f"column was shuffled {repeats}"
        )


def _format_column(column: ColumnImportance) -> tuple[str, str, str]:
    decimals = count_decimals((column.value, column.low, column.high))
    value, low, high = (format_value(each, decimals) for each in (column.value, column.low, column.high))
    return column.name, value, f"{low} to {high}"


#: Bootstrap resamples.
N_RESAMPLES = 200


def importance(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    measure: Any = None,
    cv: Any = None,
    columns: Sequence[Any] | None = None,
    max_correlation: float | None = 0.9,
    n_repeats: int = 5,
    max_rows: int | None = 2000,
    n_effects: int = 3,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> Importance:
    """Permutation importance of each column for the measure itself.

    The importance of a column is the value of the measure on the rows as they are, minus its value after the
    column has been shuffled, so that its values belong to other rows. It says how much the predictions of
    this model depend on the column, not how well a model could do without it.

    Columns that are near-copies of each other are shuffled together; otherwise each would seem unimportant
    because the model still has the other. Two columns are near-copies if their correlation is
    `max_correlation` or more: the absolute value of Spearman's correlation for numbers and dates, the
    bias-corrected Cramér's V for any other pair. Columns that are connected by a chain of near-copies form
    one group.

    The interval is a 95% confidence interval for the importance on new rows of the same kind, for this model:
    it covers the choice of the rows and the random shuffling, but not the training of another model. It is
    the value plus and minus 1.96 standard errors, which a bootstrap of rows and donors of values estimates.

    Parameters
    ----------
    model : CAPOClassifier or other classifier
        A fitted classifier with `decision_function`, or a `CAPOClassifier` of many classes or labels. With
        `cv` it need not be fitted.
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        Rows that the model was not trained on, unless `cv` is given. Raw columns are shuffled, so that text,
        dates and categories are treated like numbers.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Their labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. Rows of one group are drawn together in the bootstrap and
        held out together by `cv`.
    measure : str, Measure or callable, optional
        Another measure than that of the model.
    cv : int, splitter or iterable, optional
        Trains the model on the training rows of each fold and explains it on the held-out rows.
    columns : list, optional
        The names of the columns to explain, or their positions in an array; by default all.
    max_correlation : float or None, default=0.9
        Columns with this correlation or more are shuffled together; None shuffles each by itself.
    n_repeats : int, default=5
        How often each column is shuffled.
    max_rows : int or None, default=2000
        More rows than this are sampled at random, with 200 rows of each class if there are as many, and
        weighted accordingly; None uses all rows. With more than 50 columns fewer rows are used, so that at
        most 500,000 rows are predicted, but not fewer than 200.
    n_effects : int, default=3
        The number of columns whose effect on the output is estimated, the strongest first, if their interval
        is above 0. For models of two classes only.
    random_state : int, RandomState instance or None
        Seed of the shuffling, the sample of rows and the bootstrap. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with a message after each group of columns.

    Returns
    -------
    Importance
        The columns, the most important first, with intervals. It prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X[:, 1] + 0.3 * rng.normal(size=600) > 0.5
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X[:300], y[:300])
    >>> found = importance(model, X[300:], y[300:], random_state=0)
    >>> found.columns[0].name
    '1'
    >>> found.columns[0].low > 0.3
    True
    """
    _check_counts(n_repeats, max_rows)
    X = as_table(X)
    random = check_random_state(random_state)
    unit_names = None if groups is None else check_groups(groups, X.shape[0])
    weight = _check_weight(sample_weight, X.shape[0])
    parts = make_evaluated_rows(model, X, y, sample_weight, unit_names, cv, random, on_progress)
    fitted = parts[0].model
    scored = score_outputs(fitted, y, measure)
    table = ExplainedTable(X, getattr(fitted, "schema_", None))
    positions = choose_columns(table, columns)
    n_rows = choose_sample_size(max_rows, len(positions), n_repeats)
    parts, weight = sample_rows(parts, scored.strata, weight, n_rows, random)
    caution = _describe_few_rows(fitted, scored, np.concatenate([part.rows for part in parts]))
    outputs = PermutedOutputs(table, scored, parts, n_repeats, random)
    column_groups = group_columns(table, positions, outputs.rows, max_correlation)
    estimates = _Estimates(scored, outputs, weight, unit_names, random)
    found: list[tuple[ColumnImportance, ColumnGroup, FloatArray]] = []
    for number, permuted in enumerate(outputs.iter_permuted(column_groups)):
        group = column_groups[number]
        found.append((estimates.column_importance(group, permuted), group, permuted))
        on_progress(f"{number + 1} of {len(column_groups)} columns")
    found.sort(key=lambda each: -each[0].value)
    strongest = [each for each in found if each[0].low > 0]
    scale = EffectScale.of(parts) if isinstance(scored, BinaryOutputs) else None
    return Importance(
        measure=scored.measure.label,
        value=estimates.value,
        columns=[each for each, _, _ in found],
        effects=[] if scale is None else estimates.effects(table, strongest[:n_effects], scale),
        n_rows=len(outputs.rows),
        n_total_rows=int(X.shape[0]),
        n_repeats=n_repeats,
        rows=GIVEN_ROWS if cv is None else OUT_OF_FOLD,
        caution=join_cautions(caution, estimates.caution),
    )


def _check_counts(n_repeats: int, max_rows: int | None) -> None:
    if n_repeats < 1:
        raise InvalidInputError(f"n_repeats must be at least 1: got {n_repeats}.")
    if max_rows is not None and max_rows < 2:
        raise InvalidInputError(f"max_rows must be at least 2, or None for all rows: got {max_rows}.")


def _check_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """The weights of the rows, 1 by default."""
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight must have one number per row: got shape {weight.shape} for {n_rows} rows."
        )
    return weight


def _describe_few_rows(model: Any, scored: ScoredOutputs, rows: IntArray) -> str:
    """A caution if a class has few of the rows; raise an error if it has none."""
    if not isinstance(scored, BinaryOutputs):
        return ""
    positive, labels = scored.positive[rows], negative_and_positive(model).tolist()
    if positive.all() or not positive.any():
        raise InvalidInputError(
            f"all {len(scored.positive):,} rows are {labels[int(positive.all())]!r}, and the importance "
            "needs rows of both classes."
        )
    return describe_few_rows(positive, (repr(labels[0]), repr(labels[1])))


class _Estimates:
    """Values of the measure on the rows, with the bootstrap of all that is estimated from them."""

    def __init__(
        self,
        scored: ScoredOutputs,
        outputs: PermutedOutputs,
        weight: FloatArray,
        groups: NDArray[Any] | None,
        random: np.random.RandomState,
    ) -> None:
        self._scored, self._outputs = scored, outputs
        rows = outputs.rows
        self._pair_rows = np.tile(rows, len(outputs.donors))
        self._weight = weight[rows]
        units = np.arange(len(rows)) if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        self.caution = RowSampler(len(rows), None if groups is None else groups[rows]).caution
        self._bootstrap = RowBootstrap(self._weight, scored.strata[rows], units, N_RESAMPLES, random)
        self.value = scored.value(rows, outputs.outputs, self._weight)
        self._resampled_values = scored.values(rows, outputs.outputs, self._bootstrap.row_weights())

    def column_importance(self, group: ColumnGroup, permuted: FloatArray) -> ColumnImportance:
        """The importance of a group of columns, from the outputs of its pairs."""
        donors = self._outputs.donors
        if np.array_equal(permuted, np.concatenate([self._outputs.outputs] * len(donors))):
            return ColumnImportance(group.columns, 0.0, 0.0, 0.0)
        weight = split_weight(self._weight, donors)
        value = self.value - self._scored.value(self._pair_rows, permuted, weight)
        resampled = self._resampled_values - self._scored.values(
            self._pair_rows, permuted, self._bootstrap.pair_weights(donors)
        )
        margin = N_STD_ERRORS * float(np.std(resampled, ddof=1))
        return ColumnImportance(group.columns, float(value), float(value - margin), float(value + margin))

    def effects(
        self,
        table: ExplainedTable,
        strongest: Sequence[tuple[ColumnImportance, ColumnGroup, FloatArray]],
        scale: EffectScale,
    ) -> list[ColumnEffect]:
        """How the output changes with the columns, from the outputs of their pairs."""
        rows, donors = self._outputs.rows, self._outputs.donors
        weights = [self._weight, *self._bootstrap.row_weights()]
        return [
            estimate_effect(
                group,
                table,
                rows,
                donors,
                scale.apply(self._outputs.outputs),
                scale.apply(permuted),
                scale.name,
                weights,
            )
            for _, group, permuted in strongest
        ]
