"""Tables in the graph: blocks of columns side by side, and the inputs that they start from.

A column of numbers is a double, missing values are NaN. A column of words is a string, the empty
word is a missing value. A column of codes is an index into the values that it can have.
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
from ._graph import ML, Graph, tensor
from ._inputs import ARRAY, input_kinds


class UnknownCategory:
    """Stands for any value that was not there in training."""

    def __str__(self) -> str:
        return "\0a value that was not there in training"


@dataclass(frozen=True)
class Numbers:
    """A matrix of doubles."""

    value: str
    width: int


@dataclass(frozen=True)
class Words:
    """A column of strings, and what the table has for a missing one: None, NaN or NA."""

    value: str
    missing: Any
    width: int = 1


@dataclass(frozen=True)
class Codes:
    """A column of integers, each the position of what it means."""

    value: str
    meanings: tuple[Any, ...]
    width: int = 1


Block = Numbers | Words | Codes


@dataclass(frozen=True)
class Table:
    """Blocks of columns side by side."""

    graph: Graph
    blocks: tuple[Block, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(each.width for each in self.blocks)

    def beside(self, *others: Table) -> Table:
        """The table and others, side by side."""
        return Table(self.graph, sum((each.blocks for each in others), self.blocks))

    def take(self, positions: Iterable[int]) -> Table:
        """Some columns."""
        homes = [(block, inner) for block in self.blocks for inner in range(block.width)]
        runs = groupby((homes[each] for each in positions), key=lambda home: id(home[0]))
        return Table(self.graph, tuple(self._part([*run]) for _, run in runs))

    def _part(self, run: list[tuple[Block, int]]) -> Block:
        block, inner = run[0][0], [each for _, each in run]
        if inner == list(range(block.width)):
            return block
        return Numbers(self.graph.columns(block.value, inner), len(inner))

    def columns(self) -> Iterator[Block]:
        """The columns, one by one."""
        return (self.take([each]).blocks[0] for each in range(self.width))

    def matrix(self) -> str:
        """All columns as one matrix of numbers."""
        parts = [self._as_numbers(each) for each in self.blocks if each.width]
        return parts[0] if len(parts) == 1 else self.graph.op("Concat", *parts, axis=1)

    def _as_numbers(self, block: Block) -> str:
        if isinstance(block, Words):
            raise ExportError("it takes a column of words as it is")
        if isinstance(block, Numbers):
            return block.value
        return look_up(self.graph, block, [[float(each)] for each in block.meanings])


def look_up(graph: Graph, codes: Codes, rows: Any) -> str:
    """The row of a matrix of constants that belongs to each code."""
    flat = graph.op("Reshape", codes.value, np.array([-1], dtype=np.int64))
    return graph.op("Gather", np.asarray(rows, dtype=np.float64), flat, axis=0)


def known(table: Table, block: Block, values: Sequence[Any]) -> Codes:
    """A column as codes of values; missing values and those that are not among them have the last code."""
    if isinstance(block, Codes):
        raise ExportError("it takes a column that has been encoded before")
    present = [each for each in values if not is_missing(each)]
    return Codes(_codes(table.graph, block, present, len(present), len(present)), (*present, np.nan))


def coded(table: Table, block: Block, values: Sequence[Any]) -> Codes:
    """A column as codes of values, of the missing value, and of any other value."""
    if isinstance(block, Codes):
        return block
    present = [each for each in values if not is_missing(each)]
    missing = block.missing if isinstance(block, Words) else np.nan
    value = _codes(table.graph, block, present, len(present), len(present) + 1)
    other = UnknownCategory() if isinstance(block, Words) else _other_number(present)
    return Codes(value, (*present, missing, other))


def _other_number(present: Sequence[Any]) -> float:
    return max((abs(float(each)) for each in present), default=0.0) * 2.0 + 1.0


def _codes(graph: Graph, block: Words | Numbers, present: list[Any], missing: int, other: int) -> str:
    words = isinstance(block, Words)
    keys = [str(each) if words else float(each) for each in present]
    if len(set(keys)) < len(keys):
        raise ExportError("it knows two values that are the same word")
    codes = dict(zip(keys, range(len(keys)), strict=True))
    codes.setdefault("" if words else np.nan, missing)
    return graph.op(
        "LabelEncoder",
        block.value,
        domain=ML,
        keys_tensor=tensor(np.array(list(codes), dtype=object if words else np.float64)),
        values_tensor=tensor(np.array(list(codes.values()), dtype=np.int64)),
        default_tensor=tensor(np.array([other], dtype=np.int64)),
    )


def input_table(graph: Graph, X: Any) -> Table:
    """The inputs for tables like X: one for each column of a data frame, one for an array."""
    if not is_dataframe(X):
        return Table(graph, (Numbers(graph.input(ARRAY, TensorProto.DOUBLE, X.shape[1]), X.shape[1]),))
    frame = nw.from_native(X, eager_only=True)
    usual = np.nan if frame.implementation.is_pandas_like() else None
    pairs = zip(input_kinds(X), frame.iter_columns(), strict=True)
    return Table(graph, tuple(_input(graph, *kind, column, usual) for kind, column in pairs))


def _input(graph: Graph, name: str, words: bool, column: Any, usual: Any) -> Block:
    if not words:
        return Numbers(graph.input(name, TensorProto.DOUBLE, 1), 1)
    missing = next((each for each in column.to_list() if is_missing(each)), usual)
    return Words(graph.input(name, TensorProto.STRING, 1), missing)
