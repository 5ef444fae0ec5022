"""What a service's answers and embeddings are worth beside a few labels: capo, and rivals with the same.

python -m benchmarks.answers --data FOLDER

Texts are embedded by the leading singular directions of their TF-IDF. The directions and the service, a
logistic regression on half of the words, come from other rows. The service gives a score, or only yes and
no. Each system gets n labeled rows, the embedding as one column and the answer as another:

- service: the answer alone, with a tuned threshold
- logistic regression: on the embedding and the answer, with a tuned penalty and threshold
- LightGBM: on the embedding and the answer, with a tuned threshold
- centroid: the difference of the similarities to the means of the two classes, with a tuned threshold
- capo: the answer as a ScoreColumn beside the default auxiliaries
- capo, linear: the answer beside one linear auxiliary
- capo, answer: the answer as the only auxiliary, the embedding in the delta function

Each is judged at its own threshold; recall at a precision also at the best threshold for the test rows, which
says what the ranking is worth. At its own threshold a system whose precision on the test rows is too low gets
0, and "floor missed" has 1 for it.

FOLDER has the folders paper (reuters) and multi (bibtex and medical; bibtex:5 has the sixth most frequent of
its labels as the target). Results go to benchmarks/answers/results.csv as they come; a run that was stopped
goes on where it was. --summary prints their means.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Memory
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize

from capo import CAPOClassifier, ScoreColumn, measures

from ..data import folder, load_paper
from ..processes import single_threaded_pool
from ..provenance import record_run

RESULTS = Path(__file__).parent / "results.csv"
TABLES = ("reuters", "bibtex:0", "bibtex:5", "bibtex:20", "medical:0", "medical:3")
SERVICES = ("score", "answer")
SIZES, DIMENSIONS = (100, 300, 1000), (64, 256)
MEASURES = {
    "f1": measures.get("f1"),
    "recall_at_precision(0.9)": measures.get("recall_at_precision", floor=0.9),
    "average_precision": measures.get("average_precision"),
}
SYSTEMS = {
    "capo": ["auto", ScoreColumn("service")],
    "capo, linear": ["linear", ScoreColumn("service")],
    "capo, answer": [ScoreColumn("service")],
}
MAX_SERVICE_ROWS, MAX_TEST_ROWS, MIN_TEST_ROWS, MIN_POSITIVES = 2_000, 4_000, 200, 5


class Row(NamedTuple):
    """The value of one system on the test rows."""

    table: str
    seed: int
    service: str
    dimension: int
    n_labels: int
    system: str
    measure: str
    value: float
    cpu_seconds: float


class Cell(NamedTuple):
    """Training and test rows: embeddings, answers as numbers, labels."""

    vectors: np.ndarray
    answers: np.ndarray
    y: np.ndarray
    vectors_test: np.ndarray
    answers_test: np.ndarray
    y_test: np.ndarray


def load_texts(path: Path, name: str) -> tuple[Any, np.ndarray]:
    """The words of all texts, and which are positive."""
    name, _, label = name.partition(":")
    if name == "reuters":
        table = load_paper(path, name)
        X = sparse.vstack((table.X, table.X_test), format="csr")
        return X, np.concatenate((table.y, table.y_test)) > 0
    with np.load(path / "multi" / f"{name}.npz") as file:
        X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        order = np.argsort(-file["Y"].sum(axis=0), kind="stable")
        return X, file["Y"][:, order[int(label or 0)]] > 0


def make_cell(path: Path, name: str, seed: int, service: str, dimension: int, n_labels: int) -> Cell | None:
    """Draw the rows, embed the texts and ask the service; None if the table has too few rows."""
    words, y = load_texts(path, name)
    random = np.random.RandomState(seed)
    rows = random.permutation(len(y))
    n_other = min(MAX_SERVICE_ROWS, len(y) // 3)
    other, rest = rows[:n_other], rows[n_other:]
    first = rest[y[rest]][:MIN_POSITIVES]  # a few positives come first, whatever the draw
    rest = np.concatenate((first, rest[~np.isin(rest, first)]))
    train, test = rest[:n_labels], rest[n_labels:][:MAX_TEST_ROWS]
    if len(test) < MIN_TEST_ROWS:
        return None
    words = TfidfTransformer(sublinear_tf=True).fit(words[other]).transform(words)
    directions = TruncatedSVD(dimension, random_state=seed).fit(words[other])
    vectors = normalize(directions.transform(words)).astype(np.float32)
    known = random.permutation(words.shape[1])[: words.shape[1] // 2]
    model = LogisticRegression(class_weight="balanced", max_iter=1000).fit(words[other][:, known], y[other])
    answers = model.decision_function(words[:, known])
    answers = answers if service == "score" else (answers > 0).astype(float)
    return Cell(vectors[train], answers[train], y[train], vectors[test], answers[test], y[test])


def run_cell(path: Path, name: str, seed: int, service: str, dimension: int, n_labels: int) -> list[Row]:
    """The values of all systems in one cell."""
    cell = make_cell(path, name, seed, service, dimension, n_labels)
    if cell is None:
        return []
    with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = itertools.chain(
            run_rivals(cell, seed), run_capo(cell, service, seed, Memory(cache, verbose=0))
        )
        return [Row(name, seed, service, dimension, n_labels, *each) for each in found]


def run_rivals(cell: Cell, seed: int) -> Iterator[tuple[str, str, float, float]]:
    """The service alone, and classifiers of vectors and answers, each with the best threshold out of fold."""
    center, scale = cell.answers.mean(), cell.answers.std() + 1e-9
    train, test = (
        np.column_stack((vectors, (answers - center) / scale))
        for vectors, answers in ((cell.vectors, cell.answers), (cell.vectors_test, cell.answers_test))
    )
    n_folds = min(5, int(min(cell.y.sum(), (~cell.y).sum())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    logistic = LogisticRegressionCV(
        Cs=np.logspace(-3, 3, 10),
        cv=folds,
        scoring="neg_log_loss",
        max_iter=1000,
        use_legacy_attributes=False,
    )
    rivals = {
        "logistic regression": (logistic, train, test, "decision_function"),
        "LightGBM": (LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed), train, test, "predict_proba"),
        "centroid": (NearestCentroid(), cell.vectors, cell.vectors_test, "decision_function"),
    }
    scores = {"service": (cell.answers, cell.answers_test, 0.0)}
    for system, (model, X, X_test, method) in rivals.items():
        start = time.process_time()
        held_out = cross_val_predict(model, X, cell.y, cv=folds, method=method)
        found = [held_out, getattr(model.fit(X, cell.y), method)(X_test)]
        found = [each[:, 1] if each.ndim > 1 else each for each in found]
        scores[system] = *found, time.process_time() - start
    for system, (known, new, seconds) in scores.items():
        for name, measure in MEASURES.items():
            cut = 0.0 if measure.at_threshold() is None else measure.threshold(cell.y, known)
            for value in judge(name, cell.y_test, new - cut):
                yield system, *value, seconds


def judge(name: str, y: np.ndarray, decisions: np.ndarray) -> Iterator[tuple[str, float]]:
    """The value of a measure, by its name, and what else there is to say of one with a constraint."""
    measure, predicted = MEASURES[name], decisions > 0
    yield name, measure.score_labels(y, decisions)
    if name == "recall_at_precision(0.9)":
        yield f"{name}, best threshold", measure.score(y, decisions)
        yield f"{name}, floor missed", float(predicted.any() and y[predicted].mean() < 0.9)


def run_capo(cell: Cell, service: str, seed: int, memory: Memory) -> Iterator[tuple[str, str, float, float]]:
    """A table with a column of vectors and one of answers."""
    tables = [
        pd.DataFrame(
            {
                "embedding": list(vectors),
                "service": answers if service == "score" else np.where(answers > 0, "yes", "no"),
            }
        )
        for vectors, answers in ((cell.vectors, cell.answers), (cell.vectors_test, cell.answers_test))
    ]
    for (name, measure), (system, auxiliaries) in itertools.product(MEASURES.items(), SYSTEMS.items()):
        start = time.process_time()
        model = CAPOClassifier(measure, auxiliaries=auxiliaries, memory=memory, random_state=seed)
        decisions = model.fit(tables[0], cell.y).positive_decision(tables[1])
        for value in judge(name, cell.y_test, decisions):
            yield system, *value, time.process_time() - start


def summarize(results: Path) -> str:
    """By measure and number of labels, in points: means, and what capo gains and loses."""
    rows = pd.read_csv(results)
    cells = ["measure", "n_labels", "table", "seed", "service", "dimension"]
    values = 100 * rows.pivot_table(index=cells, columns="system", values="value")
    # Cells of the same table share their rows: the standard error is that of the tables' means.
    judged = values[~values.index.get_level_values("measure").str.endswith("missed")]
    gains = judged["capo"] - judged["logistic regression"]
    by_table = gains.groupby(cells[:3]).mean().groupby(cells[:2])
    losses = judged[["service", "logistic regression"]].max(axis=1) - judged["capo"]
    table = values.groupby(cells[:2]).mean().T
    table.loc["capo - logistic regression"] = by_table.mean()
    table.loc["its standard error"] = by_table.sem()
    table.loc["% of cells with capo > 1 below service or it"] = 100 * (losses > 1).groupby(cells[:2]).mean()
    return str(table.round(1).T.to_string())


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and multi; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", default=TABLES, help="which tables and labels")
    parser.add_argument("--services", nargs="+", choices=SERVICES, default=SERVICES, help="which services")
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS, help="lengths of vectors")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of labeled rows")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="which seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cells at the same time")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results go")
    parser.add_argument("--summary", action="store_true", help="print the means of stored results")
    options = parser.parse_args()
    if options.summary:
        print(summarize(options.results))
        return
    path, done = folder(options.data), set()
    if options.results.exists() and options.results.stat().st_size:
        keys = pd.read_csv(options.results)[["n_labels", "seed", "table", "service", "dimension"]]
        done = set(keys.itertuples(index=False, name=None))
    cells = itertools.product(
        options.sizes, options.seeds, options.tables, options.services, options.dimensions
    )
    ahead = [cell for cell in cells if cell not in done]
    record_run(options.results, append=True)
    with single_threaded_pool(options.jobs) as pool, options.results.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(Row._fields)
        futures = {
            pool.submit(run_cell, path, table, seed, service, dimension, n_labels): (table, service, n_labels)
            for n_labels, seed, table, service, dimension in ahead
        }
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            print(f"{count} of {len(futures)}: {futures[future]}", flush=True)


if __name__ == "__main__":
    main()
