"""A graph under construction: nodes, inputs, tables.

All numeric values are doubles, and a value per row is a column of shape [n, 1]. The result of a MatMul is
never multiplied by a scalar: ONNX Runtime would fuse both into one operator that keeps the scalar in
single precision.

A model of ``capo fit`` was trained on canonical values, and its graph takes canonical values
(`capo.tables.canonical_values`). Any other model was trained on the values of a data frame as they
are, and its graph takes them as they are: a value that is not text is written as by `str`.

A numeric column holds doubles, with NaN for a missing value. A text column holds strings, with the empty
string for a missing value and `EMPTY_TEXT` for an empty text. An encoded column holds positions in a list
of categories.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain, compress, groupby
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, compose, helper, numpy_helper
from scipy.sparse import issparse

from ...exceptions import ExportError, InvalidInputError, MissingExtraError
from ...tables.dates import DateKind
from ...tables.features import DateParts, TagIndicators, WordFeatures
from ...tables.kinds import CategoryKind, ColumnKind, is_dataframe, is_missing, is_number
from ...tables.numbers import NumberKind
from ...tables.schema import ColumnParser, check_not_misread, kind_from_dict, parse_column

if TYPE_CHECKING:
    import polars as pl


#: What the user can do about a part that has no converter.
REGISTER_CONVERTER = "or register a converter with skl2onnx.update_registered_converter"


@contextmanager
def explain_export_errors(part: str, remedy: str) -> Iterator[None]:
    """Complete the reason in an ExportError to a sentence about a part of the model, with a remedy."""
    try:
        yield
    except ExportError as error:
        raise ExportError(f"{part} cannot be exported to ONNX: {error}. {remedy}.") from (
            error.__cause__ or error
        )


#: The key of the graph's metadata for the spelling of its texts, and its two values.
TEXT_VALUES = "text_values"
CANONICAL, UNCHANGED = "canonical", "unchanged"
#: The key of the graph's metadata for the kinds of columns that are parsed before the graph, in JSON.
COLUMN_KINDS = "column_kinds"


class InputColumn(NamedTuple):
    """The graph's input for one column of a data frame."""

    name: str
    is_text: bool


class GraphSignature(NamedTuple):
    """The inputs of a graph, whether it takes canonical values, and the kinds of columns that it names."""

    inputs: list[InputColumn]
    is_canonical: bool
    kinds: dict[str, ColumnKind]


@runtime_checkable
class _Session(Protocol):
    """What is used of an ``onnxruntime.InferenceSession``."""

    def get_inputs(self) -> Any: ...

    def get_modelmeta(self) -> Any: ...


def read_signature(graph: Any) -> GraphSignature:
    """Read the signature of a graph: a session, a model, or the bytes or the path of its file."""
    if isinstance(graph, _Session):
        inputs = [InputColumn(each.name, each.type == "tensor(string)") for each in graph.get_inputs()]
        return _signature(inputs, graph.get_modelmeta().custom_metadata_map)
    try:
        import onnx  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("reading a graph needs onnx: pip install 'capo-learn[onnx]'.") from error
    model = _load(onnx, graph)
    string = onnx.TensorProto.STRING
    inputs = [InputColumn(each.name, each.type.tensor_type.elem_type == string) for each in model.graph.input]
    return _signature(inputs, {entry.key: entry.value for entry in model.metadata_props})


def _load(onnx: Any, graph: Any) -> Any:
    if isinstance(graph, bytes):
        return onnx.load_from_string(graph)
    if isinstance(graph, str | PathLike):
        return onnx.load(graph)
    if isinstance(graph, onnx.ModelProto):
        return graph
    raise InvalidInputError(
        "the graph must be an onnx.ModelProto, the bytes or the path of an .onnx file, or an "
        f"onnxruntime.InferenceSession: got {type(graph).__name__}."
    )


