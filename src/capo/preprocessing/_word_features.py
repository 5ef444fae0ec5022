"""The words of free text as features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from scipy.sparse import csr_array, hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import validate_data

from ._columns import iter_columns
from ._kinds import to_text
from ._table_transformer import TableTransformer

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
