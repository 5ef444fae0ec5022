"""A graph of ONNX in the making: values by name, nodes in order, what nobody reads left out at the end.

Numbers are doubles throughout. A value of a row is a column of shape [n, 1]. No product with a matrix is
multiplied by a number: ONNX Runtime would make one step of both, with the number in single precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, compose, helper, numpy_helper

#: Versions of the operators: the first with trees in double precision and splits on sets of categories.
OPSETS = {"": 21, "ai.onnx.ml": 5}
#: The file format that goes with them.
IR_VERSION = 10
#: The domain of trees and dictionaries.
ML = "ai.onnx.ml"


class Graph:
    """Collects inputs, constants and nodes; every method that adds one returns the name of its value."""

    def __init__(self) -> None:
        self._inputs: dict[str, Any] = {}
        self._constants: dict[str, TensorProto] = {}
        self._nodes: list[NodeProto] = []
        self._count = 0
        #: Whether part of the graph was written by somebody else.
        self.borrowed = False

    def input(self, name: str, kind: int, width: int | None) -> str:
        """A value that the user gives, of shape [n, width]."""
        self._inputs[name] = helper.make_tensor_value_info(name, kind, ["n", width])
        return name

    def constant(self, values: ArrayLike) -> str:
        """Numbers or words that are known now."""
        name = self._fresh()
        self._constants[name] = tensor(np.asarray(values), name)
        return name

    def op(self, kind: str, *values: str | ArrayLike, **attributes: Any) -> str:
        """The value of one operator; what is not the name of a value is a constant, a number a double."""
        found = self._fresh()
        read = [each if isinstance(each, str) else self.constant(_typed(each)) for each in values]
        self._nodes.append(helper.make_node(kind, read, [found], **attributes))
        return found

    def cast(self, value: str, kind: int = TensorProto.DOUBLE) -> str:
        """The value as another type."""
        return self.op("Cast", value, to=kind)

    def columns(self, value: str, positions: Iterable[int]) -> str:
        """Some columns of a matrix."""
        return self.op("Gather", value, np.asarray(list(positions), dtype=np.int64), axis=1)

    def rows(self, value: str) -> str:
        """The number of rows of a value, in a vector of length 1."""
        return self.op("Shape", value, start=0, end=1)

    def call(self, model: ModelProto, value: str) -> list[str]:
        """The outputs of a whole model of one input."""
        self.borrowed = True
        inner = compose.add_prefix(model, f"{self._fresh()}/").graph
        self._nodes.append(helper.make_node("Identity", [value], [inner.input[0].name]))
        self._constants.update((each.name, each) for each in inner.initializer)
        self._nodes.extend(inner.node)
        return [each.name for each in inner.output]

    def model(
        self, outputs: Mapping[str, tuple[str, int, list[Any]]], notes: Mapping[str, str]
    ) -> ModelProto:
        """The model with these outputs (a value, a type and a shape under each name), checked."""
        given = [helper.make_node("Identity", [value], [name]) for name, (value, _, _) in outputs.items()]
        infos = [
            helper.make_tensor_value_info(name, kind, shape) for name, (_, kind, shape) in outputs.items()
        ]
        nodes, used = _needed([*self._nodes, *given], set(outputs))
        constants = [each for name, each in self._constants.items() if name in used]
        graph = helper.make_graph(nodes, "capo", list(self._inputs.values()), infos, constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        made = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION, producer_name="capo")
        helper.set_model_props(made, dict(notes))
        checker.check_model(made)
        return made

    def _fresh(self) -> str:
        self._count += 1
        name = f"capo:{self._count}"
        return self._fresh() if name in self._inputs else name


def tensor(values: NDArray[Any], name: str | None = None) -> TensorProto:
    """An array as a tensor; text and objects as strings."""
    if values.dtype.kind in "OUT":
        values = np.asarray([str(each) for each in values.ravel()], dtype=object).reshape(values.shape)
    return numpy_helper.from_array(values, name)


def _typed(values: ArrayLike) -> NDArray[Any]:
    """Fractions, and numbers that are no arrays, as doubles."""
    array = np.asarray(values)
    double = array.dtype.kind == "f" or not isinstance(values, np.ndarray)
    return array.astype(np.float64) if double else array


def _needed(nodes: list[NodeProto], read: set[str]) -> tuple[list[NodeProto], set[str]]:
    """The nodes that lead to these values, and all values that they read."""
    kept = []
    for node in reversed(nodes):
        if read.intersection(node.output):
            kept.append(node)
            read = read.union(_read(node))
    return kept[::-1], read


def _read(node: NodeProto) -> Iterable[str]:
    """The values that a node reads, its inner graphs included."""
    inner = (attribute.g.node for attribute in node.attribute if attribute.HasField("g"))
    return chain(node.input, *(_read(each) for each in chain.from_iterable(inner)))
