"""Choice of the default auxiliaries: sets of candidates, stacked and cut as CAPOClassifier does with C = 0.

python -m benchmarks.quality.auxiliaries --data FOLDER      all dense tables, one seed; about 20 minutes

Writes results/auxiliaries.csv: the mean over tables of the difference to the default set, in points of 0.01.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory
from lightgbm import LGBMClassifier
from scipy.sparse import issparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from capo.adaptation import AdaptationData, LinearCombination, fit_stack
from capo.auxiliary import (
    Auxiliary,
    JobRunner,
    ScoreOutput,
    TrainingSet,
    cross_fit,
    make_auxiliaries,
    set_random_states,
)
from capo.model_selection import ExpectedValueThreshold, split_folds
from capo.preprocessing import make_linear_features, make_rbf_features, make_tree_features

from ..data import Table, folder
from ..provenance import record_run
from .page import MEASURES as COMPARED
from .systems import MEASURES
from .tables import load, names

RESULTS = Path(__file__).parent / "results" / "auxiliaries.csv"
BASE = ("boosting", "trees", "linear", "kernel")
#: Sets of candidates, the default first; the support vector machine is there up to 10,000 rows.
SETS: dict[str, tuple[str, ...]] = {
    "default: boosting, trees, linear, kernel, svm": (*BASE, "svm"),
    "without the svm": BASE,
    "without the boosting": ("trees", "linear", "kernel", "svm"),
    "without the trees": ("boosting", "linear", "kernel", "svm"),
    "without the linear": ("boosting", "trees", "kernel", "svm"),
    "without the kernel": ("boosting", "trees", "linear", "svm"),
    "a random forest as well": (*BASE, "svm", "forest"),
    "a neural network as well": (*BASE, "svm", "network"),
    "LightGBM as well": (*BASE, "svm", "lightgbm"),
    "LightGBM instead of the boosting": ("lightgbm", "trees", "linear", "kernel", "svm"),
    "a kernel of 300 functions instead of 500": ("boosting", "trees", "linear", "kernel300", "svm"),
    "boosting alone": ("boosting",),
    "trees alone": ("trees",),
    "linear alone": ("linear",),
    "kernel alone": ("kernel",),
    "LightGBM alone": ("lightgbm",),
}


def candidates(X: Any) -> list[tuple[str, Any]]:
    """The default auxiliaries and what else could be one."""
    network = MLPClassifier((64,), early_stopping=True, max_iter=60)
    return [
        *make_auxiliaries("auto", X),
        ("forest", make_pipeline(make_tree_features(X), RandomForestClassifier(100, min_samples_leaf=2))),
        ("network", make_pipeline(make_linear_features(X), network)),
        ("lightgbm", LGBMClassifier(n_jobs=1, verbose=-1)),
        ("kernel300", make_pipeline(make_rbf_features(X, 300), LogisticRegression(C=0.3, max_iter=300))),
    ]


def scores(table: Table, seed: int, cache: Path) -> dict[tuple[str, str], float]:
    """The value on test rows for each set and measure."""
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
    return {
        (name, measure): _value(table, [each for each in members if each in columns], measure, columns, test)
        for name, members in SETS.items()
        for measure in COMPARED
    }


def _value(
    table: Table,
    members: list[str],
    measure: str,
    columns: dict[str, np.ndarray],
    test: dict[str, np.ndarray],
) -> float:
    rows = AdaptationData(np.column_stack([columns[each] for each in members]), None, table.y, None)
    a, b = fit_stack(rows, nonnegative=True)
    weights = LinearCombination(a, np.zeros(0), b)
    on_test = weights.scores(np.column_stack([test[each] for each in members]), None)
    cut = ExpectedValueThreshold()(MEASURES[measure], weights.scores(rows.outputs, None), table.y, None).score
    return MEASURES[measure].score(table.y_test, on_test - cut)


def run(path: Path, name: str, seed: int, cache: Path) -> pd.DataFrame:
    found = scores(load(path, name, seed), seed, cache)
    return pd.DataFrame(
        [(name, *key, value) for key, value in found.items()], columns=["table", "set", "measure", "score"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--tables", nargs="+", help="which tables; all dense ones if not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "capo-auxiliaries")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    path = folder(options.data)
    wanted = options.tables or names(path)
    dense = [name for name in wanted if not issparse(load(path, name, options.seed).X)]
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    parts = []
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(run, path, name, options.seed, options.cache): name for name in dense}
        for count, future in enumerate(as_completed(futures), start=1):
            parts.append(future.result())
            print(f"{count} of {len(futures)}: {futures[future]}", file=sys.stderr, flush=True)
    wide = pd.concat(parts).pivot_table(index=["table", "measure"], columns="set", values="score")
    gain = 100 * wide.sub(wide[next(iter(SETS))], axis=0)
    by_table = gain.groupby(level="table").mean()
    summary = pd.DataFrame({"mean": by_table.mean(), "standard_error": by_table.sem()}).loc[list(SETS)]
    summary.round(3).to_csv(RESULTS)
    record_run(RESULTS)
    print(summary.round(2).to_string())


if __name__ == "__main__":
    main()
