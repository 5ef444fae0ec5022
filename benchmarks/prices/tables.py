"""Tables with amounts of money, and the prices that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from capo.decisions import RowPrices

from ..quality.tables import load

#: Training rows that are used, at most.
MAX_TRAINING_ROWS = 4000


class PricedRows(NamedTuple):
    """A table, its labels and its prices."""

    X: pd.DataFrame
    y: np.ndarray
    prices: RowPrices


#: A missed fraud costs its amount, an alarm 5 for the call; a lost customer costs three monthly charges, an
#: offer 50; a default costs 75% of the outstanding bill, a refusal 5% of the limit, a year's interest.
PRICES: dict[str, Callable[[pd.DataFrame], dict[str, Any]]] = {
    "creditcard_sub10": lambda X: {"cost_fp": 5.0, "cost_fn": X["Amount"].to_numpy()},
    "telco_churn": lambda X: {"cost_fp": 50.0, "cost_fn": 3.0 * X["MonthlyCharges"].to_numpy()},
    "credit_default": lambda X: {
        "cost_fp": 0.05 * X["LIMIT_BAL"].to_numpy(),
        "cost_fn": 0.75 * X["BILL_AMT1"].clip(lower=0).to_numpy(),
    },
}


def load_priced(folder: Path, name: str, seed: int) -> tuple[PricedRows, PricedRows]:
    """Training and test rows."""
    table = load(folder, name, seed)
    train = _priced(name, table.X[:MAX_TRAINING_ROWS], table.y[:MAX_TRAINING_ROWS])
    return train, _priced(name, table.X_test, table.y_test)


def _priced(name: str, X: pd.DataFrame, y: np.ndarray) -> PricedRows:
    return PricedRows(X, y, RowPrices.from_values(len(y), **PRICES[name](X)))
