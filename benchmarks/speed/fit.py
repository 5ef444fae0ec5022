"""CPU time of the default fit, and of each of its auxiliaries in training and prediction.

python -m benchmarks.speed.fit                           this checkout
python -m benchmarks.speed.fit --against CHECKOUT/src    and another one, on the same rows
python -m benchmarks.speed.fit --tables small            one of the tables only
python -m benchmarks.speed.fit --data FOLDER             and the tables of benchmarks.presets, as cut there
python -m benchmarks.speed.fit --large                   50,000 x 50 on all cores, by the clock

Tables: `small` (1,500 x 15, with models without pairs of folds), `numeric` (10,000 x 15) and `mixed` (10,000
rows, 6 numeric columns and 8 of categories). An auxiliary by itself is trained once, on all rows, by its own
`fit`. Of the tables in FOLDER, the whole fit only. Each source folder is measured in a process of its own,
with one thread, three tables at a time.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.datasets import make_classification

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
N_CATEGORIES = 12
#: Rows and columns of the large table.
LARGE = 50_000, 50
#: Tables that a process measures before the other source folder has its turn.
TABLES_PER_PROCESS = 3


def numeric_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n_rows, 15, n_informative=8, weights=[0.9], flip_y=0.03, random_state=0)


def mixed_table(n_rows: int) -> tuple[pl.DataFrame, np.ndarray]:
    X, y = make_classification(n_rows, 14, n_informative=8, weights=[0.9], flip_y=0.03, random_state=0)
    ranks = np.argsort(np.argsort(X, axis=0), axis=0)
    codes = N_CATEGORIES * ranks[:, 6:] // n_rows
    numbers = {f"x{column}": X[:, column] for column in range(6)}
    texts = {f"c{column}": [f"value {code}" for code in codes[:, column]] for column in range(8)}
    return pl.DataFrame({**numbers, **texts}), y


TABLES: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "small": lambda: numeric_table(1_500),
    "numeric": lambda: numeric_table(10_000),
    "mixed": lambda: mixed_table(10_000),
}


def cpu_seconds(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def predict_auxiliary(model: Any, name: str, X: Any) -> Any:
    """The output of one auxiliary as prediction computes it."""
    from capo.learning.outputs import ScoreOutput  # noqa: PLC0415 (of the source folder that is measured)

    return ScoreOutput().predict(model.auxiliaries_[name], X, model.classes_)


def load_table(table: str, data: str | None) -> tuple[Any, np.ndarray]:
    """Make a table, or load it from the folder."""
    if table in TABLES:
        return TABLES[table]()
    from ..presets.__main__ import load_table as load  # noqa: PLC0415

    found = load(Path(str(data)), table, 0)
    return found.X, found.y


def measure(table: str, data: str | None) -> list[dict[str, object]]:
    """The default fit on one table, its prediction, and both for each auxiliary; in CPU seconds."""
    from capo import CAPOClassifier  # noqa: PLC0415

    X, y = load_table(table, data)
    model, fit = cpu_seconds(lambda: CAPOClassifier("f1", random_state=0).fit(X, y))
    predict = cpu_seconds(lambda: model.log_odds(X))[1]
    rows = [_row(table, "all", 1.0, fit, predict, len(y))]
    for name, estimator in model.auxiliaries_.items() if table in TABLES else ():
        fit = cpu_seconds(lambda estimator=estimator: clone(estimator).fit(X, y))[1]
        predict = cpu_seconds(lambda name=name: predict_auxiliary(model, name, X))[1]
        rows.append(_row(table, name, model.auxiliary_weights_[name], fit, predict, len(y)))
    return rows


def _row(table: str, part: str, weight: float, fit: float, predict: float, n_rows: int) -> dict[str, object]:
    return {
        "table": table,
        "part": part,
        "weight": round(weight, 3),
        "fit_cpu_seconds": round(fit, 3),
        "predict_cpu_us_per_row": round(1e6 * predict / n_rows, 2),
    }


def measure_large() -> dict[str, object]:
    """The default fit on a large table, with all cores: seconds by the clock and of the CPU."""
    from capo import CAPOClassifier  # noqa: PLC0415

    X, y = make_classification(
        LARGE[0], LARGE[1], n_informative=8, weights=[0.9], flip_y=0.03, random_state=0
    )
    start = time.perf_counter()
    model, cpu = cpu_seconds(lambda: CAPOClassifier("f1", random_state=0).fit(X, y))
    parts = {name.removeprefix("auxiliary "): round(value, 1) for name, value in model.timings_.items()}
    return {
        "rows": LARGE[0],
        "columns": LARGE[1],
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu, 1),
        **{f"seconds_{name.replace(' ', '_')}": value for name, value in parts.items()},
    }


def run(source: str, tables: list[str], data: str | None) -> list[dict[str, object]]:
    """Measure a source folder in a process of its own."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    environment = {**os.environ, **limits, "PYTHONPATH": os.pathsep.join((source, str(ROOT)))}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed.fit", "--measure", *tables]
    command += ["--data", data] if data else []
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.fit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--against", metavar="SRC", help="the folder src of another checkout")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="which tables")
    parser.add_argument("--data", metavar="FOLDER", help="folder with the data sets")
    parser.add_argument("--large", action="store_true", help="the large table and nothing else")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large:
        write_rows(RESULTS / "fit_large.csv", [measure_large()])
        return
    if options.measure:
        print(json.dumps([row for table in options.measure for row in measure(table, options.data)]))
        return
    # Earlier versions are measured without these.
    from ..presets.__main__ import TABLES as PRESET_TABLES  # noqa: PLC0415

    sources = {**({"before": options.against} if options.against else {}), "now": str(ROOT / "src")}
    tables, rows = [*options.tables, *(PRESET_TABLES if options.data else ())], []
    for start in range(0, len(tables), TABLES_PER_PROCESS):
        for name, source in sources.items():
            found = run(source, tables[start : start + TABLES_PER_PROCESS], options.data)
            rows += [{"version": name, **row} for row in found]
            print(*rows[-len(found) :], sep="\n", flush=True)
    write_rows(RESULTS / "fit.csv", rows)


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    """Store results, and the commit they come from."""
    # Earlier versions are measured without it.
    from ..provenance import record_run  # noqa: PLC0415

    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    record_run(path)
    print(*rows[-1:], sep="\n")


if __name__ == "__main__":
    main()
