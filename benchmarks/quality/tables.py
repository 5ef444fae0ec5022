"""The tables: the paper's five with their own test sets, and any others, cut in half at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from ..data import PAPER, Table, load_paper


def names(folder: Path) -> list[str]:
    """The tables in the folder, the paper's last."""
    suite = sorted(file.stem for file in (folder / "suite").glob("*.npz"))
    return [*suite, *(name for name in PAPER if (folder / "paper" / f"{name}.npz").exists())]


def load(folder: Path, name: str, seed: int) -> Table:
    """A table; the seed decides the halves of a table of the suite."""
    if name in PAPER:
        return load_paper(folder, name)
    with np.load(folder / "suite" / f"{name}.npz", allow_pickle=True) as file:
        X = pd.DataFrame(file["X"].astype(np.float64), columns=[str(each) for each in file["feature_names"]])
        for position in file["cat_cols"]:
            X[X.columns[position]] = X.iloc[:, position].astype("category")
        y = file["y"] > 0
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    return Table(X.reset_index(drop=True), y, X_test.reset_index(drop=True), y_test)
