"""The tables: the paper's five with their own test sets, and any others, cut in half at random.

A name such as ``adult@50`` is the rare version of a table: its training half has 50 positive rows, drawn at
random, and the test half is thinned to the same share of positives.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from ..data import PAPER, Table, load_paper

#: Positive training rows of the rare versions.
RARE_COUNTS = (20, 50, 100)
#: Tables without rare versions: the largest, which would take most of the time.
NOT_THINNED = ("w8a", "adult", "bank_marketing")


def names(folder: Path) -> list[str]:
    """The tables in the folder, the paper's last."""
    suite = sorted(file.stem for file in (folder / "suite").glob("*.npz"))
    return [*suite, *(name for name in PAPER if (folder / "paper" / f"{name}.npz").exists())]


def rare_names(folder: Path) -> list[str]:
    """The rare versions of the tables that have twice as many positives in their training half."""
    found = []
    for name in names(folder):
        if name not in (*PAPER, *NOT_THINNED):
            with np.load(folder / "suite" / f"{name}.npz", allow_pickle=True) as file:
                n_positive = int(np.sum(file["y"] > 0)) // 2
            found += [f"{name}@{count}" for count in RARE_COUNTS if n_positive >= 2 * count]
    return found


def load(folder: Path, name: str, seed: int) -> Table:
    """A table; the seed decides the halves of a table of the suite, and the positives of a rare version."""
    if name in PAPER:
        return load_paper(folder, name)
    name, _, count = name.partition("@")
    table = _load_suite(folder, name, seed)
    return _thin(table, int(count), seed) if count else table


def _thin(table: Table, n_positive: int, seed: int) -> Table:
    """Keep so many positives of the training rows, and as large a share of them in the test rows."""
    random = np.random.RandomState(seed)
    n_negative = int(np.sum(~table.y))
    test_count = round(n_positive / n_negative * np.sum(~table.y_test))
    train = _thinned_rows(table.y, n_positive, random)
    test = _thinned_rows(table.y_test, test_count, random)
    X, X_test = (
        each.iloc[rows].reset_index(drop=True) for each, rows in ((table.X, train), (table.X_test, test))
    )
    return Table(X, table.y[train], X_test, table.y_test[test])


def _thinned_rows(y: np.ndarray, n_positive: int, random: np.random.RandomState) -> np.ndarray:
    positives = random.choice(np.flatnonzero(y), min(n_positive, int(y.sum())), replace=False)
    return np.sort(np.concatenate((positives, np.flatnonzero(~y))))


def _load_suite(folder: Path, name: str, seed: int) -> Table:
    with np.load(folder / "suite" / f"{name}.npz", allow_pickle=True) as file:
        X = pd.DataFrame(file["X"].astype(np.float64), columns=[str(each) for each in file["feature_names"]])
        for position in file["cat_cols"]:
            X[X.columns[position]] = X.iloc[:, position].astype("category")
        y = file["y"] > 0
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    return Table(X.reset_index(drop=True), y, X_test.reset_index(drop=True), y_test)


def limit_rows(table: Table, seed: int, max_rows: int, max_test_rows: int) -> Table:
    """At most so many rows of a table, drawn at random."""
    random = np.random.RandomState(seed)
    train, test = (
        np.sort(random.permutation(len(y))[:limit])
        for y, limit in ((table.y, max_rows), (table.y_test, max_test_rows))
    )
    X, X_test = table.X.iloc[train].reset_index(drop=True), table.X_test.iloc[test].reset_index(drop=True)
    return Table(X, table.y[train], X_test, table.y_test[test])
