"""Rows and permuted columns, and the change of outputs with them.

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
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, issparse, vstack
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, ndtri
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..exceptions import DataWarning, InvalidInputError
from ..learning.folds import check_splits
from ..measures import ConfusionMeasure, Measure, multiclass, multilabel
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure
from ..tables.checks import ColumnCodes
from ..tables.kinds import is_dataframe, is_missing
from ..tables.schema import FeatureSchema, infer_schema
from ..tables.targets import class_positions, encode_label_matrix, positive_mask
from ._formatting import format_table

#: Columns that are explained at most; of a wider table, some must be chosen.
MAX_COLUMNS = 1000
#: Rows of which correlations are computed.
MAX_CORRELATION_ROWS = 2000
#: Different values of a column of categories that are told apart in correlations; all rarer ones are one.
MAX_CATEGORIES = 30
#: Names of columns of one group that are written out.
MAX_JOINED_NAMES = 3


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are exchanged together.

    Attributes
    ----------
    columns : tuple of str
        Their names, in the order of the table.
    positions : tuple of int
        Their positions in the table.
    """

    columns: tuple[str, ...]
    positions: tuple[int, ...]


def join_names(columns: Sequence[str]) -> str:
    """Write the names of columns as one text; of many, the first ones."""
    n_more = len(columns) - MAX_JOINED_NAMES
    return " + ".join(columns[:MAX_JOINED_NAMES]) + (f" + {n_more} more" if n_more > 0 else "")


def as_table(X: Any) -> Any:
    """Return a data frame, array or sparse matrix as it is, and lists of rows as an array."""
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
        self.X: Any = X.tocsr() if issparse(X) else X
        self.is_frame = is_dataframe(X)
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
            return self._mix_sparse(first, second, from_second)
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

    def _mix_sparse(self, first: IntArray, second: IntArray, from_second: BoolArray) -> Any:
        copies = []
        for own, other, chosen in zip(first, second, from_second, strict=True):
            kept = self.X[own] @ diags_array((~chosen).astype(float))
            copies.append(kept + self.X[other] @ diags_array(chosen.astype(float)))
        return vstack(copies, format="csr")

    def codes(self, position: int) -> ColumnCodes:
        """Return the values of a column as codes, and as numbers if they have an order."""
        if issparse(self.X):
            return ColumnCodes.of_numbers(np.asarray(self.X[:, [position]].todense(), dtype=float).ravel())
        if not self.is_frame:
            return ColumnCodes.of_numbers(np.asarray(self.X[:, position], dtype=np.float64))
        return ColumnCodes.of(self._schema.columns[position], self.X)

    def values(self, position: int) -> list[Any]:
        """Return the values of a column."""
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
) -> list[ColumnGroup]:
    """Group columns that are near-copies of each other.

    Two columns are in the same group if their correlation is `max_correlation` or more, and so are columns
    that a chain of such pairs connects. The correlation of two columns of numbers or dates is the absolute
    value of Spearman's; for any other pair it is Cramér's V, corrected for its bias, with numbers in bins.
    """
    labels = np.arange(len(positions))
    if max_correlation is not None and len(positions) > 1:
        rows = rows[:MAX_CORRELATION_ROWS]
        codes = [table.codes(position).take(rows) for position in positions]
        labels = connected_components(csr_array(_correlations(codes) >= max_correlation), directed=False)[1]
    groups = []
    for label in dict.fromkeys(labels.tolist()):
        members = [positions[i] for i in np.flatnonzero(labels == label).tolist()]
        groups.append(ColumnGroup(tuple(table.names[i] for i in members), tuple(members)))
    return groups


def _correlations(columns: Sequence[ColumnCodes]) -> FloatArray:
    """The correlation of each pair of columns, from 0 to 1."""
    numeric = [i for i, column in enumerate(columns) if column.numbers is not None]
    found = np.zeros((len(columns), len(columns)))
    if len(numeric) < len(columns):
        found = _cramers_v([column.codes for column in columns])
    if numeric:
        ranks = np.column_stack([_ranks(columns[i]) for i in numeric])
        found[np.ix_(numeric, numeric)] = np.abs(ranks.T @ ranks)
    return found


