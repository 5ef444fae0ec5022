"""Whether a table is read in parts, because training on all of it at once needs too much memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from ...exceptions import InvalidInputError
from ...io.tables import TableReader, TableSize, estimate_size
from .._console import Console
from .._options import FitClusterOptions

#: Copies of the table that training makes: as read, as numbers, and as features of the auxiliaries.
N_TABLE_COPIES = 8
#: Bytes for each row that the forests of all folds take, if there are any.
FOREST_BYTES_PER_ROW = 15_000
FORESTS = frozenset({"trees", "full_trees", "rf", "auto", "best"})
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
