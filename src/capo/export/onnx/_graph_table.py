"""Tables inside the graph: blocks of columns side by side, and the inputs that they start from.

A numeric column holds doubles, with NaN for a missing value. A text column holds strings, with the empty
string for a missing value and `EMPTY_TEXT` for an empty text. An encoded column holds positions in a list
of categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from onnx import TensorProto

from ...exceptions import ExportError
from ...preprocessing import is_dataframe, is_missing
from ._graph import ML_DOMAIN, GraphBuilder, make_tensor
from ._inputs import ARRAY_INPUT, MISSING_TEXT, category_key, list_inputs
from ._signature import InputColumn


class UnknownCategory:
    """Stands for any text that was not in the training data."""

    def __str__(self) -> str:
        return "\0unknown category"


@dataclass(frozen=True)
class NumericColumns:
    """A matrix of doubles."""

    value: str
    width: int


@dataclass(frozen=True)
class TextColumn:
    """A column of strings; `missing` is the data frame's own missing value: None, NaN or NA."""

    name: str
    value: str
    missing: Any
    width: int = 1


@dataclass(frozen=True)
class EncodedColumn:
    """A column of integer codes, which are positions in `categories`."""

    value: str
    categories: tuple[Any, ...]
    width: int = 1


ColumnBlock = NumericColumns | TextColumn | EncodedColumn


@dataclass(frozen=True)
class GraphTable:
    """Blocks of columns side by side."""

    graph: GraphBuilder
    blocks: tuple[ColumnBlock, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(block.width for block in self.blocks)

    def hstack(self, *others: GraphTable) -> GraphTable:
        """Put the columns of other tables to the right of these."""
        return GraphTable(self.graph, sum((other.blocks for other in others), self.blocks))

    def take(self, positions: Iterable[int]) -> GraphTable:
        """Select columns."""
        columns = [(block, inner) for block in self.blocks for inner in range(block.width)]
        runs = groupby((columns[position] for position in positions), key=lambda column: id(column[0]))
        return GraphTable(self.graph, tuple(self._take_from_block([*run]) for _, run in runs))

    def _take_from_block(self, run: list[tuple[ColumnBlock, int]]) -> ColumnBlock:
        block, positions = run[0][0], [position for _, position in run]
        if positions == list(range(block.width)):
            return block
        return NumericColumns(self.graph.take_columns(block.value, positions), len(positions))

    def iter_columns(self) -> Iterator[ColumnBlock]:
        """Yield each column as a block of its own."""
        return (self.take([position]).blocks[0] for position in range(self.width))

    def to_matrix(self) -> str:
        """All columns as one matrix of doubles."""
        parts = [self._block_matrix(block) for block in self.blocks if block.width]
        return parts[0] if len(parts) == 1 else self.graph.op("Concat", *parts, axis=1)

    def _block_matrix(self, block: ColumnBlock) -> str:
        if isinstance(block, TextColumn):
            raise ExportError("it uses a text column without encoding it")
        if isinstance(block, NumericColumns):
            return block.value
        return gather_by_code(self.graph, block, [[float(category)] for category in block.categories])


def gather_by_code(graph: GraphBuilder, column: EncodedColumn, rows: Any) -> str:
    """Replace each code by the row of a constant matrix at that position."""
    codes = graph.op("Reshape", column.value, np.array([-1], dtype=np.int64))
    return graph.op("Gather", np.asarray(rows, dtype=np.float64), codes, axis=0)


def encode_known_categories(
    table: GraphTable, block: ColumnBlock, categories: Sequence[Any]
) -> EncodedColumn:
    """Encode a column; missing values and unknown categories share the last code."""
    if isinstance(block, EncodedColumn):
        raise ExportError("it uses a column that is already encoded")
    known = [category for category in categories if not is_missing(category)]
    value = _label_encoder(table.graph, block, known, len(known), len(known))
    return EncodedColumn(value, (*known, np.nan))


def encode_categories(table: GraphTable, block: ColumnBlock, categories: Sequence[Any]) -> EncodedColumn:
    """Encode a column; a missing value has the last code but one, and an unknown category the last."""
    if isinstance(block, EncodedColumn):
        return block
    known = [category for category in categories if not is_missing(category)]
    missing = block.missing if isinstance(block, TextColumn) else np.nan
    value = _label_encoder(table.graph, block, known, len(known), len(known) + 1)
    unknown = UnknownCategory() if isinstance(block, TextColumn) else _unknown_number(known)
    return EncodedColumn(value, (*known, missing, unknown))


def _unknown_number(known: Sequence[Any]) -> float:
    """A number that is none of the known ones."""
    return max((abs(float(number)) for number in known), default=0.0) * 2.0 + 1.0


def _label_encoder(
    graph: GraphBuilder,
    block: TextColumn | NumericColumns,
    known: list[Any],
    missing_code: int,
    unknown_code: int,
) -> str:
    is_text = isinstance(block, TextColumn)
    keys = [category_key(category) if is_text else float(category) for category in known]
    if len(set(keys)) < len(keys):
        column = f"of the column {block.name!r} " if isinstance(block, TextColumn) else ""
        raise ExportError(f"two of its categories {column}are the same when written as text or numbers")
    codes = dict(zip(keys, range(len(keys)), strict=True))
    codes[MISSING_TEXT if is_text else np.nan] = missing_code
    return graph.op(
        "LabelEncoder",
        block.value,
        domain=ML_DOMAIN,
        keys_tensor=make_tensor(np.array(list(codes), dtype=object if is_text else np.float64)),
        values_tensor=make_tensor(np.array(list(codes.values()), dtype=np.int64)),
        default_tensor=make_tensor(np.array([unknown_code], dtype=np.int64)),
    )


def make_input_table(graph: GraphBuilder, X: Any) -> GraphTable:
    """Add the inputs for data like X: one for each column of a data frame, or one for an array."""
    if not is_dataframe(X):
        value = graph.add_input(ARRAY_INPUT, TensorProto.DOUBLE, X.shape[1])
        return GraphTable(graph, (NumericColumns(value, X.shape[1]),))
    frame = nw.from_native(X, eager_only=True)
    default_missing = np.nan if frame.implementation.is_pandas_like() else None
    pairs = zip(list_inputs(X), frame.iter_columns(), strict=True)
    return GraphTable(graph, tuple(_add_input(graph, *pair, default_missing) for pair in pairs))


def _add_input(graph: GraphBuilder, spec: InputColumn, column: Any, default_missing: Any) -> ColumnBlock:
    if not spec.is_text:
        return NumericColumns(graph.add_input(spec.name, TensorProto.DOUBLE, 1), 1)
    missing = next((value for value in column.to_list() if is_missing(value)), default_missing)
    return TextColumn(spec.name, graph.add_input(spec.name, TensorProto.STRING, 1), missing)
