"""Parsed tables as numeric features: encoders of columns, and pipelines of them.

There are pipelines for linear models, trees, kernels and the delta function. Each function returns an
unfitted transformer of tables that `FeatureSchema.parse` returned. Labels are used only by the cross-fitted
target encoding of columns with many categories, and to choose the parts of dates.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import ndtri
from sklearn import get_config, preprocessing
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_array, validate_data

from .._compat import BoolArray, FloatArray, IntArray, NDArray, make_target_encoder, safe_indexing
from .dates import DateKind
from .kinds import TableTransformer, TagsKind, is_dataframe, is_missing, iter_columns, to_text
from .schema import ColumnInfo, FeatureSchema, infer_schema, parse_column
from .vectors import VectorFeatures

#: Standardized values are clipped to this many standard deviations from the mean.
MAX_STANDARDIZED = 5.0
#: Knots of the function that makes quantiles of a column of scores.
MAX_KNOTS = 256
#: A value of a score column gets an indicator if at least this many training rows, and this share, have it.
MIN_FREQUENT_ROWS, MIN_FREQUENT_SHARE = 10, 0.05
#: Nystroem components of ``delta="rbf"``.
N_DELTA_COMPONENTS = 300
#: Columns with a smaller range are standardized for trees, which treat differences below 1e-7 as ties.
MIN_TREE_RANGE = 1e-4
#: Categories with fewer training rows share one one-hot column.
MIN_CATEGORY_COUNT = 5
#: One-hot columns per categorical column.
MAX_ONE_HOT_COLUMNS = 50
#: Singular directions of a column of free text, for trees.
N_WORD_COMPONENTS = 30
#: Principal directions of a column of vectors for trees: one per this many rows, within these limits.
ROWS_PER_DIRECTION, MIN_DIRECTIONS, MAX_DIRECTIONS = 20, 32, 128
#: Numbers of a table up to which the delta function sees all entries of vectors.
MAX_DELTA_NUMBERS = 5_000_000
#: Folds of the cross-fitted target encoding.
N_TARGET_FOLDS = 5
#: Ordinal codes per categorical column.
MAX_ORDINAL_CODES = 250


def make_linear_features(
    X: Any,
    schema: FeatureSchema | None = None,
    *,
    uses_labels: bool = False,
    n_directions: int | None = None,
) -> Any:
    """Make an unfitted transformer of tables like X for linear models.

    Numbers and parts of dates: missing values are replaced by the median and marked in an indicator column;
    then all are standardized and clipped to 5 standard deviations.
    Categories: one-hot encoded, with one column for all rare categories; a missing value is a category of its
    own, and a category that was not in the training data counts as missing. Many categories are also target
    encoded if `uses_labels`. Lists of tags: an indicator for each tag. Free text: TF-IDF of its words.
    Vectors: all entries, or the leading `n_directions`, scaled as one block. Sparse matrices are scaled to at
    most 1 and stay sparse.
    """
    if issparse(X):
        return preprocessing.MaxAbsScaler()
    schema = schema or infer_schema(X)
    one_hot = CategoryOneHotEncoder(min_frequency=MIN_CATEGORY_COUNT, max_categories=MAX_ONE_HOT_COLUMNS)
    categories = schema.of_role("category")
    many = [column for column in categories if uses_labels and column.n_different > MAX_ONE_HOT_COLUMNS]
    return _column_transformer(
        ("numeric", _make_scaler(), [column.key for column in schema.of_role("numeric")]),
        _category_encoder("categories", categories, one_hot),
        _category_encoder("many categories", many, make_target_encoder(N_TARGET_FOLDS), _make_scaler()),
        *_other_encoders(schema, _make_scaler(), n_directions=n_directions),
    )


def make_tree_features(X: Any, schema: FeatureSchema | None = None) -> Any:
    """Make an unfitted transformer of tables like X for trees, with the ordinal codes of categories first.

    Missing values stay missing, and so do categories that were not in the training data. Numbers and parts of
    dates are passed through, with two exceptions that scikit-learn's trees cannot handle: columns without any
    value are dropped, and columns whose range is so small that they look constant are standardized. Columns
    of many categories are target encoded, lists of tags are indicators, and of free text and vectors the
    leading directions are used.
    """
    schema = schema or infer_schema(X)
    few, numeric = ordinal_columns(schema), [column.key for column in schema.of_role("numeric")]
    ordinal = preprocessing.OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        # A limit makes the encoder count the rows of each category, which takes longer than all else it does.
        max_categories=None if all(column.n_different for column in few) else MAX_ORDINAL_CODES,
    )
    many = [column for column in schema.of_role("category") if column not in few]
    values = [np.asarray(safe_indexing(X, name, axis=1), dtype=np.float64) for name in numeric]
    ranges = np.array([np.fmax.reduce(column) - np.fmin.reduce(column) for column in values])
    steps: list[Any] = []
    if any(np.isnan(column).any() for column in values):
        steps.append(DropEmptyColumns())
    if ((ranges > 0) & (ranges < MIN_TREE_RANGE)).any():
        steps.append(preprocessing.StandardScaler())
    return _column_transformer(
        _category_encoder("categories", few, ordinal),
        ("numeric", make_pipeline(*steps) if steps else "passthrough", numeric),
        _category_encoder("many categories", many, make_target_encoder(N_TARGET_FOLDS)),
        *_other_encoders(schema, DropEmptyColumns(), N_WORD_COMPONENTS, count_directions(X)),
    )


def count_directions(X: Any) -> int:
    """Return the number of principal directions of longer vectors that trees use."""
    return int(np.clip(X.shape[0] // ROWS_PER_DIRECTION, MIN_DIRECTIONS, MAX_DIRECTIONS))


def ordinal_columns(schema: FeatureSchema) -> list[ColumnInfo]:
    """The columns with ordinal codes, which come first in the features for trees."""
    return [column for column in schema.of_role("category") if column.n_different <= MAX_ORDINAL_CODES]


def make_rbf_features(
    X: Any, max_components: int, schema: FeatureSchema | None = None, **options: Any
) -> Pipeline:
    """Make an unfitted transformer of tables like X to a random basis of the RBF kernel's feature space.

    The basis has at most 40% as many components as X has rows, so that training without two folds of five
    has enough rows for it. `options` are those of `make_linear_features`.
    """
    linear = make_linear_features(X, schema, **options)
    basis = Nystroem(n_components=max(1, min(max_components, X.shape[0] * 2 // 5)))
    return make_pipeline(linear, basis, preprocessing.StandardScaler())


def make_delta_features(name: str, X: Any, schema: FeatureSchema | None = None) -> Any:
    """Make the unfitted transformer for ``delta="linear"`` or ``delta="rbf"``, which does not see labels.

    Each fold has a copy of its features: of large tables they have the leading directions of vectors only.
    """
    n_numbers = 0 if schema is None else X.shape[0] * schema.count_columns()
    n_directions = MAX_DIRECTIONS if n_numbers > MAX_DELTA_NUMBERS else None
    if name == "linear":
        return make_linear_features(X, schema, n_directions=n_directions)
    return make_rbf_features(X, N_DELTA_COMPONENTS, schema, n_directions=n_directions)


def clip_standardized(values: Any) -> Any:
    """Clip standardized values to the range that linear models get."""
    return np.clip(values, -MAX_STANDARDIZED, MAX_STANDARDIZED)


def make_score_features(schema: FeatureSchema) -> Any:
    """Make an unfitted transformer of columns of scores or answers, for a linear model of them alone.

    The order of scores is kept. Numbers become normal quantiles, so their scale and a few extreme values do
    not matter. Missing values have a separate column, and so does each answer that is a category.
    """
    numeric = [column.key for column in schema.of_role("numeric")]
    one_hot = CategoryOneHotEncoder(min_frequency=1, max_categories=MAX_ONE_HOT_COLUMNS)
    return _column_transformer(
        ("numeric", make_pipeline(ScoreScaler(), *_make_scaler()[:-1]), numeric),
        _category_encoder("categories", schema.of_role("category"), one_hot),
    )


def check_features(features: Any) -> Any:
    """Validate a delta transformer's output: an array or CSR matrix of finite numbers."""
    return check_array(
        features, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="delta's features"
    )


