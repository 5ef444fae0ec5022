"""Speed: against SVMperf and LibCVM, against the parts, along a path of C's, as rows grow, in threads.

python -m benchmarks.speed --data FOLDER            all of it, on one core; about twelve minutes
python -m benchmarks.speed --data FOLDER --only limit path

Results go to benchmarks/speed/results, one CSV each, each with its summary beside it; provenance.json has the
commit, the versions and the machine of each.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from ..data import folder
from ..provenance import processor, record_run
from . import against_libcvm, against_svmperf, growth, limit, path, threads

RESULTS = Path(__file__).parent / "results"
PARTS = ("svmperf", "limit", "path", "libcvm", "growth", "threads")


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def write(name: str, rows: list[dict], summary: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / f"{name}.txt").write_text(summary + "\n")
    record_run(RESULTS / f"{name}.csv")
    print(summary, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the data sets; CAPO_DATA if not given")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="which parts to run")
    options = parser.parse_args()
    print(f"{processor()}, {os.cpu_count()} cores, one thread; Python {platform.python_version()}")
    with threadpool_limits(1):
        read = {"svmperf": against_svmperf, "limit": limit, "path": path, "libcvm": against_libcvm}
        for name, part in read.items():
            if name in options.only:
                rows = part.run(folder(options.data), report)
                write(name, rows, part.summary(rows))
        if "growth" in options.only:
            rows = growth.run(report)
            write("growth", rows, growth.summary(rows))
    if "threads" in options.only:
        rows = threads.run(report)
        write("threads", rows, threads.summary(rows))


if __name__ == "__main__":
    main()
