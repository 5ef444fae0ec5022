"""Where graphs of tasks run: on a client, or on dask's scheduler in this process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import dask
import dask.local
import dask.threaded
from dask.base import get_scheduler
from dask.delayed import Delayed
from distributed import Client

from ..exceptions import InvalidInputError
from ._spill import SpillFolder, load_result, store_result

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
