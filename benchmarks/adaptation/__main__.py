"""Where adaptation pays: a C above 0 compared with C = 0, on test rows.

python -m benchmarks.adaptation --data FOLDER

Tables of the suite, at most 3,000 rows for training, with three kinds of auxiliaries (the default set, a
linear model, a tree of which only the labels are known), three delta functions (the columns, an RBF basis,
the leaves of random trees) and five measures. Each cell is fitted with ``C="auto"``, with ``C=0`` and with
the C that is best out of fold, whether or not its gain is significant; the auxiliaries are trained once.
Results go to benchmarks/adaptation/results.csv as they come; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import tempfile
import warnings
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Memory
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures
from capo.tables.features import make_linear_features

from ..data import PAPER, Table, folder
from ..processes import single_threaded_pool
from ..provenance import record_run
from ..quality.tables import limit_rows, load, names

RESULTS = Path(__file__).parent / "results.csv"
MAX_ROWS, MAX_TEST_ROWS = 3_000, 10_000
MEASURES = {
    "f1": measures.get("f1"),
    "roc_auc": measures.get("roc_auc"),
    "average_precision": measures.get("average_precision"),
    "recall_at_precision(0.95)": measures.get("recall_at_precision", floor=0.95),
    "precision_at_k(0.01)": measures.get("precision_at_k", k=0.01),
}
AUXILIARIES = ("default set", "linear model", "labels of a tree")
DELTAS = ("linear", "rbf", "leaves")


class TreeLabels(ClassifierMixin, BaseEstimator):
    """A small tree that tells labels and no probabilities."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> TreeLabels:
        self.tree_ = DecisionTreeClassifier(max_depth=4, random_state=0).fit(_as_codes(X), y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.tree_.predict(_as_codes(X))


def _as_codes(X: pd.DataFrame) -> np.ndarray:
    return np.column_stack([each.cat.codes if hasattr(each, "cat") else each for _, each in X.items()])


class Row(NamedTuple):
    """One fit with the C that was chosen, compared with C = 0 and with the best C out of fold."""

    table: str
    seed: int
    auxiliaries: str
    delta: str
    measure: str
    C: float
    value: float
    value_at_0: float
    best_C: float
    value_at_best: float
    gain_out_of_fold: float
    gain_std_error: float


def fit_table(path: Path, name: str, seed: int) -> list[Row]:
    """All cells of one table; the auxiliaries are trained once for all of them."""
    table = limit_rows(load(path, name, seed), seed, MAX_ROWS, MAX_TEST_ROWS)
    with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = Memory(cache, verbose=0)
        cells = itertools.product(AUXILIARIES, DELTAS, MEASURES)
        return [Row(name, seed, *cell, *_fit_cell(table, seed, memory, *cell)) for cell in cells]


def _fit_cell(
    table: Table, seed: int, memory: Memory, auxiliaries: str, delta: str, measure: str
) -> tuple[float, ...]:
    """The values of a row, without the name of its cell."""
    model = CAPOClassifier(
        MEASURES[measure],
        auxiliaries=_auxiliaries(auxiliaries),
        delta=_delta(delta, table.X, seed),
        memory=memory,
        random_state=seed,
    )
    C, results = model.fit(table.X, table.y).C_, model.cv_results_
    best = int(np.argmax(results["test_score"]))
    best_C = float(results["param_C"][best])

    def value() -> float:
        return model.measure_.score(table.y_test, model.positive_decision(table.X_test))

    values = {C: value()}
    for other in {0.0, best_C} - {C}:
        model.set_params(C=other).fit(table.X, table.y)
        values[other] = value()
    gain, error = (float(results[key][best]) for key in ("gain", "gain_std_error"))
    return C, values[C], values[0.0], best_C, values[best_C], gain, error


def _auxiliaries(name: str) -> Any:
    return {"default set": "auto", "linear model": ["linear"], "labels of a tree": [TreeLabels()]}[name]


def _delta(name: str, X: pd.DataFrame, seed: int) -> Any:
    if name != "leaves":
        return name
    trees = RandomTreesEmbedding(50, max_depth=5, random_state=seed)
    return make_pipeline(make_linear_features(X), trees)


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """Gains on test rows in points, by auxiliaries, delta function and measure."""
    results = results.assign(
        gain=100 * (results["value"] - results["value_at_0"]),
        gain_of_best=100 * (results["value_at_best"] - results["value_at_0"]),
        adapted=results["C"] > 0,
    )
    return results.groupby(["auxiliaries", "delta", "measure"], sort=False).agg(
        fits=("gain", "size"),
        adapted=("adapted", "mean"),
        gain=("gain", "mean"),
        gain_error=("gain", "sem"),
        gain_of_best=("gain_of_best", "mean"),
        gain_of_best_error=("gain_of_best", "sem"),
    )


def missing(options: argparse.Namespace, path: Path) -> list[tuple[str, int]]:
    """The tables and seeds that the file has no rows of."""
    tables = options.tables or [name for name in names(path) if name not in (*PAPER, "w8a")]
    done = set()
    if RESULTS.exists():
        done = set(pd.read_csv(RESULTS)[["table", "seed"]].itertuples(index=False, name=None))
    return [job for job in itertools.product(tables, options.seeds) if job not in done]


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adaptation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folder suite; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", help="which tables; those of the suite but w8a if not given")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="which seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tables at the same time")
    options = parser.parse_args()
    path = folder(options.data)
    ahead = missing(options, path)
    record_run(RESULTS, append=True)
    with single_threaded_pool(options.jobs) as pool, RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(Row._fields)
        futures = {pool.submit(fit_table, path, *job): job for job in ahead}
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            print(f"{count} of {len(futures)}: {futures[future][0]}", flush=True)
    print(summarize(pd.read_csv(RESULTS)).round(2).to_string())


if __name__ == "__main__":
    main()
