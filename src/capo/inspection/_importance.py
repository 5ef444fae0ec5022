"""Importance of columns, and their effects on the outputs.

A *pair* is a row i that gets the values of some columns from another row j, its *donor*. Each row has R
donors, one from each of R permutations. The value of a measure on all pairs estimates its value in a
population in which the columns are independent of everything else.

The bootstrap draws rows with replacement; row i is drawn w_i times. The pairs of row i then have the weight
w_i, divided among them in proportion to the weights w_j of their donors. Resampling the rows with their
donors fixed would miss that the donors are a sample, too. Products of random weights make the standard
errors somewhat too large, up to a third in simulations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..exceptions import InvalidInputError
from ..learning.folds import check_groups, check_splits
from ._bootstrap import RowBootstrap, describe_few_groups
from ._columns import (
    BLOCK_ROWS,
    MISSING,
    ExplainedTable,
    as_table,
    choose_columns,
    frequent_places,
    group_columns,
    join_names,
    short_text,
)
from ._comparison import ComparedRows
from ._formatting import format_interval, format_table, format_value
from ._targets import BinaryTargets, Targets, check_classes, negative_and_positive, targets_of_model

#: What the rows are.
GIVEN_ROWS, OUT_OF_FOLD = "given rows", "out of fold"
#: Bootstrap resamples.
N_RESAMPLES = 200
#: Standard errors on either side of the value in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))
#: Rows of each class that a sample has, if there are as many.
MIN_CLASS_ROWS = 200
#: Rows that are predicted at most; with many columns, fewer rows are used, but not fewer than these.
MAX_PREDICTIONS, MIN_ROWS = 500_000, 200
#: Bins of a column of numbers; the most frequent categories, of which there may be more.
N_BINS = 10
OTHER = "(other)"

#: A fitted model, and the positions of the rows that it is evaluated on.
Part = tuple[Any, IntArray]


@dataclass(frozen=True)
class EffectPoint:
    """The mean output of a model if all rows had certain values of a column.

    Attributes
    ----------
    values : str
        The values: a category, or the smallest and the largest number of a bin.
    position : float or None
        The mean of the numbers in the bin; None for a category.
    share : float
        The share of the rows with these values.
    output : float
        The mean output.
    low, high : float
        The ends of its 95% interval.
    """

    values: str
    position: float | None
    share: float
    output: float
    low: float
    high: float


@dataclass(frozen=True)
class ColumnEffect:
    """How the output of a model changes with a column; prints as a table.

    Attributes
    ----------
    columns : tuple of str
        The columns whose values are exchanged together; the values shown are those of the first.
    scale : str
        What the output is, such as "probability of 'yes'".
    points : list of EffectPoint
        In the order of the numbers, or the most frequent category first.
    """

    columns: tuple[str, ...]
    scale: str
    points: list[EffectPoint]

    def to_dict(self) -> dict[str, Any]:
        """The effect as values that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [(self.columns[0], self.scale, "95% interval", "share of rows")]
        rows += [
            (each.values, f"{each.output:.3f}", f"{each.low:.3f} to {each.high:.3f}", f"{each.share:.1%}")
            for each in self.points
        ]
        return "\n".join(format_table(rows, (0, 9, 16, 0)))


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
        rows += [(each.name, *format_interval(each.value, each.low, each.high)) for each in self.columns]
        parts = [self._format_heading(), "", *format_table(rows, (0, 9, 20))]
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
    if n_repeats < 1:
        raise InvalidInputError(f"n_repeats must be at least 1: got {n_repeats}.")
    if max_rows is not None and max_rows < 2:
        raise InvalidInputError(f"max_rows must be at least 2, or None for all rows: got {max_rows}.")
    X = as_table(X)
    random, n_total_rows = check_random_state(random_state), int(X.shape[0])
    group = None if groups is None else check_groups(groups, n_total_rows)
    weight = np.ones(n_total_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_total_rows,):
        raise InvalidInputError(
            f"sample_weight must have one number per row: got shape {weight.shape} for {n_total_rows} rows."
        )
    parts = _make_parts(model, X, y, sample_weight, group, cv, random, on_progress)
    fitted = parts[0][0]
    targets = targets_of_model(fitted, y, measure)
    table = ExplainedTable(X, getattr(fitted, "schema_", None))
    positions = choose_columns(table, columns)
    if max_rows is not None:
        n_rows = min(max_rows, max(MIN_ROWS, MAX_PREDICTIONS // (len(positions) * n_repeats)))
        parts, weight = _sample_parts(parts, targets.strata, weight, n_rows, random)
    rows = np.concatenate([part for _, part in parts])
    sample, weight = targets.take(rows), weight[rows]
    check_classes(sample, None)
    few_rows = sample.describe_few_rows(sample.class_sizes(None)) if isinstance(sample, BinaryTargets) else ""
    pairs = _Pairs(table, sample, parts, n_repeats, random)
    column_groups = group_columns(table, positions, rows, max_correlation)
    group = None if group is None else group[rows]
    bootstrap = RowBootstrap(weight, sample.strata, group, N_RESAMPLES, random)
    value = sample.score(targets.measure, pairs.outputs, weight)
    resampled = sample.values(targets.measure, pairs.outputs, bootstrap.weights())
    found: list[tuple[ColumnImportance, list[int], FloatArray]] = []
    for number, permuted in enumerate(pairs.iter_permuted(column_groups)):
        names = tuple(table.names[position] for position in column_groups[number])
        loss, margin = 0.0, 0.0
        if not np.array_equal(permuted, np.concatenate([pairs.outputs] * n_repeats)):
            loss = value - pairs.targets.score(targets.measure, permuted, split_weight(weight, pairs.donors))
            weights = (split_weight(each, pairs.donors) for each in bootstrap.weights())
            losses = resampled - pairs.targets.values(targets.measure, permuted, weights)
            margin = N_STD_ERRORS * float(np.std(losses, ddof=1))
        each = ColumnImportance(names, float(loss), float(loss - margin), float(loss + margin))
        found.append((each, column_groups[number], permuted))
        on_progress(f"{number + 1} of {len(column_groups)} columns")
    found.sort(key=lambda each: -each[0].value)
    effects = []
    if isinstance(targets, BinaryTargets):
        weights_of_effects = [weight, *bootstrap.weights()]
        scale, convert = _effect_scale(parts)
        outputs = convert(pairs.outputs)
        for each, members, permuted in [each for each in found if each[0].low > 0][:n_effects]:
            points = _estimate_effect(
                table, members[0], pairs, outputs, convert(permuted), weights_of_effects
            )
            effects.append(ColumnEffect(each.columns, scale, points))
    return Importance(
        measure=targets.measure.label,
        value=value,
        columns=[each for each, _, _ in found],
        effects=effects,
        n_rows=len(rows),
        n_total_rows=n_total_rows,
        n_repeats=n_repeats,
        rows=GIVEN_ROWS if cv is None else OUT_OF_FOLD,
        caution="; ".join(filter(None, (few_rows, describe_few_groups(group)))),
    )


def _make_parts(
    model: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    groups: NDArray[Any] | None,
    cv: Any,
    random: np.random.RandomState,
    on_progress: Callable[[str], None],
) -> list[Part]:
    """The fitted model with all rows, or the model of each fold with the rows that it holds out."""
    labels = np.asarray(y)
    if len(labels) != X.shape[0]:
        raise InvalidInputError(f"X has {X.shape[0]:,} rows and y {len(labels):,}: they must be as many.")
    if cv is None:
        if hasattr(model, "fit"):
            check_is_fitted(model)
        return [(model, np.arange(len(labels)))]
    if getattr(model, "prices_", None) is not None:
        raise InvalidInputError(
            "the model was trained with prices, and cv would train it without them: leave cv out, and pass "
            "rows that the model was not trained on."
        )
    weight = None if sample_weight is None else np.asarray(sample_weight)
    rows, parts = ComparedRows(X, labels, weight, groups), []
    splits = _split(cv, X, labels, groups, random)
    for number, (train, test) in enumerate(splits, start=1):
        parts.append((rows.take(train).fit(model), test))
        on_progress(f"fold {number} of {len(splits)}")
    return parts


def _split(
    cv: Any, X: Any, y: NDArray[Any], groups: NDArray[Any] | None, random: np.random.RandomState
) -> list[tuple[IntArray, IntArray]]:
    if isinstance(cv, Integral):
        seed = random.randint(2**31 - 1)
        if y.ndim > 1:
            by_row = KFold(int(cv), shuffle=True, random_state=seed)
            cv = by_row if groups is None else GroupKFold(int(cv))
        else:
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            cv = kind(int(cv), shuffle=True, random_state=seed)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv).split(X, y, groups)]
    if y.ndim == 1:
        check_splits(splits, y, allow_partial=True)
    return splits


