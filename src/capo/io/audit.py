"""Skops documents: audit, writing and reading.

skops asks whether each type in a document is trusted, but not what is done with the type. Its loaders call
the type of a list, a set, a dictionary, an array or a key with values from the file, so that a trusted class
or function would be called by a document that names it in such a place. Here each loader that calls a type
has its own list of types, and any other combination is refused. `ObjectNode` makes an object without its
constructor and sets its attributes, `FunctionNode` and `TypeNode` only look a name up: for these, skops's
list of scikit-learn's estimators and the list below decide.

Two further features of skops documents are not used: skops treats nodes with the same ``__id__`` as one
object, so that a checked node could stand for another one, and the ids are removed; and documents of older
protocols, which skops reads with older loaders, are refused.
"""

import io
import json
import math
import zipfile
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ..exceptions import MissingExtraError
from .archive import check_archive

#: The oldest protocol of skops that a model file can hold.
MIN_PROTOCOL = 2
#: Levels of nested nodes; nested pipelines need about four levels each.
MAX_NODE_DEPTH = 200
SCHEMA = "schema.json"
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

_SCALARS = frozenset(
    f"{kind.__module__}.{kind.__name__}" for kind in np.sctypeDict.values() if kind.__module__ == "numpy"
)
_KEYS = frozenset({"builtins.str", "builtins.int", "builtins.float", "builtins.bool"}) | _SCALARS

#: Loaders that call the type that the document names, or read a member of the document, and with which types.
_CALLED_TYPES: dict[str, frozenset[str]] = {
    "BytearrayNode": frozenset({"builtins.bytearray"}),
    "BytesNode": frozenset({"builtins.bytes"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}) | _SCALARS,
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TupleNode": frozenset({"builtins.tuple"}),
}
_LOOKUPS = ("FunctionNode", "ObjectNode", "TypeNode")

#: Types in addition to those that skops trusts, each with the only loader that may create it.
ALLOWED_TYPES: dict[str, str] = {
    "numpy.dtype": "DTypeNode",
    "sklearn.utils._bunch.Bunch": "DictNode",
}


def check_document(data: bytes, trusted: Collection[str]) -> tuple[bytes, set[str]]:
    """The document as it may be passed to `load_document`, and the types in it that are not trusted.

    Ids and caches are removed from the document.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_archive(archive, len(data))
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts.pop(SCHEMA))
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol < MIN_PROTOCOL:
        raise ValueError(f"it contains a skops document of protocol {protocol!r}")
    for name, content in parts.items():
        if name.endswith(".npy"):
            _check_array_file(content)
        elif not name.endswith(".bin"):
            raise ValueError(f"a skops document in it has the unknown part {name!r}")
    refused = set(_check_nodes(schema, frozenset(trusted)))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**parts, SCHEMA: json.dumps(schema).encode()}.items():
            archive.writestr(name, content)
    unknown = set(_skops().get_untrusted_types(data=file.getvalue()))
    return file.getvalue(), refused | (unknown - {*ALLOWED_TYPES, *trusted})


def _check_array_file(data: bytes) -> None:
    """Reject a header that does not match the data: NumPy would allocate what the header states."""
    file = io.BytesIO(data)
    read_header = _HEADER_READERS.get(npy.read_magic(file))
    if read_header is None:
        raise ValueError("an array has an unknown version of NumPy's file format")
    shape, _, dtype = read_header(file)
    n_values = math.prod(shape)
    if dtype.hasobject or min(shape, default=0) < 0 or (n_values and not dtype.itemsize):
        raise ValueError(f"an array has values of type {dtype}")
    if n_values * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"an array of shape {shape} has {len(data) - file.tell()} bytes of data")


def _check_nodes(value: Any, trusted: frozenset[str], depth: int = 0) -> Iterator[str]:
    """Check all nodes of a document, and yield the types that are used in an unknown way."""
    if isinstance(value, dict) and "__loader__" in value:
        depth += 1
        yield from _check_node(value, trusted)
    if depth > MAX_NODE_DEPTH:
        raise ValueError(f"it contains a skops document nested more than {MAX_NODE_DEPTH} levels deep")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in parts:
        yield from _check_nodes(each, trusted, depth)


def _check_node(node: dict[str, Any], trusted: frozenset[str]) -> Iterator[str]:
    node.pop("__id__", None)
    loader, kind, content = node["__loader__"], _type_name(node), node.get("content")
    is_allowed = loader in _LOOKUPS or kind in _CALLED_TYPES.get(loader, ())
    if kind in ALLOWED_TYPES:
        is_allowed = loader == ALLOWED_TYPES[kind]
    if kind not in trusted and not is_allowed:
        yield kind
    if loader == "DictNode":  # skops calls the types of the keys with the keys
        keys = node["key_types"]
        if keys["__loader__"] != "ListNode" or any(k["__loader__"] != "TypeNode" for k in keys["content"]):
            raise ValueError("it contains a dictionary with malformed types of keys")
        yield from {_type_name(each) for each in keys["content"]} - _KEYS
    if loader == "ObjectNode" and isinstance(content, dict) and content.get("__loader__") == "DictNode":
        attributes = content["content"]
        # A cache holds pickled objects, so that the folder of a file's choice could run code.
        if attributes.get("memory") is not None:
            attributes["memory"] = _NONE
        # A vectorizer with input="filename" opens the files that its input names.
        reads = attributes.get("input")
        if isinstance(reads, dict) and reads.get("content") in (json.dumps("filename"), json.dumps("file")):
            raise ValueError(
                "it contains an estimator that reads files: its parameter 'input' must be 'content'"
            )


#: The value None in a skops document.
_NONE = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}


def _type_name(node: dict[str, Any]) -> str:
    name, module = node["__class__"], node["__module__"]
    if not isinstance(name, str) or not isinstance(module, str):
        raise ValueError("it holds a type without a name")
    return f"{module}.{name}"


def dump_document(value: Any) -> tuple[bytes, set[str]]:
    """A skops document of the value, which skops can read, and the types that must be trusted to open it."""
    document, untrusted = check_document(_skops().dumps(value), ())
    own = next((kind for kind in sorted(untrusted) if kind.startswith("__main__.")), None)
    if own is not None:
        raise ValueError(f"{own} is defined in the running program, where other programs cannot find it")
    load_document(document, untrusted)
    return document, untrusted


def load_document(data: bytes, trusted: Collection[str]) -> Any:
    """The value of a skops document, which must come from `check_document`."""
    return _skops().loads(data, trusted=[*ALLOWED_TYPES, *trusted])


def _skops() -> ModuleType:
    try:
        import skops.io  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError(
            "model files with estimators of other packages need skops: pip install 'capo-learn[files]'."
        ) from error
    return skops.io
