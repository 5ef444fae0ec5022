"""From a fitted model to plain state and back.

In JSON, a value is written as

    null, true, 1, 0.5, "text", [...]     itself
    {"float": "nan"}                      a float that JSON has no number for
    {"tuple": [...]}, {"set": [...]}      its values
    {"dict": [[key, value], ...]}         its pairs; "bunch" for scikit-learn's `Bunch`
    {"slice": [start, stop, step]}        its bounds
    {"bytes": "..."}                      base64
    {"scalar": ["<f8", 0.5]}              a NumPy scalar with its type
    {"dtype": "<f8"}, {"type": "<f8"}     a NumPy type, as a data type or as the class of its scalars
    {"array": [type, shape, start]}       an array, whose bytes are in arrays.bin
    {"object_array": [shape, [...]]}      an array of any values
    {"sparse": [class, shape, data, indices, indptr]}
    {"measure": ["fbeta", {...}]}         a measure by name, with its parameters
    {"formula": "10 * tp - 2 * fp"}       the function of a measure
    {"function_measure": [function, name]}
    {"function": "to_dense"}              a function by name; {"partial": [function, arguments]}
    {"enum": ["Status", "OPTIMAL"]}
    {"record": ["Solution", {...}]}       an object that is made from its fields
    {"tree": {...}}, {"loss": [...]}      a tree or a loss function of scikit-learn
    {"generator": ["PCG64", state]}       a random generator
    {"booster": ["lightgbm", 0, {...}]}   a booster, whose text is in boosters/0.txt (XGBoost: .json)
    {"object": 7}                         entry 7 of the list "objects"

and an entry of "objects", which may be referred to from several places, as

    {"estimator": [class, parameters, fitted attributes]}
    {"skops": []}                         any other object: the member estimators/7.skops

Classes are written by their names. Those of capo are found in its packages, those of other packages in the
list below; a class that is not there is written by skops. Every node is checked before it is used: an object
has only the parameters and fields of its class, and no attribute takes the place of a method.
"""

from __future__ import annotations

import base64
import json
import math
import pkgutil
import re
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import f_classif
from sklearn.utils import Bunch, check_array

from .._compat import LOSSES, Tree, TreePredictor
from ..learning.auxiliaries import class_separation, to_dense
from ..measures import Formula, FunctionMeasure, Measure
from ..measures import get as get_measure
from ..measures import names as measure_names
from ..tables.features import clip_standardized
from .archive import ARRAYS
from .audit import check_document, dump_document, load_document

Node = Any

