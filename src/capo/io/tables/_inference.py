"""Inference of the schema of a training table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ...exceptions import TableError
from ...preprocessing import (
    MIN_TIME_COUNT,
    CategoryKind,
    CodeKind,
    ColumnInfo,
    ColumnKind,
    ColumnValues,
    DateKind,
    FeatureSchema,
    IdentifierKind,
    NumberKind,
    describe_numbered_column,
    has_pointed_thousands,
    impose_kind,
    is_time_name,
    may_have_pointed_thousands,
    recognize_column,
)
from ...preprocessing.canonical_values import (
    check_magnitude,
    clean_columns,
    non_numeric_columns,
    to_numeric,
)
from ._batch import Batch
from ._labels import infer_label_kind
from ._roles import ColumnRoles, require_column
from ._schema import Schema, TableSchema
from ._values import ambiguous_comma_columns

MAX_TEXT_COLUMNS = 1000
#: Digits that are a code or a date rather than a number.
_LEADING_ZERO, _COMPACT_DATE = r"^0[0-9]", r"^(19|20)[0-9]{6}([0-9]{4}|[0-9]{6})?$"
#: Numbers that are whole if their points separate thousands, and numbers with a decimal comma.
_WHOLE_NUMBER, _DECIMAL_COMMA = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})*$", r"^[+-]?[0-9.]*[0-9],[0-9]{1,2}$"
#: Rows that are looked at before all rows are.
N_HEAD_ROWS = 200


@dataclass(frozen=True)
class SchemaInference:
    """A schema, and notes for the user on how columns were interpreted.

    Attributes
    ----------
    schema : Schema
        The schema.
    notes : tuple of str
        What may mislead.
    remarks : tuple of str
        What is only worth knowing.
    """

    schema: Schema
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def infer_table_schema(batch: Batch, roles: ColumnRoles) -> SchemaInference:
    """Infer the kinds of the columns and labels of a training table."""
    columns, inference = infer_table_features(batch, roles)
    label_kind = infer_label_kind(batch, roles.target)
    schema = TableSchema(columns, roles.target, label_kind, roles.weight, roles.ids, roles.group)
    return SchemaInference(schema, *inference)


def infer_table_features(
    batch: Batch, roles: ColumnRoles
) -> tuple[dict[str, ColumnKind], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the kinds of the columns that are used, and the notes and remarks of the inference."""
    roles.check(batch.frame.columns)
    features, notes = infer_features(batch, roles)
    columns = {column.key: column.kind for column in features.columns if column.kind.role != "none"}
    if not columns:
        raise TableError(" ".join(["the table has no feature columns.", *notes]))
    return columns, (tuple(notes), tuple(_code_remarks(features.columns)))


def infer_features(batch: Batch, roles: ColumnRoles) -> tuple[FeatureSchema, list[str]]:
    """Infer the kinds of the feature columns, with notes for the user."""
    names = batch.frame.columns
    for name in roles.kinds:
        require_column(name, names)
    cleaned = clean_columns(batch.frame, [name for name in names if name not in roles.non_features])
    numeric = to_numeric(cleaned, batch.decimal_comma)
    text = [*dict.fromkeys([*non_numeric_columns(cleaned, numeric), *roles.categories])]
    _check_n_text_columns(text)
    check_magnitude(numeric.drop(text), batch.first_row)
    pointed = _pointed_columns(cleaned, batch.decimal_comma)
    columns = [
        _given_column(series, roles, batch.decimal_comma)
        or (_pointed_column(series) if series.name in pointed else None)
        or (_text_column if series.name in text else _number_column)(series, numeric[series.name], batch)
        for series in cleaned.iter_columns()
    ]
    plain = cleaned.select(
        [column.key for column in columns if column.is_typed and column.kind == NumberKind()]
    )
    return FeatureSchema(tuple(columns)), [*_column_notes(columns), *_comma_notes(plain)]


def _values(cleaned: pl.Series, decimal_comma: bool) -> ColumnValues:
    return ColumnValues.count(cleaned.name, cleaned.cast(pl.String), decimal_comma)


def _given_column(cleaned: pl.Series, roles: ColumnRoles, decimal_comma: bool) -> ColumnInfo | None:
    """The column if its kind was given."""
    kind = CategoryKind.name if cleaned.name in roles.categories else roles.kinds.get(cleaned.name)
    return None if kind is None else impose_kind(_values(cleaned, decimal_comma), cleaned.name, kind)


def _text_column(cleaned: pl.Series, numeric: pl.Series, batch: Batch) -> ColumnInfo:
    return recognize_column(_values(cleaned, batch.decimal_comma), cleaned.name)


