"""The prices of each row, and the decision with the best expected value at these prices.

With the probability p of the positive class, calling a row positive instead of negative is worth

    p (cost_fn + benefit_tp) - (1 - p) cost_fp

in expectation, which is above 0 where p > cost_fp / (cost_fp + cost_fn + benefit_tp): a threshold for each
row, without a search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..measures import Cost, cost_log_odds

#: The prices, in the order in which they are named.
PRICE_NAMES = ("cost_fp", "cost_fn", "benefit_tp")


@dataclass(frozen=True)
class RowPrices:
    """The prices of some rows, in the user's money.

    Attributes
    ----------
    cost_fp : ndarray of shape (n_samples,)
        The cost of calling the row positive if it is negative.
    cost_fn : ndarray of shape (n_samples,)
        The cost of calling the row negative if it is positive.
    benefit_tp : ndarray of shape (n_samples,)
        What it is worth to call the row positive if it is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.prices import RowPrices
    >>> prices = RowPrices.from_values(2, cost_fp=5, cost_fn=[20, 995])
    >>> prices.thresholds
    array([0.2  , 0.005])
    >>> prices.values(np.array([True, True]), np.array([True, False]))
    array([   0., -995.])
    """

    cost_fp: FloatArray
    cost_fn: FloatArray
    benefit_tp: FloatArray

    @classmethod
    def from_values(
        cls, n_rows: int, *, cost_fp: Any = 1.0, cost_fn: Any = 1.0, benefit_tp: Any = 0.0
    ) -> RowPrices:
        """Check prices: each is a number for all rows, or one number per row."""
        values = zip(PRICE_NAMES, (cost_fp, cost_fn, benefit_tp), strict=True)
        return cls(*(_check_price(value, name, n_rows) for name, value in values))

    def __len__(self) -> int:
        return len(self.cost_fp)

    @property
    def stakes(self) -> FloatArray:
        """What a hit is worth more than a miss: ``cost_fn + benefit_tp``."""
        return self.cost_fn + self.benefit_tp

    @property
    def measure(self) -> Cost:
        """The measure `cost` of these rows; a price that is the same in all rows is a number."""
        return Cost(*(_as_number(getattr(self, name)) for name in PRICE_NAMES))

    def mean_measure(self, sample_weight: FloatArray | None = None) -> Cost:
        """The measure `cost` of rows whose prices are not known: each price is the mean of these rows."""
        means = (np.average(getattr(self, name), weights=sample_weight) for name in PRICE_NAMES)
        return Cost(*(float(f"{mean:.6g}") for mean in means))

    @property
    def log_odds(self) -> FloatArray:
        """The log-odds above which each row is positive; finite, also where one of the prices is 0."""
        return cost_log_odds(self.cost_fp, self.stakes)

    @property
    def thresholds(self) -> FloatArray:
        """The probability above which each row is positive: 1 where nothing is at stake."""
        return np.asarray(expit(self.log_odds))

    def expected_savings(self, probability: FloatArray) -> FloatArray:
        """What calling each row positive instead of negative is worth in expectation."""
        return np.asarray(probability * self.stakes - (1.0 - probability) * self.cost_fp)

    def values(self, positive: BoolArray, predicted: BoolArray) -> FloatArray:
        """The money of each row with these predictions: a cost is below 0."""
        of_positive = np.where(predicted, self.benefit_tp, -self.cost_fn)
        return np.where(positive, of_positive, np.where(predicted, -self.cost_fp, 0.0))

    def losses(self, positive: BoolArray, predicted: BoolArray) -> FloatArray:
        """What each prediction costs compared with the right one: 0 where it is right."""
        return self.values(positive, positive) - self.values(positive, predicted)

    def take_rows(self, rows: IntArray | BoolArray) -> RowPrices:
        """Return the prices of some of the rows."""
        return RowPrices(self.cost_fp[rows], self.cost_fn[rows], self.benefit_tp[rows])


@dataclass(frozen=True)
class PriceTerms:
    """Which prices a model was trained with: those of all rows, and the names of those of each row.

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
        per_row = tuple(name for name in PRICE_NAMES if np.ndim(values[name]) > 0)
        return cls({name: float(values[name]) for name in PRICE_NAMES if name not in per_row}, per_row)

    def resolve(self, given: Mapping[str, Any], n_rows: int) -> RowPrices | None:
        """The prices of new rows; None if no price that each row had in training is given.

        Prices that were numbers in training are the same, unless they are given again.
        """
        if all(value is None for value in given.values()):
            return None
        values = self.complete(given, "pass all of them, or none to use one threshold for all rows")
        return RowPrices.from_values(n_rows, **values)

    def complete(self, given: Mapping[str, Any], advice: str) -> dict[str, Any]:
        """Add the prices that were numbers in training; raise an error if one of each row is missing.

        Parameters
        ----------
        given : mapping of str to float or array-like
            The prices of the new rows; None for those that are not known.
        advice : str
            What the error message says to do.

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
        texts = {
            name: "of each row" if name in self.per_row else f"{self.constants[name]:g}"
            for name in PRICE_NAMES
        }
        return ", ".join(f"{name} {text}" for name, text in texts.items() if text != "0")


def _as_number(prices: FloatArray) -> FloatArray | float:
    """The number that all prices are, or the prices if they differ."""
    return float(prices[0]) if len(prices) and (prices == prices[0]).all() else prices


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