def _column_transformer(*transformers: tuple[str, Any, list[Any]]) -> Any:
    """A column transformer that returns arrays even where scikit-learn is set to return data frames."""
    used = [each for each in transformers if each[2] or each[0] == "numeric"]
    combined = ColumnTransformer(used, verbose_feature_names_out=False)
    if get_config()["transform_output"] == "default":
        return combined
    return combined.set_output(transform="default")


def _make_scaler() -> Pipeline:
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True),
        preprocessing.StandardScaler(),
        preprocessing.FunctionTransformer(clip_standardized, feature_names_out="one-to-one"),
    )


def _category_encoder(name: str, columns: list[ColumnInfo], *steps: Any) -> tuple[str, Any, list[Any]]:
    """The steps for columns of categories.

    Target encoding is cross-fitted: the code of a training row does not use the row's own label.
    """
    return name, make_pipeline(KnownCategoryFilter(), *steps), [column.key for column in columns]


def _other_encoders(
    schema: FeatureSchema,
    last_step: Any,
    n_word_components: int | None = None,
    n_directions: int | None = None,
) -> list[Any]:
    """The encoders of parts of dates, tags, free text and vectors."""
    dates, tags, texts, vectors = (schema.of_role(role) for role in ("date", "tags", "text", "vector"))
    tag_kinds, vector_kinds = ([column.kind for column in columns] for columns in (tags, vectors))
    encoders: list[Any] = [
        ("dates", make_pipeline(DateParts(), last_step), dates),
        ("tags", TagIndicators(tag_kinds), tags),  # type: ignore[arg-type]
        ("words", WordFeatures(n_word_components), texts),
        ("vectors", VectorFeatures(vector_kinds, n_directions), vectors),
    ]
    return [(name, encoder, [column.key for column in columns]) for name, encoder, columns in encoders]


