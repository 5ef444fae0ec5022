"""Lists of tags as features: one indicator for each frequent tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from .._typing import FloatArray
from ._columns import is_missing, iter_columns
from ._kinds import TagsKind
from ._table_transformer import TableTransformer

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
