"""The schema of a table: what its columns hold, inferred once, and the parsing of their values to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import validate_data

from .._compat import FloatArray
from ..exceptions import InvalidInputError
from . import kinds as column_kinds
from .dates import DateKind, DurationKind, is_time_name
from .kinds import CategoryKind, ColumnKind, ColumnValues, IdentifierKind, ParsedKind, Recognition, TagsKind
from .numbers import MoneyKind, NumberKind, PercentageKind, QuantityKind

#: All kinds by name; a column is of the first that recognizes it.
KINDS: dict[str, type[ColumnKind]] = {
    kind.name: kind
    for kind in (
        *(column_kinds.BooleanKind, column_kinds.CodeKind, DateKind, NumberKind, PercentageKind, MoneyKind),
        *(QuantityKind, DurationKind, TagsKind, column_kinds.TextKind, IdentifierKind, CategoryKind),
    )
}


def recognize(values: ColumnValues) -> Recognition:
    """Return the kind of a column of texts."""
    found = (kind.recognize(values) for kind in KINDS.values())
    return next(each for each in found if each is not None)


def kind_from_dict(values: Any) -> ColumnKind:
    """Restore a kind from the values of `ColumnKind.to_dict`; a ValueError if they are not valid."""
    state = dict(values) if isinstance(values, dict) else {"kind": values}
    name = state.pop("kind", None)
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"there is no column kind {name!r}")
    return KINDS[name].from_state(state)


#: Examples are cut to this length where the schema is printed.
MAX_SHOWN_EXAMPLE = 24
#: The reason of a kind that the user gave, and the doubt about a column of different whole numbers.
GIVEN, MAY_BE_IDENTIFIER = "it was given", "it may be an identifier"
#: Columns that an error names.
MAX_NAMED_COLUMNS = 5
#: Numbers from here on may be counts of seconds or of their fractions since 1970.
MIN_TIME_COUNT = 5e8
#: A kind that a user demands: its name, or a mapping of the name as "kind" and of values of its fields.
DemandedKind = str | Mapping[str, Any]


@dataclass(frozen=True)
class ColumnInfo:
    """A column and what it was taken for.

    Attributes
    ----------
    key : str or int
        The name of the column, or its position in a table whose names are not strings.
    kind : ColumnKind
        What the values mean.
    is_typed : bool
        Whether the data type of the column decided, so that its values need no parsing.
    reason : str
        Why the column is of this kind.
    doubt : str
        What the user should check; empty if there is no doubt.
    example : str
        The first value as text.
    missing_share : float
        The share of missing values.
    n_different : int
        The number of different values; 0 if they were not counted.
    """

    key: Any
    kind: ColumnKind
    is_typed: bool
    reason: str
    doubt: str = ""
    example: str = ""
    missing_share: float = 0.0
    n_different: int = 0

    @property
    def is_given(self) -> bool:
        """Whether the user gave the kind."""
        return self.reason == GIVEN

    def select(self, X: Any) -> Any:
        """Return the column of a data frame as a narwhals series."""
        frame = nw.from_native(X, eager_only=True)
        return frame[:, frame.columns.index(self.key) if isinstance(self.key, str) else self.key]


@dataclass(frozen=True)
class FeatureSchema:
    """The columns of a table and their kinds; prints as a table.

    Attributes
    ----------
    columns : tuple of ColumnInfo
        The columns in their order.
    """

    columns: tuple[ColumnInfo, ...]

    def of_role(self, *roles: column_kinds.Role) -> list[ColumnInfo]:
        """The columns whose kind has one of these roles."""
        return [column for column in self.columns if column.kind.role in roles]

    def __str__(self) -> str:
        rows = [("column", "kind", "example", "missing", "why")]
        for column in self.columns:
            example = column.example.replace("\n", " ")
            if len(example) > MAX_SHOWN_EXAMPLE:
                example = example[: MAX_SHOWN_EXAMPLE - 3] + "..."
            why = f"{column.reason}; please check: {column.doubt}" if column.doubt else column.reason
            rows.append((str(column.key), column.kind.name, example, f"{column.missing_share:.1%}", why))
        widths = [*(max(len(row[position]) for row in rows) for position in range(4)), 0]
        lines = (zip(row, widths, strict=True) for row in rows)
        return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in line) for line in lines)

    __repr__ = __str__


def infer_schema(X: Any, kinds: Mapping[str, DemandedKind] | None = None) -> FeatureSchema:
    """Infer what each column of a table holds.

    Data types decide where they can: numbers, Booleans, dates, categories, lists. Columns of text are taken
    for what all their values are: dates, numbers with separators, signs or units, yes and no, codes with
    leading zeros, lists of tags, free text, identifiers, or else categories.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The training rows.
    kinds : mapping of str to str or dict, optional
        The names of the kinds of some columns, which overrule what would be inferred: "number", "money",
        "percentage", "quantity", "duration", "boolean", "date", "category", "code", "text", "tags" or
        "identifier". A dict has the name as "kind" and further decisions, such as
        ``{"kind": "date", "layout": "day-month-year"}`` or
        ``{"kind": "number", "thousands": ".", "decimal": ","}``.

    Returns
    -------
    FeatureSchema
        The kind of each column, with its reason. It prints as a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.tables.schema import infer_schema
    >>> table = pd.DataFrame({"price": ["$12.50", "$7"], "day": ["31.12.2024", "1.1.2025"]})
    >>> print(infer_schema(table))
    column  kind   example     missing  why
    price   money  $12.50      0.0%     all 2 different values are amounts of money ($)
    day     date   31.12.2024  0.0%     all 2 different values are dates: day-month-year
    """
    if issparse(X):
        return FeatureSchema(())
    if not column_kinds.is_dataframe(X):
        positions = range(X.shape[1])
        return FeatureSchema(tuple(ColumnInfo(k, NumberKind(), True, "it is a number") for k in positions))
    columns = infer_columns(X, kinds or {}).columns
    if all(column.kind.role == "none" for column in columns):  # there is nothing else to learn from
        used = [NumberKind() if column.is_typed else CategoryKind() for column in columns]
        doubtful = (replace(each, doubt=MAY_BE_IDENTIFIER) for each in columns)
        columns = tuple(replace(each, kind=kind) for each, kind in zip(doubtful, used, strict=True))
    return FeatureSchema(columns)


def infer_columns(X: Any, kinds: Mapping[str, DemandedKind], **options: bool) -> FeatureSchema:
    """Infer what each column of a data frame holds; `options` are those of `ColumnValues`."""
    frame = nw.from_native(X, eager_only=True)
    if unknown := [name for name in kinds if name not in frame.columns]:
        raise InvalidInputError(f"there is no column {unknown[0]!r}, whose kind is given.")
    has_names = all(isinstance(name, str) for name in frame.columns)
    keys = frame.columns if has_names else range(len(frame.columns))
    columns = zip(frame.iter_columns(), keys, strict=True)
    return FeatureSchema(
        tuple(_infer_column(column, key, kinds.get(column.name), options) for column, key in columns)
    )


def _infer_column(
    column: Any, key: Any, demanded: DemandedKind | None, options: Mapping[str, bool]
) -> ColumnInfo:
    found = _recognize_type(column) if demanded is None else None
    if found is None:
        values = ColumnValues.count(str(column.name), column.to_list(), **options)
        kind, reason, doubt = recognize(values) if demanded is None else impose_kind(values, demanded)
        missing_share = 1.0 - values.n_values / values.n_rows if values.n_rows else 0.0
        example, n_different = next(iter(values.counts), ""), len(values.counts)
        return ColumnInfo(key, kind, False, reason, doubt, example, missing_share, n_different)
    kind, reason, doubt = found
    known = (value for value in column.head(100).to_list() if not column_kinds.is_missing(value))
    missing_share = column.null_count() / max(len(column), 1)
    n_different = column.n_unique() if kind.role == "category" else 0
    is_typed = column.dtype != nw.Duration
    return ColumnInfo(key, kind, is_typed, reason, doubt, str(next(known, "")), missing_share, n_different)


def impose_kind(values: ColumnValues, demanded: DemandedKind) -> Recognition:
    """Return the kind that a user demands for a column, given by its name or with values of its fields."""
    fields = {"kind": demanded} if isinstance(demanded, str) else dict(demanded)
    name = fields.pop("kind", None)
    if name not in KINDS:
        raise InvalidInputError(
            f"the column {values.name!r} has the unknown kind {name!r}: choose one of {', '.join(KINDS)}."
        )
    kind = KINDS[name].impose(values)
    try:
        kind = kind.with_fields(fields) if fields else kind
    except ValueError as error:
        raise InvalidInputError(f"the column {values.name!r} cannot be read as given: {error}.") from error
    if fields and isinstance(kind, ParsedKind):
        kind = kind.with_missing(values)
    return Recognition(kind, GIVEN)


def _recognize_type(column: Any) -> Recognition | None:
    """The kind of a column whose data type decides; None for text."""
    dtype = column.dtype
    if dtype.is_nested() or dtype == nw.Object:
        has_lists = _has_lists(column)
        return Recognition(TagsKind(separator=""), "its values are lists of texts") if has_lists else None
    if dtype.is_numeric():
        return _recognize_numbers(column)
    reason = f"its data type is {dtype}"
    if dtype in (nw.Boolean, nw.Duration):
        return Recognition(NumberKind(), reason)
    if dtype in (nw.Datetime, nw.Date):
        return Recognition(DateKind(), reason)
    return Recognition(CategoryKind(), reason) if dtype in (nw.Categorical, nw.Enum) else None


def _recognize_numbers(column: Any) -> Recognition:
    """The kind of a column of numbers, which may count the seconds since 1970, or number the rows."""
    name = str(column.name)
    if is_time_name(name) and (column.fill_nan(None) >= MIN_TIME_COUNT).all():
        time = DateKind.recognize(ColumnValues.count(name, column.to_list()))
        if time is not None:
            return time
    reason, why = "it has a different whole number in each row", column_kinds.find_number_reason(column)
    if why:
        return Recognition(IdentifierKind(), f"{reason}, and {why}")
    if why is not None:
        return Recognition(NumberKind(), reason, MAY_BE_IDENTIFIER)
    is_empty = column.null_count() == len(column)
    return Recognition(NumberKind(), "it is empty in all rows" if is_empty else "all its values are numbers")


def _has_lists(column: Any) -> bool:
    """Whether the values are lists of texts; raise if they are other collections."""
    collections = (list, tuple, dict, set, np.ndarray)
    values = [value for value in column.to_list() if isinstance(value, collections)]
    if any(isinstance(value, dict | set) or not all(isinstance(v, str) for v in value) for value in values):
        raise InvalidInputError(
            f"the column {column.name!r} of X contains lists or other collections, not single values: "
            "convert it to columns of numbers or text, or leave it out."
        )
    return bool(values)


def describe_mismatch(X: Any, schema: FeatureSchema) -> str:
    """Return how X differs from the training table, with what to do; empty if no difference was found."""
    names = [column.key for column in schema.columns if isinstance(column.key, str)]
    if column_kinds.is_dataframe(X):
        try:
            for column in schema.of_role("numeric"):
                if column.is_typed and not (series := column.select(X)).dtype.is_numeric():
                    parse_column(NumberKind(), series)
        except InvalidInputError as error:
            return f"{error} Correct such values, or leave them missing."
    elif names:
        shown = ", ".join(map(repr, names[:MAX_NAMED_COLUMNS]))
        more = ", ..." if len(names) > MAX_NAMED_COLUMNS else ""
        return (
            "X is an array, but the model was trained on a data frame, whose columns it takes by name "
            f"({shown}{more}): pass a data frame with these columns, such as pandas.DataFrame(X, "
            "columns=model.feature_names_in_)."
        )
    return ""


class ColumnParser(OneToOneFeatureMixin, column_kinds.TableTransformer):
    """Parse columns to numbers; dates become seconds since 1970.

    Parameters
    ----------
    kinds : sequence of ParsedKind
        The kind of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from capo.tables.schema import ColumnParser, infer_schema
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


