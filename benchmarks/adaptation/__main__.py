"""What a black box is worth beside a few labels: capo, rivals with the same information, and controls.

python -m benchmarks.adaptation --data FOLDER

A box has been trained on other rows of a table: a small tree on half of the columns that says yes or no, a
logistic regression on half of the columns that gives a score, the same score in five levels, or noise that
knows nothing. Each system gets n labeled rows, the columns and the box's answer:

- box: the answer alone, with a tuned threshold
- logistic regression, LightGBM: on the columns and the answer, with a tuned threshold (and penalty)
- capo, linear and capo, rbf: the box as the only auxiliary, the columns as the delta function
- log loss, linear and log loss, rbf: the same at C = 0, the control of the measure
- capo, auto: the box beside the default auxiliaries
- capo, column: the default auxiliaries with the answer as one more column
- capo, no box: the default auxiliaries without the answer, the control of the box (where it is noise)

All systems are judged by the same scores of the test rows: a measure of labels at the system's own threshold,
recall at a precision at the best one.

Results go to benchmarks/adaptation/results.csv as they come; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Memory
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures

from ..data import PAPER, folder
from ..processes import single_threaded_pool
from ..provenance import record_run
from ..quality.tables import load, names

RESULTS = Path(__file__).parent / "results.csv"
BOXES = ("answers", "scores", "five levels", "noise")
SIZES = (100, 300, 1000, 3000)
MEASURES = {
    "f1": measures.get("f1"),
    "mcc": measures.get("mcc"),
    "average_precision": measures.get("average_precision"),
    "precision_at_k(0.01)": measures.get("precision_at_k", k=0.01),
    "recall_at_precision(0.9)": measures.get("recall_at_precision", floor=0.9),
}
MAX_BOX_ROWS, MAX_TEST_ROWS, MIN_TEST_ROWS, MIN_POSITIVES = 2_000, 8_000, 400, 5


class Row(NamedTuple):
    """The value of one system on the test rows."""

    table: str
    seed: int
    box: str
    n_labels: int
    system: str
    measure: str
    value: float
    C: float
    cpu_seconds: float


class Box(ClassifierMixin, BaseEstimator):
    """A black box, trained on other rows."""

    def __init__(self, kind: str = "answers", seed: int = 0) -> None:
        self.kind = kind
        self.seed = seed

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Box:
        random = np.random.RandomState(self.seed)
        self.classes_ = np.array([False, True])
        self.columns_ = list(random.permutation(X.columns)[: max(1, X.shape[1] // 2)])
        tree = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)
        model = tree if self.kind == "answers" else LogisticRegression(max_iter=500)
        self.model_ = make_pipeline(encoder(), model).fit(X[self.columns_], y)
        if self.kind == "five levels":
            scores = self.model_.decision_function(X[self.columns_])
            self.edges_ = np.quantile(scores, [0.5, 0.75, 0.9, 0.97])
        return self

    def decision_function(self, X: pd.DataFrame) -> np.ndarray:
        """The answer as a number."""
        if self.kind == "noise":
            return pd.util.hash_pandas_object(X, index=False).to_numpy() / 2.0**64
        if self.kind == "answers":
            return self.model_.predict(X[self.columns_]).astype(float)
        scores = self.model_.decision_function(X[self.columns_])
        return scores if self.kind == "scores" else np.digitize(scores, self.edges_).astype(float)


def encoder() -> Any:
    """Columns as numbers, as a user would make them."""
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    )
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer(
        (texts, make_column_selector(dtype_include="category")),
        (numbers, make_column_selector(dtype_exclude="category")),
        sparse_threshold=0,
    )


class Cell(NamedTuple):
    """The rows of one cell, and the box."""

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    box: Box

    def with_answer(self, X: pd.DataFrame) -> pd.DataFrame:
        """The columns, and the answer of the box."""
        return X.assign(answer=self.box.decision_function(X))


def make_cell(path: Path, name: str, seed: int, kind: str, n_labels: int) -> Cell | None:
    """Draw the rows; None if the table has too few."""
    table = load(path, name, seed)
    X, y = pd.concat((table.X, table.X_test), ignore_index=True), np.concatenate((table.y, table.y_test))
    rows = np.random.RandomState(seed).permutation(len(y))
    n_box = min(MAX_BOX_ROWS, len(y) // 4)
    box_rows, rest = rows[:n_box], rows[n_box:]
    # A few positives come first, whatever the draw.
    first = rest[y[rest]][:MIN_POSITIVES]
    rest = np.concatenate((first, rest[~np.isin(rest, first)]))
    train, test = rest[:n_labels], rest[n_labels:][:MAX_TEST_ROWS]
    if len(test) < MIN_TEST_ROWS:
        return None
    box = Box(kind, seed).fit(X.iloc[box_rows], y[box_rows])
    X_train, X_test = (X.iloc[each].reset_index(drop=True) for each in (train, test))
    return Cell(X_train, y[train], X_test, y[test], box)


def run_cells(path: Path, name: str, seed: int, kinds: Sequence[str], n_labels: int) -> list[Row]:
    """The values of all systems with each box: the default auxiliaries, which see no box, are trained once."""
    rows = []
    with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = Memory(cache, verbose=0)
        for kind in kinds:
            cell = make_cell(path, name, seed, kind, n_labels)
            if cell is not None:
                found = itertools.chain(run_rivals(cell, seed), run_capo(cell, kind, seed, memory))
                rows += [Row(name, seed, kind, n_labels, *each) for each in found]
    return rows


def run_rivals(cell: Cell, seed: int) -> Iterator[tuple[str, str, float, float, float]]:
    """The box alone, and classifiers of columns and answer, each with the best threshold out of fold."""
    start = time.process_time()
    train, test = cell.with_answer(cell.X), cell.with_answer(cell.X_test)
    answers = {"box": (train["answer"].to_numpy(), test["answer"].to_numpy())}
    n_folds = min(5, int(min(cell.y.sum(), (~cell.y).sum())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    logistic = LogisticRegressionCV(
        Cs=np.logspace(-4, 2, 10),
        cv=folds,
        scoring="neg_log_loss",
        max_iter=1000,
        use_legacy_attributes=False,
    )
    rivals = {
        "logistic regression": make_pipeline(encoder(), logistic),
        "LightGBM": LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed),
    }
    for system, model in rivals.items():
        held_out = cross_val_predict(model, train, cell.y, cv=folds, method="predict_proba")[:, 1]
        answers[system] = held_out, model.fit(train, cell.y).predict_proba(test)[:, 1]
    seconds = time.process_time() - start
    for system, (known, new) in answers.items():
        for name, measure in MEASURES.items():
            cut = measure.threshold(cell.y, known) if measure.needs_threshold else 0.0
            yield system, name, measure.score(cell.y_test, new - cut), np.nan, seconds


def run_capo(
    cell: Cell, kind: str, seed: int, memory: Memory
) -> Iterator[tuple[str, str, float, float, float]]:
    """The box as an auxiliary, alone and beside the default set, and the default set with and without it."""
    box = ("box", FrozenEstimator(_Answers(cell.box) if kind == "answers" else cell.box))
    plain, with_answer = (cell.X, cell.X_test), (cell.with_answer(cell.X), cell.with_answer(cell.X_test))
    systems = {
        "linear": ({"auxiliaries": [box]}, plain),
        "rbf": ({"auxiliaries": [box], "delta": "rbf"}, plain),
        "auto": ({"auxiliaries": [box, "auto"]}, plain),
        "column": ({}, with_answer),
    }
    if kind == "noise":
        systems["no box"] = {}, plain
    for (name, measure), (system, (params, tables)) in itertools.product(MEASURES.items(), systems.items()):
        start = time.process_time()
        model = CAPOClassifier(measure, **params, memory=memory, random_state=seed).fit(tables[0], cell.y)
        seconds = time.process_time() - start
        value = measure.score(cell.y_test, model.decision_function(tables[1]))
        yield f"capo, {system}", name, value, model.C_, seconds
        if system in ("linear", "rbf"):
            if model.C_ > 0:
                model.set_params(C=0.0).fit(tables[0], cell.y)
                value = measure.score(cell.y_test, model.decision_function(tables[1]))
            yield f"log loss, {system}", name, value, 0.0, seconds


class _Answers(ClassifierMixin, BaseEstimator):
    """A box that only says yes or no."""

    def __init__(self, box: Any = None) -> None:
        self.box = box

    @property
    def classes_(self) -> np.ndarray:
        return self.box.classes_

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.box.decision_function(X) > 0


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adaptation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folder suite; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", help="which tables; those of the suite if not given")
    parser.add_argument("--boxes", nargs="+", choices=BOXES, default=BOXES, help="which boxes")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of labeled rows")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="which seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cells at the same time")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results go")
    options = parser.parse_args()
    path = folder(options.data)
    tables = options.tables or [name for name in names(path) if name not in PAPER]
    done = set()
    if options.results.exists() and options.results.stat().st_size:
        keys = pd.read_csv(options.results)[["seed", "n_labels", "table", "box"]]
        done = set(keys.itertuples(index=False, name=None))
    ahead = defaultdict(list)
    for *key, kind in itertools.product(options.seeds, options.sizes, tables, options.boxes):
        if (*key, kind) not in done:
            ahead[tuple(key)].append(kind)
    record_run(options.results, append=True)
    with single_threaded_pool(options.jobs) as pool, options.results.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(Row._fields)
        futures = {
            pool.submit(run_cells, path, table, seed, kinds, n_labels): (table, n_labels, seed)
            for (seed, n_labels, table), kinds in ahead.items()
        }
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            print(f"{count} of {len(futures)}: {futures[future]}", flush=True)


if __name__ == "__main__":
    main()
