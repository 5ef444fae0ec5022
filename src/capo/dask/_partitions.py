"""The partitions of a table, and computations over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.local
import dask.threaded
import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed

from ..exceptions import InvalidInputError
from ._spill import SpillFolder, load_result, store_result

if TYPE_CHECKING:
    from distributed import Client

#: Results that one task of a reduction merges.
FAN_IN = 8
#: Schedulers that run in this process; None is the default one, with threads.
IN_PROCESS = (None, dask.threaded.get, dask.local.get_sync)


class Scheduler:
    """Runs graphs on a client, or on dask's default scheduler.

    If that runs in this process, large results are kept in temporary files.
    """

    def __init__(self, client: Client | None) -> None:
        self.client = client

    def compute(self, task: Delayed) -> Any:
        """The result of a task."""
        if self.client is None:
            return dask.compute(task, optimize_graph=False)[0]
        return self.client.compute(task, optimize_graph=False, sync=True)

    def persist(self, tasks: Sequence[Delayed]) -> list[Delayed]:
        """The same tasks, started, whose results stay where they are computed."""
        if self.client is not None:
            return list(self.client.persist(list(tasks), optimize_graph=False))
        if get_scheduler() not in IN_PROCESS:
            return list(dask.persist(*tasks, optimize_graph=False))
        folder = delayed(self._folder, traverse=False)
        stored = [delayed(store_result, pure=False)(task, folder) for task in tasks]
        return [
            delayed(load_result, pure=False)(each) for each in dask.persist(*stored, optimize_graph=False)
        ]

    @cached_property
    def _folder(self) -> SpillFolder:
        return SpillFolder()


class Partitions:
    """Blocks of rows on the workers.

    Parameters
    ----------
    blocks : sequence of Delayed
        One task for each partition.
    scheduler : Scheduler
        Where they run.
    """

    def __init__(self, blocks: Sequence[Delayed], scheduler: Scheduler) -> None:
        self.blocks, self.scheduler = list(blocks), scheduler

    def map(self, function: Callable[..., Any], *args: Any, extra: Sequence[Delayed] = ()) -> list[Delayed]:
        """One task ``function(block, *args)`` for each partition.

        With `extra`, one value for each partition comes after the block. Arguments are sent once.
        """
        task = delayed(function, pure=False)
        shared = [argument if _is_small(argument) else delayed(argument, traverse=False) for argument in args]
        values = zip(self.blocks, extra, strict=True) if extra else ((block,) for block in self.blocks)
        return [task(*each, *shared) for each in values]

    def persist(
        self, function: Callable[..., Any], *args: Any, extra: Sequence[Delayed] = ()
    ) -> list[Delayed]:
        """The tasks of `map`, started."""
        return self.scheduler.persist(self.map(function, *args, extra=extra))

    def reduce(
        self,
        merge: Callable[[list[Any]], Any],
        function: Callable[..., Any],
        *args: Any,
        extra: Sequence[Delayed] = (),
    ) -> Any:
        """The results of `map`, merged."""
        return self.scheduler.compute(merge_tree(self.map(function, *args, extra=extra), merge))


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def merge_tree(tasks: Sequence[Delayed], merge: Callable[[list[Any]], Any]) -> Delayed:
    """Merge neighbors in a tree whose shape depends on the number of tasks alone.

    So sums do not depend on the order in which partitions are finished.
    """
    level, task = list(tasks), delayed(merge, pure=False)
    while len(level) > 1:
        level = [task(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0]


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
