"""Base class of the transformers of tables."""

from __future__ import annotations

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags


class TableTransformer(TransformerMixin, BaseEstimator):
    """A transformer that takes text and missing values."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
