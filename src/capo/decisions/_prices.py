"""Prices of each row, and the savings of decisions.

With the probability p of the positive class, calling a row positive instead of negative is worth

    p (cost_fn + benefit_tp) - (1 - p) cost_fp

in expectation, which is above 0 where p > cost_fp / (cost_fp + cost_fn + benefit_tp): a threshold for each
row, without a search. Asking for the label costs `cost_ask`. Between two thresholds, this is less than the
expected loss of a positive label, (1 - p) cost_fp, and of a negative one, p (cost_fn + benefit_tp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from .._compat import ArrayLike, BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import Cost, cost_log_odds
from ._threshold import Decision

#: The prices of the measure "cost", in the order in which they are named.
PRICE_NAMES = ("cost_fp", "cost_fn", "benefit_tp")
#: All prices of a row.
ROW_PRICE_NAMES = (*PRICE_NAMES, "cost_ask")
#: The prediction for rows for which asking costs least.
ASK = "ask"


@dataclass(frozen=True)
class RowPrices(Decision):
    """The prices of some rows, in the user's money: each row has its own threshold.

    Attributes
    ----------
    cost_fp : ndarray of shape (n_samples,)
        The cost of calling the row positive if it is negative.
    cost_fn : ndarray of shape (n_samples,)
        The cost of calling the row negative if it is positive.
    benefit_tp : ndarray of shape (n_samples,)
        The benefit of calling the row positive if it is positive.
    cost_ask : ndarray of shape (n_samples,)
        The cost of asking for the correct label of the row; infinite if asking is not possible.
    abstain_label : object
        "ask" if rows can be asked about, else None.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import RowPrices
    >>> prices = RowPrices.from_values(2, cost_fp=5, cost_fn=[20, 995])
    >>> prices.thresholds
    array([0.2  , 0.005])
    >>> prices.values(np.array([True, True]), np.array([True, False]))
    array([   0., -995.])
    >>> asking = RowPrices.from_values(3, cost_fp=10, cost_fn=10, cost_ask=2)
    >>> asking.answers(np.array(["no", "yes"]))[asking.decide(np.array([-3.0, 0.0, 3.0]))]
    array(['no', 'ask', 'yes'], dtype='<U3')
    """

    cost_fp: FloatArray
    cost_fn: FloatArray
    benefit_tp: FloatArray
    cost_ask: FloatArray
    abstain_label: Any = None

    @classmethod
    def from_values(
        cls,
        n_rows: int,
        *,
        cost_fp: Any = 1.0,
        cost_fn: Any = 1.0,
        benefit_tp: Any = 0.0,
        cost_ask: Any = None,
    ) -> RowPrices:
        """Check prices: each is a number for all rows, or one number per row; None if nobody can be asked."""
        values = zip(PRICE_NAMES, (cost_fp, cost_fn, benefit_tp), strict=True)
        prices = {name: _check_price(value, name, n_rows) for name, value in values}
        if cost_ask is None:
            return cls(**prices, cost_ask=np.full(n_rows, np.inf))
        return cls(**prices, cost_ask=_check_price(cost_ask, "cost_ask", n_rows), abstain_label=ASK)

    def __len__(self) -> int:
        return len(self.cost_fp)

    @property
    def stakes(self) -> FloatArray:
        """The difference between a hit and a miss: ``cost_fn + benefit_tp``."""
        return self.cost_fn + self.benefit_tp

    @property
    def measure(self) -> Cost:
        """The measure `cost` of these rows; a price with the same value in all rows is a number."""
        prices = (getattr(self, name) for name in PRICE_NAMES)
        return Cost(*(float(each[0]) if len(each) and np.ptp(each) == 0 else each for each in prices))

    def mean_measure(self, sample_weight: FloatArray | None = None) -> Cost:
        """The measure `cost` of rows whose prices are not known: each price is the mean of these rows."""
        means = (np.average(getattr(self, name), weights=sample_weight) for name in PRICE_NAMES)
        return Cost(*(float(f"{mean:.6g}") for mean in means))

    @property
    def log_odds(self) -> FloatArray:
        """The log-odds above which each row is positive; finite, also where one of the prices is 0."""
        without, saved = cost_log_odds(self.cost_fp, self.stakes), self.cost_fp - self.cost_ask
        above = cost_log_odds(np.maximum(saved, 0.0), self.cost_ask)
        return np.where(saved > 0, np.maximum(without, above), without)

    @property
    def lower_log_odds(self) -> FloatArray:
        """The log-odds up to which each row is negative: `log_odds` where it cannot be asked about."""
        without, saved = cost_log_odds(self.cost_fp, self.stakes), self.stakes - self.cost_ask
        below = cost_log_odds(np.where(saved > 0, self.cost_ask, 0.0), saved)
        return np.where(saved > 0, np.minimum(without, below), without)

    @property
    def thresholds(self) -> FloatArray:
        """The probability above which each row is positive: 1 where nothing is at stake."""
        return np.asarray(expit(self.log_odds))

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those at the threshold of each row."""
        return scores - self.log_odds

    def lower_margins(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds minus those up to which each row is negative."""
        return scores - self.lower_log_odds

    def describe(self) -> str:
        """Return the decision in one sentence."""
        return "positive if this has the higher expected value at the prices of the row"

    def expected_savings(self, probability: FloatArray) -> FloatArray:
        """The expected value of calling each row positive instead of negative."""
        return np.asarray(probability * self.stakes - (1.0 - probability) * self.cost_fp)

    def values(self, positive: BoolArray, decided: BoolArray | IntArray) -> FloatArray:
        """The money of each row with these decisions, as from `decide`: a cost is below 0."""
        asked = np.zeros(len(self), dtype=bool) if decided.dtype == np.bool_ else decided == 1
        predicted = np.where(asked, positive, decided > 0)  # the answer is right
        of_positive = np.where(predicted, self.benefit_tp, -self.cost_fn)
        money = np.where(positive, of_positive, np.where(predicted, -self.cost_fp, 0.0))
        return money - np.where(asked, self.cost_ask, 0.0)

    def losses(self, positive: BoolArray, decided: BoolArray | IntArray) -> FloatArray:
        """The cost of each decision compared with the correct label: 0 where it is correct."""
        return self.values(positive, positive) - self.values(positive, decided)

    def take_rows(self, rows: IntArray | BoolArray) -> RowPrices:
        """Return the prices of some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ROW_PRICE_NAMES})


