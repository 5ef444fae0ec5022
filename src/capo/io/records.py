"""From a fitted model to plain state and back.

In JSON, a value is written as

    null, true, 1, 0.5, "text", [...]     itself
    {"float": "nan"}                      a float that JSON has no number for
    {"tuple": [...]}, {"set": [...]}      its values
    {"dict": [[key, value], ...]}         its pairs
    {"slice": [start, stop, step]}        its bounds
    {"bytes": "..."}                      base64
    {"scalar": ["<f8", 0.5]}              a NumPy scalar with its type
    {"dtype": "<f8"}                      a NumPy type
    {"array": 3}                          the member arrays/3.npy
    {"object_array": [shape, [...]]}      an array of any values
    {"measure": ["fbeta", {...}]}         a measure by name, with its parameters
    {"formula": "10 * tp - 2 * fp"}       the function of a measure
    {"function_measure": [function, name]}
    {"enum": ["SolverStatus", "OPTIMAL"]}
    {"function": "to_dense"}              one of capo's functions
    {"record": ["Solution", {...}]}       one of capo's dataclasses, by its fields
    {"object": 7}                         entry 7 of the list "objects"

and an entry of "objects", which may be referred to from several places, as

    {"estimator": [name, parameters, fitted attributes]}
    {"booster": ["lightgbm", attributes]} with the text in boosters/7.txt (XGBoost: boosters/7.json)
    {"sparse": [type, shape, data, indices, indptr]}
    {"tree": {...}}                       the nodes of a tree of scikit-learn
    {"generator": ["PCG64", state]}       a random generator
    {"skops": []}                         any other object: the member estimators/7.skops

The names are those of `_type_names`: no path of a module of capo is in a file.

Every node is checked before it is used. The only constructors that are called are those in `_type_names`, of
measures, and of NumPy, SciPy and scikit-learn in `_arrays` and `_boosters`.
"""

from __future__ import annotations

import base64
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np

from .._compat import Tree
from ..measures import Formula, FunctionMeasure, Measure
from ..measures import get as get_measure
from ..measures import names as measure_names
from . import type_names
from .archive import (
    ENDINGS,
    booster_package,
    dump_array,
    dump_booster,
    generator_state,
    is_sparse,
    load_array,
    load_booster,
    make_generator,
    make_sparse,
    make_tree,
    tree_state,
)
from .audit import check_member, dump_member, load_member

Node = Any

#: Kinds of NumPy types whose scalars are written: bool, integers, floats, strings.
SCALAR_KINDS = "biufU"


