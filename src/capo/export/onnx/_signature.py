"""The inputs that an exported graph takes, read from the graph or from a session of ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...exceptions import InvalidInputError, MissingExtraError
from ...preprocessing import ColumnKind, kind_from_dict

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
