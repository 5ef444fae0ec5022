"""From a fitted model to plain state: JSON values, arrays, texts of boosters, and skops members.

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
"""

from __future__ import annotations

import base64
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from ..._sklearn_compat import Tree
from ...measures import Formula, FunctionMeasure, Measure
from ...measures import get as get_measure
from ...measures import names as measure_names
from . import _type_names as type_names
from ._arrays import dump_array, generator_state, is_sparse, tree_state
from ._boosters import ENDINGS, booster_package, dump_booster
from ._skops_members import dump_member

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
