"""Transformers of columns that are not plain numbers: parsing, dates, lists of tags, words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ._columns import is_missing, is_number, iter_columns
from ._kinds import DateKind, ParsedKind, TagsKind, to_text

#: The parts of dates, in their order.
DATE_PARTS = ("days", "year", "month", "day", "weekday", "hour")
#: With labels, a part is kept if its effect recurs in other periods by so many standard errors.
MIN_PART_DEVIATIONS = 3.0
_SECONDS_PER_DAY = 86400.0
#: Seconds in the units of narwhals' durations.
_MICROSECONDS = 1e6
#: Tags of a column that are features, and the rows that each needs.
MAX_TAG_FEATURES = 100
MIN_TAG_ROWS = 5
#: Words of a column that are features, and the rows that each needs.
MAX_WORDS = 2000
MIN_WORD_ROWS = 2


class _TableTransformer(TransformerMixin, BaseEstimator):
    """A transformer that takes text and missing values."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class ColumnParser(OneToOneFeatureMixin, _TableTransformer):
    """Parse columns to numbers; dates become seconds since 1970.

    Parameters
    ----------
    kinds : sequence of ParsedKind
        The kind of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.preprocessing import ColumnParser, infer_schema
    >>> table = pd.DataFrame({"price": ["$1,200.50", "$7", None], "share": ["12%", "7.5%", "-"]})
    >>> kinds = [column.kind for column in infer_schema(table).columns]
    >>> ColumnParser(kinds).fit_transform(table)
    array([[1200.5,   12. ],
           [   7. ,    7.5],
           [   nan,    nan]])
    """

    def __init__(self, kinds: Sequence[ParsedKind]) -> None:
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the names of the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Parse the columns."""
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = nw.from_native(X, eager_only=True).iter_columns()
        parsed = [parse_column(kind, column) for kind, column in zip(self.kinds, columns, strict=True)]
        return np.column_stack(parsed)


def parse_column(kind: ParsedKind, column: Any) -> FloatArray:
    """Parse a narwhals series to numbers, with NaN for a missing value."""
    dtype = column.dtype
    if (dtype.is_numeric() and not _is_written_date(kind)) or dtype == nw.Boolean:
        return kind.convert_numbers(np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64))
    if dtype in (nw.Datetime, nw.Date):
        return _seconds(column)
    if dtype == nw.Duration:
        return np.asarray(column.dt.total_microseconds().cast(nw.Float64).to_numpy()) / _MICROSECONDS
    return _parse_values(kind, column.to_list(), _raise_unparsed(kind, str(column.name)))


def _is_written_date(kind: ParsedKind) -> bool:
    """Whether a number may be a date that was written in digits, such as 20241231."""
    return isinstance(kind, DateKind) and kind.layout != DateKind().layout


def _parse_values(
    kind: ParsedKind, values: Sequence[Any], on_error: Callable[[int, str], None]
) -> FloatArray:
    """Parse texts; values that are numbers already are not written as text, which has another spelling."""
    typed = {} if _is_written_date(kind) else {i: each for i, each in enumerate(values) if is_number(each)}
    numbers = parse_texts(
        kind, (None if i in typed else to_text(each) for i, each in enumerate(values)), on_error
    )
    numbers[list(typed)] = kind.convert_numbers(np.array(list(map(float, typed.values()))))
    return numbers


def parse_texts(
    kind: ParsedKind, texts: Iterable[str | None], on_error: Callable[[int, str], None]
) -> FloatArray:
    """Parse texts, each different one once; `on_error` gets the position and the text of one that fails."""
    known: dict[str | None, float | None] = {}
    numbers: list[float] = []
    for position, text in enumerate(texts):
        if text not in known:
            known[text] = kind.parse_or_missing(text)
        number = known[text]
        if number is None:
            on_error(position, str(text))
            number = np.nan
        numbers.append(number)
    return np.array(numbers, dtype=np.float64)


def _raise_unparsed(kind: ParsedKind, name: str) -> Callable[[int, str], None]:
    def on_error(position: int, text: str) -> None:
        raise InvalidInputError(
            f"the column {name!r} held {kind.description} in training, but row {position} contains {text!r}."
        )

    return on_error


def _seconds(column: Any) -> FloatArray:
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return np.asarray(column.dt.timestamp("us").cast(nw.Float64).to_numpy()) / _MICROSECONDS


class DateParts(_TableTransformer):
    """Parts of dates, from seconds since 1970: days since the first, year, month, day, weekday, hour.

    With labels, only the days and parts whose effect recurs from period to period are kept: a month's from
    year to year, a weekday's from week to week. Others would be noise.

    Attributes
    ----------
    origin_ : ndarray of shape (n_features_in_,)
        The first day of the training rows, in days since 1970.
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
        self.origin_ = np.array([np.nanmin(each) if not np.isnan(each).all() else 0.0 for each in days.T])
        pairs = zip(X.T, self.origin_, strict=True)
        self.is_kept_: BoolArray = np.array([_parts_to_keep(_date_parts(*pair), y) for pair in pairs])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Compute the parts."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        columns = zip(X.T, self.origin_, self.is_kept_, strict=True)
        return np.hstack([_date_parts(seconds, origin)[:, kept] for seconds, origin, kept in columns])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the parts."""
        names = self.__dict__.get("feature_names_in_", input_features)
        names = [f"x{number}" for number in range(self.n_features_in_)] if names is None else names
        parts = np.array(DATE_PARTS, dtype=object)
        pairs = zip(names, self.is_kept_, strict=True)
        return np.array([f"{name} {part}" for name, kept in pairs for part in parts[kept]], dtype=object)


def _date_parts(seconds: FloatArray, origin: float) -> FloatArray:
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
    return np.column_stack([days - origin, year, month, day, weekday, hour])


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
    values, days, labels = values[present], days[present], np.asarray(y)[present]
    _, period = np.unique(periods[present], return_inverse=True)
    _, value = np.unique(values, return_inverse=True)
    if not len(values) or period.max() == 0 or value.max() == 0:
        return False
    residuals = (_detrend((labels == label).astype(float), days, period) for label in np.unique(labels))
    return any(_recurrence(value, period, residual) > MIN_PART_DEVIATIONS for residual in residuals)


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


class TagIndicators(_TableTransformer):
    """One column of zeros and ones for each of the most frequent tags.

    Parameters
    ----------
    kinds : sequence of TagsKind
        The kind of each column.

    Attributes
    ----------
    tags_ : list of list of str
        The tags of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.preprocessing import TagIndicators, TagsKind
    >>> table = pd.DataFrame({"genres": ["drama|crime", "crime", None] * 5})
    >>> indicators = TagIndicators([TagsKind("|")]).fit(table)
    >>> indicators.tags_, indicators.transform(table[:3]).tolist()
    ([['crime', 'drama']], [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    """

    def __init__(self, kinds: Sequence[TagsKind]) -> None:
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Collect the frequent tags."""
        validate_data(self, X, skip_check_array=True)
        self.tags_ = [_frequent_tags(rows) for rows in self._rows(X)]
        return self

    def _rows(self, X: Any) -> Iterable[list[set[str]]]:
        return (
            [_tags(kind, value) for value in column]
            for kind, column in zip(self.kinds, iter_columns(X), strict=True)
        )

    def transform(self, X: Any) -> FloatArray:
        """Mark the tags of each row."""
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = zip(self._rows(X), self.tags_, strict=True)
        parts = [
            np.array([[tag in row for tag in tags] for row in rows], dtype=np.float64)
            for rows, tags in columns
        ]
        return np.hstack([part.reshape(X.shape[0], -1) for part in parts])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns and tags."""
        names = self.__dict__.get("feature_names_in_", range(self.n_features_in_))
        return np.array(
            [f"{name} {tag}" for name, tags in zip(names, self.tags_, strict=True) for tag in tags],
            dtype=object,
        )


def _tags(kind: TagsKind, value: Any) -> set[str]:
    if isinstance(value, str):
        return set(kind.split(value)) if kind.separator else {value}
    if value is None or (not hasattr(value, "__iter__") and is_missing(value)):
        return set()
    return {str(tag) for tag in value if tag is not None}


def _frequent_tags(rows: list[set[str]]) -> list[str]:
    counts = Counter(tag for row in rows for tag in row)
    frequent = [(-count, tag) for tag, count in counts.items() if count >= MIN_TAG_ROWS]
    return [tag for _, tag in sorted(frequent)[:MAX_TAG_FEATURES]]


class WordFeatures(_TableTransformer):
    """TF-IDF of the words of each column of free text, or its leading singular directions.

    Parameters
    ----------
    n_components : int, optional
        The number of singular directions for each column; all words by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the singular value decomposition.

    Attributes
    ----------
    vectorizers_ : list of TfidfVectorizer or None
        One for each column; None for a column without frequent words.
    decompositions_ : list of TruncatedSVD or None
        One for each column; None where all words are used.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.preprocessing import WordFeatures
    >>> table = pd.DataFrame({"note": ["late delivery", "late again", None, "good delivery"]})
    >>> WordFeatures().fit_transform(table).shape
    (4, 2)
    """

    def __init__(self, n_components: int | None = None, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Collect the words."""
        validate_data(self, X, skip_check_array=True)
        fitted = [self._fit_column(_plain_texts(column)) for column in iter_columns(X)]
        self.vectorizers_ = [vectorizer for vectorizer, _ in fitted]
        self.decompositions_ = [decomposition for _, decomposition in fitted]
        return self

    def _fit_column(self, texts: list[str]) -> tuple[Any, Any]:
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, strip_accents="unicode", min_df=MIN_WORD_ROWS, max_features=MAX_WORDS
        )
        try:
            words = vectorizer.fit_transform(texts)
        except ValueError:  # no word is in enough rows
            return None, None
        if self.n_components is None or words.shape[1] <= self.n_components:
            return vectorizer, None
        return vectorizer, TruncatedSVD(self.n_components, random_state=self.random_state).fit(words)

    def transform(self, X: Any) -> Any:
        """Compute the features."""
        validate_data(self, X, reset=False, skip_check_array=True)
        parts = [csr_array((X.shape[0], 0))]
        columns = zip(iter_columns(X), self.vectorizers_, self.decompositions_, strict=True)
        for column, vectorizer, decomposition in columns:
            if vectorizer is not None:
                words = vectorizer.transform(_plain_texts(column))
                parts.append(csr_array(words if decomposition is None else decomposition.transform(words)))
        features = hstack(parts, format="csr")
        return features if self.n_components is None else features.toarray()


def _plain_texts(values: Iterable[Any]) -> list[str]:
    return [to_text(value) or "" for value in values]