@dataclass(frozen=True)
class PriceTerms:
    """The prices of a trained model: those that are numbers, and the names of those that differ between rows.

    Attributes
    ----------
    constants : dict of str to float
        The prices that were numbers.
    per_row : tuple of str
        The names of the prices that each row had.
    """

    constants: dict[str, float]
    per_row: tuple[str, ...]

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> PriceTerms:
        """Separate numbers from prices of each row."""
        names = [name for name in ROW_PRICE_NAMES if values.get(name) is not None]
        per_row = tuple(name for name in names if np.ndim(values[name]) > 0)
        return cls({name: float(values[name]) for name in names if name not in per_row}, per_row)

    @property
    def asks(self) -> bool:
        """Whether asking has a price."""
        return "cost_ask" in (*self.constants, *self.per_row)

    def complete(self, given: Mapping[str, Any], advice: str) -> dict[str, Any]:
        """Add the prices that were numbers in training; raise an error if one of each row is missing.

        Parameters
        ----------
        given : mapping of str to float or array-like
            The prices of the new rows; None for unknown prices.
        advice : str
            The advice of the error message.

        Returns
        -------
        dict of str to float or array-like
            A value for each price.
        """
        missing = [name for name in self.per_row if given.get(name) is None]
        if missing:
            raise InvalidInputError(
                f"the model was trained with {' and '.join(self.per_row)} of each row, but {missing[0]} is "
                f"missing: {advice}."
            )
        return {**self.constants, **{name: value for name, value in given.items() if value is not None}}

    def __str__(self) -> str:
        texts = {name: f"{value:g}" for name, value in self.constants.items() if value}
        texts |= dict.fromkeys(self.per_row, "of each row")
        return ", ".join(f"{name} {texts[name]}" for name in ROW_PRICE_NAMES if name in texts)


