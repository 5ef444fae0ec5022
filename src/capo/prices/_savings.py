"""What predictions are worth in money, compared with treating all rows alike."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, FloatArray
from ._row_prices import RowPrices

#: Bootstrap resamples of the rows.
N_RESAMPLES = 1000
#: Quantiles of the resampled totals that bound the 95% interval.
INTERVAL_QUANTILES = (0.025, 0.975)


@dataclass(frozen=True)
class Savings:
    """The money of predictions on some rows; a cost is below 0.

    Attributes
    ----------
    total : float
        The benefits minus the costs of the predictions.
    total_of_none : float
        The same if no row is called positive.
    total_of_all : float
        The same if every row is called positive.
    saving : float
        How much better the predictions are than the better of the two.
    low, high : float
        The 95% bootstrap interval of the saving.
    n_rows : int
        Number of rows.
    n_predicted : int
        Rows that are called positive.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.prices import RowPrices, estimate_savings
    >>> positive = np.tile([True, False, False, False], 50)
    >>> prices = RowPrices.from_values(200, cost_fp=10, cost_fn=np.tile([100, 1, 1, 1], 50))
    >>> print(estimate_savings(prices, positive, positive))
    saves 1,500 on 200 rows (95% interval ... to ...) compared with calling every row positive; total 0
    """

    total: float
    total_of_none: float
    total_of_all: float
    saving: float
    low: float
    high: float
    n_rows: int
    n_predicted: int

    @property
    def baseline(self) -> str:
        """The better way to treat all rows alike."""
        return "calling no row positive" if _none_is_better(self) else "calling every row positive"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"saves {format_money(self.saving)} on {self.n_rows:,} rows (95% interval "
            f"{format_money(self.low)} to {format_money(self.high)}) compared with {self.baseline}; total "
            f"{format_money(self.total)}"
        )


def _none_is_better(savings: Savings) -> bool:
    return savings.total_of_none >= savings.total_of_all


def format_money(value: float) -> str:
    """An amount with at least three significant digits, and no decimals from 100 on."""
    decimals = 0 if value == 0 or abs(value) >= 100 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:,.{decimals}f}"
    return "0" if float(text.replace(",", "")) == 0 else text


def estimate_savings(
    prices: RowPrices,
    positive: BoolArray,
    predicted: BoolArray,
    sample_weight: FloatArray | None = None,
    *,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Savings:
    """Compare predictions with the better of two ways to treat all rows alike, with a bootstrap interval.

    Parameters
    ----------
    prices : RowPrices
        The prices of the rows.
    positive : ndarray of bool, shape (n_samples,)
        Which rows are positive.
    predicted : ndarray of bool, shape (n_samples,)
        Which rows are called positive.
    sample_weight : ndarray of shape (n_samples,), optional
        How many rows each row stands for.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a customer: the bootstrap then draws whole groups.
    random_state : int, default=0
        Seed of the bootstrap, which draws rows with replacement.

    Returns
    -------
    Savings
        Totals in the user's money.
    """
    weight = np.ones(len(prices)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    values, of_none, of_all = (
        weight * prices.values(positive, each)
        for each in (predicted, np.zeros_like(predicted), np.ones_like(predicted))
    )
    total, total_of_none, total_of_all = (float(each.sum()) for each in (values, of_none, of_all))
    gains = np.column_stack((values - of_none, values - of_all))
    gains = gains if groups is None else _sum_by_group(gains, groups)
    resampled = _resample_totals(gains, random_state).min(axis=1)
    low, high = np.quantile(resampled, INTERVAL_QUANTILES)
    return Savings(
        total=total,
        total_of_none=total_of_none,
        total_of_all=total_of_all,
        saving=total - max(total_of_none, total_of_all),
        low=float(low),
        high=float(high),
        n_rows=len(prices),
        n_predicted=int(np.sum(predicted)),
    )


def _sum_by_group(values: FloatArray, groups: ArrayLike) -> FloatArray:
    """The sums of each column over the rows of each group."""
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    return np.column_stack([np.bincount(codes, weights=column) for column in values.T])


def _resample_totals(values: FloatArray, random_state: int) -> FloatArray:
    """The sums of each column over rows drawn with replacement."""
    rng, n_rows = np.random.default_rng(random_state), len(values)
    return np.array([values[rng.integers(n_rows, size=n_rows)].sum(axis=0) for _ in range(N_RESAMPLES)])