class Encoder:
    """Encode one model.

    Attributes
    ----------
    objects : list
        The entries of the list "objects".
    members : dict of str to bytes
        Further members of the archive.
    packages : set of str
        Optional packages that are needed to open the model.
    """

    def __init__(self) -> None:
        self.objects: list[Node] = []
        self.members: dict[str, bytes] = {}
        self.packages: set[str] = set()
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # an id is unique only as long as its object lives
        self._array_numbers: dict[int, int] = {}

    def encode(self, value: Any) -> Node:
        """The JSON node of a value."""
        if value is None or type(value) in (bool, int, str):
            return value
        encode = self._inline_encoder(value)
        return encode(value) if encode else {"object": self.share(value)}

    def share(self, value: Any) -> int:
        """The number of a value in "objects", written there on its first use."""
        if id(value) not in self._numbers:
            number = self._numbers[id(value)] = len(self.objects)
            self._alive.append(value)
            self.objects.append(None)
            encode = self._inline_encoder(value) or self._object_encoder(value)
            self.objects[number] = encode(value) if encode else self._skops(value, number)
        return self._numbers[id(value)]

    def is_own(self, value: Any) -> bool:
        """Whether the value is written by capo where it is part of an estimator that skops writes."""
        return self._object_encoder(value) is not None or self._capo_encoder(value) is not None

    def _inline_encoder(self, value: Any) -> Callable[[Any], Node] | None:
        kind = type(value)
        if kind in _PLAIN:
            return getattr(self, _PLAIN[kind])
        if kind in (np.ndarray, np.memmap):
            return self._object_array if value.dtype.hasobject else self._array
        if isinstance(value, np.generic) and value.dtype.kind in SCALAR_KINDS:
            return self._scalar
        if isinstance(value, np.dtype) and not value.hasobject and value.names is None:
            return self._dtype
        return self._capo_encoder(value)

    def _capo_encoder(self, value: Any) -> Callable[[Any], Node] | None:
        kind = type(value)
        if type_names.record_name(kind):
            return self._record
        if type_names.enum_name(kind):
            return self._enum
        if kind is Formula:
            return self._formula
        if kind is FunctionMeasure:
            return self._function_measure
        if isinstance(value, Measure) and _is_named(value):
            return self._measure
        return self._function if type_names.function_name(value) else None

    def _object_encoder(self, value: Any) -> Callable[[Any], Node] | None:
        kind = type(value)
        if type_names.estimator_name(kind):
            return self._estimator
        if kind is Tree:
            return self._tree
        if kind is np.random.Generator:
            return self._generator
        if is_sparse(value):
            return self._sparse
        return self._booster if booster_package(value) else None

    def _float(self, value: float) -> Node:
        return value if math.isfinite(value) else {"float": repr(value)}

    def _list(self, value: list[Any]) -> Node:
        return [self.encode(each) for each in value]

    def _tuple(self, value: tuple[Any, ...]) -> Node:
        return {"tuple": self._list(list(value))}

    def _set(self, value: set[Any]) -> Node:
        return {"set": self._list(sorted(value, key=repr))}

    def _dict(self, value: dict[Any, Any]) -> Node:
        return {"dict": [[self.encode(key), self.encode(each)] for key, each in value.items()]}

    def _slice(self, value: slice) -> Node:
        return {"slice": [self.encode(each) for each in (value.start, value.stop, value.step)]}

    def _bytes(self, value: bytes) -> Node:
        return {"bytes": base64.b64encode(value).decode()}

    def _scalar(self, value: np.generic) -> Node:
        return {"scalar": [value.dtype.str, self.encode(value.item())]}

    def _dtype(self, value: np.dtype[Any]) -> Node:
        return {"dtype": value.str}

    def _array(self, value: Any) -> Node:
        if id(value) not in self._array_numbers:
            number = self._array_numbers[id(value)] = len(self._array_numbers)
            self._alive.append(value)
            self.members[f"arrays/{number}.npy"] = dump_array(np.asarray(value))
        return {"array": self._array_numbers[id(value)]}

    def _object_array(self, value: Any) -> Node:
        if value.dtype != object:
            raise TypeError(f"an array of type {value.dtype} cannot be written")
        return {"object_array": [list(value.shape), self._list(list(value.flat))]}

    def _enum(self, value: Any) -> Node:
        return {"enum": [type_names.enum_name(type(value)), value.name]}

    def _function(self, value: Any) -> Node:
        return {"function": type_names.function_name(value)}

    def _formula(self, value: Formula) -> Node:
        return {"formula": value.text}

    def _function_measure(self, value: FunctionMeasure) -> Node:
        return {"function_measure": [self.encode(value.function), value.name]}

    def _measure(self, value: Measure) -> Node:
        return {"measure": [value.name, self._attributes(value.params)]}

    def _record(self, value: Any) -> Node:
        state = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return {"record": [type_names.record_name(type(value)), self._attributes(state)]}

    def _estimator(self, value: Any) -> Node:
        params = value.get_params(deep=False)
        fitted = {name: each for name, each in vars(value).items() if name not in params}
        name = type_names.estimator_name(type(value))
        if name in type_names.OPTIONAL_ESTIMATORS:
            self.packages.add(type_names.OPTIONAL_ESTIMATORS[name])
        else:
            params = {
                key: each for key, each in params.items() if key not in type_names.ENVIRONMENT_PARAMETERS
            }
        return {"estimator": [name, self._attributes(params), self._attributes(fitted)]}

    def _tree(self, value: Tree) -> Node:
        return {"tree": self._attributes(tree_state(value))}

    def _generator(self, value: np.random.Generator) -> Node:
        name, state = generator_state(value)
        return {"generator": [name, self.encode(state)]}

    def _sparse(self, value: Any) -> Node:
        arrays = (value.data, value.indices, value.indptr)
        return {"sparse": [type(value).__name__, list(value.shape), *map(self._array, arrays)]}

    def _booster(self, value: Any) -> Node:
        package = booster_package(value)
        assert package is not None
        self.packages.add(package)
        text, attributes = dump_booster(value, package)
        self.members[f"boosters/{self._numbers[id(value)]}.{ENDINGS[package]}"] = text
        return {"booster": [package, self._attributes(attributes)]}

    def _skops(self, value: Any, number: int) -> Node:
        self.packages.add("skops")
        self.members[f"estimators/{number}.skops"] = dump_member(value, self.is_own, self.share)
        return {"skops": []}

    def _attributes(self, state: dict[str, Any]) -> dict[str, Node]:
        return {name: self.encode(value) for name, value in state.items()}


