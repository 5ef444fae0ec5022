"""Consecutive rows of a file, before any conversion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import vstack

from ..._typing import FloatArray
from ...exceptions import TableError


class NoRowsError(TableError):
    """A file has no rows; one of several files is skipped then."""


@dataclass(frozen=True)
class SparseRows:
    """Rows of a file in svmlight format: a sparse matrix of features, and the label of each row."""

    X: Any
    labels: FloatArray

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: slice) -> SparseRows:
        return SparseRows(self.X[index], self.labels[index])

    def resize_features(self, n_features: int) -> Any:
        """Return the features with exactly this many columns: further ones are cut, missing ones are zero."""
        if self.X.shape[1] > n_features:
            return self.X[:, :n_features]
        X = self.X.copy()
        X.resize((X.shape[0], n_features))
        return X

    @classmethod
    def concat(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Concatenate rows."""
        n_features = max(part.X.shape[1] for part in parts)
        X = vstack([part.resize_features(n_features) for part in parts], format="csr")
        return cls(X, np.concatenate([part.labels for part in parts]))


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a file.

    Attributes
    ----------
    rows : polars.DataFrame or SparseRows
        The rows; all columns of a data frame are text if the file is a text file.
    first_row : int
        The number of the first row in the file, counted from 1.
    decimal_comma : bool
        Whether numbers may have a decimal comma, because the delimiter is another character.
    """

    rows: pl.DataFrame | SparseRows
    first_row: int
    decimal_comma: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows of a table with named columns; an error for svmlight format."""
        if isinstance(self.rows, SparseRows):
            raise TableError("a table with named columns is needed, but the file is in svmlight format.")
        return self.rows

    @property
    def sparse_rows(self) -> SparseRows:
        """The rows of a file in svmlight format; an error for a table with named columns."""
        if not isinstance(self.rows, SparseRows):
            raise TableError("a file in svmlight format is needed, but the file has named columns.")
        return self.rows

    def split(self, max_rows: int) -> Iterator[Batch]:
        """Split the rows into smaller batches."""
        for start in range(0, len(self), max_rows):
            part = self.rows[start : start + max_rows]
            yield Batch(part, self.first_row + start, self.decimal_comma)


def concat_batches(batches: Sequence[Batch]) -> Batch:
    """One batch of the rows of consecutive batches; a column that some of them lack is missing there."""
    first = batches[0]
    if isinstance(first.rows, SparseRows):
        return Batch(SparseRows.concat([batch.sparse_rows for batch in batches]), first.first_row)
    columns = list(dict.fromkeys(name for batch in batches for name in batch.frame.columns))
    frames = [_with_columns(batch.frame, columns) for batch in batches]
    same_types = all(frame.schema == frames[0].schema for frame in frames)
    rows = pl.concat(frames, how="vertical" if same_types else "vertical_relaxed")
    return Batch(rows, first.first_row, first.decimal_comma)


def _with_columns(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The columns in this order; those that the frame lacks are missing."""
    present = set(frame.columns)
    return frame.select(name if name in present else pl.lit(None, pl.Null).alias(name) for name in columns)
