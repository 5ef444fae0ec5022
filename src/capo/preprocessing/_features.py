"""Raw tables as numbers: columns by kind, for the delta function and for the default auxiliaries.

A data frame may hold numbers, truth values, text, categories and missing values; an array or a
sparse matrix holds numbers alone. Every function here looks at the table's types, never at labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from .._sklearn_compat import is_pandas_na, is_scalar_nan, safe_indexing

#: Standardised values are cut off this many standard deviations from the mean.
MAX_STANDARDIZED = 5.0
#: Members of the basis of ``delta="rbf"``.
DELTA_COMPONENTS = 300
#: Columns with a smaller range are scaled up for trees, which see no difference below 1e-7.
SMALLEST_RANGE = 1e-4
#: Categories seen less often than this share one column.
RAREST = 5
#: Categories of one column that get a column of their own, and that a tree tells apart.
MOST_COLUMNS, MOST_CODES = 50, 250


class DropEmptyColumns(SelectorMixin, BaseEstimator):
    """Keeps the columns that have at least one value in training."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look for values."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.has_values_ = ~np.isnan(X).all(axis=0)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self.has_values_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class KnownCategoryFilter(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Keeps the values that were there in training; any other is missing, as NaN.

    Parameters
    ----------
    text : bool, default=False
        Whether values are compared as text, so that the number 1 and the word "1" are the same.
    """

    def __init__(self, text: bool = False) -> None:
        self.text = text

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note each column's values."""
        validate_data(self, X, skip_check_array=True)
        columns = ({self._word(v) for v in column if not is_missing(v)} for column in _columns(X))
        self.values_ = [sorted(values, key=_by_kind) for values in columns]
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """The values that are known, NaN for the others."""
        validate_data(self, X, reset=False, skip_check_array=True)
        found = np.empty(X.shape, dtype=object)
        for number, (column, values) in enumerate(zip(_columns(X), self.values_, strict=True)):
            known = {value: value for value in values}
            found[:, number] = [known[v] if v in known else self._look_up(v, known) for v in column]
        return found

    def _look_up(self, value: Any, known: dict[Any, Any]) -> Any:
        return np.nan if is_missing(value) else known.get(self._word(value), np.nan)

    def _word(self, value: Any) -> Any:
        return str(value) if self.text else value

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class ColumnKinds(NamedTuple):
    """The columns of a table by kind: by name, or by position where they have no names in text."""

    numbers: list[Any]
    categories: list[Any]
    texts: list[Any]


def is_dataframe(X: object) -> bool:
    """Whether X is a data frame, of pandas, polars or any library that narwhals knows."""
    return isinstance(nw.from_native(X, pass_through=True, eager_only=True), nw.DataFrame)


def column_kinds(X: Any) -> ColumnKinds:
    """Which columns are numbers, which are categories, and which are text, dates or anything else."""
    if not is_dataframe(X):
        return ColumnKinds(list(range(X.shape[1])), [], [])
    schema = nw.from_native(X, eager_only=True).schema
    columns, named = ColumnKinds([], [], []), all(isinstance(name, str) for name in schema)
    for position, (name, kind) in enumerate(schema.items()):
        number, category = kind.is_numeric() or kind == nw.Boolean, kind in (nw.Categorical, nw.Enum)
        room = columns.numbers if number else columns.categories if category else columns.texts
        room.append(name if named else position)
    return columns


def linear_features(X: Any) -> Any:
    """An unfitted transformer of tables like X for linear models.

    Numbers: missing values get the median and a column that marks them; then standardised and cut
    off at 5 standard deviations. Categories: one column each, rare ones together; a missing value
    is a category, and one that was not there in training is missing. Sparse matrices are scaled to at
    most 1 and stay sparse.
    """
    if issparse(X):
        return MaxAbsScaler()
    numbers, categories, texts = column_kinds(X)
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True),
        StandardScaler(),
        FunctionTransformer(clip_standardized, feature_names_out="one-to-one"),
    )
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=RAREST, max_categories=MOST_COLUMNS
    )
    return _together([("numbers", scaled, numbers), *_encoded(one_hot, categories, texts)])


def tree_features(X: Any) -> Any:
    """An unfitted transformer of tables like X for trees: categories first, as codes.

    Missing values and categories that were not there in training stay missing. Numbers are left as
    they are, but for two things that scikit-learn's trees cannot take: columns without any value are
    left out, and columns that lie so close together as to look constant are standardised.
    """
    numbers, categories, texts = column_kinds(X)
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MOST_CODES,
    )
    parts = _encoded(codes, categories, texts)
    return _together([*parts, ("numbers", _for_trees(X, numbers), numbers)])


def _together(parts: list[Any]) -> Any:
    """The parts side by side, as arrays even where scikit-learn is set to return data frames."""
    joined = ColumnTransformer(parts, verbose_feature_names_out=False)
    return joined if get_config()["transform_output"] == "default" else joined.set_output(transform="default")


def _encoded(encoder: Any, categories: list[Any], texts: list[Any]) -> list[Any]:
    """The parts for categories as they are, and for text, dates and objects as text; none for no columns."""
    parts = [
        ("categories", KnownCategoryFilter(), categories),
        ("texts", KnownCategoryFilter(text=True), texts),
    ]
    return [
        (name, make_pipeline(known, clone(encoder)), columns) for name, known, columns in parts if columns
    ]


def _columns(X: Any) -> Iterator[list[Any]]:
    """The values of each column."""
    if is_dataframe(X):
        return (column.to_list() for column in nw.from_native(X, eager_only=True).iter_columns())
    return (column.tolist() for column in np.asarray(X, dtype=object).T)


def _by_kind(value: object) -> tuple[str, Any]:
    """Values of one kind in their order, where they have one; else as text."""
    return type(value).__name__, value if isinstance(value, str | int | float) else str(value)


def is_missing(value: object) -> bool:
    return value is None or is_scalar_nan(value) or is_pandas_na(value) or str(value) == "NaT"


def _for_trees(X: Any, numbers: list[Any]) -> Any:
    values = [np.asarray(safe_indexing(X, name, axis=1), dtype=np.float64) for name in numbers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
        ranges = np.array([np.nanmax(each) - np.nanmin(each) for each in values])
    steps: list[Any] = []
    if any(np.isnan(each).any() for each in values):
        steps.append(DropEmptyColumns())
    if ((ranges > 0) & (ranges < SMALLEST_RANGE)).any():
        steps.append(StandardScaler())
    return make_pipeline(*steps) if steps else "passthrough"


def rbf_features(X: Any, most: int) -> Pipeline:
    """An unfitted transformer of tables like X: a random basis of the Gaussian kernel's space.

    The basis has at most half as many members as X has rows, so that a fold has enough for it.
    """
    basis = Nystroem(n_components=max(1, min(most, X.shape[0] // 2)))
    return make_pipeline(linear_features(X), basis, StandardScaler())


def clip_standardized(values: Any) -> Any:
    """Standardised values within what a linear model can use."""
    return np.clip(values, -MAX_STANDARDIZED, MAX_STANDARDIZED)


def make_delta(name: str, X: Any) -> Any:
    """The unfitted transformer behind ``delta="linear"`` or ``"rbf"``."""
    return linear_features(X) if name == "linear" else rbf_features(X, DELTA_COMPONENTS)


def check_features(phi: Any) -> Any:
    """What a transformer returned, as an array or CSR matrix of finite numbers."""
    return check_array(
        phi, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="delta's features"
    )
