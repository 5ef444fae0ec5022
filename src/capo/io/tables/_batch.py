"""Some rows of a file, as they were found there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack


@dataclass(frozen=True)
class SparseRows:
    """Rows of a file in svmlight's format: features by their index, and the number in front of each row."""

    X: Any
    labels: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: slice) -> SparseRows:
        return SparseRows(self.X[index], self.labels[index])

    def wide(self, n_features: int) -> Any:
        """The features below a number, columns of zeros where there are fewer."""
        if self.X.shape[1] > n_features:
            return self.X[:, :n_features]
        X = self.X.copy()
        X.resize((X.shape[0], n_features))
        return X

    @classmethod
    def joined(cls, parts: list[SparseRows]) -> SparseRows:
        """The rows of all parts."""
        width = max(part.X.shape[1] for part in parts)
        X = vstack([part.wide(width) for part in parts], format="csr")
        return cls(X, np.concatenate([part.labels for part in parts]))


@dataclass(frozen=True)
class Batch:
    """Rows that follow each other, and the number of the first of them, counted from 1.

    `rows` is a polars data frame, all of text if the file is, or `SparseRows`. `decimal_comma` says that
    numbers may be written with one, since something else separates values.
    """

    rows: Any
    first: int
    decimal_comma: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def slices(self, most: int) -> Iterator[Batch]:
        """The same rows in smaller batches."""
        for start in range(0, len(self), most):
            yield Batch(self.rows[start : start + most], self.first + start, self.decimal_comma)
