"""Explanations of a model: importance of columns, their effects on the outputs, and single rows.

A *pair* is a row i that gets the values of some columns from another row j, its *donor*. Each row has R
donors, one from each of R permutations. The value of a measure on all pairs estimates its value in a
population in which the columns are independent of everything else.

The bootstrap gives row i a random weight w_i. The pairs of row i then have the weight w_i, divided among them
in proportion to the weights w_j of their donors. Resampling the rows with their donors fixed would miss that
the donors are a sample, too. Products of random weights make the standard errors somewhat too large, up to a
third in simulations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, diags_array, issparse, vstack
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, ndtri
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, safe_indexing
from ..exceptions import InvalidInputError
from ..learning.folds import check_groups, split_folds
from ..measures import Labels
from ..tables.checks import ColumnCodes
from ..tables.kinds import is_dataframe, is_missing
from ..tables.schema import FeatureSchema, infer_schema
from ..tables.targets import positive_mask
from ..tables.vectors import read_vectors
from ._bootstrap import RandomWeights, describe_few_groups
from ._comparison import ComparedRows, fold_codes
from ._formatting import format_interval, format_table, format_value
from ._targets import BinaryTargets, Targets, decide, negative_and_positive, target_type, targets_of_model

#: Largest number of columns to explain; for a wider table, some must be chosen.
MAX_COLUMNS = 1000
#: Number of rows for correlations.
MAX_CORRELATION_ROWS = 2000
#: Number of categories distinguished in correlations; all rarer ones are merged.
MAX_CATEGORIES = 30
#: Largest number of printed names of columns of a group.
MAX_JOINED_NAMES = 3
#: Longer values are truncated when printed.
MAX_VALUE_LENGTH = 24
MISSING = "(missing)"
#: Number of rows to predict at once.
BLOCK_ROWS = 20_000
#: Numbers in this range are printed without digits after the point.
MIN_WHOLE_NUMBER, MAX_WHOLE_NUMBER = 1e4, 1e12
#: Description of the rows.
GIVEN_ROWS, OUT_OF_FOLD = "given rows", "out of fold"
#: Number of bootstrap resamples.
N_RESAMPLES = 200
#: Standard errors on either side of the value in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))
#: Number of rows of each class in a sample, if there are as many.
MIN_CLASS_ROWS = 200
#: Largest number of predicted rows; with many columns, fewer rows are used, but at least this many.
MAX_PREDICTIONS, MIN_ROWS = 500_000, 200
#: Bins of a column of numbers; the most frequent categories, of which there may be more.
N_BINS = 10
OTHER = "(other)"

#: A fitted model, and the positions of the rows that it is evaluated on.
Part = tuple[Any, IntArray]
#: Rows of the background that correlations of columns are computed from.
MAX_BACKGROUND_ROWS = 2000
#: Number of printed contributions of a row, the largest first.
MAX_PRINTED = 10


def as_table(X: Any) -> Any:
    """Return a data frame, array or sparse matrix unchanged, and lists of rows as an array."""
    return X if is_dataframe(X) or issparse(X) else np.asarray(X)


class ExplainedTable:
    """A table of the rows that a model is explained on.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The rows.
    schema : FeatureSchema, optional
        The kinds of the columns, as the model was trained with them; inferred by default.
    """

    def __init__(self, X: Any, schema: FeatureSchema | None = None) -> None:
        X = as_table(X)
        self.is_frame = is_dataframe(X)
        if self.is_frame and schema is not None:
            X = schema.select(X)
        self.X: Any = X.tocsr() if issparse(X) else X
        if self.is_frame:
            self._frame = nw.from_native(X, eager_only=True)
            self.names = [str(name) for name in self._frame.columns]
        else:
            self.names = [str(position) for position in range(X.shape[1])]
        self.n_rows = int(X.shape[0])
        known = schema is not None and len(schema.columns) == len(self.names)
        self._schema = schema if known and schema is not None else infer_schema(self.X)

    def mix(self, first: IntArray, second: IntArray, from_second: BoolArray) -> Any:
        """Return rows made of pairs of rows.

        Parameters
        ----------
        first, second : ndarray of shape (n_copies, n)
            Positions of rows.
        from_second : ndarray of shape (n_copies, n_columns)
            Which columns of each copy come from the second rows; the others come from the first.

        Returns
        -------
        data frame, array or sparse matrix of shape (n_copies * n, n_columns)
            The rows, in the type of the table.
        """
        if issparse(self.X):
            copies = []
            for own, other, chosen in zip(first, second, from_second, strict=True):
                kept = self.X[own] @ diags_array((~chosen).astype(float))
                copies.append(kept + self.X[other] @ diags_array(chosen.astype(float)))
            return vstack(copies, format="csr")
        sources = (
            np.where(chosen[:, np.newaxis], second, first).ravel() if chosen.any() else first.ravel()
            for chosen in from_second.T
        )
        if not self.is_frame:
            mixed = np.empty((first.size, self.X.shape[1]), dtype=self.X.dtype)
            for position, rows in enumerate(sources):
                mixed[:, position] = self.X[rows, position]
            return mixed
        columns = zip(self._frame.iter_columns(), sources, strict=True)
        parts = [nw.maybe_reset_index(column[rows].to_frame()) for column, rows in columns]
        return nw.concat(parts, how="horizontal").to_native()

    def codes(self, position: int) -> ColumnCodes:
        """Return the values of a column as codes, and as numbers if they have an order."""
        if issparse(self.X):
            return ColumnCodes.of_numbers(np.asarray(self.X[:, [position]].todense(), dtype=float).ravel())
        if not self.is_frame:
            return ColumnCodes.of_numbers(np.asarray(self.X[:, position], dtype=np.float64))
        return ColumnCodes.of(self._schema.columns[position], self.X)

    def is_vector(self, position: int) -> bool:
        """Return whether a column holds vectors."""
        return self.is_frame and self._schema.columns[position].kind.role == "vector"

    def values(self, position: int) -> list[Any]:
        """Return the values of a column; of vectors, whether they are missing."""
        if self.is_vector(position):
            column = self._schema.columns[position]
            is_missing = np.isnan(read_vectors(column.kind, self._frame[:, position])[:, 0])
            return [None if missing else "vector" for missing in is_missing.tolist()]
        if self.is_frame:
            return list(self._frame[:, position].to_list())
        column = self.X[:, [position]].todense() if issparse(self.X) else self.X[:, position]
        return list(np.asarray(column).ravel().tolist())


def choose_columns(table: ExplainedTable, columns: Sequence[Any] | None) -> list[int]:
    """Return the positions of the columns to explain: those that are named, by default all."""
    if columns is None:
        if len(table.names) > MAX_COLUMNS:
            raise InvalidInputError(
                f"X has {len(table.names):,} columns, and at most {MAX_COLUMNS:,} can be explained at once: "
                "choose some with columns=[...]."
            )
        return list(range(len(table.names)))
    if not len(columns):
        raise InvalidInputError("columns is empty: name at least one column to explain, or leave it out.")
    unknown = [each for each in columns if str(each) not in table.names]
    if unknown:
        raise InvalidInputError(f"X has no column {unknown[0]!r}, which is to be explained.")
    return [table.names.index(name) for name in dict.fromkeys(str(each) for each in columns)]


def group_columns(
    table: ExplainedTable, positions: Sequence[int], rows: IntArray, max_correlation: float | None
) -> list[list[int]]:
    """Group the positions of columns that are near-copies of each other.

    Two columns are in the same group if their correlation is `max_correlation` or more, and so are columns
    that a chain of such pairs connects. The correlation of two columns of numbers or dates is the absolute
    value of Spearman's; for any other pair it is Cramér's V, corrected for its bias, with numbers in bins.
    """
    labels = np.arange(len(positions))
    if max_correlation is not None and len(positions) > 1:
        rows = rows[:MAX_CORRELATION_ROWS]
        columns = [table.codes(position).take(rows) for position in positions]
        numbers = {i: each.numbers for i, each in enumerate(columns) if each.numbers is not None}
        found = np.zeros((len(columns), len(columns)))
        if len(numbers) < len(columns):
            found = _cramers_v([column.codes for column in columns])
        if numbers:  # ranks with mean 0 and norm 1; missing values and constants have the mean rank
            ranks = rankdata(np.column_stack(list(numbers.values())), axis=0, nan_policy="omit")
            ranks -= np.nansum(ranks, axis=0) / np.maximum(np.count_nonzero(~np.isnan(ranks), axis=0), 1)
            ranks = np.nan_to_num(ranks)
            norms = np.linalg.norm(ranks, axis=0)
            ranks /= np.where(norms > 0, norms, 1.0)
            found[np.ix_(list(numbers), list(numbers))] = np.abs(ranks.T @ ranks)
        labels = connected_components(csr_array(found >= max_correlation), directed=False)[1]
    members = [np.flatnonzero(labels == label).tolist() for label in dict.fromkeys(labels.tolist())]
    return [[positions[i] for i in each] for each in members]


def _cramers_v(columns: Sequence[IntArray]) -> FloatArray:
    """Cramér's V of each pair of columns of codes, corrected for its bias."""
    places = [frequent_places(codes, MAX_CATEGORIES) for codes in columns]
    # One column of 0 and 1 for each of the most frequent codes, and one for all others.
    indicators = [np.eye(n_places)[each] for each, _, n_places in places]
    widths = np.array([each.shape[1] for each in indicators])
    joined = np.hstack(indicators)
    sizes, starts = joined.sum(axis=0), np.cumsum(widths) - widths
    shares = (joined.T @ joined) ** 2 / np.outer(sizes, sizes)
    squares = np.add.reduceat(np.add.reduceat(shares, starts, axis=0), starts, axis=1) - 1.0
    freedom, n = widths - 1.0, max(len(joined) - 1, 1)
    excess = np.maximum(squares - np.outer(freedom, freedom) / n, 0.0)
    corrected = freedom - freedom**2 / n
    limit = np.minimum.outer(corrected, corrected)
    ratio = np.divide(excess, limit, out=np.zeros_like(excess), where=limit > 0)
    return np.asarray(np.sqrt(np.minimum(ratio, 1.0)))


