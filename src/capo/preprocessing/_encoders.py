"""Transformers that scikit-learn lacks: dropping empty columns, masking and encoding categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from .._typing import BoolArray
from ..exceptions import InvalidInputError
from ._columns import is_missing, iter_columns
from ._table_transformer import TableTransformer


class DropEmptyColumns(SelectorMixin, BaseEstimator):
    """Drop the columns that have only missing values in the training data.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,) of bool
        Which columns are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.preprocessing import DropEmptyColumns
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class KnownCategoryFilter(OneToOneFeatureMixin, TableTransformer):
    """Keep the categories of the training data and replace any other value by NaN.

    Parameters
    ----------
    as_text : bool, default=False
        Whether values are converted to text first, so that the number 1 and the text "1" are the same
        category.

    Attributes
    ----------
    categories_ : list of list
        The categories of each column, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.preprocessing import KnownCategoryFilter
    >>> known = KnownCategoryFilter().fit(np.array([["red"], ["blue"]], dtype=object))
    >>> known.transform(np.array([["blue"], ["green"]], dtype=object))
    array([['blue'],
           [nan]], dtype=object)
    """

    def __init__(self, as_text: bool = False) -> None:
        self.as_text = as_text

    def fit(self, X: Any, y: Any = None) -> Self:
        """Collect the categories of each column."""
        validate_data(self, X, skip_check_array=True)
        self.categories_ = [self._categories(column) for column in iter_columns(X)]
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Replace the values that are not known categories by NaN."""
        validate_data(self, X, reset=False, skip_check_array=True)
        result = np.empty(X.shape, dtype=object)
        for position, (column, categories) in enumerate(zip(iter_columns(X), self.categories_, strict=True)):
            result[:, position] = self._known_values(column, categories)
        return result

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.object_]:
        """Collect the categories of each column, and replace missing values by NaN."""
        validate_data(self, X, skip_check_array=True)
        self.categories_ = []
        result = np.empty(X.shape, dtype=object)
        for position, column in enumerate(iter_columns(X)):
            self.categories_.append(self._categories(column))
            result[:, position] = self._known_values(column, self.categories_[-1])
        return result

    def _categories(self, column: list[Any]) -> list[Any]:
        found = {self._category(value) for value in _distinct(column) if not is_missing(value)}
        return sorted(found, key=_sort_key)

    def _known_values(self, column: list[Any], categories: list[Any]) -> list[Any]:
        known = _KnownCategories(categories, self._category)
        try:
            return list(map(known.__getitem__, column))
        except TypeError as error:  # a list cannot be looked up
            raise InvalidInputError(
                f"a column of categories contains a value that is none: {error}."
            ) from error

    def _category(self, value: Any) -> Any:
        return str(value) if self.as_text else value


class CategoryOneHotEncoder(OneHotEncoder):
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
    >>> from capo.preprocessing import CategoryOneHotEncoder
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
            [
                value
                for value, count in each.items()
                for value in repeat(value, min(count, self.min_frequency))
            ]
            for each in counts
        ]
        n_rows = max(map(len, columns))
        enough = np.empty((n_rows, X.shape[1]), dtype=X.dtype)
        for position, (column, each) in enumerate(zip(columns, counts, strict=True)):
            # A column in which all categories are rare has all rows already.
            enough[:, position] = column + [each.most_common(1)[0][0]] * (n_rows - len(column))
        return enough


class _KnownCategories(dict[Any, Any]):
    """From values to known categories; other values are compared by their category, and become NaN."""

    def __init__(self, categories: list[Any], to_category: Callable[[Any], Any]) -> None:
        super().__init__(zip(categories, categories, strict=True))
        self[None] = np.nan
        self._to_category = to_category

    def __missing__(self, value: Any) -> Any:
        # Nothing is stored: values that are equal, such as 1 and True, may have different texts.
        return np.nan if is_missing(value) else self.get(self._to_category(value), np.nan)


def _distinct(values: list[Any]) -> Iterable[Any]:
    """The different values; 1, 1.0 and True are equal but have different texts."""
    if len(set(map(type, values)) - {type(None)}) <= 1:
        return set(values)
    return [value for _, value in set(zip(map(type, values), values, strict=True))]


def _sort_key(value: object) -> tuple[str, Any]:
    """By type, then by value where the type has an order, else by text."""
    return type(value).__name__, value if isinstance(value, str | int | float) else str(value)