def _check_price(value: Any, name: str, n_rows: int) -> FloatArray:
    """Return one price per row, or raise an error that names the price and the row."""
    try:
        prices = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} must be a number or one number per row: got {value!r:.200}."
        ) from None
    if prices.ndim == 0:
        prices = np.full(n_rows, float(prices))
    if prices.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} must be a number or one number per row: got shape {prices.shape} for {n_rows} rows."
        )
    invalid = ~(np.isfinite(prices) & (prices >= 0))
    if invalid.any():
        row = int(np.argmax(invalid))
        raise InvalidInputError(
            f"{name} must be finite and not negative: {int(invalid.sum())} of {n_rows} rows are not, first "
            f"row {row} with {prices[row]:g}. A cost is a positive number; fill in missing ones."
        )
    return prices


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
        The total if no row is called positive.
    total_of_all : float
        The total if every row is called positive.
    total_of_asking : float or None
        The total if every row is asked about; None if asking is not possible.
    saving : float
        The advantage of the predictions over the best of these.
    low, high : float
        The 95% bootstrap interval of the saving.
    n_rows : int
        Number of rows.
    n_predicted : int
        Rows that are called positive.
    n_asked : int
        Rows that are asked about.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.decisions import RowPrices, estimate_savings
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
    total_of_asking: float | None = None
    n_asked: int = 0

    @property
    def baseline(self) -> str:
        """The best way to treat all rows alike."""
        totals = {
            "calling no row positive": self.total_of_none,
            "calling every row positive": self.total_of_all,
        }
        if self.total_of_asking is not None:
            totals["asking about every row"] = self.total_of_asking
        return max(totals, key=lambda name: totals[name])

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"saves {format_money(self.saving)} on {self.n_rows:,} rows (95% interval "
            f"{format_money(self.low)} to {format_money(self.high)}) compared with {self.baseline}; total "
            f"{format_money(self.total)}"
            + ("" if self.total_of_asking is None else f"; asks about {self.n_asked:,} of them")
        )


def format_money(value: float) -> str:
    """An amount with at least three significant digits, and no decimals from 100 on."""
    decimals = 0 if value == 0 or abs(value) >= 100 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:,.{decimals}f}"
    return "0" if float(text.replace(",", "")) == 0 else text


def estimate_savings(
    prices: RowPrices,
    positive: BoolArray,
    decided: BoolArray | IntArray,
    sample_weight: FloatArray | None = None,
    *,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Savings:
    """Compare decisions with the best way to treat all rows alike, with a bootstrap interval.

    Parameters
    ----------
    prices : RowPrices
        The prices of the rows.
    positive : ndarray of bool, shape (n_samples,)
        Which rows are positive.
    decided : ndarray of shape (n_samples,)
        Which rows are called positive, or what `RowPrices.decide` returns if rows can be asked about.
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
    values, asks = weight * prices.values(positive, decided), prices.abstain_label is not None
    is_label = np.asarray(decided).dtype == np.bool_
    alike = [np.zeros(len(prices), dtype=bool), np.ones(len(prices), dtype=bool)]
    alike += [np.ones(len(prices), dtype=int)] if asks else []
    others = np.column_stack([weight * prices.values(positive, each) for each in alike])
    total, totals, gains = float(values.sum()), others.sum(axis=0).tolist(), values[:, None] - others
    if groups is not None:
        _, codes = np.unique(np.asarray(groups), return_inverse=True)
        gains = np.column_stack([np.bincount(codes, weights=column) for column in gains.T])
    rng, n_units = np.random.default_rng(random_state), len(gains)
    draws = (rng.integers(n_units, size=n_units) for _ in range(N_RESAMPLES))
    low, high = np.quantile([gains[rows].sum(axis=0).min() for rows in draws], INTERVAL_QUANTILES)
    return Savings(
        total=total,
        total_of_none=totals[0],
        total_of_all=totals[1],
        saving=total - max(totals),
        low=float(low),
        high=float(high),
        n_rows=len(prices),
        n_predicted=int(np.sum(decided if is_label else decided == 2)),
        total_of_asking=totals[2] if asks else None,
        n_asked=0 if is_label else int(np.sum(decided == 1)),
    )
