"""Rows in partitions: their checks, tasks for them, and reductions over them.

All functions of a partition are pure, so that the scheduler can repeat them anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import dask.array as da
import dask.threaded
import joblib
import narwhals.stable.v2 as nw
import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed
from dask.utils import funcname
from distributed import Client
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import assert_all_finite, check_array, column_or_1d

from .._compat import BoolArray, FloatArray, IntArray, NDArray, safe_indexing
from ..engine import BoundedDesign, augment
from ..exceptions import InvalidInputError, OutputError, list_labels
from ..measures import ClassTotals
from ..tables.checks import check_numbers
from ..tables.targets import check_no_missing_labels, encode_binary_labels

#: Number of results that one task of a reduction merges.
FAN_IN = 8
#: Largest number of labels that a partition reports.
MAX_REPORTED_LABELS = 10
#: The groups of rows.
SAMPLE, FIRST_HALF, SECOND_HALF = 0, 1, 2


class Partitions:
    """The arguments of functions of one partition: keys of tasks, and values that differ between partitions.

    Graphs are dictionaries of all tasks of a step: objects for single tasks would take most of the time of a
    step on few rows.

    Parameters
    ----------
    parts : iterable of tuples
        The arguments for each partition.
    graph : dict
        The tasks, and what they need.
    client : distributed.Client or None
        Where tasks run; None for dask's scheduler in this process.
    """

    def __init__(
        self, parts: Iterable[tuple[Any, ...]], graph: dict[Hashable, Any], client: Client | None
    ) -> None:
        self.parts, self.graph, self.client = list(parts), graph, client

    @classmethod
    def from_delayed(cls, parts: Iterable[tuple[Any, ...]], client: Client | None) -> Partitions:
        """Use `Delayed` objects as they are, and other arguments as values."""
        parts, graph = list(parts), {}
        graphs = [each.__dask_graph__() for part in parts for each in part if isinstance(each, Delayed)]
        for shared in {id(each): each for each in graphs}.values():  # parts of a collection have one graph
            graph.update(shared)
        keys = [tuple(each.key if isinstance(each, Delayed) else each for each in part) for part in parts]
        return cls(keys, graph, client)

    @property
    def keys(self) -> list[Any]:
        """The first argument of each partition."""
        return [part[0] for part in self.parts]

    def __getitem__(self, index: slice) -> Partitions:
        return Partitions(self.parts[index], self.graph, self.client)

    def __add__(self, other: Partitions) -> Partitions:
        return Partitions(self.parts + other.parts, {**self.graph, **other.graph}, self.client)

    def select(self, *positions: int) -> Partitions:
        """Some of the arguments."""
        return Partitions([tuple(part[i] for i in positions) for part in self.parts], self.graph, self.client)

    def zip(self, other: Partitions) -> Partitions:
        """The arguments of both collections of partitions."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Partitions([a + b for a, b in pairs], {**self.graph, **other.graph}, self.client)

    def map(self, function: Callable[..., Any], *args: Any) -> Partitions:
        """A task ``function(*part, *args)`` for each partition; large arguments are sent once."""
        small = (bool, int, float)
        shared = [arg if isinstance(arg, small) else delayed(arg, traverse=False) for arg in args]
        sent = Partitions.from_delayed([tuple(shared)], self.client)
        graph, name = {**self.graph, **sent.graph}, f"{funcname(function)}-{uuid4().hex}"
        for number, part in enumerate(self.parts):
            graph[name, number] = (function, *part, *sent.parts[0])
        return Partitions([((name, number),) for number in range(len(self.parts))], graph, self.client)

    def persist(self, folder: str | None = None) -> Partitions:
        """Compute the tasks and keep the results in the workers' memory.

        Without a cluster they stay in this process: in memory or, with a folder, in files there, which are
        mapped into memory.
        """
        if self.client is not None:
            futures = self.client.get(self.graph, self.keys, sync=False)
            return Partitions(self.parts, dict(zip(self.keys, futures, strict=True)), self.client)
        if folder is None:
            results = self.compute()
        else:
            results = [joblib.load(path, mmap_mode="r") for path in self.map(_store, folder).compute()]
        return Partitions.from_delayed([(delayed(result, traverse=False),) for result in results], None)

    def compute(self) -> list[Any]:
        """The results of all tasks."""
        get = get_scheduler(scheduler=self.client) or dask.threaded.get
        return list(get(self.graph, self.keys))

    def reduce(self, merge: Callable[[list[Any]], Any], function: Callable[..., Any], *args: Any) -> Any:
        """The results of `map`, merged in a tree.

        The shape of the tree only depends on the number of partitions, so that sums do not depend on the
        order in which tasks finish.
        """
        level = self.map(function, *args)
        while len(level.parts) > 1:
            groups = [(level.keys[i : i + FAN_IN],) for i in range(0, len(level.parts), FAN_IN)]
            level = Partitions(groups, level.graph, self.client).map(merge)
        return level.compute()[0]


