"""A graph under construction: nodes and tables.

All numeric values are doubles, and a value per row is a column of shape [n, 1]. The result of a MatMul is
never multiplied by a scalar: ONNX Runtime would fuse both into one operator that keeps the scalar in
single precision.

A numeric column holds doubles, with NaN for a missing value. A text column holds strings, with the empty
string for a missing value and `EMPTY_TEXT` for an empty text. An encoded column holds positions in a list
of categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from onnx import ModelProto, NodeProto, TensorProto, checker, compose, helper, numpy_helper

from .._compat import ArrayLike, NDArray
from ..exceptions import ExportError
from ..tables.kinds import is_dataframe, is_missing
from .onnx import ARRAY_INPUT, MISSING_TEXT, category_key, find_vectors, input_columns, is_text_input

#: Operator set versions: the first with tree ensembles in double precision and splits on sets of categories.
OPSETS = {"": 21, "ai.onnx.ml": 5}
#: The file format version that belongs to these operator sets.
IR_VERSION = 10
#: The domain of TreeEnsemble and LabelEncoder.
ML_DOMAIN = "ai.onnx.ml"


class GraphBuilder:
    """Collect inputs, constants and nodes; each method that adds one returns the name of its value."""

    def __init__(self) -> None:
        self._inputs: dict[str, Any] = {}
        self._constants: dict[str, TensorProto] = {}
        self._nodes: list[NodeProto] = []
        self._n_names = 0
        #: Whether nodes of another converter were added since this was last reset.
        self.has_external_nodes = False

    def add_input(self, name: str, dtype: int, width: int | None) -> str:
        """Add an input of shape [n, width]."""
        self._inputs[name] = helper.make_tensor_value_info(name, dtype, ["n", width])
        return name

    def add_constant(self, values: ArrayLike) -> str:
        """Add an array of numbers or strings."""
        name = self._new_name()
        self._constants[name] = make_tensor(np.asarray(values), name)
        return name

    def op(self, op_type: str, *values: str | ArrayLike, **attributes: Any) -> str:
        """Add an operator; each argument is the name of a value or a constant (plain numbers as doubles)."""
        output = self._new_name()
        inputs = [
            value if isinstance(value, str) else self.add_constant(_constant_array(value)) for value in values
        ]
        self._nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def cast(self, value: str, dtype: int = TensorProto.DOUBLE) -> str:
        """Convert a value to another data type."""
        return self.op("Cast", value, to=dtype)

    def take_columns(self, value: str, positions: Iterable[int]) -> str:
        """Select columns of a matrix."""
        return self.op("Gather", value, np.asarray(list(positions), dtype=np.int64), axis=1)

    def inline_model(self, model: ModelProto, value: str) -> list[str]:
        """Add the nodes of a model with one input, and return the names of its outputs."""
        self.has_external_nodes = True
        inner = compose.add_prefix(model, f"{self._new_name()}/").graph
        self._nodes.append(helper.make_node("Identity", [value], [inner.input[0].name]))
        self._constants.update((constant.name, constant) for constant in inner.initializer)
        self._nodes.extend(inner.node)
        return [output.name for output in inner.output]

    def build(
        self, outputs: Mapping[str, tuple[str, int, list[Any]]], metadata: Mapping[str, str]
    ) -> ModelProto:
        """Build and check the model; each output is a value, its data type and its shape."""
        renames = [helper.make_node("Identity", [value], [name]) for name, (value, _, _) in outputs.items()]
        infos = [
            helper.make_tensor_value_info(name, dtype, shape) for name, (_, dtype, shape) in outputs.items()
        ]
        nodes, used = _required_nodes([*self._nodes, *renames], set(outputs))
        constants = [constant for name, constant in self._constants.items() if name in used]
        graph = helper.make_graph(nodes, "capo", list(self._inputs.values()), infos, constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION, producer_name="capo")
        helper.set_model_props(model, dict(metadata))
        checker.check_model(model)
        return model

    def _new_name(self) -> str:
        self._n_names += 1
        name = f"capo:{self._n_names}"
        return self._new_name() if name in self._inputs else name


def make_tensor(values: NDArray[Any], name: str | None = None) -> TensorProto:
    """Convert an array to a tensor; text and objects become strings."""
    if values.dtype.kind in "OUT":
        values = np.asarray([str(value) for value in values.ravel()], dtype=object).reshape(values.shape)
    return numpy_helper.from_array(values, name)


def _constant_array(values: ArrayLike) -> NDArray[Any]:
    """Floating-point arrays, and all numbers that are not arrays, as doubles."""
    array = np.asarray(values)
    as_double = array.dtype.kind == "f" or not isinstance(values, np.ndarray)
    return array.astype(np.float64) if as_double else array


def _required_nodes(nodes: list[NodeProto], used: set[str]) -> tuple[list[NodeProto], set[str]]:
    """The nodes that the given values depend on, and the names of all values that they use."""
    required = []
    for node in reversed(nodes):
        if used.intersection(node.output):
            required.append(node)
            used = used.union(_node_inputs(node))
    return required[::-1], used


def _node_inputs(node: NodeProto) -> Iterable[str]:
    """The values that a node and its subgraphs use."""
    subgraphs = (attribute.g.node for attribute in node.attribute if attribute.HasField("g"))
    return chain(node.input, *(_node_inputs(inner) for inner in chain.from_iterable(subgraphs)))


class GraphNumber(NDArrayOperatorsMixin):
    """A numeric value of a graph; NumPy's functions of it add their operators to the graph."""

    operators: ClassVar[dict[Any, str]] = {
        np.add: "Add",
        np.subtract: "Sub",
        np.multiply: "Mul",
        np.divide: "Div",
        np.floor: "Floor",
    }

    def __init__(self, graph: GraphBuilder, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, function: Any, method: str, *values: Any) -> GraphNumber:
        names = (each.name if isinstance(each, GraphNumber) else each for each in values)
        return GraphNumber(self.graph, self.graph.op(self.operators[function], *names))

    def clip(self, low: float, high: float, out: None = None) -> GraphNumber:
        """Clip numbers, but keep NaN, for which the runtime's operator Clip has no rule."""
        op, name = self.graph.op, self.name
        above = op("Where", op("Less", name, low), low, name)
        return GraphNumber(self.graph, op("Where", op("Greater", above, high), high, above))


