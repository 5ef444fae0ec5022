"""Many classes and many labels: decision rules, whole systems, exactness and time.

python -m benchmarks.multi --data FOLDER                         all tables, 3 seeds; some hours on one core
python -m benchmarks.multi --data FOLDER --tables letter --seeds 0
python -m benchmarks.multi --exactness --speed                   these two alone; they need no data
python -m benchmarks.multi --page                                the page again, from the results there are

FOLDER holds one NAME.npz for each table of benchmarks/multi/tables.py: X, y, cat_cols, feature_names and
ordinal, or X (or CSR pieces data, indices, indptr, shape) and Y. Results go to benchmarks/multi/results as
they come; a run that was stopped goes on where it was, with what it has trained kept in --cache. The page is
docs/multi_quality.md. The packages optimal-classification-cutoffs and xcolumns are compared with if they are
installed.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ..provenance import record_run
from . import exactness, speed
from .compare import Row, compare
from .page import write_page
from .tables import CLASS_TABLES, LABEL_TABLES

RESULTS = Path(__file__).parent / "results"


def report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.multi",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the tables")
    parser.add_argument("--tables", nargs="+", default=[*CLASS_TABLES, *LABEL_TABLES], help="which tables")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="which seeds")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-multi")
    parser.add_argument("--exactness", action="store_true", help="brute force over all labelings")
    parser.add_argument("--speed", action="store_true", help="time by rows and classes")
    parser.add_argument("--page", action="store_true", help="write the page and do nothing else")
    options = parser.parse_args()
    threadpool_limits(1)
    RESULTS.mkdir(exist_ok=True)
    if options.exactness:
        write_rows("exactness.csv", _exactness_rows())
    if options.speed:
        write_rows("speed.csv", (speed.measure_time(*size) for size in speed.SIZES))
    if options.data and not options.page:
        compare_all(options)
    write_page(RESULTS)


def _exactness_rows() -> Iterable[dict[str, Any]]:
    for names, n_cases in ((exactness.EXACT, exactness.N_CASES), (exactness.BOUNDED, exactness.N_CASES // 7)):
        for name in names:
            report(f"{name}: {n_cases} cases")
            yield exactness.check(name, n_cases)


def write_rows(name: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a results file anew."""
    listed = list(rows)
    with (RESULTS / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)
    record_run(RESULTS / name)


def compare_all(options: argparse.Namespace) -> None:
    file = RESULTS / "results.csv"
    there = _done(file)
    tasks = [pair for pair in itertools.product(options.seeds, options.tables) if pair not in there]
    report(f"{len(tasks)} tables to go through")
    record_run(file, append=True)
    with file.open("a", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if lines.tell() == 0:
            writer.writerow(Row._fields)
        for seed, table in tasks:
            writer.writerows(list(compare(options.data, options.cache, table, seed)))
            lines.flush()
            report(f"{table} seed {seed}")


def _done(file: Path) -> set[tuple[int, str]]:
    if not file.exists():
        return set()
    with file.open(newline="") as lines:
        return {(int(row["seed"]), row["table"]) for row in csv.DictReader(lines)}


if __name__ == "__main__":
    main()
