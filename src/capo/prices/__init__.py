"""Prices of each row: what a false alarm costs, what a missed positive costs, what a hit is worth."""
# Imports from `testing` and the layers below.

from ._row_prices import PRICE_NAMES, PriceTerms, RowPrices
from ._savings import Savings, estimate_savings, format_money

__all__ = ["PRICE_NAMES", "PriceTerms", "RowPrices", "Savings", "estimate_savings", "format_money"]