#: Packages of capo whose dataclasses, estimators and enumerations a model may hold.
PACKAGES = ("baselines", "decisions", "engine", "estimators", "kernels", "learning", "measures", "tables")
#: Classes of other packages that are written by capo, by the modules that export them.
OTHER_CLASSES = {
    "lightgbm": ("LGBMClassifier", "LGBMRegressor"),
    "sklearn.calibration": ("CalibratedClassifierCV", "_CalibratedClassifier", "_SigmoidCalibration"),
    "sklearn.compose": ("ColumnTransformer",),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": ("DummyClassifier",),
    "sklearn.ensemble": (
        *("AdaBoostClassifier", "BaggingClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier"),
        *("HistGradientBoostingClassifier", "RandomForestClassifier", "StackingClassifier"),
        "VotingClassifier",
    ),
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "sklearn.feature_extraction.text": ("CountVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "sklearn.feature_selection": (
        *("SelectFromModel", "SelectKBest", "SelectPercentile", "VarianceThreshold"),
    ),
    "sklearn.frozen": ("FrozenEstimator",),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.isotonic": ("IsotonicRegression",),
    "sklearn.kernel_approximation": ("Nystroem",),
    "sklearn.linear_model": (
        *("LogisticRegression", "LogisticRegressionCV", "Perceptron", "RidgeClassifier"),
        *("RidgeClassifierCV", "SGDClassifier"),
    ),
    "sklearn.model_selection": (
        *("GridSearchCV", "KFold", "RandomizedSearchCV", "StratifiedGroupKFold", "StratifiedKFold"),
    ),
    "sklearn.naive_bayes": ("BernoulliNB", "GaussianNB", "MultinomialNB"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        *("FunctionTransformer", "LabelBinarizer", "LabelEncoder", "MaxAbsScaler", "MinMaxScaler"),
        *("OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer"),
        *("QuantileTransformer", "RobustScaler", "StandardScaler", "TargetEncoder"),
    ),
    "sklearn.svm": ("LinearSVC", "NuSVC", "SVC"),
    "sklearn.tree": (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
    ),
    "xgboost": ("XGBClassifier", "XGBRFClassifier", "XGBRegressor"),
}
_MODULES = {name: module for module, names in OTHER_CLASSES.items() for name in names}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (check_array, class_separation, clip_standardized, f_classif, to_dense)
}
#: Parameters of the machine on which a model was trained, which no file holds: a folder of cached results,
#: which may contain code, and settings of processes and of the screen.
ENVIRONMENT_PARAMETERS = frozenset({"memory", "n_jobs", "verbose"})
#: Packages whose boosters are written as text, and the endings of the members with the text.
BOOSTERS = {"lightgbm": "txt", "xgboost": "json"}
#: Attributes of a LightGBM booster that are not in its text.
_LIGHTGBM_ATTRIBUTES = ("best_iteration", "best_score", "params")
#: Kinds of NumPy types whose scalars are written: bool, integers, floats, strings.
SCALAR_KINDS = "biufU"
_SPARSE_CLASSES = {
    kind.__name__: kind for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
}
_BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@cache
def _own_classes() -> dict[str, type[Any]]:
    """The public dataclasses, estimators and enumerations of capo, by name."""
    found: dict[str, type[Any]] = {}
    for package in PACKAGES:
        root = import_module(f"capo.{package}")
        below = pkgutil.walk_packages(getattr(root, "__path__", ()), f"{root.__name__}.")
        for module in (root.__name__, *(each.name for each in below)):
            with suppress(ImportError):  # of an optional package
                import_module(module)
            for name, kind in vars(sys.modules.get(module, root)).items():
                if isinstance(kind, type) and kind.__module__ == module and _is_state(kind):
                    assert found.setdefault(name, kind) is kind, f"two classes are called {name}"
    return found


def _is_state(kind: type[Any]) -> bool:
    """Whether objects of a class are made of parameters and attributes only."""
    if kind.__name__.startswith("_"):
        return False
    if is_dataclass(kind):
        return ENVIRONMENT_PARAMETERS.isdisjoint(field.name for field in fields(kind))
    return issubclass(kind, BaseEstimator | Enum)


