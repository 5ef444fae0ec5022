"""The results: a file for each finished task, put in place at once, and one table of them all."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .tasks import Task

RESULTS = Path(__file__).parent / "results"
FITS = RESULTS / "fits.csv"


class Fit(NamedTuple):
    """One fit; what a system does not have is None.

    C is in units of the solver: a hundred times SVMperf's and, for SVMlight, SVMlight's own.
    """

    score: float
    C: float | None = None
    gamma: float | None = None
    j: float | None = None
    B: float | None = None
    rows: int | None = None
    selection_seconds: float | None = None
    training_seconds: float | None = None
    seconds: float | None = None
    n_iter: int | None = None
    oracle_calls: int | None = None
    gap: float | None = None
    raw: float | None = None
    tol: float | None = None


HEADER = (*Task._fields, *Fit._fields)
#: Told apart from what earlier versions of the study meant by the same tasks.
VERSION = 2


class Store:
    """Where finished tasks are kept; a task is there wholly or not at all."""

    def __init__(self, folder: Path, digests: dict[str, str] | None = None) -> None:
        """`digests` tell the data sets' versions apart."""
        self.folder, self.digests = folder, digests or {}
        folder.mkdir(parents=True, exist_ok=True)

    def _file(self, task: Task) -> Path:
        return self.folder / f"{task.name}-{self.digests.get(task.data, '')}-v{VERSION}.csv"

    def __contains__(self, task: Task) -> bool:
        return self._file(task).exists()

    def put(self, task: Task, fits: Iterable[Fit]) -> None:
        """Keep the fits of a task."""
        _write(self._file(task), [{**task._asdict(), **fit._asdict()} for fit in fits])

    def gather(self, file: Path, known: Iterable[Task]) -> None:
        """All tasks in one table; what the table has of others stays."""
        before: dict[Task, list[dict[str, str]]] = {}
        for row in _read(file) if file.exists() else []:
            before.setdefault(Task(*(row[name] for name in Task._fields)), []).append(row)
        lines: list[dict[str, str]] = []
        for task in known:
            lines += _read(self._file(task)) if task in self else before.get(task, [])
        _write(file, lines)


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as rows:
        return list(csv.DictReader(rows))


def _write(file: Path, lines: Sequence[Mapping[str, object]]) -> None:
    """Write next to the place and move there: a stop at any moment leaves the old file or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(f".{os.getpid()}.part")
    with beside.open("w", newline="") as out:
        writer = csv.DictWriter(out, HEADER, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in line.items()} for line in lines)
    beside.replace(file)


def _short(value: object) -> object:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
