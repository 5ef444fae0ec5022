"""The choice of C with few positive rows: what it gains and loses on fresh rows.

python -m benchmarks.few_positives [--data FOLDER]

Tables with 25 to 50 positive training rows: drawn from six laws (heavy tails, outliers and columns of noise
among them), and tables of the suite whose positives are thinned. Each is fitted for five measures with
``C="auto"`` and with ``C=0``, which share their auxiliaries; the gain is the difference on fresh rows with
the same share of positives. Results go to benchmarks/few_positives/results.csv as they come; a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
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
N_TEST_POSITIVES = 400
MAX_TEST_ROWS = 40_000
HEADER = ("table", "seed", "measure", "n_positive", "C", "value", "value_at_0")


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
    """A table, by the name of its law or of the file, and a seed."""

    table: str
    seed: int


def simulate(law: str, seed: int) -> Table:
    """Draw a training table and fresh rows with the same share of positives."""
    source = Law(law, seed)
    n_positive, n_rows = source.random.randint(25, 51), source.random.choice([500, 2000, 4000])
    per_positive = (n_rows - n_positive) / n_positive
    n_test = min(N_TEST_POSITIVES, int(MAX_TEST_ROWS / per_positive))
    return Table(
        *source.draw(n_positive, n_rows - n_positive), *source.draw(n_test, int(n_test * per_positive))
    )


def thin(table: Table, seed: int) -> Table:
    """Keep 25 to 50 positives and 4,000 negatives to train on, and the same share of positives to test on."""
    random = np.random.RandomState(seed)
    n_positive = random.randint(25, 51)
    rows = _thinned(table.y, n_positive, 4000, random)
    share = n_positive / len(rows)
    n_negative = int((~table.y_test).sum())
    test = _thinned(table.y_test, max(25, int(share / (1 - share) * n_negative)), n_negative, random)
    X, X_test = table.X.iloc[rows].reset_index(drop=True), table.X_test.iloc[test].reset_index(drop=True)
    return Table(X, table.y[rows], X_test, table.y_test[test])


def _thinned(y: np.ndarray, n_positive: int, n_negative: int, random: np.random.RandomState) -> np.ndarray:
    positive, negative = random.permutation(np.flatnonzero(y)), random.permutation(np.flatnonzero(~y))
    return np.sort(np.concatenate((positive[:n_positive], negative[:n_negative])))


def fit_both(job: Job, path: Path | None) -> list[tuple]:
    """Fit one table with the chosen C and with C = 0, for every measure."""
    data = simulate(*job) if job.table in LAWS else thin(load(path, job.table, job.seed), job.seed)
    rows = []
    with tempfile.TemporaryDirectory() as cache, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure in MEASURES:
            chosen, plain = (_fit(job, data, measure, C, Memory(cache, verbose=0)) for C in ("auto", 0.0))
            values = [
                model.measure_.score(data.y_test, model.positive_decision(data.X_test))
                for model in (chosen, plain)
            ]
            rows.append((*job, measure, int(data.y.sum()), chosen.C_, *values))
    return rows


def _fit(job: Job, data: Table, measure: str, C: str | float, memory: Memory) -> CAPOClassifier:
    model = CAPOClassifier(
        measure, auxiliaries=_auxiliaries(job, data), C=C, memory=memory, random_state=job.seed
    )
    return model.fit(data.X, data.y)


def _auxiliaries(job: Job, data: Table) -> list:
    if job.table == "rule":
        return [("rule", Threshold(0, float(np.quantile(data.X[:, 0], 0.95))))]
    if job.table not in LAWS:
        return ["boosting", "trees", "linear"]
    return [
        HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15),
        ExtraTreesClassifier(50, min_samples_leaf=2),
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ]


def jobs(path: Path | None, n_seeds: int) -> Iterator[Job]:
    """All tables and seeds; of the suite those with enough positives."""
    suite = [] if path is None else [name for name in names(path) if name not in PAPER]
    for seed in range(n_seeds):
        yield from (Job(name, seed) for name in (*LAWS, *suite))


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """The gain on fresh rows, in points, by measure and over all fits."""
    results = results.assign(gain=100 * (results.value - results.value_at_0), adapted=results.C > 0)
    parts = [*results.groupby("measure"), ("all", results)]
    return pd.DataFrame(
        {
            name: {
                "fits": len(part),
                "adapted": part.adapted.mean(),
                "mean gain": part.gain.mean(),
                "lost over 3 points": (part.gain < -3).mean(),
                "gained over 3 points": (part.gain > 3).mean(),
            }
            for name, part in parts
        }
    ).T.round(4)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.few_positives",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the folder suite; without it, laws alone")
    parser.add_argument("--seeds", type=int, default=5, help="seeds per table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tables at the same time")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file with the results")
    options = parser.parse_args()
    done = set()
    if options.output.exists():
        done = {Job(*key) for key in pd.read_csv(options.output)[["table", "seed"]].itertuples(index=False)}
    ahead = [job for job in jobs(options.data, options.seeds) if job not in done]
    record_run(options.output, append=True)
    with single_threaded_pool(options.jobs) as pool, options.output.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(HEADER)
        futures = {pool.submit(fit_both, job, options.data): job for job in ahead}
        for count, future in enumerate(as_completed(futures), start=1):
            writer.writerows(future.result())
            file.flush()
            print(f"{count} of {len(futures)}: {futures[future].table}", flush=True)
    print(summarize(pd.read_csv(options.output)).to_string())


if __name__ == "__main__":
    main()