def find_class(name: str) -> type[Any] | None:
    """The class with a name in model files; None if there is none."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    return _own_classes().get(name)


def class_name(kind: type[Any]) -> str | None:
    """The name of a class in model files; None if its objects are not written by capo."""
    name, package = kind.__name__, kind.__module__.partition(".")[0]
    is_known = package == "capo" or _MODULES.get(name, "").partition(".")[0] == package
    return name if is_known and find_class(name) is kind else None


class Encoder:
    """Encode one model.

    Attributes
    ----------
    objects : list
        The entries of the list "objects".
    members : dict of str to bytes
        Further members of the archive; `finish` adds the arrays.
    packages : set of str
        Optional packages that are needed to open the model.
    """

    def __init__(self) -> None:
        self.objects: list[Node] = []
        self.members: dict[str, bytes] = {}
        self.packages: set[str] = set()
        self._nodes: dict[int, Node] = {}
        self._alive: list[Any] = []  # an id is unique only as long as its object lives
        self._arrays: list[bytes] = []
        self._n_bytes = 0

    def finish(self) -> dict[str, bytes]:
        """All members but the state."""
        return {ARRAYS: b"".join(self._arrays), **self.members}

    def encode(self, value: Any) -> Node:
        """The JSON node of a value."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        encode = _ENCODERS.get(kind) or self._find_encoder(value)
        return encode(self, value)

    def _find_encoder(self, value: Any) -> Callable[[Encoder, Any], Node]:
        return next((encode for applies, encode in _OTHER_ENCODERS if applies(value)), Encoder._shared)

    def _shared(self, value: Any) -> Node:
        """A reference to an entry of "objects", which is made on the first use."""
        if id(value) not in self._nodes:
            self._nodes[id(value)], number = None, len(self.objects)
            self._alive.append(value)
            self.objects.append(None)
            self.objects[number] = self._object(value, number)
            self._nodes[id(value)] = {"object": number}
        node = self._nodes[id(value)]
        if node is None:
            raise ValueError(f"a {type(value).__name__} contains itself")
        return node

    def _object(self, value: Any, number: int) -> Node:
        name = class_name(type(value))
        if name is None:
            self.packages.add("skops")
            self.members[f"estimators/{number}.skops"] = dump_document(value)
            return {"skops": []}
        package = type(value).__module__.partition(".")[0]
        params = value.get_params(deep=False)
        state = value.__getstate__()
        fitted = {key: each for key, each in state.items() if key not in params and key != "_sklearn_version"}
        if package in BOOSTERS:
            self.packages.add(package)
        else:
            params = {key: each for key, each in params.items() if key not in ENVIRONMENT_PARAMETERS}
            _check_no_files(name, params)
        return {"estimator": [name, self._attributes(params), self._attributes(fitted)]}

    def _array(self, value: Any) -> Node:
        if value.dtype == object:
            return {"object_array": [list(value.shape), self._list(value.flat)]}
        if value.dtype.hasobject:
            raise TypeError(f"an array of type {value.dtype} cannot be written")
        if id(value) not in self._nodes:
            self._nodes[id(value)] = {"array": [_dtype_node(value.dtype), list(value.shape), self._n_bytes]}
            self._alive.append(value)
            self._arrays.append(value.tobytes())
            self._n_bytes += value.nbytes
        return self._nodes[id(value)]

    def _float(self, value: float) -> Node:
        return value if math.isfinite(value) else {"float": repr(value)}

    def _list(self, value: Any) -> Node:
        return [self.encode(each) for each in value]

    def _tuple(self, value: tuple[Any, ...]) -> Node:
        return {"tuple": self._list(value)}

    def _set(self, value: set[Any]) -> Node:
        return {"set": self._list(sorted(value, key=repr))}

    def _dict(self, value: dict[Any, Any]) -> Node:
        pairs = [[self.encode(key), self.encode(each)] for key, each in value.items()]
        return {"bunch" if type(value) is Bunch else "dict": pairs}

    def _slice(self, value: slice) -> Node:
        return {"slice": self._list((value.start, value.stop, value.step))}

    def _bytes(self, value: bytes) -> Node:
        return {"bytes": base64.b64encode(value).decode()}

    def _scalar(self, value: np.generic) -> Node:
        return {"scalar": [value.dtype.str, self.encode(value.item())]}

    def _dtype(self, value: np.dtype[Any]) -> Node:
        return {"dtype": value.str}

    def _type(self, value: type[np.generic]) -> Node:
        return {"type": np.dtype(value).str}

    def _sparse(self, value: Any) -> Node:
        arrays = (value.data, value.indices, value.indptr)
        return {"sparse": [type(value).__name__, list(value.shape), *map(self._array, arrays)]}

    def _measure(self, value: Measure) -> Node:
        return {"measure": [value.name, self._attributes(value.params)]}

    def _formula(self, value: Formula) -> Node:
        return {"formula": value.text}

    def _function_measure(self, value: FunctionMeasure) -> Node:
        return {"function_measure": [self.encode(value.function), value.name]}

    def _function(self, value: Any) -> Node:
        return {"function": value.__name__}

    def _partial(self, value: partial[Any]) -> Node:
        if value.args or FUNCTIONS.get(getattr(value.func, "__name__", "")) is not value.func:
            return self._shared(value)
        return {"partial": [self._function(value.func), self._attributes(value.keywords)]}

    def _enum(self, value: Enum) -> Node:
        return {"enum": [type(value).__name__, value.name]}

    def _record(self, value: Any) -> Node:
        return {"record": [class_name(type(value)), self._attributes(_record_state(value))]}

    def _tree(self, value: Tree) -> Node:
        _, (n_features, n_classes, n_outputs), state = value.__reduce__()
        sizes = {"n_features": n_features, "n_classes": n_classes, "n_outputs": n_outputs}
        return {"tree": self._attributes({**sizes, **state})}

    def _predictor(self, value: TreePredictor) -> Node:
        return {"predictor": self._attributes(vars(value))}

    def _loss(self, value: Any) -> Node:
        return {"loss": [type(value).__name__, value.n_classes]}

    def _generator(self, value: np.random.Generator) -> Node:
        bits = value.bit_generator
        return {"generator": [type(bits).__name__, self.encode(dict(bits.state))]}

    def _booster(self, value: Any) -> Node:
        package, number = booster_package(value), sum("boosters/" in name for name in self.members)
        assert package is not None
        self.packages.add(package)
        if package == "xgboost":
            text, attributes = bytes(value.save_raw(raw_format="json")), {}
        else:
            text = value.model_to_string(num_iteration=-1).encode()
            attributes = {name: getattr(value, name) for name in _LIGHTGBM_ATTRIBUTES}
        self.members[f"boosters/{number}.{BOOSTERS[package]}"] = text
        return {"booster": [package, number, self._attributes(attributes)]}

    def _attributes(self, state: dict[str, Any]) -> dict[str, Node]:
        return {name: self.encode(value) for name, value in state.items()}


