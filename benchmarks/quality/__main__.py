"""Quality: CAPOClassifier against threshold tuning, stacking and ensemble selection.

python -m benchmarks.quality --data FOLDER                      all tables, 3 seeds, 7 measures; about an hour
python -m benchmarks.quality --data FOLDER --tables adult w8a@50 --seeds 0
python -m benchmarks.quality --data FOLDER --rare               tables thinned to 20, 50 and 100 positives
python -m benchmarks.quality --page                             the page again, from the results there are

Every table is one process with one thread. Results go to benchmarks/quality/results/results.csv as they come;
a run that was stopped goes on where it was, with the auxiliaries it has trained kept in --cache. The page is
docs/quality.md.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import as_completed
from pathlib import Path

from ..data import PAPER, folder
from ..processes import single_threaded_pool
from ..provenance import record_run
from .page import write_page
from .systems import FORMER_NAMES, MEASURES, Row, compare
from .tables import load, names, rare_names

RESULTS = Path(__file__).parent / "results" / "results.csv"
HEADER = ("table", "seed", "measure", "rows", *Row._fields)
#: The paper's measures; the first is not among those of the comparison.
PAPER_ONLY = "accuracy"


def report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def done(file: Path) -> dict[tuple[str, int], set[tuple[str, str]]]:
    """What the file already holds: for each table and seed, pairs of measure and system."""
    found: dict[tuple[str, int], set[tuple[str, str]]] = defaultdict(set)
    if file.exists():
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                system = FORMER_NAMES.get(row["system"], row["system"])
                found[row["table"], int(row["seed"])].add((row["measure"], system))
    return found


def run(
    path: Path,
    table: str,
    seed: int,
    wanted: list[str],
    cache: Path,
    there: set[tuple[str, str]],
    systems: list[str] | None,
) -> list[tuple]:
    data = load(path, table, seed)
    rows = compare(data, wanted, seed, cache, there, systems)
    return [(table, seed, measure, len(data.y), *row) for measure, row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", help="which tables; all of them if not given")
    parser.add_argument("--rare", action="store_true", help="the rare versions of the tables")
    parser.add_argument("--systems", nargs="+", help="which systems; all of them if not given")
    parser.add_argument(
        "--measures", nargs="+", choices=MEASURES, default=list(MEASURES), help="which measures"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="which seeds")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-quality")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tables at the same time")
    parser.add_argument("--page", action="store_true", help="write the page and do nothing else")
    options = parser.parse_args()
    if not options.page:
        compare_all(folder(options.data), options)
    write_page(RESULTS)


def compare_all(path: Path, options: argparse.Namespace) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    there = done(RESULTS)
    tables = options.tables or (rare_names(path) if options.rare else names(path))
    tasks = {
        (table, seed): [name for name in options.measures if name != PAPER_ONLY or table in PAPER]
        for seed, table in itertools.product(options.seeds, tables)
    }
    report(f"{len(tasks)} tables to go through")
    record_run(RESULTS, append=True)
    with single_threaded_pool(options.jobs) as pool, RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(HEADER)
        futures = {
            pool.submit(run, path, *key, wanted, options.cache, there[key], options.systems): key
            for key, wanted in tasks.items()
        }
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            report(f"{count} of {len(futures)}: {' seed '.join(map(str, futures[future]))}")


if __name__ == "__main__":
    main()