_PLAIN = {
    float: "_float",
    list: "_list",
    tuple: "_tuple",
    set: "_set",
    dict: "_dict",
    OrderedDict: "_dict",
    defaultdict: "_dict",
    slice: "_slice",
    bytes: "_bytes",
}


def _is_named(measure: Measure) -> bool:
    """Whether the measure is one of capo's, which its name and its parameters make again."""
    return measure.name in measure_names() and type(measure) is type(get_measure(measure.name))


_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class UntrustedTypesError(Exception):
    """Types in skops members that are not known to be safe."""


class Decoder:
    """Decode one model.

    Parameters
    ----------
    objects : list
        The entries of the list "objects".
    names : collection of str
        The members of the archive.
    read_member : callable
        Returns a member by its name.
    trusted : collection of str
        Types that the user trusts in skops members.
    """

    def __init__(
        self,
        objects: list[Node],
        names: Collection[str],
        read_member: Callable[[str], bytes],
        trusted: Collection[str],
    ) -> None:
        self._nodes = _require(objects, list)
        self._read_member, self._trusted = read_member, trusted
        self._objects: dict[int, Any] = {}
        self._open: set[int] = set()
        self._arrays: dict[int, Any] = {}
        self._documents = self._check_members(names)

    def _check_members(self, names: Collection[str]) -> dict[str, bytes]:
        """All skops members, checked before an object is made of any of them."""
        documents, untrusted = {}, set()
        for name in names:
            if name.endswith(".skops"):
                documents[name], unknown = check_member(self._read_member(name), self._trusted)
                untrusted |= unknown
        if untrusted:
            raise UntrustedTypesError(", ".join(sorted(untrusted)))
        return documents

    def decode(self, node: Node) -> Any:
        """The value of a node."""
        if isinstance(node, list):
            return [self.decode(each) for each in node]
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise ValueError(f"a value is described by {len(node)} keys, not one")
        ((tag, content),) = node.items()
        if tag not in _DECODERS:
            raise ValueError(f"values of the kind {tag!r} are not known")
        return _DECODERS[tag](self, content)

    def find_object(self, number: Any) -> Any:
        """An entry of "objects", made on its first use."""
        if type(number) is not int or not 0 <= number < len(self._nodes):
            raise ValueError(f"there is no object {number!r}")
        if number not in self._objects:
            if number in self._open:
                raise ValueError(f"object {number} contains itself")
            self._open.add(number)
            self._objects[number] = self._make_object(number)
        return self._objects[number]

    def _make_object(self, number: int) -> Any:
        match self._nodes[number]:
            case {"booster": [str(package), dict(attributes)]} if package in ENDINGS:
                text = self._read_member(f"boosters/{number}.{ENDINGS[package]}")
                return load_booster(text, package, self._attributes(attributes))
            case {"skops": []}:
                document = self._documents.get(f"estimators/{number}.skops")
                if document is None:
                    raise ValueError(f"object {number} has no skops document")
                return load_member(document, self.find_object, self._trusted)
            case node:
                return self.decode(node)

    def _attributes(self, nodes: Any) -> dict[str, Any]:
        return {name: self.decode(node) for name, node in _require(nodes, dict).items()}

    def _float(self, content: Any) -> float:
        return _FLOATS[content]

    def _tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self.decode(_require(content, list)))

    def _set(self, content: Any) -> set[Any]:
        return set(self.decode(_require(content, list)))

    def _dict(self, content: Any) -> dict[Any, Any]:
        return {self.decode(key): self.decode(value) for key, value in _require(content, list)}

    def _slice(self, content: Any) -> slice:
        start, stop, step = self.decode(_require(content, list))
        return slice(start, stop, step)

    def _bytes(self, content: Any) -> bytes:
        return base64.b64decode(_require(content, str), validate=True)

    def _scalar(self, content: Any) -> Any:
        name, value = _require(content, list)
        dtype = self._dtype(name)
        if dtype.kind not in SCALAR_KINDS or not 0 <= dtype.itemsize <= 4 * max(len(str(value)), 8):
            raise ValueError(f"{name} is not the type of a number or a string")
        return dtype.type(self.decode(value))

    def _dtype(self, content: Any) -> np.dtype[Any]:
        return np.dtype(_require(content, str))

    def _array(self, content: Any) -> Any:
        number = _require(content, int)
        if number not in self._arrays:
            self._arrays[number] = load_array(self._read_member(f"arrays/{number}.npy"))
        return self._arrays[number]

    def _object_array(self, content: Any) -> Any:
        shape, values = _require(content, list)
        if math.prod(_require(shape, list)) != len(_require(values, list)):
            raise ValueError(f"an array of shape {shape} has {len(values)} values")
        array = np.empty(len(values), dtype=object)
        array[:] = self.decode(values)
        return array.reshape(shape)

    def _object(self, content: Any) -> Any:
        return self.find_object(content)

    def _enum(self, content: Any) -> Any:
        name, member = _require(content, list)
        return _look_up(type_names.ENUMS, name)[_require(member, str)]

    def _function(self, content: Any) -> Any:
        return _look_up(type_names.FUNCTIONS, content)

    def _formula(self, content: Any) -> Formula:
        return Formula(_require(content, str))

    def _function_measure(self, content: Any) -> FunctionMeasure:
        function, name = _require(content, list)
        return FunctionMeasure(self.decode(function), _require(name, str))

    def _measure(self, content: Any) -> Any:
        name, params = _require(content, list)
        if name not in measure_names():
            raise ValueError(f"there is no measure {name!r}")
        return get_measure(name, **self._attributes(params))

    def _record(self, content: Any) -> Any:
        name, state = _require(content, list)
        kind = _look_up(type_names.RECORDS, name)
        _check_names(name, state, {field.name for field in fields(kind) if field.init})
        return kind(**self._attributes(state))

    def _estimator(self, content: Any) -> Any:
        name, params, fitted = _require(content, list)
        kind = type_names.estimator_class(_require(name, str))
        if kind is None:
            raise ValueError(f"the name {name!r} is not known")
        if name in type_names.ESTIMATORS:
            _check_names(name, params, set(signature(kind).parameters))
            params = {
                key: node for key, node in params.items() if key not in type_names.ENVIRONMENT_PARAMETERS
            }
        else:
            _check_texts(name, params)
        _check_fitted(name, kind, fitted)
        estimator = kind(**self._attributes(params))
        vars(estimator).update(self._attributes(fitted))
        return estimator

    def _tree(self, content: Any) -> Any:
        return make_tree(**self._attributes(content))

    def _generator(self, content: Any) -> np.random.Generator:
        name, state = _require(content, list)
        return make_generator(name, self.decode(state))

    def _sparse(self, content: Any) -> Any:
        name, shape, *arrays = _require(content, list)
        return make_sparse(name, tuple(_require(shape, list)), *(self.decode(each) for each in arrays))


_DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    name: getattr(Decoder, f"_{name}")
    for name in (
        *("float", "tuple", "set", "dict", "slice", "bytes", "scalar", "dtype", "array", "object_array"),
        *("object", "enum", "function", "formula", "function_measure", "measure", "record", "estimator"),
        *("tree", "generator", "sparse"),
    )
}


def _require(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise ValueError(f"expected a {kind.__name__}, got {str(value)[:40]!r}")
    return value


def _look_up(table: dict[str, Any], name: Any) -> Any:
    if _require(name, str) not in table:
        raise ValueError(f"the name {name!r} is not known")
    return table[name]


def _check_names(owner: str, state: Any, known: set[str]) -> None:
    unknown = next((name for name in _require(state, dict) if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{owner} has no field {unknown!r}")


def _check_texts(owner: str, params: Any) -> None:
    """Boosters have parameters that name files and hosts: a text must be a word, such as a name of a loss."""
    for name, value in _require(params, dict).items():
        if value is not None and re.search("file|machine|path|callback|input_model|output_model", name):
            raise ValueError(f"{owner} has the parameter {name!r}, which no model file may hold")
        if isinstance(value, str) and not re.fullmatch(r"[\w:.,@ ()-]*", value):
            raise ValueError(f"{owner} has the parameter {name!r} with the value {value[:40]!r}")


def _check_fitted(owner: str, kind: type[Any], fitted: Any) -> None:
    """A fitted attribute must not take the place of a method or of a parameter."""
    parameters = signature(kind).parameters
    for name in _require(fitted, dict):
        if (
            not name.isidentifier()
            or name.startswith("__")
            or name in parameters
            or callable(getattr(kind, name, None))
        ):
            raise ValueError(f"{owner} has no fitted attribute {name!r}")