def _store(value: Any, folder: str) -> str:
    """Write a result to a file, and return its path."""
    path = f"{folder}/{uuid4().hex}"
    try:
        joblib.dump(value, path)
    except OSError as error:
        raise OutputError(
            f"temporary files cannot be written to {folder}: {error.strerror or error}. Set the environment "
            "variable TMPDIR to a folder with more space."
        ) from error
    return path


def split_rows(X: Any, y: Any, sample_weight: Any = None, *, client: Client | None = None) -> Partitions:
    """Tasks for the table, the labels and the weights of each partition, and its number.

    They run on the client, by default the current one.
    """
    chunks = X.chunks[0] if isinstance(X, da.Array) and not np.isnan(X.shape[0]) else None
    tables, labels = _split(X, "X"), _split(y, "y", chunks)
    weights = (
        [None] * len(tables) if sample_weight is None else _split(sample_weight, "sample_weight", chunks)
    )
    if not len(tables) == len(labels) == len(weights):
        given = "" if sample_weight is None else f" and sample_weight has {len(weights)}"
        raise InvalidInputError(
            f"X has {len(tables)} partitions, y has {len(labels)}{given}: they must be partitioned in the "
            "same way."
        )
    parts = zip(tables, labels, weights, range(len(tables)), strict=True)
    current = getattr(get_scheduler(scheduler=client), "__self__", None)  # None: tasks run in this process
    return Partitions.from_delayed(parts, current if isinstance(current, Client) else None)


def _split(collection: Any, name: str, chunks: tuple[int, ...] | None = None) -> list[Delayed]:
    """The partitions of a dask collection; an array is divided into `chunks` of rows."""
    if isinstance(collection, da.Array):
        if chunks is not None and not np.isnan(collection.shape[0]):
            if collection.shape[0] != sum(chunks):
                raise InvalidInputError(f"X has {sum(chunks)} rows, {name} has {collection.shape[0]}.")
            collection = collection.rechunk({0: chunks})
        collection = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
    if hasattr(collection, "to_delayed"):
        return list(np.ravel(collection.to_delayed()))
    if isinstance(collection, list) and collection and all(isinstance(part, Delayed) for part in collection):
        return list(collection)
    raise InvalidInputError(
        f"{name} must be a dask array, data frame or series, or a list of delayed parts: got "
        f"{type(collection).__name__}. For data in memory use the classifiers of capo itself, or "
        "dask.array.from_array."
    )


def find_classes(rows: Partitions, pos_label: Any = None) -> NDArray[Any]:
    """The two labels, the positive one last."""
    found = rows.select(1).reduce(_merge_labels, _unique_labels)
    if not len(found):
        raise InvalidInputError("X and y have no rows.")
    if len(found) >= MAX_REPORTED_LABELS:
        raise InvalidInputError(
            f"Only binary classification is supported: y has {MAX_REPORTED_LABELS} or more classes "
            f"({list_labels(found.tolist())}). Merge them into two."
        )
    return encode_binary_labels(found, pos_label)[0]


def _unique_labels(y: Any) -> NDArray[Any]:
    return np.unique(check_labels(y))[:MAX_REPORTED_LABELS]


def _merge_labels(parts: list[NDArray[Any]]) -> NDArray[Any]:
    filled = [part for part in parts if len(part)]
    if len({isinstance(part.tolist()[0], str) for part in filled}) > 1:
        shown = ", ".join(sorted({repr(part.tolist()[0]) for part in filled}))
        raise InvalidInputError(
            f"the labels are text in some partitions of y and not in others ({shown}): convert them to one "
            "type."
        )
    return np.unique(np.concatenate(filled))[:MAX_REPORTED_LABELS] if filled else parts[0]


def check_labels(y: Any) -> NDArray[Any]:
    """The labels of a partition as an array."""
    labels = np.asarray(column_or_1d(y))
    check_no_missing_labels(labels)
    assert_all_finite(labels, input_name="y")
    return labels


def check_rows(X: Any, y: Any, number: int) -> NDArray[Any]:
    """The labels of a partition, checked to be one per row."""
    labels = check_labels(y)
    if len(labels) != X.shape[0]:
        raise InvalidInputError(
            f"partition {number} of X has {X.shape[0]} rows, and that of y has {len(labels)}: X, y and "
            "sample_weight must be partitioned in the same way."
        )
    return labels


class Block(NamedTuple):
    """The checked rows of a partition: a tuple, whose size dask can determine."""

    X: Any
    positive: BoolArray
    weight: FloatArray | None = None
    columns: str = ""
    bias: float | None = 1.0

    @property
    def design(self) -> BoundedDesign:
        """The features, with a column of ones if there is an intercept."""
        return augment(self.X, bias=self.bias)