def _number_column(cleaned: pl.Series, numeric: pl.Series, batch: Batch) -> ColumnInfo:
    """A column whose values are all numbers; digits may still be codes or dates."""
    if _may_be_code_or_date(cleaned, numeric):
        column = _text_column(cleaned, numeric, batch)
        if isinstance(column.kind, CodeKind | DateKind):
            return column
    present = cleaned.drop_nulls()
    column = ColumnInfo(
        cleaned.name,
        NumberKind(),
        is_typed=True,
        reason="all its values are numbers" if len(present) else "it is empty in all rows",
        example=str(present[0]) if len(present) else "",
        missing_share=cleaned.null_count() / max(len(cleaned), 1),
    )
    return column if numeric.null_count() else _check_numbered(column, numeric)


def _check_numbered(column: ColumnInfo, numeric: pl.Series) -> ColumnInfo:
    """The column as an identifier, or with a doubt, if its values are whole numbers that all differ."""
    numbered = describe_numbered_column(numeric.name, numeric.to_numpy())
    if numbered is None:
        return column
    reason = "it has a different whole number in each row"
    if numbered.is_index:
        return replace(column, kind=IdentifierKind(), reason=f"{reason}, and {numbered.reason}")
    return replace(column, reason=reason, doubt="if it is an identifier, leave it out with --drop or --id")


def _may_be_code_or_date(cleaned: pl.Series, numeric: pl.Series) -> bool:
    if is_time_name(cleaned.name) and (numeric >= MIN_TIME_COUNT).all():
        return True
    if cleaned.dtype != pl.String:
        return False
    return bool(cleaned.str.contains(_LEADING_ZERO).any() or cleaned.str.contains(_COMPACT_DATE).all())


def _pointed_columns(cleaned: pl.DataFrame, decimal_comma: bool) -> set[str]:
    """Columns of numbers such as 1.234 whose points are separators of thousands.

    They are if numbers below 1000 have none, or if the file has numbers with a decimal comma.
    """
    texts = cleaned.select(pl.col(pl.String))
    head = texts.head(N_HEAD_ROWS).select(pl.all().str.contains(_WHOLE_NUMBER).all())
    likely = [name for name in head.columns if head[name].all()]
    columns = {name: texts[name].unique().drop_nulls().to_list() for name in likely}
    columns = {name: values for name, values in columns.items() if may_have_pointed_thousands(values)}
    if not columns:
        return set()
    has_commas = decimal_comma and any(texts.select(pl.all().str.contains(_DECIMAL_COMMA).any()).row(0))
    return {name for name, values in columns.items() if has_commas or has_pointed_thousands(values)}


def _pointed_column(cleaned: pl.Series) -> ColumnInfo:
    values = ColumnValues.count(cleaned.name, cleaned)
    return replace(
        recognize_column(values, cleaned.name),
        kind=NumberKind(thousands=".", decimal=","),
        reason=f"all {len(values.counts):,} different values are whole numbers with points",
        doubt="'.' is read as a separator of thousands",
    )


def _column_notes(columns: Iterable[ColumnInfo]) -> list[str]:
    """What the user should know about how columns are used."""
    found = ((column, _column_note(column)) for column in columns)
    return [f"The column {column.key!r} {note}" for column, note in found if note]


def _code_remarks(columns: Iterable[ColumnInfo]) -> list[str]:
    return [
        f"The column {column.key!r} is used as categories: {column.reason}."
        for column in columns
        if isinstance(column.kind, CodeKind)
    ]


def _column_note(column: ColumnInfo) -> str:
    kind, reason = column.kind, column.reason.removeprefix("it ")
    if isinstance(kind, IdentifierKind) and not column.is_given:
        return f"{reason}: it is left out. Use --id to copy it to the predictions."
    if not column.doubt:
        return ""
    if kind == NumberKind():
        return f"{reason}: {column.doubt}."
    use = "is used as categories" if kind == CategoryKind() else f"is read as {kind.description}"
    return f"{use}: {column.doubt}. Use --types to change it."


def _comma_notes(numeric: pl.DataFrame) -> list[str]:
    return [
        f"The commas in the column {name!r} are read as decimal commas, not as thousands separators."
        for name in ambiguous_comma_columns(numeric)
    ]


def _check_n_text_columns(text: Sequence[str]) -> None:
    if len(text) > MAX_TEXT_COLUMNS:
        raise TableError(
            f"{len(text):,} columns contain text ({text[0]!r}, {text[1]!r}, ...), but at most "
            f"{MAX_TEXT_COLUMNS:,} are supported. Leave columns out with --drop, or convert them to numbers."
        )
