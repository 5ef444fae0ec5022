"""Columns that number the rows: an index or an identifier, from which nothing can be learned for new rows."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from .._typing import FloatArray
from ._columns import is_dataframe

#: With fewer rows, values that all differ are no evidence of an identifier.
MIN_IDENTIFIER_ROWS = 20
#: Different whole numbers that fill at least this share of their range are a count of the rows.
MIN_INDEX_DENSITY = 0.5
#: Names that readers of CSV files give to a column without a name, as the index of ``to_csv`` is.
_NO_NAME = re.compile(r"(unnamed: \d+|column_\d+)?", re.IGNORECASE)
#: Names of identifiers, as a word or as the end of a name in camel case.
_IDENTIFIER_NAME = re.compile(
    r"(^|[^a-z])(id|idx|index|key|uid|uuid|guid|pk|rowid|rownum|row|serial)($|[^a-z])", re.IGNORECASE
)
_CAMEL_CASE_IDENTIFIER = re.compile(r"[a-z](Id|ID)$")


class NumberedColumn(NamedTuple):
    """A column of whole numbers that differ in every row.

    Attributes
    ----------
    name : str
        The name of the column.
    reason : str
        Why it is taken for an index; empty if only its values differ.
    """

    name: str
    reason: str

    @property
    def is_index(self) -> bool:
        """Whether the column looks like an index or an identifier and is left out."""
        return bool(self.reason)


def describe_numbered_column(name: str, values: FloatArray) -> NumberedColumn | None:
    """Return the column if its values are whole numbers that all differ, else None.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.preprocessing import describe_numbered_column
    >>> describe_numbered_column("Unnamed: 0", np.arange(50.0)).reason
    'it has no name'
    >>> describe_numbered_column("income", np.arange(50.0) ** 2).is_index
    False
    >>> describe_numbered_column("rooms", np.arange(50.0) // 2) is None
    True
    """
    if len(values) < MIN_IDENTIFIER_ROWS or not np.isfinite(values).all():
        return None
    if (values != np.rint(values)).any() or len(np.unique(values)) < len(values):
        return None
    return NumberedColumn(name, _index_reason(name, float(values.max() - values.min()) + 1, len(values)))


def _index_reason(name: str, value_range: float, n_rows: int) -> str:
    if _NO_NAME.fullmatch(name.strip()):
        return "it has no name"
    if _IDENTIFIER_NAME.search(name) or _CAMEL_CASE_IDENTIFIER.search(name):
        return "its name is that of an identifier"
    return "its values count the rows" if n_rows >= MIN_INDEX_DENSITY * value_range else ""


def numbered_columns(X: Any) -> list[NumberedColumn]:
    """List the columns of a data frame with an integer type whose values differ in every row."""
    if not is_dataframe(X):
        return []
    columns = nw.from_native(X, eager_only=True).iter_columns()
    integers = (column for column in columns if isinstance(column.name, str) and _is_integer(column))
    found = (describe_numbered_column(each.name, _as_float(each)) for each in integers)
    return [column for column in found if column is not None]


def _is_integer(column: Any) -> bool:
    return bool(column.dtype.is_integer() and not column.null_count())


def _as_float(column: Any) -> FloatArray:
    return np.asarray(column.to_numpy(), dtype=np.float64)