def parse_column(
    kind: ParsedKind, column: Any, *, first_row: int = 0, error: type[InvalidInputError] = InvalidInputError
) -> FloatArray:
    """Parse a narwhals series to numbers, with NaN for a missing value; dates become seconds since 1970.

    Raises `error` if a value is not of this kind; the message counts rows from `first_row`.
    """
    dtype = column.dtype
    is_written_date = isinstance(kind, DateKind) and kind.layout != DateKind().layout
    if (dtype.is_numeric() and not is_written_date) or dtype == nw.Boolean:
        values = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if dtype.is_float():
            check_not_misread(kind, values, str(column.name))
        return kind.convert_numbers(values)
    if dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype == nw.Datetime:
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return np.asarray(column.dt.timestamp("us").cast(nw.Float64).to_numpy()) / 1e6
    if dtype == nw.Duration:
        return np.asarray(column.dt.total_microseconds().cast(nw.Float64).to_numpy()) / 1e6
    known: dict[Any, float | None] = {}
    numbers = np.empty(len(column))
    for row, value in enumerate(column.to_list()):
        key = value if isinstance(value, str) else (type(value), str(value))  # 1 and True are equal
        if key not in known:
            known[key] = _parse_value(kind, value, is_written_date)
        number = known[key]
        if number is None:
            raise error(
                f"the column {column.name!r} held {kind.description} in training, but row "
                f"{first_row + row:,} contains {column_kinds.to_text(value)!r}."
            )
        numbers[row] = number
    return numbers


def _parse_value(kind: ParsedKind, value: Any, is_written_date: bool) -> float | None:
    """Parse a text; a number is not written as text, which has another spelling, but for dates in digits."""
    if not column_kinds.is_number(value):
        return kind.parse_or_missing(column_kinds.to_text(value))
    if is_written_date:  # without the decimal point that a missing value in its column adds
        return kind.parse_or_missing(str(int(value) if float(value).is_integer() else value))
    return float(kind.convert_numbers(np.array([float(value)]))[0])


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
