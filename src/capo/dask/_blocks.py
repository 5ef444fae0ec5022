"""Functions of one partition, which run on the workers.

All of them are pure functions of their arguments, so that the scheduler can repeat them anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import check_array, column_or_1d

from .._compat import BoolArray, FloatArray, IntArray, safe_indexing
from ..engine import BoundedDesign, augment
from ..exceptions import InvalidInputError
from ..measures import ClassTotals, Cost, Measure
from ..tables.targets import check_no_missing_labels
from ._bins import BinIndex, ScoreBins, iter_slices
from ._partitions import load_result, store_result, worker_folder

#: Largest number of labels that a partition reports.
MAX_REPORTED_LABELS = 10


class Block(NamedTuple):
    """The rows of a partition: a tuple, whose size dask can determine.

    The features may be in a file, as a `StoredResult`.
    """

    X: Any
    positive: BoolArray
    weight: FloatArray | None
    columns: tuple[Any, ...] | int | None = None

    def design(self, fit_intercept: bool) -> BoundedDesign:
        """The features, with a column of ones for the intercept."""
        return augment(load_result(self.X), bias=1.0 if fit_intercept else None)


class ScoredRows(NamedTuple):
    """The scores of the rows of a partition with their classes and weights: what bins are made of."""

    scores: FloatArray
    positive: BoolArray
    weight: FloatArray | None = None


class BlockSummary(NamedTuple):
    """What the client must know of the rows, for one partition or many."""

    n_rows: int
    mass: FloatArray
    n_weighted: FloatArray
    integer: BoolArray
    max_weight: float
    column_sums: FloatArray
    columns: tuple[Any, ...] | int | None = None

    @staticmethod
    def merge(parts: list[BlockSummary]) -> BlockSummary:
        """The summary of all parts, summed in their order."""
        n_rows, mass, n_weighted, integer, max_weight, sums, columns = zip(*parts, strict=True)
        check_same_columns(columns)
        return BlockSummary(
            sum(n_rows),
            np.sum(mass, axis=0),
            np.sum(n_weighted, axis=0),
            np.all(integer, axis=0),
            max(max_weight),
            np.sum(sums, axis=0),
            columns[0],
        )

    def totals(self, weighted: bool) -> ClassTotals:
        """Masses and numbers of atoms of both classes."""
        return ClassTotals.from_counts(
            self.mass.tolist(), self.n_weighted.tolist(), self.integer.tolist(), weighted=weighted
        )


def unique_labels(y: Any, number: int) -> NDArray[Any]:
    """The labels of a partition, at most `MAX_REPORTED_LABELS` of them."""
    labels = check_labels(y, number)
    return np.unique(labels)[:MAX_REPORTED_LABELS]


def merge_labels(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """The labels of all parts, at most `MAX_REPORTED_LABELS` of them."""
    filled = [part for part in parts if len(part)]
    if len({isinstance(part.tolist()[0], str) for part in filled}) > 1:
        shown = ", ".join(sorted({repr(part.tolist()[0]) for part in filled}))
        raise InvalidInputError(
            f"the labels are text in some partitions of y and not in others ({shown}): convert them to one "
            "type."
        )
    return np.unique(np.concatenate(filled))[:MAX_REPORTED_LABELS] if filled else parts[0]


def check_labels(y: Any, number: int) -> NDArray[Any]:
    """The labels of a partition as an array."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    labels = np.asarray(column_or_1d(labels))
    check_no_missing_labels(labels)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidInputError(f"Input y contains NaN or infinity, in partition {number}.")
    return labels


def make_block(
    X: Any, y: Any, weight: Any, classes: NDArray[Any], number: int, on_disk: bool = False
) -> Block:
    """Check the rows of a partition; with `on_disk`, move their features to a file of the worker."""
    rows = to_matrix(X, number)
    positive = check_labels(y, number) == classes[1]
    check_same_length(rows, positive, number)
    checked = None if weight is None else _check_weight(weight, len(positive), number)
    stored = store_result(rows, worker_folder()) if on_disk else rows
    return Block(stored, positive, checked, find_columns(X))


def check_same_length(X: Any, y: NDArray[Any], number: int) -> None:
    """Raise an error if the partitions of X and y have different numbers of rows."""
    if len(y) != X.shape[0]:
        raise InvalidInputError(
            f"partition {number} of X has {X.shape[0]} rows, and that of y has {len(y)}: X, y and "
            "sample_weight must be partitioned alike."
        )


def find_columns(X: Any) -> tuple[Any, ...] | int:
    """The names of the columns of a data frame, or the number of columns of an array."""
    columns = getattr(X, "columns", None)
    return int(np.shape(X)[1]) if columns is None else tuple(columns)


def check_same_columns(columns: Sequence[tuple[Any, ...] | int]) -> None:
    """Raise an error if partitions have different columns, or the same ones in another order."""
    different = list(dict.fromkeys(columns))
    if len(different) > 1:
        raise InvalidInputError(
            f"the partitions of X have different columns: {_show(different[0])} and {_show(different[1])}. "
            "All of them need the same columns in the same order."
        )


def _show(columns: tuple[Any, ...] | int) -> str:
    if isinstance(columns, int):
        return f"{columns} without names"
    return ", ".join(map(str, columns[:10])) + (", ..." if len(columns) > 10 else "")


