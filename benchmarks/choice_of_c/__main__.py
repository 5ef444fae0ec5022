"""The choice of C: what it gains and loses on fresh rows.

python -m benchmarks.choice_of_c [--data FOLDER]

Tables with 25 to 50 or 200 to 400 positive training rows: drawn from six laws (heavy tails, outliers and
columns of noise among them), and tables of the suite whose positives are thinned. The auxiliaries are several
models that use the columns well ("strong"), or one that does not ("linear", "naive Bayes"). Each table is
fitted for five measures with ``C="auto"``, with ``C=0`` and with the C that has the best value out of fold;
they share their auxiliaries. The gain is the difference to C = 0 on fresh rows with the same share of
positives. Results go to benchmarks/choice_of_c/results.csv as they come; a run that was stopped goes on where
it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Memory
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from capo import CAPOClassifier

from ..data import PAPER, Table
from ..processes import single_threaded_pool
from ..provenance import record_run
from ..quality.tables import load, names

RESULTS = Path(__file__).parent / "results.csv"
LAWS = ("normal", "heavy tails", "lognormal", "outliers", "clusters", "rule")
MEASURES = ("average_precision", "f1", "mcc", "prbep", "recall_at_precision")
SETS = ("strong", "linear", "naive Bayes")
FEW, MANY = (25, 51), (200, 401)
N_TEST_POSITIVES = 400
MAX_TEST_ROWS = 40_000
HEADER = (
    "table",
    "seed",
    "auxiliaries",
    "size",
    "measure",
    "n_positive",
    "C",
    "value",
    "value_at_0",
    "value_at_best",
)


class Law:
    """A distribution of rows: a few informative columns, the others noise."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.random = name, np.random.RandomState(seed)
        self.n_informative, n_noise = self.random.randint(2, 6), self.random.choice([3, 10, 30])
        self.n_columns = self.n_informative + n_noise
        self.shift = self.random.uniform(0.3, 1.5, self.n_informative)
        self.centers = 1.5 * self.random.randn(3, self.n_informative)

    def draw(self, n_positive: int, n_negative: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and their labels, the positives first."""
        n_rows = n_positive + n_negative
        y = np.arange(n_rows) < n_positive
        X = self._noise(n_rows)
        informative = X[:, : self.n_informative]
        if self.name == "clusters":
            informative[y] += self.centers[self.random.randint(0, 3, n_positive)]
        else:
            informative += self.shift * (y & (self.random.rand(n_rows) < 0.8))[:, None]
        if self.name == "outliers":
            X[self.random.rand(n_rows) < 0.01] *= 30.0
        return X, y

    def _noise(self, n_rows: int) -> np.ndarray:
        shape = (n_rows, self.n_columns)
        if self.name == "heavy tails":
            return self.random.standard_t(2, size=shape)
        noise = self.random.randn(*shape)
        return np.exp(noise) if self.name == "lognormal" else noise


class Threshold:
    """A rule of one column, which can only predict."""

    def __init__(self, column: int, threshold: float) -> None:
        self.column, self.threshold = column, threshold

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return 1 above the threshold."""
        return (X[:, self.column] > self.threshold).astype(int)


class Job(NamedTuple):
    """A table, by the name of its law or file; a seed, a set of auxiliaries, few or many positives."""

    table: str
    seed: int
    auxiliaries: str
    size: str

    def draw_n_positive(self, random: np.random.RandomState) -> int:
        """Draw the number of positive rows."""
        return random.randint(*(FEW if self.size == "few" else MANY))


def simulate(job: Job) -> Table:
    """Draw a training table and fresh rows with the same share of positives."""
    source = Law(job.table, job.seed)
    n_positive, n_rows = job.draw_n_positive(source.random), source.random.choice([500, 2000, 4000])
    per_positive = (n_rows - n_positive) / n_positive
    n_test = min(N_TEST_POSITIVES, int(MAX_TEST_ROWS / per_positive))
    return Table(
        *source.draw(n_positive, n_rows - n_positive), *source.draw(n_test, int(n_test * per_positive))
    )


def thin(table: Table, job: Job) -> Table:
    """Keep some positives and 4,000 negatives to train on, and the same share of positives to test on."""
    random = np.random.RandomState(job.seed)
    n_positive = job.draw_n_positive(random)
    rows = _thinned(table.y, n_positive, 4000, random)
    share = float(table.y[rows].mean())
    n_negative = int((~table.y_test).sum())
    test = _thinned(table.y_test, max(25, int(share / (1 - share) * n_negative)), n_negative, random)
    X, X_test = table.X.iloc[rows].reset_index(drop=True), table.X_test.iloc[test].reset_index(drop=True)
    return Table(X, table.y[rows], X_test, table.y_test[test])


def _thinned(y: np.ndarray, n_positive: int, n_negative: int, random: np.random.RandomState) -> np.ndarray:
    positive, negative = random.permutation(np.flatnonzero(y)), random.permutation(np.flatnonzero(~y))
    return np.sort(np.concatenate((positive[:n_positive], negative[:n_negative])))


def fit_all(job: Job, path: Path | None) -> list[tuple]:
    """Fit one table with the chosen C, with C = 0 and with the best one out of fold, for every measure."""
    data = simulate(job) if job.table in LAWS else thin(load(path, job.table, job.seed), job)
    rows = []
    with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure in MEASURES:
            model = CAPOClassifier(
                measure,
                auxiliaries=_auxiliaries(job, data),
                memory=Memory(cache, verbose=0),
                random_state=job.seed,
            ).fit(data.X, data.y)
            chosen, path_of_C = model.C_, model.cv_results_
            best = path_of_C["param_C"][path_of_C["test_score"].argmax()]
            values = {chosen: _score(model, data)}
            for C in {0.0, float(best)} - {chosen}:
                values[C] = _score(model.set_params(C=C).fit(data.X, data.y), data)
            rows.append((*job, measure, int(data.y.sum()), chosen, values[chosen], values[0.0], values[best]))
    return rows


def _score(model: CAPOClassifier, data: Table) -> float:
    return model.measure_.score(data.y_test, model.positive_decision(data.X_test))


def _auxiliaries(job: Job, data: Table) -> list:
    if job.table == "rule":
        return [("rule", Threshold(0, float(np.quantile(data.X[:, 0], 0.95))))]
    if job.auxiliaries != "strong":
        return ["linear" if job.auxiliaries == "linear" else "nb"]
    if job.table not in LAWS:
        return ["boosting", "trees", "linear"]
    return [
        HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15),
        ExtraTreesClassifier(50, min_samples_leaf=2),
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ]


