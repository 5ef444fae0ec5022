"""The section on calibration: predicted probabilities against shares of positive rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from .._typing import BoolArray, FloatArray
from . import _formatting as formatting
from ._axes import Axis, linear_axis, unit_axis
from ._operating_point import ChartFigure
from ._svg import Chart

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Bins with about equally many rows.
N_BINS = 10
#: Standard errors on either side of a share in a 95% interval.
N_STD_ERRORS = float(ndtri(0.975))


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with similar probabilities, and the share of positive rows among them with its interval."""

    probability: float
    share: float
    low: float
    high: float
    n_rows: int


@dataclass(frozen=True)
class CalibrationSection:
    """Data for the template calibration.html."""

    bins: list[CalibrationBin]
    figure: ChartFigure


def build_calibration(
    model: CAPOClassifier, positive: BoolArray, decision: ArrayLike, sample_weight: ArrayLike | None
) -> CalibrationSection:
    """Collect the bins, and draw them."""
    probability = model.as_probability(np.asarray(decision, dtype=np.float64))
    weight = np.ones(len(positive)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    bins = calibration_bins(probability, positive, weight)
    return CalibrationSection(bins, _draw(bins))


def calibration_bins(
    probability: FloatArray, positive: BoolArray, weight: FloatArray
) -> list[CalibrationBin]:
    """Divide the rows into bins by their probability; equal probabilities are in the same bin."""
    cuts = np.unique(np.quantile(probability, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    codes = np.searchsorted(cuts, probability, side="left")
    bins = []
    for code in np.unique(codes):
        rows = (codes == code) & (weight > 0)
        if rows.any():
            bins.append(_bin(probability[rows], positive[rows], weight[rows]))
    return bins


def _bin(probability: FloatArray, positive: BoolArray, weight: FloatArray) -> CalibrationBin:
    share = float(np.average(positive, weights=weight))
    n_effective = float(weight.sum() ** 2 / (weight**2).sum())
    low, high = wilson_interval(share, n_effective)
    return CalibrationBin(float(np.average(probability, weights=weight)), share, low, high, len(weight))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n rows."""
    z2 = N_STD_ERRORS**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    margin = N_STD_ERRORS * np.sqrt(share * (1 - share) / n + z2 / (4 * n)) / (1 + z2)
    return max(0.0, float(middle - margin)), min(1.0, float(middle + margin))


def _draw(bins: list[CalibrationBin]) -> ChartFigure:
    gap = max(abs(each.share - each.probability) for each in bins)
    highest = max(max(each.high, each.probability) for each in bins)
    chart = Chart(
        "calibration-chart",
        "Share of positive rows by probability",
        f"{formatting.pluralize(len(bins), 'bin')} of rows; the largest difference between mean probability "
        f"and share of positive rows is {formatting.format_number(gap)}.",
        _axis("mean probability", highest),
        _axis("share of positive rows", highest),
    )
    elements = [chart.line([0, chart.x.high], [0, chart.x.high], "chance")]
    elements += [chart.line([each.probability] * 2, [each.low, each.high], "whisker") for each in bins]
    elements.append(chart.line([each.probability for each in bins], [each.share for each in bins], "curve"))
    elements += [chart.circle(each.probability, each.share, "tried-point", radius=3.5) for each in bins]
    return ChartFigure(chart.title, chart.render(elements))


def _axis(label: str, highest: float) -> Axis:
    return unit_axis(label) if highest > 0.5 else linear_axis([0, highest], label)