_ENCODERS: dict[type, Callable[[Encoder, Any], Node]] = {
    float: Encoder._float,
    list: Encoder._list,
    tuple: Encoder._tuple,
    set: Encoder._set,
    **dict.fromkeys((dict, OrderedDict, defaultdict, Bunch), Encoder._dict),
    slice: Encoder._slice,
    bytes: Encoder._bytes,
    **dict.fromkeys((np.ndarray, np.memmap), Encoder._array),
    Formula: Encoder._formula,
    FunctionMeasure: Encoder._function_measure,
    partial: Encoder._partial,
    Tree: Encoder._tree,
    TreePredictor: Encoder._predictor,
    np.random.Generator: Encoder._generator,
}


def _is_record(value: Any) -> bool:
    return class_name(type(value)) is not None and not isinstance(value, BaseEstimator)


def _record_state(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return vars(value)


def _is_named(measure: Measure) -> bool:
    """Whether the measure is one of capo's, which its name and its parameters make again."""
    return measure.name in measure_names() and type(measure) is type(get_measure(measure.name))


def _dtype_node(dtype: np.dtype[Any]) -> Node:
    """The type of an array: a text, or [name, text] pairs for one with fields."""
    return dtype.str if dtype.names is None else npy.dtype_to_descr(dtype)


def booster_package(value: Any) -> str | None:
    """The package of a booster; None for any other value."""
    package = type(value).__module__.partition(".")[0]
    return package if package in BOOSTERS and type(value).__name__ == "Booster" else None


#: Encoders of values that their type alone does not show, each with its condition; the first that applies.
_OTHER_ENCODERS: tuple[tuple[Callable[[Any], Any], Callable[[Encoder, Any], Node]], ...] = (
    (lambda value: isinstance(value, np.generic) and value.dtype.kind in SCALAR_KINDS, Encoder._scalar),
    (lambda value: isinstance(value, np.dtype) and value.names is None, Encoder._dtype),
    (lambda value: isinstance(value, type) and issubclass(value, np.generic), Encoder._type),
    (lambda value: FUNCTIONS.get(getattr(value, "__name__", "")) is value, Encoder._function),
    (lambda value: isinstance(value, Measure) and _is_named(value), Encoder._measure),
    (lambda value: _SPARSE_CLASSES.get(type(value).__name__) is type(value), Encoder._sparse),
    (lambda value: LOSSES.get(type(value).__name__) is type(value), Encoder._loss),
    (booster_package, Encoder._booster),
    (lambda value: isinstance(value, Enum) and _is_record(value), Encoder._enum),
    (_is_record, Encoder._record),
)


class UntrustedTypesError(Exception):
    """Types in skops documents that are not known to be safe."""


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
        Types that the user trusts in skops documents.
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
        self._bytes_of_arrays = read_member(ARRAYS)
        self._arrays: dict[str, Any] = {}
        self._documents = check_documents(names, read_member, trusted)

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

    def _object(self, number: Any) -> Any:
        """An entry of "objects", made on its first use."""
        if type(number) is not int or not 0 <= number < len(self._nodes):
            raise ValueError(f"there is no object {number!r}")
        if number not in self._objects:
            if number in self._open:
                raise ValueError(f"object {number} contains itself")
            self._open.add(number)
            node = self._nodes[number]
            is_document = node == {"skops": []}
            self._objects[number] = self._document(number) if is_document else self.decode(node)
        return self._objects[number]

    def _document(self, number: int) -> Any:
        document = self._documents.get(f"estimators/{number}.skops")
        if document is None:
            raise ValueError(f"object {number} has no skops document")
        return load_document(document, self._trusted)

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

    def _bunch(self, content: Any) -> Bunch:
        return Bunch(**self._dict(content))

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

    def _type(self, content: Any) -> type[np.generic]:
        return self._dtype(content).type

    def _array(self, content: Any) -> Any:
        key = repr(content)  # empty arrays start where others do
        if key not in self._arrays:
            self._arrays[key] = self._make_array(*_require(content, list))
        return self._arrays[key]

    def _make_array(self, descr: Any, shape: Any, start: Any) -> Any:
        dtype = npy.descr_to_dtype(_as_descr(descr))
        n_values = math.prod(_require(size, int) for size in _require(shape, list))
        if dtype.hasobject or min([_require(start, int), *shape]) < 0 or (n_values and not dtype.itemsize):
            raise ValueError(f"an array has values of type {dtype}")
        if start + n_values * dtype.itemsize > len(self._bytes_of_arrays):
            raise ValueError(f"an array of shape {shape} has too few bytes of data")
        return np.frombuffer(self._bytes_of_arrays, dtype, n_values, start).reshape(shape).copy()

    def _object_array(self, content: Any) -> Any:
        shape, values = _require(content, list)
        if math.prod(_require(shape, list)) != len(_require(values, list)):
            raise ValueError(f"an array of shape {shape} has {len(values)} values")
        array = np.empty(len(values), dtype=object)
        array[:] = self.decode(values)
        return array.reshape(shape)

    def _sparse(self, content: Any) -> Any:
        """A sparse matrix whose indices lie inside it."""
        name, shape, *arrays = _require(content, list)
        data = tuple(self.decode(each) for each in arrays)
        matrix = _look_up(_SPARSE_CLASSES, name)(data, shape=tuple(_require(shape, list)))
        matrix.check_format(full_check=True)
        return matrix

    def _measure(self, content: Any) -> Any:
        name, params = _require(content, list)
        if name not in measure_names():
            raise ValueError(f"there is no measure {name!r}")
        return get_measure(name, **self._attributes(params))

    def _formula(self, content: Any) -> Formula:
        return Formula(_require(content, str))

    def _function_measure(self, content: Any) -> FunctionMeasure:
        function, name = _require(content, list)
        return FunctionMeasure(self.decode(function), _require(name, str))

    def _function(self, content: Any) -> Any:
        return _look_up(FUNCTIONS, content)

    def _partial(self, content: Any) -> partial[Any]:
        function, arguments = _require(content, list)
        return partial(self._function(_require(function, dict)["function"]), **self._attributes(arguments))

    def _enum(self, content: Any) -> Any:
        name, member = _require(content, list)
        return _require_class(name, Enum)[_require(member, str)]

    def _record(self, content: Any) -> Any:
        name, state = _require(content, list)
        kind = _require_class(name, object)
        if is_dataclass(kind):
            make: Any = kind
            _check_names(name, state, {field.name for field in fields(kind) if field.init})
            return make(**self._attributes(state))
        if issubclass(kind, BaseEstimator | Enum):
            raise ValueError(f"{name} is not made from fields")
        _check_fitted(name, kind, (), state)
        value = kind.__new__(kind)
        vars(value).update(self._attributes(state))
        return value

    def _estimator(self, content: Any) -> Any:
        name, params, fitted = _require(content, list)
        kind = _require_class(name, BaseEstimator)
        if _MODULES.get(name) in BOOSTERS:
            _check_texts(name, params)
        else:
            _check_names(name, params, set(signature(kind).parameters))
            params = {key: node for key, node in params.items() if key not in ENVIRONMENT_PARAMETERS}
            _check_no_files(name, params)
        _check_fitted(name, kind, signature(kind).parameters, fitted)
        estimator = kind(**self._attributes(params))
        estimator.__setstate__(self._attributes(fitted))
        return estimator

    def _tree(self, content: Any) -> Any:
        return _make_tree(**self._attributes(content))

    def _predictor(self, content: Any) -> Any:
        """A tree of histogram-based gradient boosting."""
        predictor = TreePredictor(**self._attributes(content))
        nodes, is_leaf = predictor.nodes, predictor.nodes["is_leaf"].astype(bool)
        _check_branches(np.where(is_leaf, -1, nodes["left"].astype(int)), nodes["right"].astype(int))
        n_sets = min(len(predictor.raw_left_cat_bitsets), len(predictor.binned_left_cat_bitsets))
        if (nodes["bitset_idx"][nodes["is_categorical"].astype(bool)] >= n_sets).any():
            raise ValueError("a tree splits on categories that it does not have")
        return predictor

    def _loss(self, content: Any) -> Any:
        name, n_classes = _require(content, list)
        kind = _look_up(LOSSES, name)
        return kind(n_classes=n_classes) if "n_classes" in signature(kind).parameters else kind()

    def _generator(self, content: Any) -> np.random.Generator:
        name, state = _require(content, list)
        bits = _look_up(_BIT_GENERATORS, name)(0)
        bits.state = self.decode(state)
        return np.random.Generator(bits)

    def _booster(self, content: Any) -> Any:
        """A booster from its text; nothing in a file is ever passed as a file name."""
        package, number, nodes = _require(content, list)
        ending, attributes = _look_up(BOOSTERS, package), self._attributes(nodes)
        text = self._read_member(f"boosters/{_require(number, int)}.{ending}")
        if set(attributes) != set(_LIGHTGBM_ATTRIBUTES if package == "lightgbm" else ()):
            raise ValueError(f"a booster of {package} has unexpected attributes")
        if package == "lightgbm":
            booster = import_module(package).Booster(model_str=text.decode())
            vars(booster).update(attributes)
            return booster
        json.loads(text)  # XGBoost's own parser overflows the stack on deep nesting
        booster = import_module(package).Booster()
        booster.load_model(bytearray(text))
        return booster


_DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    name: getattr(Decoder, f"_{name}")
    for name in (
        *("float", "tuple", "set", "dict", "bunch", "slice", "bytes", "scalar", "dtype", "type", "array"),
        *("object_array", "sparse", "measure", "formula", "function_measure", "function", "partial", "enum"),
        *("record", "estimator", "tree", "predictor", "loss", "generator", "booster", "object"),
    )
}