def jobs(path: Path | None, n_seeds: int) -> Iterator[Job]:
    """All tables, seeds, sets and sizes; a rule is the only auxiliary of its law."""
    suite = [] if path is None else [name for name in names(path) if name not in PAPER]
    for seed, auxiliaries, size in itertools.product(range(n_seeds), reversed(SETS), ("few", "many")):
        for table in (*LAWS, *suite):
            if table != "rule" or auxiliaries == "strong":
                yield Job(table, seed, auxiliaries, size)


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """The gain on fresh rows, in points, by measure and over all fits."""
    results = results.assign(
        gain=100 * (results.value - results.value_at_0),
        adapted=results.C > 0,
        available=100 * (results.value_at_best - results.value_at_0) > 3,
    )
    parts = [*results.groupby("measure"), ("all", results)]
    return pd.DataFrame(
        {
            name: {
                "fits": len(part),
                "adapted": part.adapted.mean(),
                "mean gain": part.gain.mean(),
                "lost over 3 points": (part.gain < -3).mean(),
                "gained over 3 points": (part.gain > 3).mean(),
                "the best C out of fold gains over 3 points": part.available.mean(),
                "of these, half of it is gained": (part.gain > 1.5)[part.available].mean(),
            }
            for name, part in parts
        }
    ).T.round(4)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.choice_of_c",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the folder suite; without it, laws alone")
    parser.add_argument("--seeds", type=int, default=2, help="seeds per table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tables at the same time")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file with the results")
    options = parser.parse_args()
    done = set()
    if options.output.exists():
        done = {Job(*key) for key in pd.read_csv(options.output)[list(Job._fields)].itertuples(index=False)}
    ahead = [job for job in jobs(options.data, options.seeds) if job not in done]
    record_run(options.output, append=True)
    with single_threaded_pool(options.jobs) as pool, options.output.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(HEADER)
        futures = {pool.submit(fit_all, job, options.data): job for job in ahead}
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            print(f"{count} of {len(futures)}: {futures[future]}", flush=True)
    print(summarize(pd.read_csv(options.output)).to_string())


if __name__ == "__main__":
    main()
