"""Inference of the schema of a training table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ...exceptions import TableError
from ...preprocessing import MIN_IDENTIFIER_ROWS, NumberedColumn, describe_numbered_column
from ...preprocessing.canonical_values import (
    ColumnKind,
    check_magnitude,
    clean_columns,
    first_non_numeric,
    non_numeric_columns,
    to_numeric,
)
from ._batch import Batch
from ._labels import infer_label_kind
from ._roles import ColumnRoles
from ._schema import Schema, TableSchema
from ._values import all_unique_columns, ambiguous_comma_columns, formatted_number_columns

MAX_TEXT_COLUMNS = 1000


@dataclass(frozen=True)
class SchemaInference:
    """A schema, and notes for the user on how columns were interpreted."""

    schema: Schema
    notes: tuple[str, ...] = ()


def infer_table_schema(batch: Batch, roles: ColumnRoles) -> SchemaInference:
    """Infer the kinds of the columns and labels of a training table."""
    names = batch.frame.columns
    roles.check(names)
    cleaned = clean_columns(batch.frame, [name for name in names if name not in roles.non_features])
    numeric = to_numeric(cleaned, batch.decimal_comma)
    text = list(dict.fromkeys([*non_numeric_columns(cleaned, numeric), *roles.categories]))
    check_magnitude(numeric.drop(text), batch.first_row)
    _check_n_text_columns(text)
    inferred_text = cleaned.select([name for name in text if name not in roles.categories])
    identifiers = all_unique_columns(inferred_text, MIN_IDENTIFIER_ROWS)
    numbered = _numbered_columns(numeric.drop(text))
    left_out = {*identifiers, *(column.name for column in numbered if column.is_index)}
    columns: dict[str, ColumnKind] = {
        name: "text" if name in text else "numeric" for name in cleaned.columns if name not in left_out
    }
    notes = (
        *_formatted_number_notes(inferred_text, numeric),
        *_identifier_notes(identifiers),
        *map(_numbered_note, numbered),
        *_comma_notes(cleaned.drop(text)),
    )
    if not columns:
        raise TableError(" ".join(["the table has no feature columns.", *notes]))
    label_kind = infer_label_kind(batch, roles.target)
    schema = TableSchema(columns, roles.target, label_kind, roles.weight, roles.ids, roles.group)
    return SchemaInference(schema, notes)


def _formatted_number_notes(text: pl.DataFrame, numeric: pl.DataFrame) -> list[str]:
    return [
        f"The column {name!r} looks numeric, but values such as "
        f"{first_non_numeric(text[name], numeric[name], 1)[1]!r} cannot be read as numbers: it is used as "
        "text."
        for name in formatted_number_columns(text)
    ]


def _identifier_notes(identifiers: Sequence[str]) -> list[str]:
    return [
        f"The column {name!r} has a different text in each row and is left out. Use --id to copy it to "
        "the predictions."
        for name in identifiers
    ]


def _numbered_columns(numeric: pl.DataFrame) -> list[NumberedColumn]:
    complete = (column for column in numeric.iter_columns() if not column.null_count())
    found = (describe_numbered_column(column.name, column.to_numpy()) for column in complete)
    return [column for column in found if column is not None]


def _numbered_note(column: NumberedColumn) -> str:
    fact = f"The column {column.name!r} has a different whole number in each row"
    if column.is_index:
        return f"{fact}, and {column.reason}: it is left out. Use --id to copy it to the predictions."
    return f"{fact}. If it is an identifier, leave it out with --drop or --id."


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
