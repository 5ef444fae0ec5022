"""Misleading data: ids, leaks, majority classes and sorted rows planted in real tables, and clean tables.

python -m benchmarks.messy.misleading --data FOLDER

Each table of the suite is shuffled, and 20 variants of each problem are planted. The clean tables are those
of the suite and two of scikit-learn. Results are in benchmarks/messy/results/misleading.csv: how many
variants of each problem are noted, and the clean tables about which anything is noted.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from capo.tables.checks import check_data, duplicate_share
from capo.tables.kinds import find_numbered_columns
from capo.tables.targets import MAX_POSITIVE_SHARE

from ..data import folder
from ..provenance import record_run

RESULTS = Path(__file__).parent / "results" / "misleading.csv"
N_VARIANTS = 20
MAX_ROWS = 5000
MAX_COLUMNS = 100
#: A larger share of rows with a copy in another fold is noted.
MAX_DUPLICATE_SHARE = 0.05

Problem = Callable[[pd.DataFrame, np.ndarray, int], tuple[pd.DataFrame, np.ndarray]]


def load(path: Path, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Shuffled rows of a table, and which of them are positive, the rarer class."""
    with np.load(path, allow_pickle=True) as file:
        X, y = file["X"].astype(np.float64), file["y"] > 0
    rows = np.random.default_rng(seed).permutation(len(y))[:MAX_ROWS]
    frame = pd.DataFrame(X[rows][:, :MAX_COLUMNS]).add_prefix("column ")
    frame = frame.loc[:, frame.nunique(dropna=False) > 1]
    return frame, y[rows] if y[rows].mean() < 0.5 else ~y[rows]


def plant_id(frame: pd.DataFrame, positive: np.ndarray, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng, n_rows = np.random.default_rng(seed), len(frame)
    names = ("id", "Unnamed: 0", "customer_id", "orderId", "row", "index", "x", "number", "uid", "key")
    name = names[seed % len(names)]
    values = np.arange(n_rows) + seed if name in ("x", "number") else rng.choice(10**7, n_rows, replace=False)
    return frame.assign(**{name: values}), positive


def plant_leak(frame: pd.DataFrame, positive: np.ndarray, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng, n_rows = np.random.default_rng(seed), len(frame)
    flipped = positive ^ (rng.random(n_rows) < 0.002)
    ways = (
        positive.astype(float),
        np.where(positive, "closed", "open"),
        np.where(flipped, "yes", "no"),
        positive * 5.0 + rng.normal(size=n_rows),
        np.where(positive, "2024-05-31", None),
        np.where(positive, np.nan, rng.normal(size=n_rows)),
        np.where(positive, rng.choice(["a", "b"], n_rows), rng.choice(["c", "d", "e"], n_rows)),
        -3.0 * flipped,
        np.where(positive, rng.choice([-9.0, 9.0], n_rows), 0.0) + rng.normal(size=n_rows),
        [f"${value:,.2f}" for value in np.where(positive, 1000, 0) + rng.uniform(1, 900, n_rows)],
    )
    return frame.assign(status=ways[seed % len(ways)]), positive


def plant_majority(frame: pd.DataFrame, positive: np.ndarray, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rows = np.flatnonzero(~positive)
    share = np.random.default_rng(seed).uniform(0.57, 0.98)
    n_other = min(int(positive.sum()), int(len(rows) * (1 - share) / share))
    kept = np.sort(np.concatenate((rows, np.flatnonzero(positive)[: max(n_other, 1)])))
    return frame.iloc[kept].reset_index(drop=True), ~positive[kept]


def plant_order(frame: pd.DataFrame, positive: np.ndarray, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    key = positive + np.random.default_rng(seed).normal(0, 0.1 * (seed % 4), len(positive))
    order = np.argsort(key if seed % 2 else -key, kind="stable")
    return frame.iloc[order].reset_index(drop=True), positive[order]


def topics(frame: pd.DataFrame, positive: np.ndarray) -> set[str]:
    """What is noted about a table."""
    found = {finding.topic for finding in check_data(frame, positive)}
    found |= {"id" for reason in find_numbered_columns(frame).values() if reason}
    found |= {"majority"} if positive.mean() > MAX_POSITIVE_SHARE else set()
    folds = np.random.default_rng(0).integers(0, 5, len(frame))
    return found | ({"copies"} if duplicate_share(frame, folds) > MAX_DUPLICATE_SHARE else set())


PROBLEMS: dict[str, Problem] = {
    "id": plant_id,
    "leak": plant_leak,
    "majority": plant_majority,
    "sorted": plant_order,
}


def variants(paths: list[Path], plant: Problem, topic: str) -> Iterator[bool]:
    """Whether each variant of a problem is noted."""
    for seed in range(N_VARIANTS):
        yield topic in topics(*plant(*load(paths[seed % len(paths)], seed), seed))


def load_clean(paths: list[Path]) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """The tables as they are, shuffled: those of the suite, and two of scikit-learn."""
    for path in paths:
        yield path.stem, *load(path, 0)
    for name, dataset, label in (("breast_cancer", load_breast_cancer(), 0), ("digits", load_digits(), 8)):
        rows = np.random.default_rng(0).permutation(len(dataset.target))
        frame = pd.DataFrame(dataset.data[rows]).add_prefix("column ")
        yield name, frame.loc[:, frame.nunique() > 1], dataset.target[rows] == label


def main() -> None:
    """Write what is noted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the data sets")
    paths = sorted((folder(parser.parse_args().data) / "suite").glob("*.npz"))
    results = [
        (topic, sum(variants(paths, plant, topic)), N_VARIANTS, "") for topic, plant in PROBLEMS.items()
    ]
    clean = {name: sorted(topics(frame, positive)) for name, frame, positive in load_clean(paths)}
    noted = "; ".join(f"{name}: {', '.join(found)}" for name, found in clean.items() if found)
    results.append(("clean tables", sum(map(bool, clean.values())), len(clean), noted))
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows([("problem", "noted", "tables", "notes"), *results])
    record_run(RESULTS)
    for problem, n_noted, n_tables, notes in results:
        print(f"{problem}: {n_noted} of {n_tables} noted {notes}")


if __name__ == "__main__":
    main()
