"""Transformers that scikit-learn lacks: dropping empty columns and masking unknown categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin
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
        # 1, 1.0 and True are equal but have different texts.
        distinct = (set(zip(map(type, column), column, strict=True)) for column in iter_columns(X))
        columns = ({self._category(v) for _, v in values if not is_missing(v)} for values in distinct)
        self.categories_ = [sorted(categories, key=_sort_key) for categories in columns]
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Replace the values that are not known categories by NaN."""
        validate_data(self, X, reset=False, skip_check_array=True)
        result = np.empty(X.shape, dtype=object)
        for position, (column, categories) in enumerate(zip(iter_columns(X), self.categories_, strict=True)):
            known = _KnownCategories(categories, self._category)
            try:
                result[:, position] = list(map(known.__getitem__, column))
            except TypeError as error:  # a list cannot be looked up
                raise InvalidInputError(
                    f"a column of categories contains a value that is none: {error}."
                ) from error
        return result

    def _category(self, value: Any) -> Any:
        return str(value) if self.as_text else value


class _KnownCategories(dict[Any, Any]):
    """From values to known categories; other values are compared by their category, and become NaN."""

    def __init__(self, categories: list[Any], to_category: Callable[[Any], Any]) -> None:
        super().__init__(zip(categories, categories, strict=True))
        self[None] = np.nan
        self._to_category = to_category

    def __missing__(self, value: Any) -> Any:
        # Nothing is stored: values that are equal, such as 1 and True, may have different texts.
        return np.nan if is_missing(value) else self.get(self._to_category(value), np.nan)


def _sort_key(value: object) -> tuple[str, Any]:
    """By type, then by value where the type has an order, else by text."""
    return type(value).__name__, value if isinstance(value, str | int | float) else str(value)
