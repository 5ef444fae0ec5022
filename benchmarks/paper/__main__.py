"""The paper's study, whole: every system on every task, every table and figure.

python -m benchmarks.paper --data FOLDER              all of it, about an hour on two cores
python -m benchmarks.paper --data FOLDER --only table2 --data-set usps splice
python -m benchmarks.paper --data FOLDER --only performance --systems stack capo_default capo_rbf_delta
python -m benchmarks.paper --data FOLDER --quick      a few minutes: small data sets, short grids
python -m benchmarks.paper --page                     the page again, from the results there are

Each finished task is a file of its own, so that a run that was stopped goes on where it was. The table of
all fits is benchmarks/paper/results/fits.csv, the page docs/paper.md with its figures beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from ..data import PAPER, fingerprint, folder, load_paper
from ..provenance import record_run
from .page import write_page
from .store import FITS, Store
from .systems import run_batch
from .tasks import EXPERIMENTS, NEW, SHOWN_AS, Task, tasks

#: The data sets by what they cost; the dearest tasks start first.
DEAREST = ("ijcnn1", "mitfaces", "usps", "reuters", "splice")


def report(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the data sets; CAPO_DATA if not given")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=(*SHOWN_AS, *EXPERIMENTS),
        default=EXPERIMENTS,
        metavar="WHAT",
        help=f"tables and figures of the paper ({', '.join(SHOWN_AS)}) or experiments "
        f"({', '.join(EXPERIMENTS)})",
    )
    parser.add_argument(
        "--data-set",
        nargs="+",
        choices=PAPER,
        default=PAPER,
        metavar="NAME",
        help=f"which data sets ({', '.join(PAPER)})",
    )
    parser.add_argument(
        "--systems", nargs="+", metavar="NAME", help="which systems; all of them if not given"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small data sets and short grids, to a page of its own"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "capo-paper",
        help="folder for what is done and trained, from which a stopped run goes on (%(default)s)",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tasks at the same time")
    parser.add_argument("--page", action="store_true", help="write the page and do nothing else")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1: got {options.jobs}.")
    cache = options.cache / ("quick" if options.quick else "full")
    fits = cache / "fits.csv" if options.quick else FITS
    if not options.page:
        only = {part for name in options.only for part in SHOWN_AS.get(name, (name,))}
        wanted = [
            task
            for task in tasks(only, set(options.data_set), quick=options.quick)
            if options.systems is None or task.system in options.systems
        ]
        if not wanted:
            parser.error(
                "nothing to do: of these experiments, none is made on these data sets with these systems. "
                "figure1, figure3 and figure4 are of usps and reuters, figure5 is of ijcnn1; --quick "
                "has splice and reuters alone."
            )
        store = run_all(folder(options.data), cache, wanted, jobs=options.jobs, quick=options.quick)
        store.gather(fits, tasks(set(EXPERIMENTS), set(PAPER)))
        record_run(fits, append=True)
    if not fits.exists():
        parser.error(f"there are no results yet in {fits}: run without --page first.")
    page = write_page(fits, cache if options.quick else None)
    report(f"the page: {page}")


def run_all(data: Path, cache: Path, wanted: list[Task], *, jobs: int, quick: bool) -> Store:
    """What is not there yet; first the auxiliaries that others use, then the dearest."""
    sets = sorted({task.data for task in wanted})
    for name in sets:
        load_paper(data, name)  # what cannot be read is said before anything is done
    store = Store(cache / "done", {name: fingerprint(data, name) for name in sets})
    ahead = [task for task in wanted if task not in store]
    report(f"{len(ahead)} of {len(wanted)} tasks to do")
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    count = failed = 0
    for first in (True, False):
        groups = batches([task for task in ahead if (task.experiment == "auxiliaries") is first])
        # New processes: OpenMP, once it has had threads, does not work in a fork.
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            futures = {pool.submit(run_batch, data, cache, store, batch, quick): batch for batch in groups}
            for future in as_completed(futures):
                count += len(futures[future])
                last = futures[future][-1]
                what = f"{count} of {len(ahead)}: {last.experiment}, {last.data}, {last.system}"
                error = future.exception()
                report(f"{what}: {future.result():.0f} s" if error is None else f"{what}: failed: {error!r}")
                failed += error is not None
    if failed:
        raise SystemExit(
            f"{failed} groups of tasks failed; the others are kept. Another run tries them again."
        )
    return store


def batches(ahead: list[Task]) -> list[list[Task]]:
    """Tasks that share what they train are done one after another by one process."""

    def shared(task: Task) -> tuple[int, str, str]:
        one = "new" if task.system in NEW else task.system
        return DEAREST.index(task.data), task.experiment, "five" if task.experiment == "five" else one

    return [list(batch) for _, batch in groupby(sorted(ahead, key=shared), key=shared)]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted; what is done is kept, and another run goes on from there.")
