"""The schema of a table: the kind of each column, inferred once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from ..exceptions import InvalidInputError
from .dates import DateKind, DurationKind, is_time_name
from .kinds import (
    MISSING_MARKERS,
    BooleanKind,
    ColumnKind,
    ColumnValues,
    ParsedKind,
    Recognition,
    Role,
    find_yes_label,
    is_dataframe,
    is_missing,
    to_text,
)
from .numbers import (
    MoneyKind,
    NumberKind,
    PercentageKind,
    QuantityKind,
    has_pointed_thousands,
    may_have_pointed_thousands,
)
from .texts import CategoryKind, CodeKind, IdentifierKind, TagsKind, TextKind, describe_numbered_column

__all__ = [
    "KINDS",
    "MISSING_MARKERS",
    "BooleanKind",
    "CategoryKind",
    "CodeKind",
    "ColumnKind",
    "ColumnValues",
    "DateKind",
    "DurationKind",
    "IdentifierKind",
    "MoneyKind",
    "NumberKind",
    "ParsedKind",
    "PercentageKind",
    "QuantityKind",
    "Recognition",
    "Role",
    "TagsKind",
    "TextKind",
    "find_yes_label",
    "has_pointed_thousands",
    "is_time_name",
    "kind_from_dict",
    "may_have_pointed_thousands",
    "recognize",
    "to_text",
]

#: All kinds by name; a column is of the first that recognizes it.
KINDS: dict[str, type[ColumnKind]] = {
    kind.name: kind
    for kind in (
        BooleanKind,
        CodeKind,
        DateKind,
        NumberKind,
        PercentageKind,
        MoneyKind,
        QuantityKind,
        DurationKind,
        TagsKind,
        TextKind,
        IdentifierKind,
        CategoryKind,
    )
}


def recognize(values: ColumnValues) -> Recognition:
    """Return the kind of a column of texts."""
    found = (kind.recognize(values) for kind in KINDS.values())
    return next(each for each in found if each is not None)


def kind_from_dict(values: dict[str, Any]) -> ColumnKind:
    """Restore a kind from the values of `ColumnKind.to_dict`; a ValueError if they are not valid."""
    state = dict(values)
    name = state.pop("kind", None)
    if name not in KINDS:
        raise ValueError(f"there is no column kind {name!r}")
    return KINDS[name].from_state(state)


#: Examples are cut to this length where the schema is printed.
MAX_SHOWN_EXAMPLE = 24
#: The reason of a kind that the user gave.
GIVEN = "it was given"
#: Numbers from here on may be counts of seconds or of their fractions since 1970.
MIN_TIME_COUNT = 5e8
#: The name of the data type in reasons, by what narwhals calls it.
_TYPE_REASON = "its data type is {}"


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


@dataclass(frozen=True)
class FeatureSchema:
    """The columns of a table and their kinds; prints as a table.

    Attributes
    ----------
    columns : tuple of ColumnInfo
        The columns in their order.
    """

    columns: tuple[ColumnInfo, ...]

    def of_role(self, *roles: Role) -> list[ColumnInfo]:
        """The columns whose kind has one of these roles."""
        return [column for column in self.columns if column.kind.role in roles]

    def __str__(self) -> str:
        rows = [("column", "kind", "example", "missing", "why")]
        for column in self.columns:
            doubt = f"; please check: {column.doubt}" if column.doubt else ""
            rows.append(
                (
                    str(column.key),
                    column.kind.name,
                    _shorten(column.example),
                    f"{column.missing_share:.1%}",
                    column.reason + doubt,
                )
            )
        widths = [max(len(row[position]) for row in rows) for position in range(4)]
        return "\n".join(_join_cells(row, widths) for row in rows)

    __repr__ = __str__


def _join_cells(row: tuple[str, ...], widths: list[int]) -> str:
    padded = [f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=True)]
    return "  ".join([*padded, row[-1]])


def _shorten(text: str) -> str:
    shown = text.replace("\n", " ")
    return shown if len(shown) <= MAX_SHOWN_EXAMPLE else shown[: MAX_SHOWN_EXAMPLE - 3] + "..."


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
    if not is_dataframe(X):
        number = NumberKind()
        return FeatureSchema(
            tuple(ColumnInfo(each, number, True, "it is a number") for each in range(X.shape[1]))
        )
    frame = nw.from_native(X, eager_only=True)
    has_names = all(isinstance(name, str) for name in frame.columns)
    demanded = dict(kinds or {})
    columns = [
        _infer_column(column, column.name if has_names else position, demanded.pop(column.name, None))
        for position, column in enumerate(frame.iter_columns())
    ]
    if demanded:
        raise InvalidInputError(f"there is no column {next(iter(demanded))!r}, whose kind is given.")
    return _keep_some(FeatureSchema(tuple(columns)))


def _keep_some(schema: FeatureSchema) -> FeatureSchema:
    """The schema with identifiers as numbers or categories if there are no other columns."""
    if any(column.kind.role != "none" for column in schema.columns):
        return schema
    return FeatureSchema(
        tuple(
            replace(
                column,
                kind=NumberKind() if column.is_typed else CategoryKind(),
                doubt="it may be an identifier",
            )
            for column in schema.columns
        )
    )


def _infer_column(column: Any, key: Any, demanded: DemandedKind | None) -> ColumnInfo:
    if demanded is not None:
        return impose_kind(ColumnValues.count(str(column.name), column.to_list()), key, demanded)
    typed = _kind_of_type(column)
    if typed is None:
        return recognize_column(ColumnValues.count(str(column.name), column.to_list()), key)
    kind, reason = typed
    n_rows = max(len(column), 1)
    first = next((value for value in column.head(100).to_list() if not is_missing(value)), "")
    is_typed = column.dtype != nw.Duration
    n_different = column.n_unique() if kind.role == "category" else 0
    return ColumnInfo(key, kind, is_typed, reason, "", str(first), column.null_count() / n_rows, n_different)


def recognize_column(values: ColumnValues, key: Any) -> ColumnInfo:
    """What a column of texts is taken for."""
    kind, reason, doubt = recognize(values)
    return ColumnInfo(
        key, kind, False, reason, doubt, values.example, values.missing_share, len(values.counts)
    )


def impose_kind(values: ColumnValues, key: Any, demanded: DemandedKind) -> ColumnInfo:
    """A column with the kind that a user demands, given by its name or with values of its fields."""
    fields = {"kind": demanded} if isinstance(demanded, str) else dict(demanded)
    name = fields.pop("kind", None)
    if name not in KINDS:
        raise InvalidInputError(
            f"the column {values.name!r} has the unknown kind {name!r}: choose one of {', '.join(KINDS)}."
        )
    try:
        kind = KINDS[name].impose(values).with_fields(fields, values)
    except ValueError as error:
        raise InvalidInputError(f"the column {values.name!r} cannot be read as given: {error}.") from error
    return ColumnInfo(key, kind, False, GIVEN, "", values.example, values.missing_share, len(values.counts))


def _kind_of_type(column: Any) -> tuple[ColumnKind, str] | None:
    """The kind of a column whose data type decides, with the reason; None for text."""
    dtype = column.dtype
    reason = _TYPE_REASON.format(dtype)
    if dtype.is_nested() or dtype == nw.Object:
        return (TagsKind(separator=""), "its values are lists of texts") if _has_lists(column) else None
    if dtype.is_integer() and isinstance(column.name, str) and not column.null_count():
        numbered = describe_numbered_column(column.name, np.asarray(column.to_numpy(), dtype=np.float64))
        if numbered is not None and numbered.is_index:
            return IdentifierKind(), f"a different whole number in each row, and {numbered.reason}"
    if dtype.is_numeric() and (found := _recognize_counted_time(column)) is not None:
        return found.kind, found.reason
    if dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration):
        return NumberKind(), reason
    if dtype in (nw.Datetime, nw.Date):
        return DateKind(), reason
    return (CategoryKind(), reason) if dtype in (nw.Categorical, nw.Enum) else None


def _recognize_counted_time(column: Any) -> Recognition | None:
    """The kind of a column of numbers that count the seconds since 1970, or their fractions."""
    if not is_time_name(str(column.name)) or not (column.fill_nan(None) >= MIN_TIME_COUNT).all():
        return None
    return DateKind.recognize(ColumnValues.count(str(column.name), column.to_list()))


def _has_lists(column: Any) -> bool:
    """Whether the values are lists of texts; raise if they are other collections."""
    collections = (list, tuple, dict, set, np.ndarray)
    values = [value for value in column.to_list() if isinstance(value, collections)]
    if not all(_is_list_of_texts(value) for value in values):
        raise InvalidInputError(
            f"the column {column.name!r} of X contains lists or other collections, not single values: "
            "convert it to columns of numbers or text, or leave it out."
        )
    return bool(values)


def _is_list_of_texts(value: Any) -> bool:
    return not isinstance(value, dict | set) and all(isinstance(each, str) for each in value)