def _sample_parts(
    parts: Sequence[Part],
    classes: IntArray,
    weight: FloatArray,
    n_rows: int,
    random: np.random.RandomState,
) -> tuple[list[Part], FloatArray]:
    """The parts with at most so many rows in all, drawn by class, and the weights of the table's rows."""
    rows = np.concatenate([each for _, each in parts])
    if len(rows) <= n_rows:
        return list(parts), weight
    sampled, factor = sample_by_class(classes[rows], n_rows, random)
    weight = weight.copy()
    weight[rows[sampled]] *= factor
    kept = [(model, each[np.isin(each, rows[sampled])]) for model, each in parts]
    return [part for part in kept if len(part[1])], weight


def sample_by_class(
    classes: IntArray, n_rows: int, random: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Draw rows without replacement, with at least 200 rows of each class if there are as many.

    Parameters
    ----------
    classes : ndarray of int, shape (n,)
        The number of the class of each row.
    n_rows : int
        The number of rows to draw.
    random : RandomState
        Draws the rows.

    Returns
    -------
    rows : ndarray of int, shape (n_rows,)
        Their positions, in ascending order.
    weight : ndarray of shape (n_rows,)
        How many rows each one stands for, divided by the mean of these numbers.
    """
    counts = np.bincount(classes)
    sizes = _sample_sizes(counts, n_rows)
    shuffled = random.permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    rank = np.arange(len(classes)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(by_class[rank < np.repeat(sizes, counts)])
    weight = (counts / np.maximum(sizes, 1))[classes[rows]]
    return rows, weight * len(rows) / len(classes)


def _sample_sizes(counts: IntArray, n_rows: int) -> IntArray:
    """The number of rows to draw of each class: its share, but no fewer than the smallest number."""
    n_classes = np.count_nonzero(counts)
    floor = np.minimum(counts, min(MIN_CLASS_ROWS, n_rows // int(n_classes)))
    sizes = floor.copy()
    for position in np.argsort(counts):  # the rarest class first; what it exceeds its share by, others lose
        n_left = n_rows - sizes[counts < counts[position]].sum()
        share = n_left * counts[position] / counts[counts >= counts[position]].sum()
        sizes[position] = max(floor[position], int(share))
    largest = int(np.argmax(counts))
    sizes[largest] = min(counts[largest], sizes[largest] + n_rows - sizes.sum())
    return sizes


class _Pairs:
    """Outputs of models for rows as they are, and with groups of columns from other rows.

    A row's donors are rows of the same part.
    """

    def __init__(
        self,
        table: ExplainedTable,
        sample: Targets,
        parts: Sequence[Part],
        n_repeats: int,
        random: np.random.RandomState,
    ) -> None:
        self._table, self._parts = table, parts
        #: The positions of all rows in the table.
        self.rows = np.concatenate([rows for _, rows in parts])
        ends = np.cumsum([0, *(len(rows) for _, rows in parts)])
        self._ranges = [np.arange(*pair) for pair in itertools.pairwise(ends)]
        #: For each repeat and each row, the position of its donor among `rows`.
        self.donors = np.stack(
            [np.concatenate([random.permutation(each) for each in self._ranges]) for _ in range(n_repeats)]
        )
        #: The labels of the pairs.
        self.targets = sample.take(np.tile(np.arange(len(self.rows)), n_repeats))
        #: The outputs of the rows as they are.
        self.outputs = np.concatenate(
            [sample.predict(model, safe_indexing(table.X, rows)) for model, rows in parts]
        )

    def iter_permuted(self, groups: Sequence[Sequence[int]]) -> Iterator[FloatArray]:
        """Yield, for each group of columns, the outputs of all pairs, of shape (n_repeats * n_rows, ...)."""
        masks = np.zeros((len(groups), len(self._table.names)), dtype=bool)
        for mask, positions in zip(masks, groups, strict=True):
            mask[list(positions)] = True
        n_at_once = max(1, BLOCK_ROWS // self.donors.size)
        for start in range(0, len(groups), n_at_once):
            block = masks[start : start + n_at_once]
            outputs = [self._permute_part(i, block) for i in range(len(self._parts))]
            joined = np.concatenate(outputs, axis=2)
            yield from joined.reshape(len(block), -1, *joined.shape[3:])

    def _permute_part(self, number: int, masks: BoolArray) -> FloatArray:
        """The outputs of the pairs of one part, of shape (n_groups, n_repeats, n_rows of the part, ...)."""
        model, rows = self._parts[number]
        donors = self.rows[self.donors[:, self._ranges[number]]]
        copies = [(mask, donor) for mask in masks for donor in donors]
        n_at_once = max(1, BLOCK_ROWS // len(rows))
        outputs = []
        for start in range(0, len(copies), n_at_once):
            chosen = copies[start : start + n_at_once]
            own = np.broadcast_to(rows, (len(chosen), len(rows)))
            mixed = self._table.mix(
                own, np.stack([donor for _, donor in chosen]), np.stack([mask for mask, _ in chosen])
            )
            outputs.append(self.targets.predict(model, mixed))
        joined = np.concatenate(outputs)
        return joined.reshape(len(masks), len(donors), len(rows), *joined.shape[1:])


def split_weight(weight: FloatArray, donors: IntArray) -> FloatArray:
    """Divide the weight of each row among its pairs, in proportion to the weights of their donors."""
    donor_weight = weight[donors]
    total = donor_weight.sum(axis=0)
    share = np.divide(
        donor_weight, total, out=np.full(donor_weight.shape, 1.0 / len(donors)), where=total > 0
    )
    return (weight * share).ravel()


def _effect_scale(parts: Sequence[Part]) -> tuple[str, Callable[[FloatArray], FloatArray]]:
    """What effects are written in, and the conversion of decisions for all rows, or for all pairs of rows.

    This is the probability of the positive class, or the decision of a model without probabilities.
    """
    model = parts[0][0]
    if not hasattr(model, "combination_"):
        return "decision", lambda decisions: decisions
    offsets = np.concatenate([np.full(len(rows), model.decision_.log_odds) for model, rows in parts])

    def to_probability(decisions: FloatArray) -> FloatArray:
        return np.asarray(expit(decisions + np.tile(offsets, len(decisions) // len(offsets))))

    return f"probability of {negative_and_positive(model).tolist()[1]!r}", to_probability


def _estimate_effect(
    table: ExplainedTable,
    position: int,
    pairs: _Pairs,
    outputs: FloatArray,
    permuted: FloatArray,
    weights: Sequence[FloatArray],
) -> list[EffectPoint]:
    """Estimate the effect of a column from the outputs of rows with values of their donors.

    The mean output over the pairs whose donor has a value is the partial dependence on it. The row's own
    output is a control variate, which reduces the variance where the column has a weak effect. `weights` are
    those of the rows, and those of bootstrap resamples.
    """
    row_bins, names, positions = _make_bins(table, position, pairs.rows)
    codes = row_bins[pairs.donors].ravel()
    own = np.tile(outputs, len(pairs.donors))
    centered = own - own.mean()
    variance = float(centered @ centered)
    coefficient = float(centered @ permuted) / variance if variance > 0 else 0.0
    adjusted = permuted - coefficient * centered
    estimates = []
    for weight in weights:
        shares = split_weight(weight, pairs.donors)
        mass = np.bincount(codes, shares, minlength=len(names))
        sums = np.bincount(codes, shares * adjusted, minlength=len(names))
        estimates.append(np.divide(sums, mass, out=np.full(len(mass), np.nan), where=mass > 0))
    output = estimates[0]
    margin = N_STD_ERRORS * np.nanstd(np.stack(estimates[1:]), axis=0, ddof=1)
    share = np.bincount(row_bins, weights[0], minlength=len(names)) / weights[0].sum()
    numbers = (each.tolist() for each in (share, output, output - margin, output + margin))
    return [EffectPoint(*each) for each in zip(names, positions, *numbers, strict=True)]


def _make_bins(
    table: ExplainedTable, position: int, rows: IntArray
) -> tuple[IntArray, list[str], list[float | None]]:
    """The bin of each row by the value of a column, and the name and mean number of each bin."""
    numbers, values = table.codes(position).take(rows).numbers, table.values(position)
    texts = np.array([short_text(values[row]) for row in rows], dtype=object)
    if numbers is None:
        codes, frequent, n_bins = frequent_places(texts.astype(str), N_BINS)
        names = [*frequent.tolist(), *([OTHER] if n_bins > len(frequent) else [])]
        return codes, names, [None] * n_bins
    present = ~np.isnan(numbers)
    starts = np.unique(numbers[present])
    if len(starts) > N_BINS:
        quantiles = np.quantile(numbers[present], np.linspace(0, 1, N_BINS + 1)[1:-1])
        starts = np.concatenate((starts[:1], np.unique(quantiles[quantiles > starts[0]])))
    codes = np.where(present, np.searchsorted(starts, numbers, side="right") - 1, len(starts))
    used, codes = np.unique(codes, return_inverse=True)
    names = []
    positions: list[float | None] = []
    for number, start in enumerate(used):
        inside = codes == number
        if start == len(starts):
            names.append(MISSING)
            positions.append(None)
            continue
        low, high = texts[inside][np.argmin(numbers[inside])], texts[inside][np.argmax(numbers[inside])]
        names.append(str(low) if low == high else f"{low} to {high}")
        positions.append(float(numbers[inside].mean()))
    return codes, names, positions