def make_block(X: Any, y: Any, weight: Any, number: int, classes: NDArray[Any], fit_intercept: bool) -> Block:
    """Check the rows of a partition, whose features become an array or CSR matrix of float64 or float32."""
    positive = check_rows(X, y, number) == classes[1]
    try:
        matrix = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",  # sums in another order would differ in their last digits
            ensure_min_samples=0,
            input_name="X",
        )
        check_numbers(matrix)
    except ValueError as error:
        raise InvalidInputError(
            f"partition {number} of X: {error}; the features must be numbers: encode text and categories and "
            "fill in missing values, or use DaskCAPOClassifier, which does."
        ) from error
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64).ravel()
        if len(weight) != len(positive) or not np.isfinite(weight).all() or (weight < 0).any():
            raise InvalidInputError(
                "sample_weight must have one finite number of at least 0 for each row: partition "
                f"{number} has {len(positive)} rows and weights {weight[:3].tolist()} ..., {len(weight)} "
                "in all."
            )
    return Block(matrix, positive, weight, describe_columns(X), 1.0 if fit_intercept else None)


def describe_columns(X: Any) -> str:
    """The names of the columns of a data frame, or the number of columns of an array."""
    columns = getattr(X, "columns", None)
    return f"{X.shape[1]} without names" if columns is None else ", ".join(map(str, columns))


def check_same_columns(descriptions: Sequence[str]) -> None:
    """Raise an error if partitions have different columns, or the same ones in another order."""
    different = list(dict.fromkeys(descriptions))
    if len(different) > 1:
        raise InvalidInputError(
            f"the partitions of X have different columns: {different[0]:.100} and {different[1]:.100}. All "
            "of them need the same columns in the same order."
        )


class BlockSummary(NamedTuple):
    """Information about the rows that the client needs, for one partition or many.

    `counts` has, for the negatives and the positives, the sum of the weights, the number of weights above 0,
    and that of weights with a fraction.
    """

    n_rows: int
    counts: FloatArray
    column_sums: FloatArray
    columns: str

    @classmethod
    def from_block(cls, block: Block) -> BlockSummary:
        """The summary of one partition; the columns are summed by their weighted absolute values."""
        weight = np.ones(len(block.positive)) if block.weight is None else block.weight
        counts = [
            (each.sum(), np.count_nonzero(each), np.count_nonzero(each != np.rint(each)))
            for each in (weight[~block.positive], weight[block.positive])
        ]
        sums = block.design.rmatvec(weight, absolute=True)
        return cls(len(weight), np.array(counts, dtype=np.float64), sums, block.columns)

    @classmethod
    def merge(cls, parts: list[BlockSummary]) -> BlockSummary:
        """The summary of all parts, summed in their order."""
        n_rows, counts, column_sums, columns = zip(*parts, strict=True)
        check_same_columns(columns)
        return cls(sum(n_rows), np.sum(counts, axis=0), np.sum(column_sums, axis=0), columns[0])

    @property
    def totals(self) -> ClassTotals:
        """Masses and numbers of atoms of both classes."""
        masses, n_rows, n_fractions = self.counts.T.tolist()
        return ClassTotals.from_counts(masses, n_rows, [number == 0 for number in n_fractions])


def divide_rows(
    rows: Partitions, classes: NDArray[Any], sample_size: int, seed: int
) -> tuple[list[Partitions], IntArray, IntArray]:
    """A stratified sample and two random halves of the other rows.

    Also returns the numbers of all rows and of sampled rows, for both classes.
    """
    counts: IntArray = rows.select(1).reduce(np.concatenate, _count_classes, classes)
    sampled = allocate_sample(counts, sample_size)
    if not sampled.sum(axis=0).all():
        raise InvalidInputError(
            f"a sample of {sample_size:,} of {counts.sum():,} rows contains no row of "
            f"{classes.tolist()[int(np.argmin(sampled.sum(axis=0)))]!r}: raise sample_size."
        )
    tables = rows.select(0, 1, 3).zip(Partitions([(number,) for number in sampled], {}, None))
    groups = [tables.map(_take_group, classes, seed, group) for group in (SAMPLE, FIRST_HALF, SECOND_HALF)]
    return groups, counts.sum(axis=0), sampled.sum(axis=0)


def _count_classes(y: Any, classes: NDArray[Any]) -> IntArray:
    return np.bincount(check_labels(y) == classes[1], minlength=2)[np.newaxis]


def allocate_sample(counts: IntArray, size: int) -> IntArray:
    """The number of rows to sample from each partition and class, in proportion to their numbers."""
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


def _take_group(
    X: Any, y: Any, number: int, n_sampled: IntArray, classes: NDArray[Any], seed: int, group: int
) -> tuple[Any, NDArray[Any]]:
    labels = check_rows(X, y, number)
    rows = np.flatnonzero(assign_groups(labels == classes[1], n_sampled, seed, number) == group)
    return safe_indexing(X, rows), labels[rows]


def concatenate_tables(tables: Sequence[Any]) -> Any:
    """Concatenate the rows of tables."""
    check_same_columns([describe_columns(table) for table in tables])
    if issparse(tables[0]):
        return vstack(tables, format="csr")
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.maybe_reset_index(nw.concat(frames, how="vertical")).to_native()
