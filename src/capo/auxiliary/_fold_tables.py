"""The rows of one fold, with the features that several auxiliaries share.

The default auxiliaries begin with one of two transformers of the table, for trees and for linear models. In
each fold, equal transformers are fitted once, and their features are computed once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from .._sklearn_compat import safe_indexing
from .._typing import IntArray
from ._pipelines import SharedFeatures, content_key, iter_steps
from ._training import fit_transform


class FoldTables:
    """The rows that models are trained on, and those that they predict.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table.
    y : ndarray
        The labels, or a label matrix.
    train_rows, predict_rows : ndarray of int or None
        Which rows; None for all of them.
    """

    def __init__(
        self, X: Any, y: NDArray[Any], train_rows: IntArray | None, predict_rows: IntArray | None
    ) -> None:
        self._X, self._predict_rows = X, predict_rows
        self.train_rows = train_rows
        self.y = y if train_rows is None else y[train_rows]
        self._fitted: dict[Any, tuple[Any, Any]] = {}

    @cached_property
    def train_table(self) -> Any:
        """The rows to train on."""
        return _take_rows(self._X, self.train_rows)

    @cached_property
    def predict_features(self) -> SharedFeatures:
        """The features of the rows to predict."""
        return SharedFeatures(_take_rows(self._X, self._predict_rows))

    def fit_transform(self, transformer: Any) -> tuple[Any, Any]:
        """Return a fitted transformer of the rows to train on, and their features.

        The transformer may be that of another model with the same content, unless it is random.
        """
        if _is_random(transformer):
            return transformer, fit_transform(transformer, self.train_table, self.y)
        key = content_key(transformer)
        if key not in self._fitted:
            self._fitted[key] = transformer, fit_transform(transformer, self.train_table, self.y)
        return self._fitted[key]


def sharing_key(estimator: Any) -> Any:
    """Return a key that is equal for unfitted estimators whose first transformers are; None without any."""
    if type(estimator) is not Pipeline:
        return None
    first = next((step for _, step in iter_steps(estimator)), None)
    return None if first is None or _is_random(first) else content_key(first)


def _is_random(transformer: Any) -> bool:
    """Whether two fits of a transformer may differ."""
    params = transformer.get_params() if hasattr(transformer, "get_params") else {}
    return any(name.split("__")[-1] == "random_state" and value is None for name, value in params.items())


def _take_rows(X: Any, rows: IntArray | None) -> Any:
    return X if rows is None else safe_indexing(X, rows)
