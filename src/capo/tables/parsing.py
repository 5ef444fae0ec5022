"""From the values of a file or a data frame to the values that a model was trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import validate_data

from .._compat import FloatArray
from ..exceptions import InvalidInputError
from .dates import DateKind
from .kinds import ColumnKind, ParsedKind, TableTransformer, is_dataframe, is_missing, is_number, to_text
from .numbers import NumberKind
from .schema import ColumnInfo, FeatureSchema

#: Larger numbers are rejected like infinite ones: sums of their squares could overflow.
MAX_MAGNITUDE = 1e100
#: Columns that an error names.
MAX_NAMED_COLUMNS = 5


def check_numbers(X: Any) -> None:
    """Raise if X holds a number that would overflow, or a missing value in a sparse matrix.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        Only columns of floating-point numbers are checked.
    """
    if issparse(X):
        _check_sparse(X)
    elif is_dataframe(X):
        for name, values in _float_columns(X):
            _check_column(values, f"the column {name!r} of X")
    elif _has_large_number(X):
        column = int(np.nanargmax(np.fmax.reduce(np.abs(X), axis=0)))
        _check_column(X[:, column], f"column {column} of X (counted from 0)")


def _float_columns(X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    columns = nw.from_native(X, eager_only=True).iter_columns()  # names may be numbers
    return ((column.name, column.to_numpy()) for column in columns if column.dtype.is_float())


def _check_sparse(X: Any) -> None:
    if X.dtype.kind == "f" and np.isnan(X.data).any():
        raise InvalidInputError(
            "X is a sparse matrix with missing values (NaN), which only data frames and arrays may have: "
            "fill them in, or pass an array."
        )
    if _has_large_number(X.data):
        entries = X.tocoo()
        position = int(np.argmax(np.abs(entries.data)))
        column = f"column {entries.col[position]} of X (counted from 0)"
        _raise_large_number(entries.data[position], column, entries.row[position])


def _has_large_number(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "f" or not values.size:
        return False
    largest, smallest = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
    return max(float(largest), -float(smallest)) > MAX_MAGNITUDE


def _check_column(values: NDArray[Any], name: str) -> None:
    if _has_large_number(values):
        row = int(np.nanargmax(np.abs(values)))
        _raise_large_number(values[row], name, row)


def _raise_large_number(value: Any, column: str, row: int) -> None:
    found = "infinity" if np.isinf(value) else f"{value:.3g}"
    raise InvalidInputError(
        f"{column} contains {found} in row {row}: numbers beyond {MAX_MAGNITUDE:g} overflow. Scale or "
        "clip the column, or remove the row."
    )


def describe_mismatch(X: Any, schema: FeatureSchema) -> str:
    """Return how X differs from the training table, with what to do; empty if no difference was found."""
    names = [column.key for column in schema.columns if isinstance(column.key, str)]
    if not is_dataframe(X):
        return _describe_array(names) if names else ""
    numeric = [column for column in schema.of_role("numeric") if column.is_typed]
    return next(filter(None, (_describe_text(X, column) for column in numeric)), "")


def _describe_array(names: list[str]) -> str:
    more = ", ..." if len(names) > MAX_NAMED_COLUMNS else ""
    return (
        "X is an array, but the model was trained on a data frame, whose columns it takes by name "
        f"({', '.join(map(repr, names[:MAX_NAMED_COLUMNS]))}{more}): pass a data frame with these columns, "
        "such as pandas.DataFrame(X, columns=model.feature_names_in_)."
    )


def _describe_text(X: Any, column: ColumnInfo) -> str:
    """A sentence if a column of numbers contains text in X."""
    frame = nw.from_native(X, eager_only=True)
    position = frame.columns.index(column.key) if isinstance(column.key, str) else column.key
    series = frame[:, position]
    if series.dtype.is_numeric():
        return ""
    texts = [value for value in series.to_list() if not (is_missing(value) or _is_number(value))]
    if not texts:
        return ""
    return (
        f"the column {column.key!r} of X had only numbers when the model was trained, but has {texts[0]!r} "
        f"now, in {len(texts):,} of {len(series):,} rows: correct such values, or leave them missing."
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


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
    >>> from capo.tables.parsing import ColumnParser
    >>> from capo.tables.schema import infer_schema
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
