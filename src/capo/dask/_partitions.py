"""Partitions, and reductions over them.

A file has the arrays of a result one after the other, and is mapped into memory when a task needs it, so that
the operating system keeps as much of it in memory as there is room for.
"""

from __future__ import annotations

import mmap
import pickle
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import cache, cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp, mkstemp
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import dask.local
import dask.threaded
import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed
from dask.utils import funcname
from distributed import Client, get_worker
from scipy.sparse import issparse

from ..exceptions import InvalidInputError, OutputError

#: Results with smaller arrays stay in memory.
MIN_STORED_BYTES = 2**20
#: The arrays in a file start at multiples of this.
ALIGNMENT = 64


class SpillFolder:
    """A temporary folder, which is removed with the last reference to it."""

    def __init__(self, parent: str | None = None) -> None:
        self.parent = parent or gettempdir()
        self.path = mkdtemp(prefix="capo-", dir=parent)
        weakref.finalize(self, rmtree, self.path, ignore_errors=True)


class StoredResult:
    """A result in a file, which is removed with the last reference to it.

    Parameters
    ----------
    folder : SpillFolder
        Where the file is.
    head : bytes
        The pickled result without its arrays.
    buffers : list of memoryview
        The arrays.
    """

    def __init__(self, folder: SpillFolder, head: bytes, buffers: list[memoryview]) -> None:
        self.folder, self.head = folder, head
        handle, name = mkstemp(dir=folder.path)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        self.slices: list[slice] = []
        with open(handle, "wb") as file:
            for buffer in buffers:
                file.write(bytes(-file.tell() % ALIGNMENT))
                start = file.tell()
                file.write(buffer)
                self.slices.append(slice(start, start + buffer.nbytes))

    def __reduce__(self) -> tuple[Any, ...]:
        """The file stays where it is: another worker gets the arrays, and makes a file of its own."""
        return _store_on_worker, (self.load(),)

    def load(self) -> Any:
        """The result, whose arrays are parts of the file and cannot be changed."""
        with self.path.open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return pickle.loads(self.head, buffers=[mapped[each] for each in self.slices])


def store_result(value: Any, folder: SpillFolder) -> Any:
    """Move the arrays of a result to a file if they are large.

    Other results, and those that cannot be pickled, stay as they are.
    """
    if not isinstance(value, tuple | np.ndarray) and not issparse(value):
        return value
    buffers: list[pickle.PickleBuffer] = []
    try:
        head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError):
        return value
    views = [buffer.raw() for buffer in buffers]
    if sum(view.nbytes for view in views) < MIN_STORED_BYTES:
        return value
    try:
        return StoredResult(folder, head, views)
    except OSError as error:
        raise OutputError(
            f"temporary files cannot be written to {folder.parent}: {error.strerror or error}. Set the "
            "environment variable TMPDIR to a folder with more room."
        ) from error


def load_result(value: Any) -> Any:
    """The result that `store_result` got."""
    return value.load() if isinstance(value, StoredResult) else value


def worker_folder() -> SpillFolder:
    """A folder for the results of this process: in that of the worker, which dask removes, if it is one."""
    try:
        return _folder_in(get_worker().local_directory)
    except ValueError:
        return _folder_in(None)


@cache
def _folder_in(parent: str | None) -> SpillFolder:
    return SpillFolder(parent)


def _store_on_worker(value: Any) -> Any:
    return store_result(value, worker_folder())


#: Tasks by their keys: tuples of a function and its arguments, some of which are keys.
Graph = dict[Hashable, Any]

#: Schedulers that run in this process.
IN_PROCESS = (dask.threaded.get, dask.local.get_sync)


class Scheduler:
    """Runs graphs on a client, or on dask's default scheduler.

    If that runs in this process, large results are kept in temporary files.
    """

    def __init__(self, client: Client | None) -> None:
        if client is not None and not isinstance(client, Client):
            raise InvalidInputError(
                f"client must be a distributed.Client: got {client!r}. Pass distributed.Client(address)."
            )
        self.client = client

    @property
    def is_cluster(self) -> bool:
        """Whether tasks run on the workers of a client."""
        return _client_of(self._find_get()) is not None

    def compute(self, collection: Any) -> Any:
        """The result of a task, or the content of a collection."""
        if self.client is None:
            return dask.compute(collection, optimize_graph=False)[0]
        return self.client.compute(collection, optimize_graph=False, sync=True)

    def persist(self, task: Delayed) -> Delayed:
        """The same task, started, whose result stays where it is computed."""
        return Delayed(task.key, self.start(dict(task.__dask_graph__()), [task.key]))

    def run(self, graph: Graph, key: Hashable) -> Any:
        """The result of the task with this key."""
        return self._find_get()(graph, key)

    def start(self, graph: Graph, keys: Sequence[Hashable]) -> Graph:
        """Start tasks. The graph that is returned has their results, which stay where they are computed."""
        return self._start(graph, keys, [])[0]

    def start_and_run(self, graph: Graph, keys: Sequence[Hashable], wanted: Hashable) -> tuple[Graph, Any]:
        """Start tasks as `start` does, and return the result of another one, in one round of scheduling."""
        results, values = self._start(graph, keys, [wanted])
        return results, values[0]

    def _start(
        self, graph: Graph, keys: Sequence[Hashable], wanted: list[Hashable]
    ) -> tuple[Graph, list[Any]]:
        get = self._find_get()
        if (client := _client_of(get)) is not None:
            futures = client.get(graph, [*keys, *wanted], sync=False)
            return dict(zip(keys, futures, strict=False)), client.gather(futures[len(keys) :])
        if get in IN_PROCESS:
            stored = {("stored", key): (_store, key, self._folder) for key in keys}
            found = get({**graph, **stored}, [*stored, *wanted])
        else:
            found = get(graph, [*keys, *wanted])
        results = {key: (_load, _Held(value)) for key, value in zip(keys, found, strict=False)}
        return results, list(found[len(keys) :])

    def _find_get(self) -> Callable[..., Any]:
        """The function of the scheduler that runs a graph."""
        if self.client is not None:
            return self.client.get
        return get_scheduler() or dask.threaded.get

    @cached_property
    def _folder(self) -> SpillFolder:
        return SpillFolder()


class _Held:
    """A result in this process. Dask, which would take tuples in a graph for tasks, does not look inside."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _store(value: Any, folder: SpillFolder) -> Any:
    return store_result(value, folder)


def _load(held: _Held) -> Any:
    return load_result(held.value)


def _client_of(get: Callable[..., Any]) -> Client | None:
    """The client whose method it is."""
    owner = getattr(get, "__self__", None)
    return owner if isinstance(owner, Client) else None


def merge_graphs(tasks: Sequence[Delayed]) -> Graph:
    """The tasks and all that they need."""
    graph: Graph = {}
    seen: set[int] = set()
    for task in tasks:
        part = task.__dask_graph__()
        if id(part) not in seen:  # parts of a collection share their graph
            seen.add(id(part))
            graph.update(part)
    return graph


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
