"""The tables: multi-class and multi-label, each split into training and test rows by the seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import train_test_split

#: Rows that are trained on at most, so that all tables take hours and not days.
MAX_TRAINING_ROWS = 3_000
#: Rows that are tested on at most.
MAX_TEST_ROWS = 10_000
#: Share of the rows that are trained on in small tables.
TRAINING_SHARE = 0.6

CLASS_TABLES = (
    "avila",
    "diamonds_cut",
    "dry_bean",
    "eucalyptus",
    "gas_drift",
    "letter",
    "nursery",
    "page_blocks",
    "road_accident_severity",
    "soybean",
    "winequality",
    "yeast_localization",
)
LABEL_TABLES = ("bibtex", "birds", "medical", "scene", "yeast_function")


class Table(NamedTuple):
    """Training and test rows; y holds classes 0..K-1, or Y a matrix of labels."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    is_ordinal: bool = False


def load_classes(folder: Path, name: str, seed: int) -> Table:
    """Return a multi-class table, its categorical columns as categories."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = _frame(file), file["y"]
        ordinal = bool(file["ordinal"])
    n_train = min(MAX_TRAINING_ROWS, int(TRAINING_SHARE * len(y)))
    train, test = train_test_split(np.arange(len(y)), train_size=n_train, stratify=y, random_state=seed)
    test = test[:MAX_TEST_ROWS]
    return Table(X.iloc[train].reset_index(drop=True), y[train], X.iloc[test], y[test], ordinal)


def load_labels(folder: Path, name: str, seed: int) -> Table:
    """Return a multi-label table."""
    with np.load(folder / f"{name}.npz") as file:
        Y = file["Y"].astype(np.int64)
        if "indptr" in file:
            parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
            X: Any = sparse.csr_matrix(parts, shape=tuple(file["shape"]))
        else:
            X = file["X"].astype(np.float64)
    n_train = min(MAX_TRAINING_ROWS, int(TRAINING_SHARE * len(Y)))
    train, test = train_test_split(np.arange(len(Y)), train_size=n_train, random_state=seed)
    return Table(X[train], Y[train], X[test], Y[test])


def _frame(file: Any) -> pd.DataFrame:
    frame = pd.DataFrame(file["X"].astype(np.float64), columns=[str(name) for name in file["feature_names"]])
    for column in file["cat_cols"]:
        name = frame.columns[int(column)]
        frame[name] = frame[name].astype("Int64").astype("string").astype("category")
    return frame
