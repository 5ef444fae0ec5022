"""Conversion of the transformers of columns that are not plain numbers or categories."""

from __future__ import annotations

from functools import partial
from itertools import compress
from typing import Any

from ...exceptions import ExportError
from ...preprocessing import ColumnParser, DateParts, TagIndicators, WordFeatures
from ._graph import GraphBuilder
from ._graph_table import GraphTable, NumericColumns, TextColumn


def convert_column_parser(parser: ColumnParser, table: GraphTable) -> GraphTable:
    """Dates with a data type are inputs of seconds; a graph cannot parse texts."""
    for block, kind in zip(table.iter_columns(), parser.kinds, strict=True):
        if isinstance(block, TextColumn):
            raise ExportError(
                f"it parses the texts of the column {block.name!r} ({kind.description}), which a graph "
                "cannot: convert the column to numbers or dates before training, or train with 'capo fit'"
            )
    return table


def refuse_texts(transformer: TagIndicators | WordFeatures, table: GraphTable) -> GraphTable:
    """Raise for columns whose texts are split, since the runtime's rules for that are others."""
    names = ", ".join(repr(block.name) for block in table.blocks if isinstance(block, TextColumn))
    what = "lists of tags" if isinstance(transformer, TagIndicators) else "free text"
    raise ExportError(f"it splits {what} of the columns {names}, which has no ONNX equivalent")


def convert_date_parts(transformer: DateParts, table: GraphTable) -> GraphTable:
    """The calendar in the arithmetic of `DateParts`."""
    graph = table.graph
    parts: list[str] = []
    limits = (transformer.origin_.tolist(), transformer.last_.tolist())
    columns = zip(table.iter_columns(), *limits, transformer.is_kept_, strict=True)
    for block, origin, last, is_kept in columns:
        parts += compress(_date_parts(graph, block, origin, last), is_kept.tolist())
    return GraphTable(graph, (NumericColumns(graph.op("Concat", *parts, axis=1), len(parts)),))


def _date_parts(graph: GraphBuilder, block: Any, origin: float, last: float) -> list[str]:
    add, subtract, multiply = (partial(graph.op, name) for name in ("Add", "Sub", "Mul"))

    def floor_divide(value: str, divisor: float) -> str:
        return graph.op("Floor", graph.op("Div", value, divisor))

    seconds = block.value
    days = floor_divide(seconds, 86400.0)
    shifted = add(days, 719468.0)
    era = floor_divide(shifted, 146097.0)
    day_of_era = subtract(shifted, multiply(era, 146097.0))
    skipped = add(
        subtract(floor_divide(day_of_era, 1460.0), floor_divide(day_of_era, 36524.0)),
        floor_divide(day_of_era, 146096.0),
    )
    year_of_era = floor_divide(subtract(day_of_era, skipped), 365.0)
    before = subtract(
        add(multiply(year_of_era, 365.0), floor_divide(year_of_era, 4.0)), floor_divide(year_of_era, 100.0)
    )
    day_of_year = subtract(day_of_era, before)
    shifted_month = floor_divide(add(multiply(day_of_year, 5.0), 2.0), 153.0)
    before_month = floor_divide(add(multiply(shifted_month, 153.0), 2.0), 5.0)
    day = add(subtract(day_of_year, before_month), 1.0)
    is_late = floor_divide(shifted_month, 10.0)
    month = subtract(add(shifted_month, 3.0), multiply(is_late, 12.0))
    year = add(add(year_of_era, multiply(era, 400.0)), is_late)
    from_monday = add(days, 3.0)
    weekday = subtract(from_monday, multiply(floor_divide(from_monday, 7.0), 7.0))
    hour = graph.op("Div", subtract(seconds, multiply(days, 86400.0)), 3600.0)
    return [subtract(_clip(graph, days, origin, last), origin), year, month, day, weekday, hour]


def _clip(graph: GraphBuilder, value: str, low: float, high: float) -> str:
    """Clip values; NaN, for which the runtime's operator Clip has no rule, stays."""
    value = graph.op("Where", graph.op("Less", value, low), low, value)
    return graph.op("Where", graph.op("Greater", value, high), high, value)
