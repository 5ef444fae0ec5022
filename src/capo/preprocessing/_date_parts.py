"""Parts of dates as features, such as the weekday."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from .._typing import BoolArray, FloatArray, IntArray
from ._table_transformer import TableTransformer

#: The parts of dates, in their order.
DATE_PARTS = ("days", "year", "month", "day", "weekday", "hour")
#: With labels, a part is kept if its effect recurs in other periods by so many standard errors.
MIN_PART_DEVIATIONS = 3.0
_SECONDS_PER_DAY = 86400.0


class DateParts(TableTransformer):
    """Parts of dates, from seconds since 1970: days since the first, year, month, day, weekday, hour.

    With labels, only the days and parts whose effect recurs from period to period are kept: a month's from
    year to year, a weekday's from week to week. Others would be noise.

    The days since the first are at most those of the last training row, and at least 0: what changes with
    time is not extrapolated, so that new rows, which are later than all training rows, are like the last.

    Attributes
    ----------
    origin_, last_ : ndarray of shape (n_features_in_,)
        The first and the last day of the training rows, in days since 1970.
    is_kept_ : ndarray of shape (n_features_in_, 6) of bool
        Which parts are kept. A column without times of day has no hour.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.preprocessing import DateParts
    >>> seconds = np.array([["2024-12-31T06:00"], ["2025-01-01T18:30"]], dtype="M8[s]").astype(float)
    >>> DateParts().fit_transform(seconds)
    array([[0.000e+00, 2.024e+03, 1.200e+01, 3.100e+01, 1.000e+00, 6.000e+00],
           [1.000e+00, 2.025e+03, 1.000e+00, 1.000e+00, 2.000e+00, 1.850e+01]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the first day, and the parts to keep."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        days = np.floor(X / _SECONDS_PER_DAY)
        limits = np.array([_limits(each) for each in days.T])
        self.origin_, self.last_ = limits.T
        columns = zip(X.T, *limits.T, strict=True)
        self.is_kept_: BoolArray = np.array([_parts_to_keep(_date_parts(*each), y) for each in columns])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Compute the parts."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        columns = zip(X.T, self.origin_, self.last_, self.is_kept_, strict=True)
        return np.hstack([_date_parts(*column)[:, kept] for *column, kept in columns])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the parts."""
        names = self.__dict__.get("feature_names_in_", input_features)
        names = [f"x{number}" for number in range(self.n_features_in_)] if names is None else names
        parts = np.array(DATE_PARTS, dtype=object)
        pairs = zip(names, self.is_kept_, strict=True)
        return np.array([f"{name} {part}" for name, kept in pairs for part in parts[kept]], dtype=object)


def _limits(days: FloatArray) -> tuple[float, float]:
    """The first and the last day; zeros if there are none."""
    return (0.0, 0.0) if np.isnan(days).all() else (float(np.nanmin(days)), float(np.nanmax(days)))


def _date_parts(seconds: FloatArray, origin: float, last: float) -> FloatArray:
    """All parts of a column; the calendar is computed as in the exported graph."""
    days = np.floor(seconds / _SECONDS_PER_DAY)
    # H. Hinnant, chrono-compatible low-level date algorithms: civil_from_days.
    shifted = days + 719468
    era = np.floor(shifted / 146097)
    day_of_era = shifted - era * 146097
    skipped = np.floor(day_of_era / 1460) - np.floor(day_of_era / 36524) + np.floor(day_of_era / 146096)
    year_of_era = np.floor((day_of_era - skipped) / 365)
    day_of_year = day_of_era - (365 * year_of_era + np.floor(year_of_era / 4) - np.floor(year_of_era / 100))
    shifted_month = np.floor((5 * day_of_year + 2) / 153)
    day = day_of_year - np.floor((153 * shifted_month + 2) / 5) + 1
    is_late = np.floor(shifted_month / 10)  # January and February end the shifted year
    month = shifted_month + 3 - 12 * is_late
    year = year_of_era + era * 400 + is_late
    weekday = days + 3 - 7 * np.floor((days + 3) / 7)
    hour = (seconds - days * _SECONDS_PER_DAY) / 3600
    return np.column_stack([np.clip(days, origin, last) - origin, year, month, day, weekday, hour])


def _parts_to_keep(parts: FloatArray, y: Any) -> BoolArray:
    """The days; the hour if there are times; with labels, of the others those that recur."""
    kept = np.ones(len(DATE_PARTS), dtype=bool)
    kept[-1] = np.nan_to_num(parts[:, -1]).any()
    if y is not None:
        days, year, month, day, weekday, hour = parts.T
        weeks, months, hours = np.floor(days / 7), year * 12 + month, np.floor(hour)
        checks = ((month, year), (day, months), (weekday, weeks), (hours, weeks))
        kept[1:] &= [False, *(_recurs(values, days, periods, y) for values, periods in checks)]
    return kept


def _recurs(values: FloatArray, days: FloatArray, periods: FloatArray, y: Any) -> bool:
    """Whether what a part tells about the labels in every second period holds in the others.

    The days tell the rest: differences between periods, trends within them, and special single days.
    """
    present = ~np.isnan(values)
    values, days, labels = values[present], days[present], _as_array(y)[present]
    _, period = np.unique(periods[present], return_inverse=True)
    _, value = np.unique(values, return_inverse=True)
    if not len(values) or period.max() == 0 or value.max() == 0:
        return False
    residuals = (_detrend(target, days, period) for target in _targets(labels))
    return any(_recurrence(value, period, residual) > MIN_PART_DEVIATIONS for residual in residuals)


def _as_array(y: Any) -> NDArray[Any]:
    return np.asarray(y.toarray() if issparse(y) else y)


def _targets(labels: NDArray[Any]) -> Iterator[FloatArray]:
    """1 for the rows of a class and 0 for the others, for each class, or for each label of a label matrix."""
    columns = labels.T if labels.ndim > 1 else (labels == label for label in np.unique(labels))
    return (column.astype(np.float64) for column in columns)


def _detrend(target: FloatArray, days: FloatArray, period: IntArray) -> FloatArray:
    """The target without its mean and its linear trend in each period."""
    n_rows = np.bincount(period)
    target = target - (np.bincount(period, target) / n_rows)[period]
    days = days - (np.bincount(period, days) / n_rows)[period]
    slope = np.bincount(period, days * target) / np.maximum(np.bincount(period, days * days), 1e-9)
    return np.asarray(target - slope[period] * days)


def _recurrence(value: IntArray, period: IntArray, residual: FloatArray) -> float:
    """The covariance of a residual with its mean for the same value in other periods, in standard errors."""
    products = np.empty(len(residual))
    for half in (0, 1):
        other, own = period % 2 != half, period % 2 == half
        counts = np.bincount(value[other], minlength=value.max() + 1)
        means = np.bincount(value[other], residual[other], value.max() + 1) / np.maximum(counts, 1)
        products[own] = means[value[own]] * residual[own]
    return float(products.sum() / max(np.sqrt(np.square(products).sum()), 1e-300))