def _signature(inputs: list[InputColumn], metadata: Mapping[str, str]) -> GraphSignature:
    if TEXT_VALUES not in metadata:
        raise InvalidInputError(
            "the graph was not exported by this version of capo: its metadata lack the entry "
            f"{TEXT_VALUES!r}. Export it again."
        )
    stored = json.loads(metadata.get(COLUMN_KINDS, "{}"))
    kinds = {name: kind_from_dict(kind) for name, kind in stored.items()}
    return GraphSignature(inputs, metadata[TEXT_VALUES] == CANONICAL, kinds)


def label_array(classes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The classes as int64, double or string, and that data type."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    return classes.astype(object), TensorProto.STRING


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

    def n_rows(self, value: str) -> str:
        """Add the number of rows of a value, as a vector of length 1."""
        return self.op("Shape", value, start=0, end=1)

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


#: Names of the graph's outputs, which no input may have.
OUTPUT_NAMES = ("label", "probability", "score")
#: The name of the input for an array.
ARRAY_INPUT = "X"
#: The text that means a missing value.
MISSING_TEXT = ""
#: The text for an empty text that is not a missing value: the ASCII character "substitute".
EMPTY_TEXT = "\x1a"


class TableColumn(NamedTuple):
    """A column of a data frame, under its own name."""

    name: str
    column: Any

    def values(self) -> list[Any]:
        """The values, with None for a missing one."""
        return [None if is_missing(value) else value for value in self.column.to_list()]


def onnx_inputs(X: Any, graph: Any = None) -> dict[str, NDArray[Any]]:
    """Convert a table to the inputs of an exported graph, as ONNX Runtime takes them.

    Parameters
    ----------
    X : data frame, array or sparse matrix
        The table. For a graph of ``capo export`` it has the columns of the training table, in any order, as
        text or as pandas or polars read them from a CSV file by default. For a graph of `to_onnx` it has the
        columns and data types of the training table.
    graph : onnx.ModelProto, bytes, path-like or onnxruntime.InferenceSession, optional
        The graph. Without it, a data frame with text that depends on the graph is an error.

    Returns
    -------
    dict of str to ndarray
        For a data frame, one array of shape (n_samples, 1) for each column: doubles with NaN for a missing
        value, or strings with "" for a missing value. For an array, "X" only.

    Raises
    ------
    InvalidInputError
        If a column is missing, or its values cannot be converted without a doubt. The message names it.

    Examples
    --------
    >>> import polars as pl
    >>> from capo.export.onnx import onnx_inputs
    >>> inputs = onnx_inputs(pl.DataFrame({"age": [31, None], "town": ["Ulm", None]}))
    >>> inputs["age"].tolist(), inputs["town"].tolist()
    ([[31.0], [nan]], [['Ulm'], ['']])
    """
    signature = None if graph is None else read_signature(graph)
    if not is_dataframe(X):
        _check_takes_array(signature)
        return _array_inputs(X)
    if signature is None:
        return _unambiguous_inputs(X)
    columns = _columns_for(X, signature)
    if signature.is_canonical:
        return _canonical_inputs(columns, signature.inputs, signature.kinds)
    return _raw_inputs(columns, signature.inputs)


def raw_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """Convert a table with the data types of the training table; text is taken as it is."""
    return _raw_inputs(_table_columns(X), list_inputs(X)) if is_dataframe(X) else _array_inputs(X)


def list_inputs(X: Any) -> list[InputColumn]:
    """List the graph's input for each column of a data frame."""
    columns = _table_columns(X)
    return [InputColumn(name, not _is_number_input(column)) for name, (_, column) in columns.items()]


def _is_number_input(column: Any) -> bool:
    """Whether a column is an input of doubles: numbers, Booleans, dates and categories that are numbers."""
    dtype = column.dtype
    is_number = dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration, nw.Datetime, nw.Date)
    return is_number or _has_numeric_categories(column)


