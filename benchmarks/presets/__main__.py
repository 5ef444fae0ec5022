"""What the presets cost and lose: CPU time beside LightGBM, and values on test rows.

OMP_NUM_THREADS=1 python -m benchmarks.presets --data FOLDER        8 tables, one seed; about 8 minutes

Each table is cut in half; at most 5,000 rows are trained on. LightGBM has its default parameters and gets the
same data frame with its categories. The CPU time is that of `fit`, of the process and of its children. The
values are ROC area and F1 on the test rows, F1 of LightGBM with a threshold that is tuned on out-of-fold
probabilities; the time of the tuning is not counted. Results go to benchmarks/presets/results.csv; those of
systems that are not measured again stay.
"""

from __future__ import annotations

import argparse
import csv
import resource
import statistics
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, train_test_split

from capo import CAPOClassifier, measures

from ..data import Table, folder
from ..provenance import record_run
from ..quality.tables import load

TABLES = (
    *("adult", "annthyroid", "creditcard_sub10", "oil_spill"),
    *("online_shoppers", "phoneme", "spambase", "telco_churn"),
)
MAX_ROWS, MAX_TEST_ROWS = 5_000, 10_000
LIGHTGBM = "LightGBM"
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"auxiliaries": "fast"},
    "balanced": {"auxiliaries": "auto"},
}
RESULTS = Path(__file__).parent / "results.csv"


class Result(NamedTuple):
    """One system on one table."""

    table: str
    n_rows: int
    n_columns: int
    system: str
    cpu_seconds: float
    roc_auc: float
    f1: float


def measure_cpu(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function and its CPU seconds, those of child processes included."""
    before = _cpu_seconds()
    result = run()
    return result, _cpu_seconds() - before


def _cpu_seconds() -> float:
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in usage)


def load_table(data: Path, name: str, seed: int) -> Table:
    """Load a table with a limited number of rows, stratified."""
    table = load(data, name, seed)
    train, test = (_choose_rows(y, n, seed) for y, n in ((table.y, MAX_ROWS), (table.y_test, MAX_TEST_ROWS)))
    X, X_test = table.X.iloc[train].reset_index(drop=True), table.X_test.iloc[test].reset_index(drop=True)
    return Table(X, table.y[train], X_test, table.y_test[test])


def _choose_rows(y: np.ndarray, n_rows: int, seed: int) -> np.ndarray:
    rows = np.arange(len(y))
    if len(y) <= n_rows:
        return rows
    return np.sort(train_test_split(rows, train_size=n_rows, stratify=y, random_state=seed)[0])


def run_lightgbm(table: Table, seed: int) -> tuple[float, float, float]:
    """Return CPU seconds, ROC area and F1 of LightGBM."""
    model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    _, seconds = measure_cpu(lambda: model.fit(table.X, table.y))
    f1 = measures.get("f1")
    oof = cross_val_predict(model, table.X, table.y, cv=5, method="predict_proba")[:, 1]
    probability = model.predict_proba(table.X_test)[:, 1]
    tuned = f1.score(table.y_test, probability - f1.threshold(table.y, oof))
    return seconds, float(roc_auc_score(table.y_test, probability)), tuned


def run_preset(table: Table, preset: str, seed: int) -> tuple[float, float, float]:
    """Return CPU seconds, ROC area and F1 of a preset."""
    model = CAPOClassifier("f1", **PRESETS[preset], random_state=seed)
    _, seconds = measure_cpu(lambda: model.fit(table.X, table.y))
    decision = model.positive_decision(table.X_test)
    f1 = model.measure_.score(table.y_test, decision)
    return seconds, float(roc_auc_score(table.y_test, decision)), f1


def run_table(data: Path, name: str, systems: list[str], seed: int) -> list[Result]:
    """Return the results of one table."""
    table = load_table(data, name, seed)
    results = []
    for system in systems:
        values = run_lightgbm(table, seed) if system == LIGHTGBM else run_preset(table, system, seed)
        results.append(Result(name, *table.X.shape, system, *(round(value, 4) for value in values)))
        print(results[-1], flush=True)
    return results


def read_others(path: Path, results: list[Result]) -> list[Result]:
    """Return the stored results of systems and tables that were not measured again."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = list(csv.DictReader(file))
    measured = {(each.table, each.system) for each in results}
    kinds = (str, int, int, str, float, float, float)
    stored = [
        Result(*(kind(row[name]) for kind, name in zip(kinds, Result._fields, strict=True))) for row in rows
    ]
    return [each for each in stored if (each.table, each.system) not in measured]


def summarize(results: list[Result]) -> list[str]:
    """Return a line for each preset: its time beside LightGBM's, and its values beside the default's."""
    by_system: dict[str, list[Result]] = {}
    for each in results:
        by_system.setdefault(each.system, []).append(each)
    lines = []
    for system in (name for name in PRESETS if name in by_system):
        pairs = list(zip(by_system[system], by_system[LIGHTGBM], strict=True))
        ratios = [own.cpu_seconds / other.cpu_seconds for own, other in pairs]
        gains = [100 * statistics.mean(own[k] - other[k] for own, other in pairs) for k in (-2, -1)]
        lines.append(
            f"{system}: {statistics.geometric_mean(ratios):.1f} times LightGBM's CPU time "
            f"({min(ratios):.1f} to {max(ratios):.1f}), ROC area {gains[0]:+.2f}, F1 {gains[1]:+.2f} points"
        )
    return lines


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--systems", nargs="+", default=[LIGHTGBM, *PRESETS], choices=[LIGHTGBM, *PRESETS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    data = folder(options.data)
    warnings.simplefilter("ignore")
    results = [
        each for name in options.tables for each in run_table(data, name, options.systems, options.seed)
    ]
    kept = read_others(options.results, results)
    results = sorted(
        [*kept, *results], key=lambda each: (each.table, [LIGHTGBM, *PRESETS].index(each.system))
    )
    with options.results.open("w", newline="") as file:
        csv.writer(file).writerows([Result._fields, *results])
    record_run(options.results, append=bool(kept))
    print(*summarize(results), sep="\n")


if __name__ == "__main__":
    main()
