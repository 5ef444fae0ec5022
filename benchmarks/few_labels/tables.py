"""Tables that a natural column divides into a source, where the old model is trained, and a target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..data import load_paper

#: Rows of the source that the old model is trained on, at most.
MAX_SOURCE_ROWS = 4000
#: Rows of the target that labels may be drawn from.
MAX_LABELS = 1000
#: Rows of the target that the models are evaluated on, at most.
MAX_TEST_ROWS = 4000


class Transfer(NamedTuple):
    """Source rows, labeled rows of the target in random order, and test rows of the target."""

    X_source: Any
    y_source: np.ndarray
    X_new: Any
    y_new: np.ndarray
    X_test: Any
    y_test: np.ndarray


#: For each split, its table and the rows of the target.
SPLITS: dict[str, tuple[str, Callable[[pd.DataFrame], Any]]] = {
    "adult: women": ("adult", lambda X: X["sex"] == 1),
    "adult: self-employed": ("adult", lambda X: X["workclass"].isin([1, 5])),
    "bank_marketing: telephone": ("bank_marketing", lambda X: X["contact"] == 0),
    "bank_marketing: low interest": ("bank_marketing", lambda X: X["euribor3m"] < 4),
    "credit_default: high school": ("credit_default", lambda X: X["EDUCATION"] == 2),
    "online_shoppers: November": ("online_shoppers", lambda X: X["Month"] == 7),
    "online_shoppers: new visitors": ("online_shoppers", lambda X: X["VisitorType"] == 1),
    "telco_churn: monthly contracts": ("telco_churn", lambda X: X["Contract"] == 0),
    "telco_churn: fiber": ("telco_churn", lambda X: X["InternetService"] == 1),
}
#: The paper's ijcnn1, whose test set is another recording than its training set.
IJCNN1 = "ijcnn1: test set"
NAMES = (*SPLITS, IJCNN1)


def load(folder: Path, name: str, seed: int) -> Transfer:
    """A split; the seed draws the rows."""
    rng = np.random.default_rng(seed)
    if name == IJCNN1:
        table = load_paper(folder, "ijcnn1")
        X, y = np.vstack((table.X, table.X_test)), np.concatenate((table.y, table.y_test))
        is_target = np.arange(len(y)) >= len(table.y)
        return _draw(pd.DataFrame(X).rename(columns=str), y, is_target, rng)
    file, select = SPLITS[name]
    with np.load(folder / "suite" / f"{file}.npz", allow_pickle=True) as arrays:
        X = pd.DataFrame(
            arrays["X"].astype(np.float64), columns=[str(each) for each in arrays["feature_names"]]
        )
        y, categories = arrays["y"] > 0, arrays["cat_cols"]
    is_target = np.asarray(select(X))
    for position in categories:
        X[X.columns[position]] = X.iloc[:, position].astype("category")
    return _draw(X, y, is_target, rng)


def _draw(X: pd.DataFrame, y: np.ndarray, is_target: np.ndarray, rng: np.random.Generator) -> Transfer:
    source = rng.permutation(np.flatnonzero(~is_target))[:MAX_SOURCE_ROWS]
    target = rng.permutation(np.flatnonzero(is_target))[: MAX_LABELS + MAX_TEST_ROWS]
    new, test = target[:MAX_LABELS], target[MAX_LABELS:]
    parts = [(X.iloc[rows].reset_index(drop=True), y[rows]) for rows in (source, new, test)]
    return Transfer(*(each for part in parts for each in part))
