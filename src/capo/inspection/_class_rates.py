"""Precision, recall and F1 of each class or label, with their intervals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..measures import ratio
from ._evaluation import INTERVAL_QUANTILES, MeasureEstimate
from ._formatting import count_decimals, format_table, format_value

#: The smallest width of each column of the table.
MIN_WIDTHS = (0, 6, 24, 24, 24)
#: Confusions and rare classes or labels that are listed.
N_LISTED = 10


@dataclass(frozen=True)
class ClassRates:
    """One class or label: its rows, and its precision, recall and F1.

    Attributes
    ----------
    name : str
        The class or label.
    n_rows : float
        Number of its rows, or the sum of their weights.
    precision, recall, f1 : MeasureEstimate
        The rates; NaN where they are not defined: the precision of a class that is never predicted, the
        recall of a class without rows.
    """

    name: str
    n_rows: float
    precision: MeasureEstimate
    recall: MeasureEstimate
    f1: MeasureEstimate

    def to_dict(self) -> dict[str, Any]:
        """The rates as values that JSON can hold; None for those that are not defined."""
        found = asdict(self)
        for rate in ("precision", "recall", "f1"):
            if isnan(found[rate]["value"]):
                found[rate] |= {"value": None, "low": None, "high": None}
        return found


def estimate_class_rates(
    names: Sequence[str],
    counts: tuple[FloatArray, FloatArray, FloatArray],
    resampled: tuple[FloatArray, FloatArray, FloatArray],
    squared: tuple[FloatArray, FloatArray, FloatArray] | None = None,
) -> list[ClassRates]:
    """Estimate the rates from hits, predicted and true rows of each class, the resampled ones by row.

    A rate of 0 or 1 is the same in all resamples, which says nothing about its error. With `squared`, its
    interval reaches to the rate at which such a result has a probability of 2.5%.

    Parameters
    ----------
    names : sequence of str
        The classes.
    counts : tuple of three ndarray of shape (n_classes,)
        Hits, predicted rows and true rows.
    resampled : tuple of three ndarray of shape (n_resamples, n_classes)
        The same on rows drawn with replacement.
    squared : tuple of three ndarray of shape (n_classes,), optional
        The same with squared weights, if the rows are independent of each other.
    """
    values, samples = _rates(*counts), _rates(*resampled)
    intervals = {rate: _quantiles(each) for rate, each in samples.items()}
    if squared is not None:
        sizes = _sample_sizes(counts, squared)
        intervals = {rate: _widen(rate, values[rate], each, sizes[rate]) for rate, each in intervals.items()}

    def estimate(rate: str, k: int) -> MeasureEstimate:
        low, high = intervals[rate][:, k].tolist()
        return MeasureEstimate(rate, float(values[rate][k]), low, high)

    return [
        ClassRates(name, float(counts[2][k]), *(estimate(rate, k) for rate in ("precision", "recall", "f1")))
        for k, name in enumerate(names)
    ]


def _rates(hits: FloatArray, predicted: FloatArray, true: FloatArray) -> dict[str, FloatArray]:
    """The rates, NaN where they are not defined."""
    with np.errstate(invalid="ignore"):
        return {
            "precision": hits / predicted,
            "recall": hits / true,
            "f1": 2.0 * hits / (predicted + true),
        }


def _quantiles(samples: FloatArray) -> FloatArray:
    """The interval of each class, from the resamples in which the rate is defined."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return np.asarray(np.nanquantile(samples, INTERVAL_QUANTILES, axis=0))


def _sample_sizes(
    counts: tuple[FloatArray, FloatArray, FloatArray], squared: tuple[FloatArray, FloatArray, FloatArray]
) -> dict[str, FloatArray]:
    """The numbers of rows that each rate is a share of; with weights, those of equal weight (Kish)."""
    (hits, predicted, true), (hits2, predicted2, true2) = counts, squared
    return {
        "precision": ratio(predicted**2, predicted2),
        "recall": ratio(true**2, true2),
        "f1": ratio((predicted + true - hits) ** 2, predicted2 + true2 - hits2),
    }


def _widen(rate: str, values: FloatArray, interval: FloatArray, sizes: FloatArray) -> FloatArray:
    """The intervals, those of rates of 0 and 1 with the bound of Clopper and Pearson."""
    reach = INTERVAL_QUANTILES[0] ** (1.0 / np.maximum(sizes, 1.0))
    low, high = reach, 1.0 - reach
    if rate == "f1":  # 2 j / (1 + j) for j, the share of hits among the rows that are predicted or true
        low, high = 2.0 * low / (1.0 + low), 2.0 * high / (1.0 + high)
    widened = np.where(values >= 1.0, low, interval[0]), np.where(values <= 0.0, high, interval[1])
    return np.stack(widened)


def format_class_rates(classes: Sequence[ClassRates], heading: str) -> list[str]:
    """Write the rates as a table."""
    rows: list[tuple[str, ...]] = [(heading, "rows", "precision", "recall", "F1")]
    for each in classes:
        rates = (_format_rate(rate) for rate in (each.precision, each.recall, each.f1))
        rows.append((each.name[:30], format_value(each.n_rows, 1 if each.n_rows % 1 else 0), *rates))
    return format_table(rows, MIN_WIDTHS)


def _format_rate(rate: MeasureEstimate) -> str:
    return "-" if isnan(rate.value) else f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})"


def format_estimates(estimates: Sequence[MeasureEstimate]) -> list[str]:
    """Write measures with their intervals as a table."""
    rows = [("measure", "value", "95% interval")]
    for each in estimates:
        decimals = count_decimals((each.value, each.low, each.high))
        value, low, high = (format_value(number, decimals) for number in (each.value, each.low, each.high))
        rows.append((each.name, value, f"{low} to {high}"))
    return format_table(rows, (0, 9, 20))


def describe_few_rows(counts: IntArray, names: Sequence[str], fewest: int, description: str) -> str:
    """A caution that names the classes or labels with fewer rows than these, otherwise ""."""
    few = [f"{names[k]} ({counts[k]})" for k in np.flatnonzero(counts < fewest).tolist()]
    if not few:
        return ""
    more = f" and {len(few) - N_LISTED} more" if len(few) > N_LISTED else ""
    listed = f"{', '.join(few[:N_LISTED])}{more}"
    return f"{description.format(fewest)}, whose values are uncertain: {listed}"