def _table_columns(X: Any) -> dict[str, TableColumn]:
    """The columns of a data frame by the names of their inputs."""
    columns: dict[str, TableColumn] = {}
    for position, column in enumerate(nw.from_native(X, eager_only=True).iter_columns()):
        input_name = _input_name(str(column.name), position)
        if input_name in columns:
            raise ExportError(
                f"the columns {columns[input_name].name!r} and {str(column.name)!r} would both be the "
                f"graph's input {input_name!r}: rename one of them."
            )
        columns[input_name] = TableColumn(str(column.name), column)
    return columns


def _input_name(name: str, position: int) -> str:
    return f"{name}_" if name in OUTPUT_NAMES else name or f"column{position}"


def _has_numeric_categories(column: Any) -> bool:
    if column.dtype not in (nw.Categorical, nw.Enum):
        return False
    categories = column.cat.get_categories().to_list()
    return bool(categories) and all(
        isinstance(category, int | float) and not isinstance(category, bool) for category in categories
    )


def _columns_for(X: Any, signature: GraphSignature) -> dict[str, TableColumn]:
    """The columns that a graph takes, by the names of its inputs."""
    columns = _table_columns(X)
    missing = [spec.name for spec in signature.inputs if spec.name not in columns]
    if missing:
        raise InvalidInputError(
            f"the table lacks columns that the graph takes: {', '.join(map(repr, missing[:10]))}. It has "
            f"{', '.join(repr(column.name) for column in list(columns.values())[:10])}."
        )
    return {spec.name: columns[spec.name] for spec in signature.inputs}


def _check_takes_array(signature: GraphSignature | None) -> None:
    if signature is not None and [spec.name for spec in signature.inputs] != [ARRAY_INPUT]:
        shown = ", ".join(repr(spec.name) for spec in signature.inputs[:10])
        raise InvalidInputError(f"the graph takes a data frame with the columns {shown}: got an array.")


def _array_inputs(X: Any) -> dict[str, NDArray[Any]]:
    return {ARRAY_INPUT: np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)}


def _raw_inputs(columns: dict[str, TableColumn], specs: Sequence[InputColumn]) -> dict[str, NDArray[Any]]:
    return {
        spec.name: _raw_text(columns[spec.name]) if spec.is_text else _raw_numbers(columns[spec.name])
        for spec in specs
    }


def _raw_text(column: TableColumn) -> NDArray[Any]:
    texts = [MISSING_TEXT if value is None else category_key(value) for value in column.values()]
    return _text_array(column.name, texts)


def category_key(value: Any) -> str:
    """The text in the graph for a value of a text column that is not missing."""
    return str(value) or EMPTY_TEXT


def _raw_numbers(column: TableColumn) -> NDArray[Any]:
    if column.column.dtype in (nw.Datetime, nw.Date, nw.Duration):
        return parse_column(DateKind(), column.column)[:, None]
    values = column.values()
    text = next((value for value in values if isinstance(value, str)), None)
    if text is not None:
        raise InvalidInputError(
            f"the column {column.name!r} was numeric in training, but contains the text {text!r}: convert it "
            "to numbers."
        )
    return np.array([np.nan if value is None else float(value) for value in values])[:, None]


def _text_array(name: str, texts: list[str]) -> NDArray[Any]:
    if any("\0" in text for text in texts):
        raise InvalidInputError(
            f"the column {name!r} contains a null character, at which ONNX Runtime would cut its text: "
            "remove it."
        )
    return np.array(texts, dtype=object)[:, None]


