"""The columns of a table whose model is explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csr_array, diags_array, issparse, vstack
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from .._compat import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidInputError
from ..tables.checks import ColumnCodes
from ..tables.kinds import is_dataframe, is_missing
from ..tables.schema import FeatureSchema, infer_schema

#: Columns that are explained at most; of a wider table, some must be chosen.
MAX_COLUMNS = 1000
#: Rows of which correlations are computed.
MAX_CORRELATION_ROWS = 2000
#: Different values of a column of categories that are told apart in correlations; all rarer ones are one.
MAX_CATEGORIES = 30
#: Names of columns of one group that are written out.
MAX_JOINED_NAMES = 3
#: Longer values are cut where they are printed.
MAX_VALUE_LENGTH = 24
MISSING = "(missing)"
#: Rows that are predicted at once.
BLOCK_ROWS = 20_000
#: Numbers in this range are printed without digits after the point.
MIN_WHOLE_NUMBER, MAX_WHOLE_NUMBER = 1e4, 1e12


def as_table(X: Any) -> Any:
    """Return a data frame, array or sparse matrix as it is, and lists of rows as an array."""
    return X if is_dataframe(X) or issparse(X) else np.asarray(X)


class ExplainedTable:
    """A table of the rows that a model is explained on.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The rows.
    schema : FeatureSchema, optional
        The kinds of the columns, as the model was trained with them; inferred by default.
    """

    def __init__(self, X: Any, schema: FeatureSchema | None = None) -> None:
        X = as_table(X)
        self.X: Any = X.tocsr() if issparse(X) else X
        self.is_frame = is_dataframe(X)
        if self.is_frame:
            self._frame = nw.from_native(X, eager_only=True)
            self.names = [str(name) for name in self._frame.columns]
        else:
            self.names = [str(position) for position in range(X.shape[1])]
        self.n_rows = int(X.shape[0])
        known = schema is not None and len(schema.columns) == len(self.names)
        self._schema = schema if known and schema is not None else infer_schema(self.X)

    def mix(self, first: IntArray, second: IntArray, from_second: BoolArray) -> Any:
        """Return rows made of pairs of rows.

        Parameters
        ----------
        first, second : ndarray of shape (n_copies, n)
            Positions of rows.
        from_second : ndarray of shape (n_copies, n_columns)
            Which columns of each copy come from the second rows; the others come from the first.

        Returns
        -------
        data frame, array or sparse matrix of shape (n_copies * n, n_columns)
            The rows, in the type of the table.
        """
        if issparse(self.X):
            return self._mix_sparse(first, second, from_second)
        sources = (
            np.where(chosen[:, np.newaxis], second, first).ravel() if chosen.any() else first.ravel()
            for chosen in from_second.T
        )
        if not self.is_frame:
            mixed = np.empty((first.size, self.X.shape[1]), dtype=self.X.dtype)
            for position, rows in enumerate(sources):
                mixed[:, position] = self.X[rows, position]
            return mixed
        columns = zip(self._frame.iter_columns(), sources, strict=True)
        parts = [nw.maybe_reset_index(column[rows].to_frame()) for column, rows in columns]
        return nw.concat(parts, how="horizontal").to_native()

    def _mix_sparse(self, first: IntArray, second: IntArray, from_second: BoolArray) -> Any:
        copies = []
        for own, other, chosen in zip(first, second, from_second, strict=True):
            kept = self.X[own] @ diags_array((~chosen).astype(float))
            copies.append(kept + self.X[other] @ diags_array(chosen.astype(float)))
        return vstack(copies, format="csr")

    def codes(self, position: int) -> ColumnCodes:
        """Return the values of a column as codes, and as numbers if they have an order."""
        if issparse(self.X):
            return ColumnCodes.of_numbers(np.asarray(self.X[:, [position]].todense(), dtype=float).ravel())
        if not self.is_frame:
            return ColumnCodes.of_numbers(np.asarray(self.X[:, position], dtype=np.float64))
        return ColumnCodes.of(self._schema.columns[position], self.X)

    def values(self, position: int) -> list[Any]:
        """Return the values of a column."""
        if self.is_frame:
            return list(self._frame[:, position].to_list())
        column = self.X[:, [position]].todense() if issparse(self.X) else self.X[:, position]
        return list(np.asarray(column).ravel().tolist())


def choose_columns(table: ExplainedTable, columns: Sequence[Any] | None) -> list[int]:
    """Return the positions of the columns to explain: those that are named, by default all."""
    if columns is None:
        if len(table.names) > MAX_COLUMNS:
            raise InvalidInputError(
                f"X has {len(table.names):,} columns, and at most {MAX_COLUMNS:,} can be explained at once: "
                "choose some with columns=[...]."
            )
        return list(range(len(table.names)))
    if not len(columns):
        raise InvalidInputError("columns is empty: name at least one column to explain, or leave it out.")
    unknown = [each for each in columns if str(each) not in table.names]
    if unknown:
        raise InvalidInputError(f"X has no column {unknown[0]!r}, which is to be explained.")
    return [table.names.index(name) for name in dict.fromkeys(str(each) for each in columns)]


def group_columns(
    table: ExplainedTable, positions: Sequence[int], rows: IntArray, max_correlation: float | None
) -> list[list[int]]:
    """Group the positions of columns that are near-copies of each other.

    Two columns are in the same group if their correlation is `max_correlation` or more, and so are columns
    that a chain of such pairs connects. The correlation of two columns of numbers or dates is the absolute
    value of Spearman's; for any other pair it is Cramér's V, corrected for its bias, with numbers in bins.
    """
    labels = np.arange(len(positions))
    if max_correlation is not None and len(positions) > 1:
        rows = rows[:MAX_CORRELATION_ROWS]
        codes = [table.codes(position).take(rows) for position in positions]
        labels = connected_components(csr_array(_correlations(codes) >= max_correlation), directed=False)[1]
    members = [np.flatnonzero(labels == label).tolist() for label in dict.fromkeys(labels.tolist())]
    return [[positions[i] for i in each] for each in members]


def _correlations(columns: Sequence[ColumnCodes]) -> FloatArray:
    """The correlation of each pair of columns, from 0 to 1."""
    numeric = [i for i, column in enumerate(columns) if column.numbers is not None]
    found = np.zeros((len(columns), len(columns)))
    if len(numeric) < len(columns):
        found = _cramers_v([column.codes for column in columns])
    if numeric:
        ranks = np.column_stack([_ranks(columns[i]) for i in numeric])
        found[np.ix_(numeric, numeric)] = np.abs(ranks.T @ ranks)
    return found


def _ranks(column: ColumnCodes) -> FloatArray:
    """Ranks of the numbers with mean 0 and norm 1; missing values and constants have the mean rank."""
    assert column.numbers is not None
    present = ~np.isnan(column.numbers)
    ranks = np.zeros(len(present))
    if present.any():
        ranks[present] = rankdata(column.numbers[present])
        ranks[present] -= ranks[present].mean()
    norm = float(np.linalg.norm(ranks))
    return ranks / norm if norm > 0 else ranks


def _cramers_v(columns: Sequence[IntArray]) -> FloatArray:
    """Cramér's V of each pair of columns of codes, corrected for its bias."""
    indicators = [_indicators(codes) for codes in columns]
    widths = np.array([each.shape[1] for each in indicators])
    joined = np.hstack(indicators)
    sizes, starts = joined.sum(axis=0), np.cumsum(widths) - widths
    shares = (joined.T @ joined) ** 2 / np.outer(sizes, sizes)
    squares = np.add.reduceat(np.add.reduceat(shares, starts, axis=0), starts, axis=1) - 1.0
    freedom, n = widths - 1.0, max(len(joined) - 1, 1)
    excess = np.maximum(squares - np.outer(freedom, freedom) / n, 0.0)
    corrected = freedom - freedom**2 / n
    limit = np.minimum.outer(corrected, corrected)
    ratio = np.divide(excess, limit, out=np.zeros_like(excess), where=limit > 0)
    return np.asarray(np.sqrt(np.minimum(ratio, 1.0)))