def check_documents(
    names: Collection[str], read_member: Callable[[str], bytes], trusted: Collection[str]
) -> dict[str, bytes]:
    """All skops documents, checked before an object is made of any of them."""
    documents, untrusted = {}, set()
    for name in names:
        if name.endswith(".skops"):
            documents[name], unknown = check_document(read_member(name), trusted)
            untrusted |= unknown
    if untrusted:
        raise UntrustedTypesError(", ".join(sorted(untrusted)))
    return documents


def _require(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise ValueError(f"expected a {kind.__name__}, got {str(value)[:40]!r}")
    return value


def _look_up(table: dict[str, Any], name: Any) -> Any:
    if _require(name, str) not in table:
        raise ValueError(f"the name {name!r} is not known")
    return table[name]


def _require_class(name: Any, base: type[Any]) -> Any:
    kind = find_class(_require(name, str))
    if kind is None or not issubclass(kind, base):
        raise ValueError(f"the name {name!r} is not known")
    return kind


def _as_descr(node: Any) -> Any:
    """A description of an array's type; JSON has lists in place of pairs."""
    return [tuple(_require(field, list)) for field in node] if isinstance(node, list) else _require(node, str)


def _check_names(owner: str, state: Any, known: set[str]) -> None:
    unknown = next((name for name in _require(state, dict) if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{owner} has no field {unknown!r}")


def _check_fitted(owner: str, kind: type[Any], parameters: Collection[str], fitted: Any) -> None:
    """A fitted attribute must not take the place of a method or of a parameter."""
    for name in _require(fitted, dict):
        is_taken = name in parameters or callable(getattr(kind, name, None))
        if is_taken or not name.isidentifier() or name.startswith("__"):
            raise ValueError(f"{owner} has no fitted attribute {name!r}")


def _check_no_files(owner: str, params: dict[str, Any]) -> None:
    """Refuse a vectorizer that opens the files that its input names."""
    if params.get("input", "content") != "content":
        raise ValueError(f"its {owner} reads files: its parameter 'input' must be 'content'")


def _check_texts(owner: str, params: Any) -> None:
    """Boosters have parameters that name files and hosts: a text must be a word, such as a name of a loss."""
    for name, value in _require(params, dict).items():
        if value is not None and re.search("file|machine|path|callback|input_model|output_model", name):
            raise ValueError(f"{owner} has the parameter {name!r}, which no model file may hold")
        if isinstance(value, str) and not re.fullmatch(r"[\w:.,@ ()-]*", value):
            raise ValueError(f"{owner} has the parameter {name!r} with the value {value[:40]!r}")


def _make_tree(n_features: int, n_classes: Any, n_outputs: int, **state: Any) -> Tree:
    """A scikit-learn tree; scikit-learn itself would follow any index without a check."""
    nodes = state["nodes"]
    if n_classes.shape != (n_outputs,) or not (n_classes > 0).all() or nodes.shape != (state["node_count"],):
        raise ValueError("the sizes of a tree do not agree")
    _check_branches(nodes["left_child"], nodes["right_child"])
    columns = nodes["feature"][nodes["left_child"] != -1]
    if (columns < 0).any() or (columns >= n_features).any():
        raise ValueError("a tree splits on a column that it does not have")
    tree = Tree(n_features, n_classes.astype(np.intp), n_outputs)
    tree.__setstate__(state)
    return tree


def _check_branches(left: Any, right: Any) -> None:
    """Branches must lead to later nodes of the tree."""
    inner = np.flatnonzero(left != -1)
    children = np.stack([left[inner], right[inner]])
    if (children <= inner).any() or (children >= len(left)).any():
        raise ValueError("a branch of a tree leads out of it")
