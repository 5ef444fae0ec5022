"""A builder of ONNX graphs: named values, nodes in order, unused nodes removed at the end.

All numeric values are doubles, and a value per row is a column of shape [n, 1]. The result of a MatMul is
never multiplied by a scalar: ONNX Runtime would fuse both into one operator that keeps the scalar in
single precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, compose, helper, numpy_helper

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