def _indicators(codes: IntArray) -> FloatArray:
    """One column of 0 and 1 for each of the most frequent codes, and one for all others."""
    places, _, n_places = frequent_places(codes, MAX_CATEGORIES)
    return np.eye(n_places)[places]


def frequent_places(values: Any, n_frequent: int) -> tuple[IntArray, Any, int]:
    """Return the place of each value among the most frequent ones, these, and the number of places.

    All other values have one place after them.
    """
    different, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:n_frequent]
    places = np.full(len(counts), len(frequent))
    places[frequent] = np.arange(len(frequent))
    return places[inverse], different[frequent], len(frequent) + (len(counts) > len(frequent))


def join_names(columns: Sequence[str]) -> str:
    """Write the names of columns as one text; of many, the first ones."""
    n_more = len(columns) - MAX_JOINED_NAMES
    return " + ".join(columns[:MAX_JOINED_NAMES]) + (f" + {n_more} more" if n_more > 0 else "")


def short_text(value: Any) -> str:
    """Write a value in short: numbers with four digits, or with all digits before the point."""
    if is_missing(value):
        return MISSING
    if isinstance(value, float):
        is_whole = MIN_WHOLE_NUMBER <= abs(value) < MAX_WHOLE_NUMBER
        text = f"{value:.0f}" if is_whole else f"{value:.4g}"
    else:
        text = str(value).removesuffix(" 00:00:00")
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + "..."
