"""Results in temporary files, for computations on tables that do not fit in memory.

A file has the arrays of a result one after the other, and is mapped into memory when a task needs it, so that
the operating system keeps as much of it in memory as there is room for.
"""

from __future__ import annotations

import mmap
import pickle
import weakref
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp, mkstemp
from typing import Any

import numpy as np
from distributed import get_worker
from scipy.sparse import issparse

from ..exceptions import OutputError

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
