"""Tables on a cluster, and tables that are read in parts."""

from __future__ import annotations

import logging
import os
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...exceptions import InvalidInputError, MissingExtraError, TableError
from ...io.formats import TableReader
from ...io.parts import TablePart, TableSize, divide_table, estimate_size
from ...io.source import Batch, NoRowsError
from ...io.table_schema import Schema
from ..console import Console
from ..options import ClusterOptions, FitClusterOptions

if TYPE_CHECKING:
    from distributed import Client


#: Seconds after which a scheduler that does not answer is an error.
CONNECTION_TIMEOUT = 10
#: Parts under way for each thread of the workers, so that none of them waits for the next part.
N_PARTS_AHEAD = 2


def divide(table: TableReader, cluster: ClusterOptions, console: Console) -> Sequence[TablePart]:
    """The parts of a table that workers read."""
    if table.path == "-":
        raise InvalidInputError("a table that is read in parts must be in files: got standard input.")
    with console.step(f"dividing {table.name}"):
        return divide_table(table, cluster.partition_rows)


@contextmanager
def connect(cluster: ClusterOptions, console: Console) -> Iterator[Client]:
    """A client of the cluster; a local one is started, and closed at the end."""
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 (an optional package)
    except ImportError as error:
        raise MissingExtraError("--cluster needs Dask: pip install 'capo-learn[dask]'.") from error

    # A client that is interrupted leaves tasks behind, whose tracebacks would be shown.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    if cluster.n_local_workers is not None:
        with (
            LocalCluster(
                cluster.n_local_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=40
            ) as local,
            Client(local) as client,
        ):
            yield client
        return
    try:
        client = Client(cluster.address, timeout=CONNECTION_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        # The client is closed with the last reference to it, which would else take 20 seconds at exit.
        traceback.clear_frames(error.__traceback__)
        raise InvalidInputError(
            f"no Dask scheduler answers at {cluster.address}: {_reason(error)}"
        ) from error
    with client:
        if not client.nthreads():  # a cluster may start them when there are tasks
            console.note(f"the Dask scheduler at {cluster.address} has no workers yet: waiting for them.")
        yield client


def _reason(error: Exception) -> str:
    """What a client's error means; the first bytes of another protocol are taken for a number of bytes."""
    return "what answers is not a Dask scheduler." if isinstance(error, MemoryError) else str(error)


@contextmanager
def open_scheduler(cluster: ClusterOptions, n_jobs: int, console: Console) -> Iterator[Client | None]:
    """A client of the cluster; without one, None and Dask's scheduler in this process, with some threads."""
    if cluster.address is not None:
        with connect(cluster, console) as client:
            yield client
        return
    import dask  # noqa: PLC0415 (an optional package)

    n_threads = n_jobs if n_jobs > 0 else os.cpu_count() or 1
    with dask.config.set(scheduler="synchronous" if n_threads == 1 else "threads", num_workers=n_threads):
        yield None


def map_in_order(
    client: Client, function: Callable[..., Any], parts: Iterable[TablePart], shared: Any
) -> Iterator[Any]:
    """Results of ``function(part, shared)`` in the order of the parts.

    A part is started when the results of earlier ones have been used, so that only a few are in memory.
    """
    from dask.delayed import delayed  # noqa: PLC0415 (an optional package)

    # A task that returns it, unlike scattered data, is repeated if its worker is lost.
    argument = client.compute(delayed(shared, traverse=False))
    limit = N_PARTS_AHEAD * max(sum(client.nthreads().values()), 1)
    pending: deque[Any] = deque()
    for part in parts:
        pending.append(client.submit(function, part, argument, pure=False))
        if len(pending) >= limit:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def read_parts(parts: Sequence[TablePart], schema: Schema) -> tuple[list[Any], list[Any]]:
    """Tasks that read the features and the labels of each part."""
    from dask.delayed import delayed  # noqa: PLC0415 (an optional package)

    read = delayed(_read_features_and_labels, pure=False)
    tasks = [read(part, schema) for part in parts]
    return [task[0] for task in tasks], [task[1] for task in tasks]


def _read_features_and_labels(part: TablePart, schema: Schema) -> tuple[Any, Any]:
    with name_part(part):
        batch = read_rows(part)
        if batch is None:
            return schema.example_row()[:0], np.empty(0, dtype=object)
        return schema.features(batch), schema.labels(batch)


def read_rows(part: TablePart) -> Batch | None:
    """The rows of a part; None if it has none."""
    try:
        return part.read()
    except NoRowsError:
        return None


@contextmanager
def name_part(part: TablePart) -> Iterator[None]:
    """Add the name of a part to errors that do not have it."""
    try:
        yield
    except TableError as error:
        if part.path in str(error):
            raise
        raise TableError(f"{part.path}: {error}") from error


#: Copies of the table that training makes: as read, as numbers, and as features of the auxiliaries.
N_TABLE_COPIES = 8
#: Bytes for each row that the forests of all folds take, if there are any.
FOREST_BYTES_PER_ROW = 15_000
FORESTS = frozenset({"trees", "full_trees", "rf", "auto"})
#: Smaller files are read at once.
MIN_CHECKED_BYTES = 2**25
MODES = ("auto", "yes", "no")


def needs_parts(
    table: TableReader,
    cluster: FitClusterOptions,
    auxiliaries: str | Sequence[str],
    conflicts: Mapping[str, object],
    console: Console,
) -> bool:
    """Whether the table is read in parts: on a cluster, on demand, or because of its size, with a note.

    `conflicts` are the values of the options that are not possible then.
    """
    if cluster.out_of_core not in MODES:
        raise InvalidInputError(f"--out-of-core must be auto, yes or no: got {cluster.out_of_core!r}.")
    if cluster.address is not None or cluster.out_of_core == "yes":
        _reject(conflicts, "--cluster" if cluster.address is not None else "--out-of-core")
        return True
    if cluster.out_of_core == "no" or not _is_checked(table):
        return False
    size, available = estimate_size(table), available_memory()
    if size is None or (needed := training_bytes(size, auxiliaries)) <= available:
        return False
    return _note_size(needed, available, cluster.sample_size, conflicts, console)


def training_bytes(size: TableSize, auxiliaries: str | Sequence[str]) -> int:
    """Estimate the memory that training on a table takes."""
    names = {auxiliaries} if isinstance(auxiliaries, str) else set(auxiliaries)
    per_row = FOREST_BYTES_PER_ROW if names & FORESTS else 0
    return N_TABLE_COPIES * size.n_bytes + per_row * size.n_rows


def _reject(conflicts: Mapping[str, object], option: str) -> None:
    for name, value in conflicts.items():
        if value:
            raise InvalidInputError(f"{option} cannot be combined with {name}.")


def _is_checked(table: TableReader) -> bool:
    """Whether the table is large, and can be read in parts."""
    files = [Path(path) for path in table.paths]
    if find_spec("distributed") is None or not all(file.is_file() for file in files):
        return False
    return sum(file.stat().st_size for file in files) >= MIN_CHECKED_BYTES


def available_memory() -> int:
    """Bytes of memory that this process can get without swapping."""
    import psutil  # noqa: PLC0415 (comes with distributed)
    from distributed.system import MEMORY_LIMIT  # noqa: PLC0415 (an optional package)

    return int(min(psutil.virtual_memory().available, MEMORY_LIMIT))


def _note_size(
    needed: int, available: int, sample_size: int, conflicts: Mapping[str, object], console: Console
) -> bool:
    """Log what is done about a table that is too large; whether it is read in parts."""
    size = (
        f"Training on the whole table needs about {needed / 1e9:.1f} GB of memory, and {available / 1e9:.1f} "
        "GB are available."
    )
    if given := [name for name, value in conflicts.items() if value]:
        console.note(f"{size} It cannot be read in parts because of {given[0]}.")
        return False
    console.note(
        f"{size} It is read in parts, and the auxiliaries are trained on a sample of {sample_size:,} rows. "
        "Use --out-of-core no to read it at once."
    )
    return True
