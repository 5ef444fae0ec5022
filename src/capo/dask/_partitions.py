"""The partitions of a table, and computations over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from dask.utils import funcname

from ..exceptions import InvalidInputError
from ._scheduler import Graph, Scheduler, merge_graphs

#: Results that one task of a reduction merges.
FAN_IN = 8


class Partitions:
    """One task for each partition of a table.

    Graphs are dictionaries of all tasks of a step: most of the time of a step on few rows would else be spent
    on objects for single tasks.

    Parameters
    ----------
    keys : sequence of keys
        The keys of the tasks.
    graph : dict
        The tasks, and what they need.
    scheduler : Scheduler
        Where they run.
    """

    def __init__(self, keys: Sequence[Hashable], graph: Graph, scheduler: Scheduler) -> None:
        self.keys, self.graph, self.scheduler = list(keys), graph, scheduler

    @classmethod
    def from_delayed(cls, tasks: Sequence[Delayed], scheduler: Scheduler) -> Partitions:
        """Use the tasks as they are."""
        return cls([task.key for task in tasks], merge_graphs(tasks), scheduler)

    def __add__(self, other: Partitions) -> Partitions:
        return Partitions([*self.keys, *other.keys], {**self.graph, **other.graph}, self.scheduler)

    def __getitem__(self, index: slice) -> Partitions:
        return Partitions(self.keys[index], self.graph, self.scheduler)

    def map(self, function: Callable[..., Any], *args: Any, extra: Partitions | None = None) -> Partitions:
        """A task ``function(block, *args)`` for each partition.

        With `extra`, the result of its partition comes after the block. Arguments are sent once.
        """
        name = f"{funcname(function)}-{uuid4().hex}"
        shared = [argument if _is_small(argument) else delayed(argument, traverse=False) for argument in args]
        graph = {**self.graph, **merge_graphs([each for each in shared if isinstance(each, Delayed)])}
        references = [each.key if isinstance(each, Delayed) else each for each in shared]
        blocks: list[tuple[Hashable, ...]] = [(key,) for key in self.keys]
        if extra is not None:
            graph.update(extra.graph)
            blocks = list(zip(self.keys, extra.keys, strict=True))
        keys = [(name, number) for number in range(len(blocks))]
        graph.update({key: (function, *block, *references) for key, block in zip(keys, blocks, strict=True)})
        return Partitions(keys, graph, self.scheduler)

    def persist(self) -> Partitions:
        """The same partitions, started, whose results stay where they are computed."""
        return Partitions(self.keys, self.scheduler.start(self.graph, self.keys), self.scheduler)

    def merge(self, merge: Callable[[list[Any]], Any]) -> Any:
        """The results of all partitions, merged."""
        merged = self._merge_tree(merge)
        return self.scheduler.run(merged.graph, merged.keys[0])

    def reduce(
        self,
        merge: Callable[[list[Any]], Any],
        function: Callable[..., Any],
        *args: Any,
        extra: Partitions | None = None,
    ) -> Any:
        """The results of `map`, merged."""
        return self.map(function, *args, extra=extra).merge(merge)

    def persist_and_reduce(
        self, merge: Callable[[list[Any]], Any], function: Callable[..., Any], *args: Any
    ) -> tuple[Partitions, Any]:
        """`persist` and `reduce`, in one round of scheduling."""
        merged = self.map(function, *args)._merge_tree(merge)
        graph, result = self.scheduler.start_and_run(merged.graph, self.keys, merged.keys[0])
        return Partitions(self.keys, graph, self.scheduler), result

    def _merge_tree(self, merge: Callable[[list[Any]], Any]) -> Partitions:
        """One task that merges neighbors in a tree whose shape depends on the number of tasks alone.

        So sums do not depend on the order in which partitions are finished.
        """
        name, level, graph = f"{funcname(merge)}-{uuid4().hex}", self.keys, dict(self.graph)
        while len(level) > 1:
            groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            level = [(name, len(graph) + i) for i in range(len(groups))]
            graph.update({key: (merge, group) for key, group in zip(level, groups, strict=True)})
        return Partitions(level, graph, self.scheduler)


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def split_collection(collection: Any, name: str, chunks: tuple[int, ...] | None = None) -> list[Delayed]:
    """The partitions of a dask array or data frame as tasks; an array is divided into `chunks` of rows."""
    if isinstance(collection, da.Array):
        if chunks is not None and not np.isnan(collection.shape[0]):
            if collection.shape[0] != sum(chunks):
                raise InvalidInputError(f"X has {sum(chunks)} rows, {name} has {collection.shape[0]}.")
            collection = collection.rechunk({0: chunks})
        if collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        return [block for row in collection.to_delayed() for block in np.ravel(row)]
    if hasattr(collection, "to_delayed"):
        return list(collection.to_delayed())
    if isinstance(collection, list) and collection and all(isinstance(part, Delayed) for part in collection):
        return list(collection)
    raise InvalidInputError(
        f"{name} must be a dask array, data frame or series, or a list of delayed parts: got "
        f"{type(collection).__name__}. For data in memory use the classifiers of capo itself, or "
        "dask.array.from_array."
    )


def row_chunks(X: Any) -> tuple[int, ...] | None:
    """The numbers of rows of the partitions of a dask array, if they are known."""
    if isinstance(X, da.Array) and not np.isnan(X.shape[0]):
        return tuple(X.chunks[0])
    return None
