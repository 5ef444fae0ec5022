"""Tables that are generated on the workers, and clusters of processes on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

N_FEATURES = 20


def _make_block(block_info: dict) -> np.ndarray:
    """The label in the first column, the features in the others."""
    start, stop = block_info[None]["array-location"][0]
    rng = np.random.default_rng(start)
    block = rng.standard_normal((stop - start, N_FEATURES + 1), dtype=np.float32)
    w = np.random.default_rng(0).normal(size=N_FEATURES).astype(np.float32)
    block[:, 0] = block[:, 1:] @ w + 2 * block[:, 0] > 6
    return block


def make_table(n_rows: int, n_partitions: int = 8) -> tuple[da.Array, da.Array]:
    """`n_rows` x 20 in single precision with about one positive in ten, generated where it is needed."""
    sizes = tuple(len(part) for part in np.array_split(np.arange(n_rows), n_partitions))
    table = da.map_blocks(_make_block, chunks=(sizes, (N_FEATURES + 1,)), dtype=np.float32)
    return table[:, 1:], table[:, 0] > 0


def _make_answers(block_info: dict) -> np.ndarray:
    """The label, the log-odds and the level of two services, and the probability of a third."""
    start, stop = block_info[None]["array-location"][0]
    rng = np.random.default_rng(start)
    block = rng.standard_normal((stop - start, 4), dtype=np.float32)
    block[:, 0] = block[:, 0] > 1.3
    block[:, 1:] += block[:, :1] * np.array([2.0, 1.5, 1.0], dtype=np.float32)
    block[:, 2] = np.clip(np.round(block[:, 2]), -2, 2)
    block[:, 3] = 1 / (1 + np.exp(-block[:, 3]))
    block[:, 1:][rng.random((stop - start, 3), dtype=np.float32) < 0.05] = np.nan
    return block


def make_answers(n_rows: int, n_partitions: int) -> tuple[da.Array, da.Array]:
    """Three columns of scores with one missing in twenty, and about one positive in ten."""
    sizes = tuple(len(part) for part in np.array_split(np.arange(n_rows), n_partitions))
    table = da.map_blocks(_make_answers, chunks=(sizes, (4,)), dtype=np.float32)
    return table[:, 1:], table[:, 0] > 0


def read_table(n_rows: int, n_partitions: int, folder: Path) -> tuple[da.Array, da.Array]:
    """The same table from NumPy files in a folder, which tasks map into memory."""
    for name, array in zip(("X", "y"), make_table(n_rows, n_partitions), strict=True):
        da.to_npy_stack(folder / name, array)
    return da.from_npy_stack(folder / "X"), da.from_npy_stack(folder / "y")


@contextmanager
def start_cluster(n_workers: int = 2, memory_limit: str | int = 0) -> Iterator[Client]:
    """A client of a cluster of processes with one thread each."""
    with (
        LocalCluster(
            n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit=memory_limit,
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