def reject_row_costs(measure: Measure) -> None:
    """Raise an error if a measure has a parameter for each row."""
    if isinstance(measure, Cost) and measure.per_row:
        raise InvalidInputError(
            f"{' and '.join(measure.per_row)} of single rows cannot be sent to the workers: use 'accuracy' "
            "with the costs as sample_weight, or one number for each class."
        )


def to_matrix(X: Any, number: int) -> Any:
    """The rows of a partition as an array or CSR matrix of float64 or float32."""
    try:
        return check_array(
            _to_numbers(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",  # sums in another order would differ in their last digits
            ensure_min_samples=0,
            input_name="X",
        )
    except ValueError as error:
        raise InvalidInputError(f"partition {number} of X: {error}") from error


def _to_numbers(X: Any) -> Any:
    """X as an array, unless it is sparse."""
    if issparse(X):
        return X
    values = np.asarray(X)
    if values.dtype.kind not in "OUS":
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{error}. The features must be numbers: encode text and categories, or use DaskCAPOClassifier, "
            "which does."
        ) from error


def _check_weight(weight: Any, n_rows: int, number: int) -> FloatArray:
    values = np.asarray(weight, dtype=np.float64).ravel()
    if len(values) != n_rows or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(
            f"sample_weight must have one finite number of at least 0 for each row: partition {number} has "
            f"{n_rows} rows and weights {values[:3].tolist()} ..., {len(values)} in all."
        )
    return values


def summarize(block: Block, fit_intercept: bool) -> BlockSummary:
    """The summary of one partition."""
    weight = np.ones(len(block.positive)) if block.weight is None else block.weight
    masks = (~block.positive, block.positive)
    return BlockSummary(
        len(weight),
        np.array([weight[mask].sum() for mask in masks]),
        np.array([np.count_nonzero(weight[mask]) for mask in masks], dtype=np.float64),
        np.array([bool((weight[mask] == np.rint(weight[mask])).all()) for mask in masks]),
        float(weight.max(initial=0.0)),
        block.design(fit_intercept).abs_rmatvec(weight),
        block.columns,
    )


def score_rows(block: Block, v: FloatArray, fit_intercept: bool) -> ScoredRows:
    """The scores of a partition, which stay on its worker."""
    scores = block.design(fit_intercept).matvec(v) if v.any() else np.zeros(len(block.positive))
    return ScoredRows(scores, block.positive, block.weight)


def bin_scores(rows: ScoredRows, edges: FloatArray) -> ScoreBins:
    """The bins of a partition."""
    return ScoreBins.from_scores(*rows, edges)


def sum_slope(
    block: Block, rows: ScoredRows, edges: FloatArray, coef_per_mass: FloatArray, fit_intercept: bool
) -> FloatArray:
    """The part of a partition in the slope ``A' coef``, with the coefficients by class and bin."""
    index, per_mass, coef = (
        BinIndex(edges, len(rows.scores)),
        coef_per_mass.ravel(),
        np.empty(len(rows.scores)),
    )
    for part in iter_slices(len(coef)):
        coef[part] = per_mass[index.find(rows.scores[part], rows.positive[part])]
    if block.weight is not None:
        coef *= block.weight
    return block.design(fit_intercept).rmatvec(coef)


def sum_parts(parts: list[FloatArray]) -> FloatArray:
    """The sum of some parts, in their order."""
    return np.sum(parts, axis=0)


#: The groups of rows.
SAMPLE, FIRST_HALF, SECOND_HALF = 0, 1, 2


def count_classes(y: Any, classes: NDArray[Any], number: int) -> IntArray:
    """Numbers of negative and positive rows of a partition, as one row of a table."""
    positive = check_labels(y, number) == classes[1]
    return np.array([[np.count_nonzero(~positive), np.count_nonzero(positive)]])


def stack_rows(parts: list[IntArray]) -> IntArray:
    """The rows of all parts, in their order."""
    return np.concatenate(parts)


def allocate_sample(counts: IntArray, size: int) -> IntArray:
    """How many rows of each partition and class are sampled, in proportion to their numbers."""
    share = min(1.0, size / counts.sum())
    ends = np.floor(np.cumsum(counts, axis=0) * share + 0.5)
    return np.diff(ends, axis=0, prepend=0.0).astype(np.intp)


def assign_groups(positive: BoolArray, n_sampled: IntArray, seed: int, number: int) -> IntArray:
    """The group of each row of a partition: `n_sampled` rows of both classes, and two random halves."""
    rng = np.random.default_rng([seed, number])
    groups = rng.integers(FIRST_HALF, SECOND_HALF + 1, len(positive))
    for count, mask in zip(n_sampled.tolist(), (~positive, positive), strict=True):
        groups[rng.permutation(np.flatnonzero(mask))[:count]] = SAMPLE
    return groups


def take_group(
    X: Any, y: Any, classes: NDArray[Any], n_sampled: IntArray, seed: int, number: int, group: int
) -> tuple[Any, NDArray[Any]]:
    """The rows and labels of a group of a partition."""
    labels = check_labels(y, number)
    check_same_length(X, labels, number)
    rows = np.flatnonzero(assign_groups(labels == classes[1], n_sampled, seed, number) == group)
    return safe_indexing(X, rows), labels[rows]


def concatenate_tables(tables: list[Any]) -> Any:
    """One table of the rows of many."""
    check_same_columns([find_columns(table) for table in tables])
    if issparse(tables[0]):
        return vstack(tables, format="csr")
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.maybe_reset_index(nw.concat(frames, how="vertical")).to_native()
