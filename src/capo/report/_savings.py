"""The section on savings: the money of the predictions at the prices of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from .._typing import BoolArray, FloatArray
from ..measures import Labels
from ..prices import RowPrices, Savings, format_money
from . import _formatting as formatting
from ._axes import linear_axis
from ._operating_point import ChartFigure, ConfusionRow, confusion_rows
from ._svg import Chart

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Points of the curve, at most.
MAX_POINTS = 400


@dataclass(frozen=True)
class PolicyRow:
    """A way to decide, how many rows it calls positive, and its money."""

    name: str
    n_predicted: float
    total: str


@dataclass(frozen=True)
class SavingsSection:
    """Data for the template savings.html."""

    savings: Savings
    prices: str
    policies: list[PolicyRow]
    figure: ChartFigure
    classes: list[Any]
    confusion: list[ConfusionRow]
    decimals: int
    integers: bool

    @property
    def lowest(self) -> str:
        """The lower end of the interval of the saving."""
        return _write_money(self.savings.low)

    @property
    def highest(self) -> str:
        """The upper end of the interval of the saving."""
        return _write_money(self.savings.high)

    @property
    def saving(self) -> str:
        """The saving, as it is shown."""
        return _write_money(self.savings.saving)


def build_savings(
    model: CAPOClassifier, labels: Labels, log_odds: FloatArray, prices: RowPrices, savings: Savings
) -> SavingsSection:
    """Compare the thresholds of the rows with one threshold for all, and draw the money by rows."""
    predicted = log_odds > prices.log_odds
    at_one_threshold = log_odds > model.combination_.threshold_log_odds
    threshold = formatting.format_threshold(model.threshold_)
    decisions = {
        "the threshold of each row": predicted,
        f"one threshold, {threshold}, for all rows": at_one_threshold,
        "no row positive": np.zeros_like(predicted),
        "every row positive": np.ones_like(predicted),
    }
    integers = labels.has_integer_weights
    return SavingsSection(
        savings=savings,
        prices=str(model.prices_),
        policies=[_policy(name, each, labels, prices) for name, each in decisions.items()],
        figure=_draw_curve(labels, log_odds, prices, predicted),
        classes=model.label_pair.tolist(),
        confusion=confusion_rows(model.label_pair.tolist(), _cells(labels, predicted)),
        decimals=formatting.count_decimals(labels.total, integers),
        integers=integers,
    )


def _policy(name: str, predicted: BoolArray, labels: Labels, prices: RowPrices) -> PolicyRow:
    total = float(labels.mass @ prices.values(labels.positive, predicted))
    return PolicyRow(name, float(labels.mass @ predicted), _write_money(total))


def _cells(labels: Labels, predicted: BoolArray) -> tuple[float, float, float, float]:
    tp, fp, fn, tn = (float(cell) for cell in labels.confusion(predicted))
    return tp, fp, fn, tn


def _draw_curve(labels: Labels, log_odds: FloatArray, prices: RowPrices, predicted: BoolArray) -> ChartFigure:
    """The money gained by calling more and more rows positive, in the order of their expected saving."""
    expected = prices.expected_savings(expit(log_odds))
    order = np.lexsort((-log_odds, -expected, ~predicted))
    gains = labels.mass * (
        prices.values(labels.positive, np.ones_like(predicted))
        - prices.values(labels.positive, np.zeros_like(predicted))
    )
    counts = np.concatenate(([0.0], np.cumsum(labels.mass[order])))
    money = np.concatenate(([0.0], np.cumsum(gains[order])))
    chosen = int(predicted.sum())
    points = np.linspace(0, len(order), min(len(order) + 1, MAX_POINTS)).astype(np.intp)
    points = np.unique(np.append(points, chosen))
    best = int(money.argmax())
    chart = Chart(
        "savings-chart",
        "Money gained by rows called positive",
        f"Calling the {formatting.format_count(counts[chosen])} rows with an expected saving positive gains "
        f"{_write_money(float(money[chosen]))} compared with calling none positive; the most on these rows "
        f"is {_write_money(float(money[best]))}, at {formatting.format_count(counts[best])} rows.",
        linear_axis(counts, "rows called positive"),
        linear_axis(money[points], "money gained", include_zero=True),
    )
    elements = [
        chart.line([0, counts[-1]], [0, money[-1]], "chance"),
        chart.line(counts[points], money[points], "curve"),
        chart.circle(float(counts[chosen]), float(money[chosen]), "chosen-point", radius=7),
    ]
    return ChartFigure(chart.title, chart.render(elements))


def _write_money(value: float) -> str:
    return formatting.use_minus_sign(format_money(value))