def _canonical_inputs(
    columns: dict[str, TableColumn], specs: Sequence[InputColumn], kinds: Mapping[str, ColumnKind]
) -> dict[str, NDArray[Any]]:
    """The values as ``capo predict`` reads them from a file."""
    if not _has_polars():
        raise MissingExtraError(
            "onnx_inputs needs polars for the graph of a model of 'capo fit': pip install 'capo-learn[cli]'."
        )
    import polars as pl  # noqa: PLC0415 (an extra)

    from ...tables.canonical_values import canonical_features  # noqa: PLC0415 (needs the extra)

    given = {spec.name: kinds.get(columns[spec.name].name) for spec in specs}
    frame = pl.DataFrame(
        [_lossless_series(columns[spec.name], spec.is_text, given[spec.name]) for spec in specs]
    )
    default = {columns[spec.name].name: CategoryKind() if spec.is_text else NumberKind() for spec in specs}
    features = canonical_features(frame, {name: kinds.get(name, kind) for name, kind in default.items()})
    return {
        spec.name: _text_array(column.name, column.cast(pl.String).fill_null(MISSING_TEXT).to_list())
        if spec.is_text
        else parse_column(DateKind(), nw.from_native(column, series_only=True))[:, None]
        for spec, column in zip(specs, features.get_columns(), strict=True)
    }


def _has_polars() -> bool:
    try:
        import_module("polars")
    except ImportError:
        return False
    return True


def _lossless_series(column: TableColumn, is_text: bool, kind: ColumnKind | None) -> pl.Series:
    """The column with all that its file had; an error if numbers or dates may have lost their spelling."""
    import polars as pl  # noqa: PLC0415 (an extra)

    if not is_text and column.column.dtype.is_numeric():
        numbers = column.column.cast(nw.Float64).to_numpy()
        if column.column.dtype.is_float():
            check_not_misread(kind, numbers, column.name)
        return pl.Series(column.name, numbers, nan_to_null=True)
    values = column.values()
    is_spelled = isinstance(kind, NumberKind) and not kind.is_plain
    if is_spelled and any(map(is_number, values)):
        return _numeric_series(column.name, values)
    other = next((value for value in values if not isinstance(value, str | bool | np.bool | None)), None)
    if is_text and other is not None:
        raise InvalidInputError(
            f"the column {column.name!r} was text in training, but contains {other!r}, a value of type "
            f"{type(other).__name__}, whose spelling in the file is lost (07 and 7.0 are different from 7): "
            "read this column as text."
        )
    return pl.Series(column.name, [None if value is None else str(value) for value in values], pl.String)


def _numeric_series(name: str, values: list[Any]) -> pl.Series:
    """Values that are numbers already, as such: their text may be read in another spelling."""
    import polars as pl  # noqa: PLC0415 (an extra)

    text = next((value for value in values if isinstance(value, str)), None)
    if text is not None:
        number = next(value for value in values if is_number(value))
        raise InvalidInputError(
            f"the column {name!r} contains both numbers, such as {number!r}, and text, such as {text!r}: "
            "convert all of them to numbers, or all to text as in the training table."
        )
    return pl.Series(name, [None if value is None else float(value) for value in values], pl.Float64)


def _unambiguous_inputs(X: Any) -> dict[str, NDArray[Any]]:
    """The inputs by the data types of X, if its text means the same to every graph."""
    columns, specs = _table_columns(X), list_inputs(X)
    inputs = _raw_inputs(columns, specs)
    for spec in (spec for spec in specs if spec.is_text):
        value = _first_ambiguous(columns[spec.name], inputs[spec.name])
        if value is not None:
            raise InvalidInputError(
                f"the column {spec.name!r} contains {value!r}, which a graph of 'capo export' takes in "
                "another spelling than a graph of to_onnx: pass the graph as the second argument."
            )
    return inputs


def _first_ambiguous(column: TableColumn, raw: NDArray[Any]) -> Any:
    """The first value whose canonical text is another, or None; without polars, the first value."""
    values = column.values()
    different = [not isinstance(value, str | None) for value in values]
    if not any(different) and _has_polars():
        canonical = _canonical_inputs({"": column}, [InputColumn("", True)], {})[""]
        different = (canonical != raw).ravel().tolist()
    elif not any(different):
        different = [value is not None for value in values]
    return next((value for value, differs in zip(values, different, strict=True) if differs), None)


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