def _ranks(column: ColumnCodes) -> FloatArray:
    """Ranks of the numbers with mean 0 and norm 1; missing values and constants have the mean rank."""
    assert column.numbers is not None
    present = ~np.isnan(column.numbers)
    ranks = np.zeros(len(present))
    if present.any():
        ranks[present] = rankdata(column.numbers[present])
        ranks[present] -= ranks[present].mean()
    norm = float(np.linalg.norm(ranks))
    return ranks / norm if norm > 0 else ranks


def _cramers_v(columns: Sequence[IntArray]) -> FloatArray:
    """Cramér's V of each pair of columns of codes, corrected for its bias."""
    indicators = [_indicators(codes) for codes in columns]
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


def _indicators(codes: IntArray) -> FloatArray:
    """One column of 0 and 1 for each of the most frequent codes, and one for all others."""
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    place = np.full(len(counts), len(frequent))
    place[frequent] = np.arange(len(frequent))
    width = len(frequent) + (len(counts) > len(frequent))
    return np.eye(width)[place[inverse]]


#: Rows of each class that a sample has, if there are as many.
MIN_CLASS_ROWS = 200


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


#: Rows that are predicted at most; with many columns, fewer rows are used.
MAX_PREDICTIONS = 500_000
#: Rows that are used even if there are many columns.
MIN_ROWS = 200


@dataclass(frozen=True)
class EvaluatedRows:
    """A fitted model, and the positions of the rows that it is evaluated on."""

    model: Any
    rows: IntArray