def frequent_places(values: Any, n_frequent: int) -> tuple[IntArray, Any, int]:
    """Return the place of each value among the most frequent ones, these, and the number of places.

    All other values have one place after them.
    """
    different, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:n_frequent]
    places = np.full(len(counts), len(frequent))
    places[frequent] = np.arange(len(frequent))
    return places[inverse], different[frequent], len(frequent) + (len(counts) > len(frequent))


def join_names(columns: Sequence[str]) -> str:
    """Write the names of columns as one text; of many, the first ones."""
    n_more = len(columns) - MAX_JOINED_NAMES
    return " + ".join(columns[:MAX_JOINED_NAMES]) + (f" + {n_more} more" if n_more > 0 else "")


def short_text(value: Any) -> str:
    """Write a value in short: numbers with four digits, or with all digits before the point."""
    if is_missing(value):
        return MISSING
    if isinstance(value, float):
        is_whole = MIN_WHOLE_NUMBER <= abs(value) < MAX_WHOLE_NUMBER
        text = f"{value:.0f}" if is_whole else f"{value:.4g}"
    else:
        text = str(value).removesuffix(" 00:00:00")
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + "..."


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
        A description of the output, such as "probability of 'yes'".
    points : list of EffectPoint
        In the order of the numbers, or the most frequent category first.
    """

    columns: tuple[str, ...]
    scale: str
    points: list[EffectPoint]

    def __str__(self) -> str:
        rows = [(self.columns[0], self.scale, "95% interval", "share of rows")]
        rows += [
            (each.values, f"{each.output:.3f}", f"{each.low:.3f} to {each.high:.3f}", f"{each.share:.1%}")
            for each in self.points
        ]
        return "\n".join(format_table(rows, (0, 9, 16, 0)))


@dataclass(frozen=True)
class ColumnImportance:
    """The loss of the measure if some columns are shuffled.

    Attributes
    ----------
    columns : tuple of str
        The columns that are shuffled together.
    value : float
        The measure on the original rows minus the measure with the columns shuffled.
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
        The measure on the original rows.
    columns : list of ColumnImportance
        The columns, the most important first.
    effects : list of ColumnEffect
        How the model's output changes with the strongest columns.
    n_rows, n_total_rows : int
        The number of rows used, drawn at random, and the number of all rows.
    n_repeats : int
        The number of times that each column was shuffled.
    rows : str
        A description of the rows: "given rows" or "out of fold".
    caution : str, default=""
        A reason to doubt the intervals; empty if there is none.
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
        """The importance as values for JSON."""
        return {
            "measure": self.measure,
            "value": self.value,
            "evaluated_on": self.rows,
            "rows_used": self.n_rows,
            "rows_given": self.n_total_rows,
            "repeats": self.n_repeats,
            "caution": self.caution,
            "importance": [{"name": each.name, **asdict(each)} for each in self.columns],
            "effects": [asdict(each) for each in self.effects],
        }

    def __str__(self) -> str:
        used = "" if self.n_rows == self.n_total_rows else f"{self.n_rows:,} of "
        repeats = "once" if self.n_repeats == 1 else f"{self.n_repeats} times"
        kind = f", {OUT_OF_FOLD}" if self.rows == OUT_OF_FOLD else ""
        value = f"{self.measure} is {format_value(self.value)} on {used}{self.n_total_rows:,} rows{kind}"
        rows = [("shuffled column", f"loss of {self.measure}", "95% interval")]
        rows += [(each.name, *format_interval(each.value, each.low, each.high)) for each in self.columns]
        parts = [f"{value}; each column was shuffled {repeats}", "\n".join(format_table(rows, (0, 9, 20)))]
        parts += [f"caution: {self.caution}"] if self.caution else []
        return "\n\n".join([*parts, *map(str, self.effects)])

    __repr__ = __str__


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

    The importance of a column is the value of the measure on the original rows, minus its value after the
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
        The measure to use instead of the model's.
    cv : int, splitter or iterable, optional
        Trains the model on the training rows of each fold and explains it on the held-out rows.
    columns : list, optional
        The names of the columns to explain, or their positions in an array; by default all.
    max_correlation : float or None, default=0.9
        Columns with this correlation or more are shuffled together; None shuffles each separately.
    n_repeats : int, default=5
        Number of times to shuffle each column.
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
        Called with a message after each block of predictions.

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
    weight = Labels.from_arrays(np.zeros(n_total_rows), sample_weight, both_classes=False).mass
    labeled = ComparedRows(X, np.asarray(y), None if sample_weight is None else weight, group)
    parts = _make_parts(model, labeled, cv, random, on_progress)
    fitted = parts[0][0]
    targets = targets_of_model(fitted, y, measure)
    table = ExplainedTable(X, getattr(fitted, "schema_", None))
    positions = choose_columns(table, columns)
    if max_rows is not None:
        n_rows = min(max_rows, max(MIN_ROWS, MAX_PREDICTIONS // (len(positions) * n_repeats)))
        rows = np.concatenate([part for _, part in parts])
        if len(rows) > n_rows:
            sampled, factor = sample_by_class(targets.strata[rows], n_rows, random)
            weight = weight.copy()
            weight[rows[sampled]] *= factor
            parts = [(each, part[np.isin(part, rows[sampled])]) for each, part in parts]
            parts = [part for part in parts if len(part[1])]
    rows = np.concatenate([part for _, part in parts])
    sample, weight = targets.take(rows), weight[rows]
    sample.check_classes()
    is_binary = isinstance(sample, BinaryTargets)
    few_rows = sample.describe_few_rows() if is_binary else ""
    pairs = _Pairs(table, sample, parts, n_repeats, random)
    column_groups = group_columns(table, positions, rows, max_correlation)
    group = None if group is None else group[rows]
    resamples = RandomWeights(weight, group, N_RESAMPLES, random)
    value = sample.score(targets.measure, pairs.outputs, weight)
    resampled = np.array([sample.score(targets.measure, pairs.outputs, each) for each in resamples])
    found: list[tuple[ColumnImportance, list[int], FloatArray]] = []
    for members, permuted in zip(column_groups, pairs.permute(column_groups, on_progress), strict=True):
        names = tuple(table.names[position] for position in members)
        loss, margin = 0.0, 0.0
        if not np.array_equal(permuted, np.concatenate([pairs.outputs] * n_repeats)):
            loss = value - pairs.targets.score(targets.measure, permuted, split_weight(weight, pairs.donors))
            weights = (split_weight(each, pairs.donors) for each in resamples)
            losses = resampled - [pairs.targets.score(targets.measure, permuted, each) for each in weights]
            margin = N_STD_ERRORS * float(np.std(losses, ddof=1))
        each = ColumnImportance(names, float(loss), float(loss - margin), float(loss + margin))
        found.append((each, members, permuted))
    found.sort(key=lambda each: -each[0].value)
    strongest = [each for each in found if each[0].low > 0 and not table.is_vector(each[1][0])]
    return Importance(
        measure=targets.measure.label,
        value=value,
        columns=[each for each, _, _ in found],
        effects=pairs.estimate_effects(strongest[: n_effects if is_binary else 0], [weight, *resamples]),
        n_rows=len(rows),
        n_total_rows=n_total_rows,
        n_repeats=n_repeats,
        rows=GIVEN_ROWS if cv is None else OUT_OF_FOLD,
        caution="; ".join(filter(None, (few_rows, describe_few_groups(group)))),
    )


def _make_parts(
    model: Any, rows: ComparedRows, cv: Any, random: np.random.RandomState, on_progress: Callable[[str], None]
) -> list[Part]:
    """The fitted model with all rows, or the model of each fold with the rows that it holds out."""
    X, labels = rows.X, rows.y
    if len(labels) != X.shape[0]:
        raise InvalidInputError(
            f"X has {X.shape[0]:,} rows and y {len(labels):,}: the numbers must be equal."
        )
    if cv is None:
        if hasattr(model, "fit"):
            check_is_fitted(model)
        return [(model, np.arange(len(labels)))]
    if getattr(model, "prices_", None) is not None:
        raise InvalidInputError(
            "the model was trained with prices, and cv would train it without them: leave cv out, and pass "
            "rows that the model was not trained on."
        )
    splits = split_folds(cv, X, fold_codes(labels), {"groups": rows.groups}, random, allow_partial=True)
    parts = []
    for number, (train, test) in enumerate(splits, start=1):
        parts.append((rows.take(train).fit(model), test))
        on_progress(f"fold {number} of {len(splits)}")
    return parts


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
    floor = np.minimum(counts, min(MIN_CLASS_ROWS, n_rows // int(np.count_nonzero(counts))))
    sizes = floor.copy()
    for position in np.argsort(counts):  # the rarest class first; what it exceeds its share by, others lose
        n_left = n_rows - sizes[counts < counts[position]].sum()
        share = n_left * counts[position] / counts[counts >= counts[position]].sum()
        sizes[position] = max(floor[position], int(share))
    largest = int(np.argmax(counts))
    sizes[largest] = min(counts[largest], sizes[largest] + n_rows - sizes.sum())
    shuffled = random.permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    rank = np.arange(len(classes)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(by_class[rank < np.repeat(sizes, counts)])
    weight = (counts / np.maximum(sizes, 1))[classes[rows]]
    return rows, weight * len(rows) / len(classes)


class _Pairs:
    """Outputs of models for the original rows, and with groups of columns from other rows.

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
        #: The outputs of the original rows.
        self.outputs = np.concatenate(
            [sample.predict(model, safe_indexing(table.X, rows)) for model, rows in parts]
        )

    def permute(self, groups: Sequence[Sequence[int]], on_progress: Callable[[str], None]) -> FloatArray:
        """Return the outputs of all pairs for each group of columns: (n_groups, n_repeats * n_rows, ...)."""
        masks = np.zeros((len(groups) * len(self.donors), len(self._table.names)), dtype=bool)
        for number, positions in enumerate(groups):
            masks[number * len(self.donors) : (number + 1) * len(self.donors), list(positions)] = True
        parts = []
        for (model, rows), places in zip(self._parts, self._ranges, strict=True):
            donors = np.tile(self.rows[self.donors[:, places]], (len(groups), 1))
            step, outputs = max(1, BLOCK_ROWS // len(rows)), []
            for start in range(0, len(masks), step):
                block = slice(start, start + step)
                own = np.broadcast_to(rows, donors[block].shape)
                outputs.append(self.targets.predict(model, self._table.mix(own, donors[block], masks[block])))
                n_done = min(len(masks), start + step) // len(self.donors)
                on_progress(f"{n_done} of {len(groups)} columns")
            joined = np.concatenate(outputs)
            parts.append(joined.reshape(len(groups), len(self.donors), len(rows), *joined.shape[1:]))
        found = np.concatenate(parts, axis=2)
        return found.reshape(len(groups), -1, *found.shape[3:])

    def estimate_effects(
        self,
        found: Sequence[tuple[ColumnImportance, list[int], FloatArray]],
        weights: Sequence[FloatArray],
    ) -> list[ColumnEffect]:
        """Estimate how the probability changes with columns, or the decision of a model without one.

        `weights` are those of the rows, and those of bootstrap resamples.
        """
        model, scale, offsets = self._parts[0][0], "decision", None
        if hasattr(model, "combination_"):
            scale = f"probability of {negative_and_positive(model).tolist()[1]!r}"
            offsets = np.concatenate(
                [np.full(len(rows), each.decision_.log_odds) for each, rows in self._parts]
            )

        def convert(decisions: FloatArray) -> FloatArray:
            return decisions if offsets is None else expit(decisions + np.resize(offsets, len(decisions)))

        outputs, effects = convert(self.outputs), []
        for each, members, permuted in found:
            points = self._estimate_effect(members[0], outputs, convert(permuted), weights)
            effects.append(ColumnEffect(each.columns, scale, points))
        return effects

    def _estimate_effect(
        self, position: int, outputs: FloatArray, permuted: FloatArray, weights: Sequence[FloatArray]
    ) -> list[EffectPoint]:
        """Estimate the effect of a column from the outputs of rows with values of their donors.

        The mean output over the pairs whose donor has a value is the partial dependence on it. The row's own
        output is a control variate, which reduces the variance where the column has a weak effect.
        """
        row_bins, names, positions = _make_bins(self._table, position, self.rows)
        codes = row_bins[self.donors].ravel()
        own = np.tile(outputs, len(self.donors))
        centered = own - own.mean()
        variance = float(centered @ centered)
        coefficient = float(centered @ permuted) / variance if variance > 0 else 0.0
        adjusted = permuted - coefficient * centered
        estimates = []
        for weight in weights:
            shares = split_weight(weight, self.donors)
            mass = np.bincount(codes, shares, minlength=len(names))
            sums = np.bincount(codes, shares * adjusted, minlength=len(names))
            estimates.append(np.divide(sums, mass, out=np.full(len(mass), np.nan), where=mass > 0))
        output = estimates[0]
        margin = N_STD_ERRORS * np.nanstd(np.stack(estimates[1:]), axis=0, ddof=1)
        share = np.bincount(row_bins, weights[0], minlength=len(names)) / weights[0].sum()
        numbers = (each.tolist() for each in (share, output, output - margin, output + margin))
        return [EffectPoint(*each) for each in zip(names, positions, *numbers, strict=True)]


def split_weight(weight: FloatArray, donors: IntArray) -> FloatArray:
    """Divide the weight of each row among its pairs, in proportion to the weights of their donors."""
    donor_weight = weight[donors]
    total = donor_weight.sum(axis=0)
    share = np.divide(
        donor_weight, total, out=np.full(donor_weight.shape, 1.0 / len(donors)), where=total > 0
    )
    return (weight * share).ravel()


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


@dataclass(frozen=True)
class Contribution:
    """The contribution of columns to the log-odds of a row.

    Attributes
    ----------
    columns : tuple of str
        The columns, which are near-copies of each other if there are several.
    values : tuple of str
        Their values in the row.
    change : float
        The change in log-odds.
    std_error : float
        The standard error of the sampling.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    change: float
    std_error: float

    @property
    def name(self) -> str:
        """The columns with their values, as one text."""
        pairs = [f"{column} = {value}" for column, value in zip(self.columns, self.values, strict=True)]
        return join_names(pairs)


@dataclass(frozen=True)
class RowExplanation:
    """The decision of a model for a row as a sum over the columns; prints as a table.

    Attributes
    ----------
    row : int
        The position of the row among the rows that were explained.
    decision : float
        The decision for the positive class, above 0 for a positive row: the log-odds minus those at the
        threshold for a capo model.
    baseline : float
        The mean decision of the background rows that were drawn. Baseline and all changes add up to the
        decision.
    contributions : list of Contribution
        The columns, the largest change first.
    """

    row: int
    decision: float
    baseline: float
    contributions: list[Contribution]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [("column", "change in log-odds", "std error")]
        rows += [
            (each.name, f"{each.change:+.3f}", f"{each.std_error:.3f}")
            for each in self.contributions[:MAX_PRINTED]
        ]
        rest = self.contributions[MAX_PRINTED:]
        if rest:
            rows.append((f"{len(rest)} others", f"{sum(each.change for each in rest):+.3f}", ""))
        rows.append(("all columns", f"{self.decision - self.baseline:+.3f}", ""))
        side = "positive" if self.decision > 0 else "negative"
        mean = f"{self.baseline:+.3f} on average"
        lines = [f"{side}: log-odds {self.decision:+.3f} from the threshold, {mean}"]
        return "\n".join([*lines, *(line.rstrip() for line in format_table(rows, (0, 0, 0)))])

    __repr__ = __str__


def explain_rows(
    model: Any,
    rows: Any,
    background: Any,
    *,
    columns: Sequence[Any] | None = None,
    max_correlation: float | None = 0.9,
    n_walks: int = 128,
    random_state: Any = None,
    on_progress: Callable[[str], None] = lambda message: None,
) -> list[RowExplanation]:
    """Explain predictions of single rows by the contribution of each column to the log-odds.

    The changes are Shapley values, estimated by sampling. A walk starts at a row of the background and
    replaces its columns by those of the explained row, one after the other in a random order; the change of
    the decision at a column, averaged over walks, is the column's contribution. The sampling error is reduced
    in two ways: the rows that walks start from are a systematic sample of the background, ranked by decision,
    and the second half of the walks repeats the first in reverse order. The changes of a row add up exactly
    to its decision minus the mean decision of the rows that walks start from.

    Columns that are near-copies of each other are replaced together, by the rule of `importance`.

    Parameters
    ----------
    model : CAPOClassifier or other classifier
        A fitted classifier of two classes with `decision_function`.
    rows : data frame, array or sparse matrix of shape (n_rows, n_features)
        The rows to explain.
    background : data frame, array or sparse matrix of shape (n_samples, n_features)
        Rows to compare with, such as the training rows, in the same type and with the same columns.
    columns : list, optional
        The names of the columns to explain, or their positions in an array; all others together are one
        contribution. By default all are explained.
    max_correlation : float or None, default=0.9
        Columns with this correlation or more are replaced together; None replaces each separately.
    n_walks : int, default=128
        The number of walks, an even number. A row takes about `n_walks` times the number of columns
        predictions.
    random_state : int, RandomState instance or None
        Seed of the walks. Pass an int for reproducible results.
    on_progress : callable, optional
        Called with a message after each row.

    Returns
    -------
    list of RowExplanation
        One for each row. It prints as a table.

    References
    ----------
    E. Strumbelj, I. Kononenko. Explaining prediction models and individual predictions with feature
    contributions. Knowledge and Information Systems 41, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from capo.inspection import explain_rows
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = LogisticRegression().fit(X, X[:, 1] > 0)
    >>> found = explain_rows(model, X[:1], X, random_state=0)[0]
    >>> found.contributions[0].columns
    ('1',)
    >>> total = sum(each.change for each in found.contributions)
    >>> bool(np.isclose(found.baseline + total, found.decision))
    True
    """
    if target_type(model) != "binary" or not hasattr(model, "decision_function"):
        raise InvalidInputError(
            "rows are explained for models of two classes with a decision_function: for many classes or "
            "labels, train a model of one class against the rest, or use importance."
        )
    if n_walks < 4 or n_walks % 2:
        raise InvalidInputError(f"n_walks must be an even number of at least 4: got {n_walks}.")
    rows, background = as_table(rows), as_table(background)
    kinds = [(is_dataframe(each), issparse(each), each.shape[1:]) for each in (rows, background)]
    if kinds[0] != kinds[1] or len(rows.shape) != 2 or not background.shape[0]:
        found = " and ".join(f"{type(each).__name__} of shape {each.shape}" for each in (rows, background))
        raise InvalidInputError(
            "rows and background must be tables of the same kind with the same columns, and background must "
            f"have rows: got {found}."
        )
    random = check_random_state(random_state)
    n_rows, n_background = int(rows.shape[0]), int(background.shape[0])
    if n_background > MAX_BACKGROUND_ROWS:
        background = safe_indexing(background, random.permutation(n_background)[:MAX_BACKGROUND_ROWS])
        n_background = MAX_BACKGROUND_ROWS
    table = ExplainedTable(_stack(rows, background), getattr(model, "schema_", None))
    positions = choose_columns(table, columns)
    groups = group_columns(table, positions, n_rows + np.arange(n_background), max_correlation)
    others = sorted(set(range(len(table.names))) - set(positions))
    groups += [others] if others else []
    ranked = n_rows + np.argsort(decide(model, background), kind="stable")
    explained = []
    for row in range(n_rows):
        explained.append(_explain_row(model, table, row, groups, n_walks, ranked, random))
        on_progress(f"{row + 1} of {n_rows} rows")
    return explained


def _stack(rows: Any, background: Any) -> Any:
    """Both tables below each other."""
    if is_dataframe(rows):
        frames = [nw.from_native(each, eager_only=True) for each in (rows, background)]
        names = [nw.col(name) for name in frames[0].columns]
        return nw.concat([frames[0], frames[1].select(*names)]).to_native()
    if issparse(rows):
        return vstack([rows, background], format="csr")
    return np.concatenate((np.asarray(rows), np.asarray(background)))


def _explain_row(
    model: Any,
    table: ExplainedTable,
    row: int,
    groups: Sequence[Sequence[int]],
    n_walks: int,
    ranked: IntArray,
    random: np.random.RandomState,
) -> RowExplanation:
    """Walk to a row from rows that are ranked by their decisions and equally far apart."""
    half = n_walks // 2
    ranks = (np.arange(half) + random.random_sample()) / half
    starts = np.tile(ranked[(ranks * len(ranked)).astype(np.intp)], 2)
    orders = np.stack([random.permutation(len(groups)) for _ in range(half)])
    orders = np.concatenate((orders, orders[:, ::-1]))
    # Which columns still come from the background, at each step of each walk.
    steps = np.arange(len(groups) + 1)
    kept = np.argsort(orders, axis=1)[:, np.newaxis, :] >= steps[:, np.newaxis]
    masks = np.zeros((*kept.shape[:2], len(table.names)), dtype=bool)
    for number, positions in enumerate(groups):
        masks[:, :, list(positions)] = kept[:, :, [number]]
    others = np.repeat(starts, len(steps))[:, np.newaxis]
    masks = masks.reshape(-1, len(table.names))
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(others), BLOCK_ROWS)]
    decisions = np.concatenate(
        [decide(model, table.mix(np.full_like(others[i], row), others[i], masks[i])) for i in blocks]
    ).reshape(kept.shape[:2])
    changes = np.empty(orders.shape)
    np.put_along_axis(changes, orders, np.diff(decisions, axis=1), axis=1)
    pairs = 0.5 * (changes[:half] + changes[half:])
    means = pairs.mean(axis=0)
    # The standard error of a systematic sample, from the differences of neighbors.
    errors = np.sqrt(0.5 * np.mean(np.diff(pairs, axis=0) ** 2, axis=0) / len(pairs))
    contributions = [
        Contribution(
            tuple(table.names[position] for position in positions),
            tuple(short_text(table.values(position)[row]) for position in positions),
            float(means[number]),
            float(errors[number]),
        )
        for number, positions in enumerate(groups)
    ]
    contributions.sort(key=lambda each: -abs(each.change))
    return RowExplanation(row, float(decisions[0, -1]), float(decisions[:, 0].mean()), contributions)


@dataclass(frozen=True)
class WorstError:
    """A row that is far on the wrong side of the threshold.

    Attributes
    ----------
    row : int
        The number of the row, counted from `first_row`.
    actual : label
        Its label.
    decision : float
        The model's decision: above 0 for a row that is predicted as positive.
    values : dict of str to str
        The values of the row, in short, by the names of their columns; empty if they are not known.
    loss : float, optional
        The cost of the error, if rows have prices.
    """

    row: int
    actual: Any
    decision: float
    values: dict[str, str]
    loss: float | None = None

    @property
    def severity(self) -> float:
        """The loss, or the distance from the threshold: the worst error has the largest."""
        return abs(self.decision) if self.loss is None else self.loss


def worst_errors(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    decision: ArrayLike | None = None,
    n: int = 10,
    first_row: int = 1,
    losses: ArrayLike | None = None,
) -> list[WorstError]:
    """Find the rows that are farthest on the wrong side of the threshold, or whose errors cost the most.

    They are worth inspecting: some have a wrong label, others show what information the table lacks.

    Parameters
    ----------
    model : CAPOClassifier or other classifier
        A fitted classifier of two classes.
    X : data frame, array or sparse matrix of shape (n_samples, n_features), or None
        The rows. With None their values are not listed, and `decision` is needed.
    y : array-like of shape (n_samples,)
        Their labels.
    decision : array-like of shape (n_samples,), optional
        The decisions for the positive class; by default those of the model for X. Rows with NaN are left out:
        in ``model.oof_decision_`` these are the rows that no fold held out.
    n : int, default=10
        The largest number of errors to return.
    first_row : int, default=1
        The number of the first row.
    losses : array-like of shape (n_samples,), optional
        The cost of each row's prediction compared with the correct one, such as
        `capo.decisions.RowPrices.losses`. The errors are then the rows with a loss above 0, the largest
        first.

    Returns
    -------
    list of WorstError
        The worst first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from capo.inspection import worst_errors
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = (X[:, 0] > 9) ^ (X[:, 0] == 15)
    >>> model = LogisticRegression().fit(X, y)
    >>> [(each.row, each.values) for each in worst_errors(model, X, y, n=1)]
    [(16, {'0': '15'})]
    """
    if target_type(model) != "binary":
        raise InvalidInputError("worst_errors needs a model of two classes: this one has more.")
    if X is None and decision is None:
        raise InvalidInputError("X is None: pass the rows, or their decisions as decision=....")
    names = negative_and_positive(model)
    positive = positive_mask(y, names)
    scores = decide(model, X) if decision is None else np.asarray(decision, dtype=np.float64)
    if scores.shape != positive.shape:
        raise InvalidInputError(
            f"decision must have one number per row: got shape {scores.shape} for {len(positive)} rows."
        )
    severity = np.abs(scores) if losses is None else np.asarray(losses, dtype=np.float64)
    is_wrong = (scores > 0) != positive if losses is None else severity > 0
    wrong = np.flatnonzero(is_wrong & ~np.isnan(scores))
    rows = wrong[np.argsort(-severity[wrong], kind="stable")][:n]
    values: list[dict[str, str]] = [{} for _ in rows]
    if X is not None and len(rows):
        table = ExplainedTable(safe_indexing(as_table(X), rows), getattr(model, "schema_", None))
        columns = [map(short_text, table.values(position)) for position in range(len(table.names))]
        values = [dict(zip(table.names, row, strict=True)) for row in zip(*columns, strict=True)]
    labels, numbers = names[positive[rows].astype(int)].tolist(), (first_row + rows).tolist()
    costs = [None] * len(rows) if losses is None else severity[rows].tolist()
    return [
        WorstError(*each) for each in zip(numbers, labels, scores[rows].tolist(), values, costs, strict=True)
    ]