class DropEmptyColumns(SelectorMixin, TableTransformer):
    """Drop the columns that have only missing values in the training data.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,) of bool
        Which columns are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.features import DropEmptyColumns
    >>> DropEmptyColumns().fit_transform(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([[ 1.],
           [nan]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns with at least one value."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.support_ = ~np.isnan(X).all(axis=0)
        return self

    def _get_support_mask(self) -> BoolArray:
        return self.support_


class ScoreScaler(TableTransformer):
    """Replace numbers by the normal quantiles of their ranks, so that extreme ones do not hide the others.

    The order is kept: between knots the function is linear, and beyond the training values it grows as a
    logarithm. Equal values share their mean rank. Missing values stay missing. A value of many rows, such as
    -999 for no answer or the 0 and 1 of a forest, also has an indicator.

    Attributes
    ----------
    knots_ : list of ndarray of shape (2, n_knots)
        For each column, values in ascending order and what they are replaced by.
    frequent_ : list of ndarray
        For each column, the values with an indicator.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.features import ScoreScaler
    >>> ScoreScaler().fit_transform([[0.0], [1.0], [1e9]]).round(2).ravel().tolist()
    [-0.97, 0.0, 0.97]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the knots: all values, or `MAX_KNOTS` whose ranks have equal distances."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.knots_, self.frequent_ = [], []
        for column in X.T:
            values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
            if not len(values):
                values, counts = np.zeros(1), np.ones(1, dtype=np.int64)
            ends = np.cumsum(counts)
            ranks = np.linspace(1, ends[-1], MAX_KNOTS)
            kept = np.unique(np.searchsorted(ends, ranks)) if len(values) > MAX_KNOTS else slice(None)
            self.knots_.append(np.stack((values, ndtri((ends - 0.5 * counts) / ends[-1])))[:, kept])
            is_frequent = (counts >= MIN_FREQUENT_ROWS) & (counts >= MIN_FREQUENT_SHARE * ends[-1])
            self.frequent_.append(values[is_frequent] if len(values) > 2 else values[:0])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the quantiles of all columns, then the indicators."""
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        result = np.empty(X.shape)
        for position, (values, quantiles) in enumerate(self.knots_):
            column = X[:, position]
            beyond = (column - np.clip(column, values[0], values[-1])) / (np.ptp(values) or 1.0)
            tail = np.sign(beyond) * np.log1p(np.abs(beyond))
            result[:, position] = np.interp(column, values, quantiles) + tail
        indicators = [column[:, None] == each for column, each in zip(X.T, self.frequent_, strict=True)]
        return np.hstack((result, *indicators))

    def get_feature_names_out(self, names: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, and those of the indicators such as score=-999."""
        names = [f"x{number}" for number in range(len(self.knots_))] if names is None else list(names)
        pairs = zip(names, self.frequent_, strict=True)
        return np.array(
            [*names, *(f"{name}={each:g}" for name, found in pairs for each in found)], dtype=object
        )