def choose_sample_size(max_rows: int | None, n_columns: int, n_repeats: int) -> int | None:
    """The number of rows to draw; None for all."""
    if max_rows is None:
        return None
    affordable = max(MIN_ROWS, MAX_PREDICTIONS // (n_columns * n_repeats))
    return min(max_rows, affordable)


def make_evaluated_rows(
    model: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    groups: NDArray[Any] | None,
    cv: Any,
    random: np.random.RandomState,
    on_progress: Callable[[str], None],
) -> list[EvaluatedRows]:
    """The fitted model with all rows, or the model of each fold with the rows that it holds out."""
    labels = np.asarray(y)
    if len(labels) != X.shape[0]:
        raise InvalidInputError(f"X has {X.shape[0]:,} rows and y {len(labels):,}: they must be as many.")
    if cv is None:
        if hasattr(model, "fit"):
            check_is_fitted(model)
        return [EvaluatedRows(model, np.arange(len(labels)))]
    if getattr(model, "prices_", None) is not None:
        raise InvalidInputError(
            "the model was trained with prices, and cv would train it without them: leave cv out, and pass "
            "rows that the model was not trained on."
        )
    parts = []
    splits = _split(cv, X, labels, groups, random)
    for number, (train, test) in enumerate(splits, start=1):
        params: dict[str, Any] = {} if groups is None else {"groups": groups[train]}
        if sample_weight is not None:
            params["sample_weight"] = np.asarray(sample_weight)[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # about all rows, where the model was first trained
            fitted = clone(model).fit(safe_indexing(X, train), labels[train], **params)
        parts.append(EvaluatedRows(fitted, test))
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


def sample_rows(
    parts: Sequence[EvaluatedRows],
    classes: IntArray,
    weight: FloatArray,
    n_rows: int | None,
    random: np.random.RandomState,
) -> tuple[list[EvaluatedRows], FloatArray]:
    """The parts with at most so many rows in all, drawn by class, and the weights of the table's rows."""
    rows = np.concatenate([part.rows for part in parts])
    if n_rows is None or len(rows) <= n_rows:
        return list(parts), weight
    sampled, factor = sample_by_class(classes[rows], n_rows, random)
    weight = weight.copy()
    weight[rows[sampled]] *= factor
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[sampled] = True
    masks = np.split(chosen, np.cumsum([len(part.rows) for part in parts])[:-1])
    kept = [replace(part, rows=part.rows[mask]) for part, mask in zip(parts, masks, strict=True)]
    return [part for part in kept if len(part.rows)], weight


def decide(model: Any, X: Any) -> FloatArray:
    """Return the decisions of a model of two classes, above 0 for rows that are predicted as positive."""
    decision = getattr(model, "positive_decision", model.decision_function)
    return np.asarray(decision(X), dtype=np.float64)


def negative_and_positive(model: Any) -> NDArray[Any]:
    """Return the labels of the negative and of the positive class of a model of two classes."""
    return np.asarray(getattr(model, "label_pair", model.classes_))


class ScoredOutputs(ABC):
    """Predicts rows with a model, and evaluates the predictions of labeled rows.

    Attributes
    ----------
    measure : Measure, MulticlassMeasure or MultilabelMeasure
        The measure.
    """

    measure: Any

    @abstractmethod
    def predict(self, model: Any, X: Any) -> FloatArray:
        """Return the outputs of a model, one row of them per row of X."""

    @abstractmethod
    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        """Return the measure of outputs for rows, given by their positions among the labels."""

    def values(self, rows: IntArray, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        """Return the measure for each of several weightings of the rows."""
        return np.array([self.value(rows, outputs, weight) for weight in weights])

    @property
    @abstractmethod
    def strata(self) -> IntArray:
        """A number for each row; a resample needs rows of each number."""


class BinaryOutputs(ScoredOutputs):
    """Decisions of a model of two classes."""

    def __init__(self, measure: Measure, positive: BoolArray) -> None:
        self.measure, self.positive = measure, positive

    def predict(self, model: Any, X: Any) -> FloatArray:
        return decide(model, X)

    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        return float(self.measure.score(self.positive[rows], outputs, weight))

    def values(self, rows: IntArray, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        if not (isinstance(self.measure, ConfusionMeasure) and self.measure.needs_threshold):
            return super().values(rows, outputs, weights)
        cell = np.where(self.positive[rows], np.where(outputs > 0, 0, 2), np.where(outputs > 0, 1, 3))
        cells = np.array([np.bincount(cell, weight, minlength=4) for weight in weights])
        return np.asarray(self.measure.value(*cells.T), dtype=np.float64)

    @property
    def strata(self) -> IntArray:
        return self.positive.astype(np.intp)


class MulticlassOutputs(ScoredOutputs):
    """Probabilities of a model of many classes."""

    def __init__(self, measure: MulticlassMeasure, codes: IntArray) -> None:
        self.measure, self.codes = measure, codes

    def predict(self, model: Any, X: Any) -> FloatArray:
        """Return the probabilities of the classes, and in the last column the predicted class."""
        probabilities = model.predict_proba(X)
        return np.column_stack((probabilities, model.rule_.predict(probabilities)))

    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        labels = outputs[:, -1].astype(np.intp)
        return float(self.measure.score(self.codes[rows], labels, outputs[:, :-1], weight))

    def values(self, rows: IntArray, outputs: FloatArray, weights: Iterable[FloatArray]) -> FloatArray:
        if not isinstance(self.measure, ConfusionMatrixMeasure):
            return super().values(rows, outputs, weights)
        n_classes = outputs.shape[1] - 1
        cell = self.codes[rows] * n_classes + outputs[:, -1].astype(np.intp)
        cells = np.array([np.bincount(cell, weight, minlength=n_classes**2) for weight in weights])
        return np.asarray(self.measure.value(cells.reshape(-1, n_classes, n_classes)), dtype=np.float64)

    @property
    def strata(self) -> IntArray:
        return self.codes


class MultilabelOutputs(ScoredOutputs):
    """Decisions of a model of many labels."""

    def __init__(self, measure: MultilabelMeasure, positive: BoolArray) -> None:
        self.measure, self.positive = measure, positive

    def predict(self, model: Any, X: Any) -> FloatArray:
        return np.asarray(model.decision_function(X), dtype=np.float64)

    def value(self, rows: IntArray, outputs: FloatArray, weight: FloatArray) -> float:
        return float(self.measure.score(self.positive[rows], outputs, weight))

    @property
    def strata(self) -> IntArray:
        return np.zeros(len(self.positive), dtype=np.intp)


def score_outputs(model: Any, y: ArrayLike, measure: Any = None) -> ScoredOutputs:
    """Return what evaluates a fitted model on rows with the labels y, by its own measure or another one."""
    own = getattr(model, "measure_", None)
    if isinstance(own, MulticlassMeasure):
        classes: NDArray[Any] = model.classes_
        chosen = own if measure is None else multiclass.get(measure).for_classes(classes)
        return MulticlassOutputs(chosen, class_positions(y, classes))
    if isinstance(own, MultilabelMeasure):
        chosen_label = own if measure is None else multilabel.get(measure)
        return MultilabelOutputs(chosen_label, encode_label_matrix(y)[1])
    if own is None and measure is None:
        raise InvalidInputError(
            f"{type(model).__name__} has no measure_: pass the measure to explain, such as measure='f1'."
        )
    chosen_measure: Any = own if measure is None else measure
    return BinaryOutputs(measures.get(chosen_measure), positive_mask(y, negative_and_positive(model)))


#: Rows that are predicted at once.
BLOCK_ROWS = 20_000
#: Draws of a resample until it has rows of every class.
MAX_DRAWS = 100


class PermutedOutputs:
    """Outputs of models for rows as they are, and with groups of columns from other rows.

    Parameters
    ----------
    table : ExplainedTable
        The table.
    scored : ScoredOutputs
        What predicts and evaluates the rows.
    parts : sequence of EvaluatedRows
        One model with all rows, or the model of each fold with the rows that it holds out. A row's donors are
        rows of the same part.
    n_repeats : int
        The number of donors of each row.
    random : RandomState
        Draws the permutations.
    """

    def __init__(
        self,
        table: ExplainedTable,
        scored: ScoredOutputs,
        parts: Sequence[EvaluatedRows],
        n_repeats: int,
        random: np.random.RandomState,
    ) -> None:
        self._table, self._scored, self._parts, self._n_repeats = table, scored, parts, n_repeats
        #: The positions of all rows in the table.
        self.rows = np.concatenate([part.rows for part in parts])
        starts = np.cumsum([0, *(len(part.rows) for part in parts)])
        ranges = [np.arange(*ends) for ends in itertools.pairwise(starts)]
        #: For each repeat and each row, the position of its donor among `rows`.
        self.donors = np.stack(
            [np.concatenate([random.permutation(each) for each in ranges]) for _ in range(n_repeats)]
        )
        self._ranges = ranges
        #: The outputs of the rows as they are.
        self.outputs = np.concatenate(
            [scored.predict(p.model, table.mix(*_mix_with_itself(table, p))) for p in parts]
        )

    def iter_permuted(self, groups: Sequence[ColumnGroup]) -> Iterator[FloatArray]:
        """Yield, for each group of columns, the outputs of all pairs, of shape (n_repeats * n_rows, ...)."""
        masks = np.zeros((len(groups), len(self._table.names)), dtype=bool)
        for mask, group in zip(masks, groups, strict=True):
            mask[list(group.positions)] = True
        n_at_once = max(1, BLOCK_ROWS // (self._n_repeats * len(self.rows)))
        for start in range(0, len(groups), n_at_once):
            block = masks[start : start + n_at_once]
            per_part = [
                self._permute_part(part, rows, block)
                for part, rows in zip(self._parts, self._ranges, strict=True)
            ]
            joined = np.concatenate(per_part, axis=2)
            yield from joined.reshape(len(block), -1, *joined.shape[3:])

    def _permute_part(self, part: EvaluatedRows, rows: IntArray, masks: BoolArray) -> FloatArray:
        """The outputs of the pairs of one part, of shape (n_groups, n_repeats, n_rows of the part, ...)."""
        donors = self.rows[self.donors[:, rows]]
        copies = [(mask, donor) for mask in masks for donor in donors]
        n_at_once = max(1, BLOCK_ROWS // len(rows))
        outputs = []
        for start in range(0, len(copies), n_at_once):
            chosen = copies[start : start + n_at_once]
            own = np.broadcast_to(part.rows, (len(chosen), len(rows)))
            mixed = self._table.mix(
                own, np.stack([donor for _, donor in chosen]), np.stack([mask for mask, _ in chosen])
            )
            outputs.append(self._scored.predict(part.model, mixed))
        joined = np.concatenate(outputs)
        return joined.reshape(len(masks), len(donors), len(rows), *joined.shape[1:])


def _mix_with_itself(table: ExplainedTable, part: EvaluatedRows) -> tuple[IntArray, IntArray, BoolArray]:
    rows = part.rows[np.newaxis]
    return rows, rows, np.zeros((1, len(table.names)), dtype=bool)


def split_weight(weight: FloatArray, donors: IntArray) -> FloatArray:
    """Divide the weight of each row among its pairs, in proportion to the weights of their donors."""
    donor_weight = weight[donors]
    total = donor_weight.sum(axis=0)
    share = np.divide(
        donor_weight, total, out=np.full(donor_weight.shape, 1.0 / len(donors)), where=total > 0
    )
    return (weight * share).ravel()


class RowBootstrap:
    """Weights of rows that are drawn with replacement.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        The sample weights.
    strata : ndarray of shape (n_rows,)
        Every resample has rows of each stratum that has any.
    units : ndarray of shape (n_rows,)
        Rows with the same number are drawn together.
    n_resamples : int
        The number of resamples.
    random : RandomState
        Draws the rows.
    """

    def __init__(
        self,
        weight: FloatArray,
        strata: IntArray,
        units: IntArray,
        n_resamples: int,
        random: np.random.RandomState,
    ) -> None:
        self._weight, self._strata, self._units = weight, strata, units
        self._n_units = int(units.max()) + 1
        self._present = np.bincount(strata, weight > 0) > 0
        self._seeds = random.randint(2**31 - 1, size=n_resamples)

    def row_weights(self) -> Iterator[FloatArray]:
        """Yield the weights of the rows in each resample, the same ones in every call."""
        return (self._draw(np.random.default_rng(seed)) for seed in self._seeds)

    def pair_weights(self, donors: IntArray) -> Iterator[FloatArray]:
        """Yield the weights of the pairs in each resample."""
        return (split_weight(weight, donors) for weight in self.row_weights())

    def _draw(self, random: np.random.Generator) -> FloatArray:
        for _ in range(MAX_DRAWS):
            drawn = random.integers(self._n_units, size=self._n_units)
            weight = self._weight * np.bincount(drawn, minlength=self._n_units)[self._units]
            if ((np.bincount(self._strata, weight, len(self._present)) > 0) == self._present).all():
                return weight
        return self._weight


#: Bins of a column of numbers; the most frequent categories, of which there may be more.
N_BINS = 10
#: Standard errors on either side of the value in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))
#: Longer values are cut where they are printed.
MAX_VALUE_LENGTH = 24
MISSING, OTHER = "(missing)", "(other)"
#: Numbers in this range are printed without digits after the point.
MIN_WHOLE_NUMBER, MAX_WHOLE_NUMBER = 1e4, 1e12


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
class EffectScale:
    """What the outputs of a model of two classes are converted to.

    Attributes
    ----------
    name : str
        Its name.
    offsets : ndarray of shape (n_rows,), optional
        What is added to the decision of each row to give its log-odds; None if the model has none.
    """

    name: str
    offsets: FloatArray | None

    @classmethod
    def of(cls, parts: Sequence[EvaluatedRows]) -> EffectScale:
        """Return the probability of the positive class, or the decision of a model without probabilities."""
        model = parts[0].model
        if not hasattr(model, "combination_"):
            return cls("decision", None)
        offsets = [np.full(len(part.rows), part.model.decision_.log_odds) for part in parts]
        return cls(f"probability of {negative_and_positive(model).tolist()[1]!r}", np.concatenate(offsets))

    def apply(self, decisions: FloatArray) -> FloatArray:
        """Convert decisions for all rows, or for all pairs of rows."""
        if self.offsets is None:
            return decisions
        return np.asarray(expit(decisions + np.tile(self.offsets, len(decisions) // len(self.offsets))))


def estimate_effect(
    group: ColumnGroup,
    table: ExplainedTable,
    rows: IntArray,
    donors: IntArray,
    outputs: FloatArray,
    permuted: FloatArray,
    scale: str,
    weights: Sequence[FloatArray],
) -> ColumnEffect:
    """Estimate the effect of columns from the outputs of rows with values of their donors.

    The mean output over the pairs whose donor has a value is the partial dependence on it. The row's own
    output is a control variate, which reduces the variance where the column has a weak effect.

    Parameters
    ----------
    group : ColumnGroup
        The columns.
    table : ExplainedTable
        The table.
    rows : ndarray of shape (n_rows,)
        The positions of the rows.
    donors : ndarray of shape (n_repeats, n_rows)
        The positions of the donors among them.
    outputs, permuted : ndarray of shape (n_rows,) and (n_repeats * n_rows,)
        The outputs of the rows as they are, and of the pairs.
    scale : str
        What the outputs are.
    weights : sequence of ndarray of shape (n_rows,)
        The weights of the rows, and those of bootstrap resamples.
    """
    bins = _Bins.of(table, group.positions[0], rows)
    codes = bins.codes[donors].ravel()
    own = np.tile(outputs, len(donors))
    adjusted = permuted - _control_coefficient(permuted, own) * (own - own.mean())
    estimates = []
    for weight in weights:
        pairs = split_weight(weight, donors)
        mass = np.bincount(codes, pairs, minlength=len(bins.names))
        sums = np.bincount(codes, pairs * adjusted, minlength=len(bins.names))
        estimates.append(np.divide(sums, mass, out=np.full(len(mass), np.nan), where=mass > 0))
    output, resampled = estimates[0], np.stack(estimates[1:])
    margin = N_STD_ERRORS * np.nanstd(resampled, axis=0, ddof=1)
    share = np.bincount(bins.codes, weights[0], minlength=len(bins.names)) / weights[0].sum()
    columns = (bins.names, bins.positions, share, output, output - margin, output + margin)
    lists = (each if isinstance(each, list) else each.tolist() for each in columns)
    return ColumnEffect(group.columns, scale, [EffectPoint(*each) for each in zip(*lists, strict=True)])


def _control_coefficient(values: FloatArray, control: FloatArray) -> float:
    """The coefficient of a control variate that leaves the smallest variance."""
    centered = control - control.mean()
    variance = float(centered @ centered)
    return float(centered @ values) / variance if variance > 0 else 0.0


@dataclass(frozen=True)
class _Bins:
    """The bin of each row by the value of a column, and the name and mean number of each bin."""

    codes: IntArray
    names: list[str]
    positions: list[float | None]

    @classmethod
    def of(cls, table: ExplainedTable, position: int, rows: IntArray) -> _Bins:
        column, values = table.codes(position).take(rows), table.values(position)
        texts = np.array([short_text(values[row]) for row in rows], dtype=object)
        if column.numbers is None:
            return cls._of_categories(texts)
        return cls._of_numbers(column.numbers, texts)

    @classmethod
    def _of_categories(cls, texts: Any) -> _Bins:
        names, inverse, counts = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:N_BINS]
        place = np.full(len(names), len(frequent))
        place[frequent] = np.arange(len(frequent))
        shown = [*names[frequent].tolist(), *([OTHER] if len(names) > len(frequent) else [])]
        return cls(place[inverse], shown, [None] * len(shown))

    @classmethod
    def _of_numbers(cls, numbers: FloatArray, texts: Any) -> _Bins:
        present = ~np.isnan(numbers)
        different = np.unique(numbers[present])
        if len(different) > N_BINS:
            quantiles = np.quantile(numbers[present], np.linspace(0, 1, N_BINS + 1)[1:-1])
            different = np.concatenate((different[:1], np.unique(quantiles[quantiles > different[0]])))
        codes = np.searchsorted(different, numbers, side="right") - 1
        codes[~present] = len(different)
        used, codes = np.unique(codes, return_inverse=True)
        names, positions = [], []
        for code in used:
            rows = np.flatnonzero(codes == np.searchsorted(used, code))
            missing = code == len(different)
            names.append(MISSING if missing else _name_range(numbers[rows], texts[rows]))
            positions.append(None if missing else float(numbers[rows].mean()))
        return cls(codes, names, positions)


def _name_range(numbers: FloatArray, texts: Any) -> str:
    """The smallest and the largest value, as they are written in the table."""
    low, high = texts[int(np.argmin(numbers))], texts[int(np.argmax(numbers))]
    return str(low) if low == high else f"{low} to {high}"


def _format_number(value: float) -> str:
    """A number with four digits, or with all digits before the point."""
    return f"{value:.0f}" if MIN_WHOLE_NUMBER <= abs(value) < MAX_WHOLE_NUMBER else f"{value:.4g}"


def short_text(value: Any) -> str:
    """A value in short."""
    if is_missing(value):
        return MISSING
    text = _format_number(value) if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + "..."
