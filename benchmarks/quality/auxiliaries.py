"""Choice of the default auxiliaries: sets of candidates, stacked and cut as CAPOClassifier does with C = 0.

python -m benchmarks.quality.auxiliaries --data FOLDER      all dense tables of the suite, one seed

Trains on at most 5,000 rows of a table. Writes results/auxiliaries.csv: the mean over tables of the
difference to the default set, in points of 0.01, over all tables and over every other one of them in
alphabetical order (two halves: a choice on one can be confirmed on the other), and the training time of
the set.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from capo.decisions import ExpectedValueThreshold
from capo.learning.auxiliaries import make_auxiliaries, set_random_states
from capo.learning.center import fit_binary_stack
from capo.learning.combination import AdaptationData, LinearCombination
from capo.learning.cross_fit import Auxiliary, JobRunner, TrainingSet, cross_fit
from capo.learning.folds import split_folds
from capo.learning.outputs import ScoreOutput
from capo.tables.schema import infer_schema

from ..data import PAPER, Table, folder
from ..processes import single_threaded_pool
from ..provenance import record_run
from .page import MEASURES as COMPARED
from .systems import MEASURES
from .tables import limit_rows, load, names

RESULTS = Path(__file__).parent / "results" / "auxiliaries.csv"
DEFAULT = ("boosting", "trees", "full_trees", "linear", "kernel")
#: Sets of candidates, the default first.
SETS: dict[str, tuple[str, ...]] = {
    "default: boosting, trees, full_trees, linear, kernel": DEFAULT,
    **{f"without {name}": tuple(each for each in DEFAULT if each != name) for name in DEFAULT},
    "a support vector machine as well": (*DEFAULT, "svm"),
    "LightGBM as well": (*DEFAULT, "lgbm"),
    "LightGBM instead of boosting": ("lgbm", "trees", "full_trees", "linear", "kernel"),
    "a second boosting of larger trees as well": (*DEFAULT, "boosting31"),
    "a neural network as well": (*DEFAULT, "network"),
    "a former default": ("boosting31", "boosting", "trees70", "linear", "kernel"),
    "fast: quick, linear": ("quick", "linear"),
    "boosting alone": ("boosting",),
    "trees alone": ("trees",),
    "linear alone": ("linear",),
    "LightGBM alone": ("lgbm",),
}
#: The boosting of a former default.
FORMER_BOOSTING = {
    "learning_rate": 0.15,
    "max_iter": 60,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "max_features": 1.0,
}
#: Training and test rows that are used of a table.
MAX_ROWS, MAX_TEST_ROWS = 5_000, 10_000


def candidates(X: Any) -> list[tuple[str, Any]]:
    """The default auxiliaries and what else could be one."""
    schema = infer_schema(X)
    named = [make_auxiliaries(name, X, schema)[0] for name in (*DEFAULT, "svm", "quick", "lgbm")]
    boosting, trees, linear = (clone(each) for name, each in named if name in ("boosting", "trees", "linear"))
    boosting[-1].set_params(**FORMER_BOOSTING)
    trees[-1].set_params(n_estimators=70)
    network = MLPClassifier((64,), alpha=1e-2, learning_rate_init=3e-3, max_iter=30, batch_size=64)
    return [
        *named,
        ("boosting31", boosting),
        ("trees70", trees),
        ("network", make_pipeline(*linear[:-1], network)),
    ]


def scores(table: Table, seed: int, cache: Path) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """The value on test rows for each set and measure, and the training time of each set."""
    random = np.random.RandomState(seed)
    given = [Auxiliary(name, set_random_states(each, random), {}) for name, each in candidates(table.X)]
    splits = split_folds(5, table.X, table.y, {}, random)
    memory, classes = Memory(cache, verbose=0), np.array([False, True])
    kind, training = ScoreOutput(), TrainingSet(table.X, table.y.astype(int), classes, splits)
    fitted = cross_fit(JobRunner(given, training, kind, memory))
    columns, test = {}, {}
    for auxiliary, raw, model in zip(given, fitted.raw_outputs.T, fitted.models, strict=True):
        scale = kind.fit_scale(raw, table.y, None)
        columns[auxiliary.name] = scale(raw)
        test[auxiliary.name] = scale(kind.predict(model, table.X_test, classes))
    seconds = dict(zip(columns, fitted.seconds, strict=True))
    values = {
        (name, measure): _value(table, list(members), measure, columns, test)
        for name, members in SETS.items()
        for measure in COMPARED
    }
    return values, {name: sum(seconds[each] for each in members) for name, members in SETS.items()}


def _value(
    table: Table,
    members: list[str],
    measure: str,
    columns: dict[str, np.ndarray],
    test: dict[str, np.ndarray],
) -> float:
    rows = AdaptationData(np.column_stack([columns[each] for each in members]), None, table.y, None)
    a, b = fit_binary_stack(rows, nonnegative=True)
    weights = LinearCombination(a, np.zeros(0), b)
    on_test = weights.scores(np.column_stack([test[each] for each in members]), None)
    cut = ExpectedValueThreshold()(MEASURES[measure], weights.scores(rows.outputs, None), table.y, None).score
    return MEASURES[measure].score(table.y_test, on_test - cut)


def run(path: Path, name: str, seed: int, cache: Path) -> pd.DataFrame:
    table = limit_rows(load(path, name, seed), seed, MAX_ROWS, MAX_TEST_ROWS)
    found, seconds = scores(table, seed, cache)
    rows = [(name, *key, value, seconds[key[0]]) for key, value in found.items()]
    return pd.DataFrame(rows, columns=["table", "set", "measure", "score", "seconds"])


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """The difference of each set to the default set, on all tables and on either half of them."""
    wide = rows.pivot_table(index=["table", "measure"], columns="set", values="score")
    gain = 100 * wide.sub(wide[next(iter(SETS))], axis=0)
    by_table = gain.groupby(level="table").mean().sort_index()
    parts = {"": by_table, "first_half_": by_table[::2], "second_half_": by_table[1::2]}
    columns = {}
    for prefix, part in parts.items():
        columns |= {f"{prefix}mean": part.mean(), f"{prefix}standard_error": part.sem()}
    seconds = rows.groupby(["table", "set"])["seconds"].first().groupby(level="set").sum()
    return pd.DataFrame({**columns, "seconds": seconds}).loc[list(SETS)].round(3)


def run_all(wanted: list[str], path: Path, seed: int, cache: Path, n_jobs: int | None) -> pd.DataFrame:
    """The rows of all tables."""
    with single_threaded_pool(n_jobs) as pool:
        futures = {pool.submit(run, path, name, seed, cache): name for name in wanted}
        for count, future in enumerate(as_completed(futures), start=1):
            future.result()
            print(f"{count} of {len(futures)}: {futures[future]}", file=sys.stderr, flush=True)
    return pd.concat([future.result() for future in futures])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", help="which tables; those of the suite but w8a if not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-auxiliaries")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    path = folder(options.data)
    wanted = options.tables or [name for name in names(path) if name not in (*PAPER, "w8a")]
    summary = summarize(run_all(wanted, path, options.seed, options.cache, options.jobs))
    summary.to_csv(RESULTS)
    record_run(RESULTS)
    print(summary.to_string())


if __name__ == "__main__":
    main()
