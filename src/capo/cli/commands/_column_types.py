"""Files of column kinds: written by ``capo inspect``, edited by the user, read by ``capo fit``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from ...exceptions import InvalidInputError
from ...preprocessing import KINDS, ColumnInfo, DemandedKind, FeatureSchema

#: The table of the file that holds the kinds.
COLUMNS = "columns"


def format_column_types(features: FeatureSchema, table_name: str) -> str:
    """The kinds of a table's columns in TOML, with the reason of each as a comment."""
    kinds = ", ".join(KINDS)
    head = (
        f"# What the columns of {_one_line(table_name)} are taken for, written by 'capo inspect'.\n"
        "# Change a kind or delete a line, and train with: capo fit TABLE --types THIS_FILE ...\n"
        f"# Kinds: {kinds}. An identifier is not used as a feature.\n"
        "# How values are written can be given, too, as in\n"
        '#     "day" = {kind = "date", layout = "day-month-year"}\n'
        '#     "price" = {kind = "number", thousands = ".", decimal = ","}\n'
        f"\n[{COLUMNS}]\n"
    )
    return head + "".join(_format_column(column) for column in features.columns)


def _format_column(column: ColumnInfo) -> str:
    doubt = f"; please check: {column.doubt}" if column.doubt else ""
    comment = _one_line(f"{column.reason}{doubt}; for example {column.example!r}")
    return f"{json.dumps(str(column.key))} = {json.dumps(column.kind.name)}  # {comment}\n"


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def read_column_types(path: Path) -> dict[str, DemandedKind]:
    """The kinds that a file gives to columns."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is not a file of column types: {error}.") from error
    columns = document.get(COLUMNS)
    if not isinstance(columns, dict) or set(document) != {COLUMNS}:
        raise InvalidInputError(f"{path} is not a file of column types: it must have one table, [{COLUMNS}].")
    for name, demanded in columns.items():
        kind = demanded.get("kind") if isinstance(demanded, dict) else demanded
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidInputError(
                f"{path} gives the column {name!r} the unknown kind {kind!r}: choose one of "
                f"{', '.join(KINDS)}."
            )
    return columns
