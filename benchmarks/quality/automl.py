"""AutoML: AutoGluon and FLAML on the same splits, with as much time as capo takes.

make automl DATA=FOLDER                                  all of it, each system in an environment of its own
python -m benchmarks.quality.automl --data FOLDER --autogluon PYTHON --flaml PYTHON
python -m benchmarks.quality.automl --data FOLDER --systems FLAML --tables jm1 jm1@50 --factors 1

The tables are those of the suite on which capo takes at most 30 s (seed 0 of results.csv), and their versions
with 50 positives. The time limit is capo's time, rounded up to a multiple of 30 s, and then four times that.
It is a limit on wall-clock time with one core: nothing else should run on that core. Results go to
benchmarks/quality/results/automl.csv as they come; a run that was stopped goes on where it was. The page is
docs/quality.md.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logit

from capo.decisions import ExpectedValueThreshold

from ..data import PAPER, Table, folder
from ..provenance import record_run
from .__main__ import RESULTS as CAPO_RESULTS
from .__main__ import report
from .automl_page import EXPECTED_VALUE, OUT_OF_FOLD, OWN
from .automl_page import MEASURES as COMPARED
from .page import write_page
from .systems import CAPO, MEASURES, TableScorer
from .tables import load, rare_names
from .twenty_lines import EPS

RESULTS = CAPO_RESULTS.with_name("automl.csv")
ROOT = Path(__file__).parents[2]
SYSTEMS = ("AutoGluon", "FLAML")
#: Limits are multiples of so many seconds; tables on which capo takes longer than one of them are left out.
TIME_STEP = 30
#: Positives of the rare versions.
RARE_COUNT = 50


class Row(NamedTuple):
    """One system on one table for one measure."""

    system: str
    factor: int
    table: str
    seed: int
    measure: str
    threshold: str
    score: float
    limit: int
    seconds: float
    cpu_seconds: float
    version: str


class Task(NamedTuple):
    """One system on one table: a process of its own."""

    system: str
    factor: int
    seed: int
    table: str


def capo_seconds(results: Path) -> pd.Series:
    """The time of capo's slowest fit on each table, training and adaptation."""
    rows = pd.read_csv(results)
    rows = rows[(rows["system"] == CAPO) & (rows["seed"] == 0) & rows["measure"].isin(COMPARED)]
    return (rows["seconds"] + rows["training_seconds"]).groupby(rows["table"]).max()


def default_tables(data: Path, seconds: pd.Series) -> list[str]:
    """The tables that take capo at most one step of time, natural ones first."""
    natural = sorted(name for name in seconds.index if "@" not in name and name not in PAPER)
    natural = [name for name in natural if seconds[name] <= TIME_STEP]
    rare = [f"{name}@{RARE_COUNT}" for name in natural]
    return natural + [name for name in rare if name in rare_names(data)]


def time_limit(table: str, seconds: pd.Series) -> int:
    """Capo's time in whole steps; that of a rare version is that of its table."""
    return TIME_STEP * math.ceil(seconds[table.partition("@")[0]] / TIME_STEP)


def scores(name: str, table: Table, fit: dict[str, np.ndarray]) -> Iterator[tuple[str, float]]:
    """The scores of a fit: one of a ranking, or one for each source of labels."""
    scorer = TableScorer(name, MEASURES[name], table)
    if not scorer.measure.needs_threshold:
        yield "", scorer(fit["test"])
        return
    train, test = (logit(np.clip(fit[part], EPS, 1.0 - EPS)) for part in ("train", "test"))
    expected = ExpectedValueThreshold()(scorer.measure, train, table.y, None).score
    yield OWN, scorer(fit["labels"] - 0.5)
    yield OUT_OF_FOLD, scorer(test - scorer.measure.threshold(table.y, train))
    yield EXPECTED_VALUE, scorer(test - expected)


def check_split(table: Table, fit: dict[str, np.ndarray]) -> None:
    """Both environments must have drawn the same rows."""
    if not (np.array_equal(table.y, fit["y"]) and np.array_equal(table.y_test, fit["y_test"])):
        raise SystemExit(
            "The two environments split the table differently; use the same scikit-learn in both."
        )


def run(task: Task, measures: list[str], limit: int, python: str, data: Path) -> Iterator[Row]:
    """Fit in the other environment, and score here."""
    limit, table = limit * task.factor, load(data, task.table, task.seed)
    with tempfile.TemporaryDirectory() as place:
        module = "benchmarks.quality.automl_fits"
        command = [python, "-m", module, task.system, str(data.resolve()), task.table]
        command += [str(task.seed), str(limit), place, *measures]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        found = subprocess.run(
            command, cwd=ROOT, env=os.environ | threads, capture_output=True, text=True, check=False
        )
        if found.returncode:
            report(f"{task.system} failed on {task.table}: {found.stderr[-2000:]}")
        for file in sorted(Path(place).glob("*.npz")):
            with np.load(file) as stored:
                fit = dict(stored)
            check_split(table, fit)
            taken = round(float(fit["seconds"]), 1), round(float(fit["cpu_seconds"]), 1)
            for threshold, score in scores(file.stem, table, fit):
                yield Row(*_cell(task, file.stem), threshold, score, limit, *taken, str(fit["version"]))


def _cell(task: Task, measure: str) -> tuple[str, int, str, int, str]:
    return task.system, task.factor, task.table, task.seed, measure


def done(file: Path) -> set[tuple]:
    """The cells that the file already holds."""
    if not file.exists():
        return set()
    return set(pd.read_csv(file)[list(Row._fields[:5])].itertuples(index=False, name=None))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.automl",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--autogluon", default=sys.executable, help="a Python with autogluon.tabular 1.6")
    parser.add_argument("--flaml", default=sys.executable, help="a Python with FLAML 2.7")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="which systems")
    parser.add_argument("--tables", nargs="+", help="which tables; all that qualify if not given")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="which seeds")
    parser.add_argument(
        "--factors", nargs="+", type=int, default=[1, 4], help="time limits, as multiples of capo's time"
    )
    run_all(parser.parse_args())
    write_page(CAPO_RESULTS)


def run_all(options: argparse.Namespace) -> None:
    data, seconds, there = folder(options.data), capo_seconds(CAPO_RESULTS), done(RESULTS)
    tables = options.tables or default_tables(data, seconds)
    pythons = {"AutoGluon": options.autogluon, "FLAML": options.flaml}
    order = itertools.product(options.factors, options.systems, options.seeds, tables)
    record_run(RESULTS, append=True)
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(Row._fields)
        for factor, system, seed, table in order:
            task = Task(system, factor, seed, table)
            missing = [name for name in COMPARED if _cell(task, name) not in there]
            if missing:
                limit = time_limit(table, seconds)
                writer.writerows(run(task, missing, limit, pythons[system], data))
                file.flush()
                report(f"{system} on {table}, {factor} x {limit} s")


if __name__ == "__main__":
    main()