#: Stands for any text that was not in the training data.
UNKNOWN_CATEGORY = "\0unknown category"


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


@dataclass(frozen=True)
class VectorColumn:
    """A column of vectors: a matrix of doubles with a row of NaN for a missing vector."""

    value: str
    width: int = 1


ColumnBlock = NumericColumns | TextColumn | EncodedColumn | VectorColumn


@dataclass(frozen=True)
class GraphTable:
    """Blocks of columns side by side."""

    graph: GraphBuilder
    blocks: tuple[ColumnBlock, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(block.width for block in self.blocks)

    def numeric(self, value: str, width: int | None = None) -> GraphTable:
        """A table of one matrix in place of these columns; by default it has as many columns."""
        return GraphTable(self.graph, (NumericColumns(value, self.width if width is None else width),))

    def constant(self, values: ArrayLike) -> str:
        """A matrix with the same values in each row."""
        n_rows = self.graph.op("Shape", self.blocks[0].value, start=0, end=1)
        shape = self.graph.op("Concat", n_rows, np.array([1]), axis=0)
        return self.graph.op("Expand", np.atleast_2d(np.asarray(values, dtype=np.float64)), shape)

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
        if isinstance(block, TextColumn | VectorColumn):
            raise ExportError("it uses a column of texts or vectors without encoding it")
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
    if isinstance(block, EncodedColumn | VectorColumn):
        raise ExportError("it uses a column that is already encoded, or a column of vectors")
    known = [category for category in categories if not is_missing(category)]
    return EncodedColumn(_encode(table.graph, block, known, len(known)), (*known, np.nan))


def encode_categories(table: GraphTable, block: ColumnBlock, categories: Sequence[Any]) -> EncodedColumn:
    """Encode a column; a missing value has the last code but one, and an unknown category the last."""
    if isinstance(block, EncodedColumn):
        return block
    if isinstance(block, VectorColumn):
        raise ExportError("it encodes a column of vectors as categories")
    known = [category for category in categories if not is_missing(category)]
    value = _encode(table.graph, block, known, len(known) + 1)
    if isinstance(block, TextColumn):
        return EncodedColumn(value, (*known, block.missing, UNKNOWN_CATEGORY))
    other_number = max((abs(float(number)) for number in known), default=0.0) * 2.0 + 1.0
    return EncodedColumn(value, (*known, np.nan, other_number))


def _encode(
    graph: GraphBuilder, block: TextColumn | NumericColumns, known: list[Any], unknown_code: int
) -> str:
    """The positions of values in `known`; missing values get the position after the last one."""
    is_text = isinstance(block, TextColumn)
    keys = [category_key(category) if is_text else float(category) for category in known]
    if len(set(keys)) < len(keys):
        column = f"of the column {block.name!r} " if isinstance(block, TextColumn) else ""
        raise ExportError(f"two of its categories {column}are the same when written as text or numbers")
    codes = {key: code for code, key in enumerate((*keys, MISSING_TEXT if is_text else np.nan))}
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
    is_pandas = nw.from_native(X, eager_only=True).implementation.is_pandas_like()
    blocks: list[ColumnBlock] = []
    for name, column in input_columns(X).items():
        if (vectors := find_vectors(column)) is not None:
            blocks.append(VectorColumn(graph.add_input(name, TensorProto.DOUBLE, vectors.shape[1])))
        elif is_text_input(column):
            default = np.nan if is_pandas else None
            missing = next((value for value in column.to_list() if is_missing(value)), default)
            blocks.append(TextColumn(name, graph.add_input(name, TensorProto.STRING, 1), missing))
        else:
            blocks.append(NumericColumns(graph.add_input(name, TensorProto.DOUBLE, 1), 1))
    return GraphTable(graph, tuple(blocks))
