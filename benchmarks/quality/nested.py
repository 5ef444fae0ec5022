"""Is the value that `summary()` reports unbiased? Nested validation on two halves of every table.

python -m benchmarks.quality.nested --data FOLDER

Each half is trained on once: the fit reports its out-of-fold value, the other half gives the nested one.
Over both halves the two averages are of the same rows, so that a half that happens to be easy cancels out.
Results go to benchmarks/quality/results/nested.csv as they come; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import warnings
from concurrent.futures import as_completed
from pathlib import Path

from joblib import Memory

from ..data import PAPER, Table, folder
from ..processes import single_threaded_pool
from ..provenance import record_run
from .page import MEASURES as NAMES
from .systems import MEASURES, Models
from .tables import load, names

NESTED = Path(__file__).parent / "results" / "nested.csv"
HEADER = ("table", "half", "measure", "reported", "spread", "honest")


def halves(path: Path, table: str) -> list[Table]:
    """The halves of seed 0, each once to be trained on."""
    X, y, X_test, y_test = load(path, table, 0)
    return [Table(X, y, X_test, y_test), Table(X_test, y_test, X, y)]


def validate(path: Path, table: str, half: int, cache: Path) -> list[tuple]:
    """Reported and nested values of one half, for every measure."""
    data = halves(path, table)[half]
    models = Models(data, 0, Memory(cache, verbose=0))
    rows = []
    for name in NAMES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = models.capo(MEASURES[name]).fit(data.X, data.y)
        honest = model.measure_.score(data.y_test, model.positive_decision(data.X_test))
        rows.append((table, half, name, model.score_, model.score_std_, honest))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.nested",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-quality")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="halves at the same time")
    options = parser.parse_args()
    path = folder(options.data)
    there = set()
    if NESTED.exists():
        with NESTED.open(newline="") as lines:
            there = {(row["table"], int(row["half"])) for row in csv.DictReader(lines)}
    ahead = [
        (table, half)
        for table in names(path)
        for half in (0, 1)
        if table not in PAPER and (table, half) not in there
    ]
    record_run(NESTED, append=True)
    with single_threaded_pool(options.jobs) as pool, NESTED.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(HEADER)
        futures = {pool.submit(validate, path, *key, options.cache): key for key in ahead}
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            print(f"{count} of {len(futures)}: {futures[future][0]}", flush=True)


if __name__ == "__main__":
    main()