class KnownCategoryFilter(OneToOneFeatureMixin, TableTransformer):
    """Keep the categories of the training data, and replace any other value by NaN.

    Attributes
    ----------
    categories_ : list of list
        The categories of each column, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.features import KnownCategoryFilter
    >>> known = KnownCategoryFilter().fit(np.array([["red"], ["blue"]], dtype=object))
    >>> known.transform(np.array([["blue"], ["green"]], dtype=object))
    array([['blue'],
           [nan]], dtype=object)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Collect the categories of each column."""
        validate_data(self, X, skip_check_array=True)
        self.categories_ = [
            sorted({value for value in set(column) if not is_missing(value)}, key=str)
            for column in iter_columns(X)
        ]
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Replace the values that are not known categories by NaN."""
        validate_data(self, X, reset=False, skip_check_array=True)
        result = np.empty(X.shape, dtype=object)
        for position, (column, categories) in enumerate(zip(iter_columns(X), self.categories_, strict=True)):
            known = dict(zip(categories, categories, strict=True))
            result[:, position] = [known.get(value, np.nan) for value in column]
        return result


class CategoryOneHotEncoder(preprocessing.OneHotEncoder):
    """One-hot encode categories, with one column for all rare ones; an unknown category counts as rare.

    The result is that of scikit-learn's encoder. It counts the rows of each category one by one in Python;
    here it is given each category only as often as it takes not to be rare.

    Parameters
    ----------
    min_frequency : int, default=5
        Categories with fewer training rows are rare.
    max_categories : int, default=50
        The largest number of columns for each column of categories.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.features import CategoryOneHotEncoder
    >>> colors = np.array([["red"], ["blue"], ["red"], ["green"]], dtype=object)
    >>> CategoryOneHotEncoder(min_frequency=2).fit_transform(colors).toarray()
    array([[1., 0.],
           [0., 1.],
           [1., 0.],
           [0., 1.]])
    """

    categories = "auto"
    drop = None
    sparse_output = True
    dtype = np.float64
    handle_unknown = "infrequent_if_exist"
    feature_name_combiner = "concat"

    def __init__(self, min_frequency: int = 5, max_categories: int = 50) -> None:
        self.min_frequency = min_frequency
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the categories of each column, and which of them are rare."""
        super().fit(self._enough_rows(X) if isinstance(X, np.ndarray) and X.ndim == 2 and X.size else X)
        return self

    def _enough_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows with each category of each column, as often as in X or, if that is less, as it takes."""
        counts = [Counter(column.tolist()) for column in X.T]
        if max(map(len, counts)) >= self.max_categories:  # the most frequent ones are kept
            return X
        columns = [
            [value for value, count in each.items() for _ in range(min(count, self.min_frequency))]
            for each in counts
        ]
        n_rows = max(map(len, columns))
        enough = np.empty((n_rows, X.shape[1]), dtype=X.dtype)
        for position, (column, each) in enumerate(zip(columns, counts, strict=True)):
            # A column in which all categories are rare has all rows already.
            enough[:, position] = column + [each.most_common(1)[0][0]] * (n_rows - len(column))
        return enough


#: The parts of dates, in their order.
DATE_PARTS = ("days", "year", "month", "day", "weekday", "hour")
#: With labels, a part is kept if its effect recurs in other periods by this many standard errors.
MIN_PART_DEVIATIONS = 3.0
_SECONDS_PER_DAY = 86400.0


class DateParts(TableTransformer):
    """Parts of dates: days since the first, year, month, day, weekday, hour.

    The dates are columns of a data frame, or numbers of seconds since 1970.

    With labels, only the days and parts whose effect recurs from period to period are kept: a month's from
    year to year, a weekday's from week to week. Others would be noise.

    The days since the first are at most those of the last training row, and at least 0: trends are not
    extrapolated, so that new rows after the training period are treated like the last ones.

    Attributes
    ----------
    origin_, last_ : ndarray of shape (n_features_in_,)
        The first and the last day of the training rows, in days since 1970.
    is_kept_ : ndarray of shape (n_features_in_, 6) of bool
        Which parts are kept; the hour only for columns with times of day.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.tables.features import DateParts
    >>> seconds = np.array([["2024-12-31T06:00"], ["2025-01-01T18:30"]], dtype="M8[s]").astype(float)
    >>> DateParts().fit_transform(seconds)
    array([[0.000e+00, 2.024e+03, 1.200e+01, 3.100e+01, 1.000e+00, 6.000e+00],
           [1.000e+00, 2.025e+03, 1.000e+00, 1.000e+00, 2.000e+00, 1.850e+01]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the first day, and the parts to keep."""
        validate_data(self, X, skip_check_array=True)
        X = _to_seconds(X)
        days = np.floor(X / _SECONDS_PER_DAY)
        has_dates = ~np.isnan(X).all(axis=0)
        self.origin_ = np.where(has_dates, np.fmin.reduce(days), 0.0)
        self.last_ = np.where(has_dates, np.fmax.reduce(days), 0.0)
        columns = zip(X.T, self.origin_, self.last_, strict=True)
        self.is_kept_: BoolArray = np.array(
            [_parts_to_keep(compute_date_parts(*each), y) for each in columns]
        )
        return self

    def transform(self, X: Any) -> FloatArray:
        """Compute the parts."""
        validate_data(self, X, reset=False, skip_check_array=True)
        X = _to_seconds(X)
        columns = zip(X.T, self.origin_, self.last_, self.is_kept_, strict=True)
        return np.hstack([np.column_stack(compute_date_parts(*column))[:, kept] for *column, kept in columns])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the parts."""
        names = self.__dict__.get("feature_names_in_", input_features)
        names = [f"x{number}" for number in range(self.n_features_in_)] if names is None else names
        parts = np.array(DATE_PARTS, dtype=object)
        pairs = zip(names, self.is_kept_, strict=True)
        return np.array([f"{name} {part}" for name, kept in pairs for part in parts[kept]], dtype=object)


def _to_seconds(X: Any) -> FloatArray:
    if not is_dataframe(X):
        return np.asarray(X, dtype=np.float64)
    columns = nw.from_native(X, eager_only=True).iter_columns()
    return np.column_stack([parse_column(DateKind(), column) for column in columns])


def compute_date_parts(seconds: Any, origin: float, last: float) -> list[Any]:
    """All parts of a column, by functions that also compute with the values of an exported graph."""
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
    return [np.clip(days, origin, last) - origin, year, month, day, weekday, hour]


def _parts_to_keep(parts: list[FloatArray], y: Any) -> BoolArray:
    """The days; the hour if there are times; with labels, of the others those that recur."""
    kept = np.ones(len(DATE_PARTS), dtype=bool)
    kept[-1] = np.nan_to_num(parts[-1]).any()
    if y is not None:
        days, year, month, day, weekday, hour = parts
        weeks, months, hours = np.floor(days / 7), year * 12 + month, np.floor(hour)
        checks = ((month, year), (day, months), (weekday, weeks), (hours, weeks))
        kept[1:] &= [False, *(_recurs(values, days, periods, y) for values, periods in checks)]
    return kept


def _recurs(values: FloatArray, days: FloatArray, periods: FloatArray, y: Any) -> bool:
    """Whether the effect of a part on the labels in every second period recurs in the others.

    The days tell the rest: differences between periods, trends within them, and special single days.
    """
    present = ~np.isnan(values)
    labels = np.asarray(y.toarray() if issparse(y) else y)[present]
    values, days = values[present], days[present]
    _, period = np.unique(periods[present], return_inverse=True)
    _, value = np.unique(values, return_inverse=True)
    if not len(values) or period.max() == 0 or value.max() == 0:
        return False
    # 1 for the rows of a class and 0 for the others, for each class, or for each label of a label matrix.
    targets = labels.T if labels.ndim > 1 else (labels == label for label in np.unique(labels))
    residuals = (_detrend(target.astype(np.float64), days, period) for target in targets)
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


#: Tags of a column that are features, and the rows that each needs.
MAX_TAG_FEATURES = 100
MIN_TAG_ROWS = 5


class TagIndicators(TableTransformer):
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
    >>> from capo.tables.features import TagIndicators
    >>> from capo.tables.kinds import TagsKind
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
        self.tags_ = []
        for rows in self._rows(X):
            counts = Counter(tag for row in rows for tag in row)
            frequent = [(-count, tag) for tag, count in counts.items() if count >= MIN_TAG_ROWS]
            self.tags_.append([tag for _, tag in sorted(frequent)[:MAX_TAG_FEATURES]])
        return self

    def _rows(self, X: Any) -> Iterable[list[set[str]]]:
        return (
            [set(kind.split(value)) if isinstance(value, str) else set() for value in column]
            for kind, column in zip(self.kinds, iter_columns(X), strict=True)
        )

    def transform(self, X: Any) -> FloatArray:
        """Mark the tags of each row."""
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = zip(self._rows(X), self.tags_, strict=True)
        parts = [[[tag in row for tag in tags] for row in rows] for rows, tags in columns]
        return np.hstack([np.array(each, dtype=np.float64).reshape(X.shape[0], -1) for each in parts])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns and tags."""
        names = self.__dict__.get("feature_names_in_", range(self.n_features_in_))
        pairs = zip(names, self.tags_, strict=True)
        return np.array([f"{name} {tag}" for name, tags in pairs for tag in tags], dtype=object)


#: Words of a column that are features, and the rows that each needs.
MAX_WORDS = 2000
MIN_WORD_ROWS = 2


class WordFeatures(TableTransformer):
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
    >>> from capo.tables.features import WordFeatures
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
