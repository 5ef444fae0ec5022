"""From plain state to a fitted model: the reverse of `_encoder`, which documents the nodes.

Every node is checked before it is used. The only constructors that are called are those in `_type_names`, of
measures, and of NumPy, SciPy and scikit-learn in `_arrays` and `_boosters`.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Collection
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np

from ...estimators import BaseAdaptedClassifier
from ...measures import Formula, FunctionMeasure
from ...measures import get as get_measure
from ...measures import names as measure_names
from . import _type_names as type_names
from ._arrays import load_array, make_generator, make_sparse, make_tree
from ._boosters import ENDINGS, load_booster
from ._encoder import SCALAR_KINDS, Node
from ._skops_members import check_member, load_member

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
        attributes = self._attributes(fitted)
        if issubclass(kind, BaseAdaptedClassifier):
            attributes = _upgrade_adapted(attributes)
        vars(estimator).update(attributes)
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


def _upgrade_adapted(fitted: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a model whose file has no `pos_label_`: the second of its classes is positive."""
    if "classes_" not in fitted or "pos_label_" in fitted:
        return fitted
    classes = np.asarray(fitted["classes_"])
    n_negative = len(fitted["oof_decision_"]) - fitted["n_positive_"]
    changed = {"classes_": np.unique(classes), "pos_label_": classes.tolist()[1], "n_negative_": n_negative}
    return {**fitted, **changed}


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
