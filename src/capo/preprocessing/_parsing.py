"""Columns of text as numbers, by their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import validate_data

from .._typing import FloatArray
from ..exceptions import InvalidInputError
from ._columns import is_number
from ._kinds import ColumnKind, DateKind, NumberKind, ParsedKind, to_text
from ._table_transformer import TableTransformer

#: Seconds in the units of narwhals' durations.
_MICROSECONDS = 1e6


class ColumnParser(OneToOneFeatureMixin, TableTransformer):
    """Parse columns to numbers; dates become seconds since 1970.

    Parameters
    ----------
    kinds : sequence of ParsedKind
        The kind of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.preprocessing import ColumnParser, infer_schema
    >>> table = pd.DataFrame({"price": ["$1,200.50", "$7", None], "share": ["12%", "7.5%", "-"]})
    >>> kinds = [column.kind for column in infer_schema(table).columns]
    >>> ColumnParser(kinds).fit_transform(table)
    array([[1200.5,   12. ],
           [   7. ,    7.5],
           [   nan,    nan]])
    """

    def __init__(self, kinds: Sequence[ParsedKind]) -> None:
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the names of the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Parse the columns."""
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = nw.from_native(X, eager_only=True).iter_columns()
        parsed = [parse_column(kind, column) for kind, column in zip(self.kinds, columns, strict=True)]
        return np.column_stack(parsed)


def parse_column(kind: ParsedKind, column: Any) -> FloatArray:
    """Parse a narwhals series to numbers, with NaN for a missing value."""
    dtype = column.dtype
    if (dtype.is_numeric() and not _is_written_date(kind)) or dtype == nw.Boolean:
        values = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if dtype.is_float():
            check_not_misread(kind, values, str(column.name))
        return kind.convert_numbers(values)
    if dtype in (nw.Datetime, nw.Date):
        return _seconds(column)
    if dtype == nw.Duration:
        return np.asarray(column.dt.total_microseconds().cast(nw.Float64).to_numpy()) / _MICROSECONDS
    return _parse_values(kind, column.to_list(), _raise_unparsed(kind, str(column.name)))


def check_not_misread(kind: ColumnKind | None, fractions: FloatArray, name: str) -> None:
    """Raise if numbers of a floating-point type may be misread texts, such as 1.234 for 1234."""
    # With a currency or a unit, no reader takes a text for a number.
    number = kind.first_misread(fractions) if type(kind) is NumberKind else None
    if number is not None:
        raise InvalidInputError(
            f"the column {name!r} held numbers such as 1.234.567 in training, with points between thousands, "
            f"and now holds {number!r}, in which a point may have been taken for a decimal point: read this "
            "column as text, or with the separator of its file."
        )


def _is_written_date(kind: ParsedKind) -> bool:
    """Whether a number may be a date that was written in digits, such as 20241231."""
    return isinstance(kind, DateKind) and kind.layout != DateKind().layout


def _parse_values(
    kind: ParsedKind, values: Sequence[Any], on_error: Callable[[int, str], None]
) -> FloatArray:
    """Parse texts; values that are numbers already are not written as text, which has another spelling."""
    typed = {} if _is_written_date(kind) else {i: each for i, each in enumerate(values) if is_number(each)}
    if _is_written_date(kind):
        values = [_digits(each) if is_number(each) else each for each in values]
    numbers = parse_texts(
        kind, (None if i in typed else to_text(each) for i, each in enumerate(values)), on_error
    )
    numbers[list(typed)] = kind.convert_numbers(np.array(list(map(float, typed.values()))))
    return numbers


def _digits(number: Any) -> str:
    """A whole number as digits, without the decimal point that a missing value in its column adds."""
    return str(int(number)) if float(number).is_integer() else str(number)


def parse_texts(
    kind: ParsedKind, texts: Iterable[str | None], on_error: Callable[[int, str], None]
) -> FloatArray:
    """Parse texts, each different one once; `on_error` gets the position and the text of one that fails."""
    known: dict[str | None, float | None] = {}
    numbers: list[float] = []
    for position, text in enumerate(texts):
        if text not in known:
            known[text] = kind.parse_or_missing(text)
        number = known[text]
        if number is None:
            on_error(position, str(text))
            number = np.nan
        numbers.append(number)
    return np.array(numbers, dtype=np.float64)


def _raise_unparsed(kind: ParsedKind, name: str) -> Callable[[int, str], None]:
    def on_error(position: int, text: str) -> None:
        raise InvalidInputError(
            f"the column {name!r} held {kind.description} in training, but row {position} contains {text!r}."
        )

    return on_error


def _seconds(column: Any) -> FloatArray:
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return np.asarray(column.dt.timestamp("us").cast(nw.Float64).to_numpy()) / _MICROSECONDS
