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
    {"function": ["to_dense", {...}]}     a function by name, with arguments that are fixed
    {"enum": ["Status", "OPTIMAL"]}
    {"record": ["Solution", {...}]}       an object that is made from its fields
    {"tree": ...}, {"predictor": ...}     a tree of scikit-learn, of a forest or of boosting
    {"loss": [class, n_classes]}          a loss function of scikit-learn
    {"generator": ["PCG64", state]}       a random generator
    {"random_state": state}               a generator of NumPy's older kind
    {"spline": [knots, coefficients, degree, extrapolate]}
    {"masked_array": [values, mask]}
    {"transposed": array}                 an array in Fortran's order
    {"booster": ["lightgbm", 0, {...}]}   a booster, whose text is in boosters/0.txt (XGBoost: .json)
    {"object": 7}                         entry 7 of the list "objects"

and an entry of "objects", which may be referred to from several places, as

    {"estimator": [class, parameters, fitted attributes]}
    {"skops": []}                         any other object: the member estimators/7.skops

Classes of capo are written by their names, and found again in its packages; estimators of scikit-learn,
LightGBM and XGBoost by their public modules and names. Objects of other classes are written by skops. A
node is checked before an object is made of it: the class is one of these, the object has only the parameters
and fields of its class, and no attribute takes the place of a method.
"""

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
from scipy.interpolate import BSpline
from sklearn import ensemble
from sklearn.base import BaseEstimator
from sklearn.feature_selection import f_classif
from sklearn.metrics import check_scoring
from sklearn.model_selection import BaseCrossValidator
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils import Bunch, check_array

from .._compat import LOSSES, BinMapper, CalibratedClassifier, Tree, TreePredictor
from ..learning.auxiliaries import class_separation, to_dense
from ..measures import Formula, FunctionMeasure, Measure
from ..measures import get as get_measure
from ..measures import names as measure_names
from ..tables.features import clip_standardized
from .archive import ARRAYS, Archive
from .audit import check_document, dump_document, load_document

Node = Any

#: Packages of capo whose dataclasses, estimators and enumerations a model may hold.
PACKAGES = ("baselines", "decisions", "engine", "estimators", "kernels", "learning", "measures", "tables")
#: Modules whose estimators are written by capo. Those of the others of scikit-learn hold compiled objects.
OTHER_MODULES = {"lightgbm.sklearn", "xgboost.sklearn"} | {
    f"sklearn.{name}"
    for name in (
        *("calibration", "cluster", "compose", "decomposition", "discriminant_analysis", "dummy", "ensemble"),
        *("feature_extraction.text", "feature_selection", "frozen", "impute", "isotonic"),
        *("kernel_approximation", "linear_model", "model_selection", "multiclass", "multioutput"),
        *("naive_bayes", "neighbors", "neural_network", "pipeline", "preprocessing", "random_projection"),
        *("semi_supervised", "svm", "tree"),
    )
}
#: Ensembles that do not compare the number of columns with that of their trees.
TREE_ENSEMBLES = (
    *(ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor, ensemble.RandomForestClassifier),
    *(ensemble.RandomForestRegressor, ensemble.RandomTreesEmbedding, ensemble.GradientBoostingClassifier),
    ensemble.GradientBoostingRegressor,
)
#: Private classes of scikit-learn, by their names in model files.
PRIVATE_CLASSES: dict[str, type[Any]] = {
    "sklearn.BinMapper": BinMapper,
    "sklearn.CalibratedClassifier": CalibratedClassifier,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (check_array, class_separation, clip_standardized, f_classif, to_dense)
}
#: Machine-specific parameters, which are not written to files: a folder of cached results, which may contain
#: code, and settings of processes and of the screen.
ENVIRONMENT_PARAMETERS = frozenset({"memory", "n_jobs", "verbose"})
#: Attributes of scikit-learn's estimators with compiled or private objects, which are not written to files:
#: they are restored from the others when a model is opened, or by the next fit.
REMADE_ATTRIBUTES = frozenset({"_sklearn_version", "_loss_function_", "_optimizer", "_tree", "scorer_"})
#: Packages whose boosters are written as text, and the endings of the members with the text.
BOOSTERS = {"lightgbm": "txt", "xgboost": "json"}
#: Attributes of a LightGBM booster that are not in its text.
_LIGHTGBM_ATTRIBUTES = ("best_iteration", "best_score")
#: Parameters of boosters whose values may be texts.
TEXT_PARAMETERS = frozenset(
    (
        *("booster", "boosting", "boosting_type", "class_weight", "data_sample_strategy", "device"),
        *("device_type", "eval_metric", "feature_types", "grow_policy", "importance_type"),
        *("interaction_constraints", "metric", "monotone_constraints", "multi_strategy", "objective"),
        *("sampling_method", "tree_method"),
    )
)
#: Names of parameters that a search must not set in any estimator.
FILE_PARAMETERS = re.compile(
    r"(^|_)(memory|input|fs|nodes|workers)$|file|path|machine|mlist|forced|callback|_model"
)
#: Kinds of NumPy types whose scalars are written: bool, integers, floats, strings.
SCALAR_KINDS = "biufU"
_SPARSE_CLASSES = {
    name: getattr(sparse, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
}
_BIT_GENERATORS = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@cache
def _own_classes() -> dict[str, type[Any]]:
    """The public dataclasses, estimators and enumerations of capo, by name."""
    found = dict(PRIVATE_CLASSES)
    for package in PACKAGES:
        root = import_module(f"capo.{package}")
        below = pkgutil.walk_packages(getattr(root, "__path__", ()), f"{root.__name__}.")
        for module in (root.__name__, *(each.name for each in below)):
            with suppress(ImportError):  # of an optional package
                import_module(module)
            for name, kind in vars(sys.modules.get(module, root)).items():
                is_own = isinstance(kind, type) and kind.__module__ == module and not name.startswith("_")
                if is_own and not issubclass(kind, BaseEstimator | Enum):
                    is_own = is_dataclass(kind) and ENVIRONMENT_PARAMETERS.isdisjoint(
                        field.name for field in fields(kind)
                    )
                if is_own:
                    assert found.setdefault(name, kind) is kind, f"two classes are called {name}"
    return found


def find_class(name: str) -> type[Any] | None:
    """The class with a name in model files; None if there is none."""
    module, _, last = name.rpartition(".")
    if module not in OTHER_MODULES:
        return _own_classes().get(name)
    kind = getattr(import_module(module), last, None)
    is_estimator = isinstance(kind, type) and issubclass(kind, BaseEstimator | BaseCrossValidator)
    return kind if is_estimator else None


def class_name(kind: type[Any]) -> str | None:
    """The name of a class in model files; None if its objects are not written by capo."""
    public = re.sub(r"(\._\w+)(\.\w+)*$", "", kind.__module__)
    private = (name for name, each in PRIVATE_CLASSES.items() if each is kind)
    name = next(private, kind.__name__ if public.startswith("capo") else f"{public}.{kind.__name__}")
    return name if find_class(name) is kind else None


def _is_function(value: Any) -> bool:
    """Whether a value is a function of the list, or one with some of its arguments by name."""
    function = value.func if type(value) is partial and not value.args else value
    return FUNCTIONS.get(getattr(function, "__name__", "")) is function


@cache
def _describe(dtype: np.dtype[Any]) -> Any:
    return dtype.str if dtype.names is None else npy.dtype_to_descr(dtype)


def _is_named(value: Any) -> bool:
    """Whether a value is one of capo's measures, which its name and its parameters make again."""
    if not isinstance(value, Measure) or value.name not in measure_names():
        return False
    return type(value) is type(get_measure(value.name))


def _make_scalar(content: list[Any]) -> Any:
    name, value = content
    dtype = np.dtype(_require(name, str))
    if dtype.kind not in SCALAR_KINDS or not 0 <= dtype.itemsize <= 4 * max(len(str(value)), 8):
        raise ValueError(f"{name} is not the type of a number or a string")
    return dtype.type(value)


def _make_object_array(content: list[Any]) -> Any:
    shape, values = content
    if math.prod(_require(shape, list)) != len(_require(values, list)):
        raise ValueError(f"an array of shape {shape} has {len(values)} values")
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _make_sparse(content: list[Any]) -> Any:
    """A sparse matrix whose indices lie inside it."""
    name, shape, *arrays = content
    matrix = _look_up(_SPARSE_CLASSES, name)(tuple(arrays), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _make_measure(content: list[Any]) -> Any:
    name, params = content
    if name not in measure_names():
        raise ValueError(f"there is no measure {name!r}")
    return get_measure(name, **params)


def _make_function(content: list[Any]) -> Any:
    name, arguments = content
    function = _look_up(FUNCTIONS, name)
    return partial(function, **arguments) if arguments else function


def _make_loss(content: list[Any]) -> Any:
    name, n_classes = content
    kind = _look_up(LOSSES, name)
    return kind(n_classes=n_classes) if "n_classes" in signature(kind).parameters else kind()


def _make_generator(content: list[Any]) -> np.random.Generator:
    name, state = content
    bits = _look_up(_BIT_GENERATORS, name)(0)
    bits.state = _check_generator_state(state)
    return np.random.Generator(bits)


def _make_random_state(state: dict[str, Any]) -> np.random.RandomState:
    random = np.random.RandomState()
    random.set_state(_check_generator_state(state))
    return random


def _check_generator_state(state: dict[str, Any]) -> dict[str, Any]:
    """NumPy would follow any position in the key of a Mersenne twister, or in the buffer of a Philox."""
    inner = state["state"]
    sizes = {"pos": len(inner.get("key", ())), "buffer_pos": len(state.get("buffer", ()))}
    if any(not 0 <= each.get(name, 0) <= size for name, size in sizes.items() for each in (inner, state)):
        raise ValueError("the state of a random generator has a position outside of its numbers")
    return state


def _tree_state(tree: Tree) -> dict[str, Any]:
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    return {"n_features": n_features, "n_classes": n_classes, "n_outputs": n_outputs, **state}


def _make_tree(content: dict[str, Any]) -> Tree:
    """A scikit-learn tree; scikit-learn itself would follow any index without a check."""
    state = dict(content)
    n_features, n_classes, n_outputs = (state.pop(name) for name in ("n_features", "n_classes", "n_outputs"))
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


def _make_predictor(content: dict[str, Any]) -> TreePredictor:
    """A tree of histogram-based gradient boosting."""
    predictor = TreePredictor(**content)
    nodes, is_leaf = predictor.nodes, predictor.nodes["is_leaf"].astype(bool)
    _check_branches(np.where(is_leaf, -1, nodes["left"].astype(int)), nodes["right"].astype(int))
    sets = predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets
    n_sets = min(len(each) if each.shape[1:] == (8,) else 0 for each in sets)
    if (nodes["bitset_idx"][nodes["is_categorical"].astype(bool)] >= n_sets).any():
        raise ValueError("a tree splits on categories that it does not have")
    return predictor


def _check_branches(left: Any, right: Any) -> None:
    """Check that branches lead to later nodes of the tree."""
    inner = np.flatnonzero(left != -1)
    children = np.stack([left[inner], right[inner]])
    if (children <= inner).any() or (children >= len(left)).any():
        raise ValueError("a branch of a tree leads out of it")


#: How values of some types are written: under a tag, as simpler values from which they are restored.
_KINDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (repr, lambda text: _FLOATS[text]),
    "tuple": (list, lambda values: tuple(_require(values, list))),
    "set": (lambda value: sorted(value, key=repr), lambda values: set(_require(values, list))),
    "dict": (lambda value: list(map(list, value.items())), dict),
    "bunch": (dict, lambda values: Bunch(**values)),
    "slice": (lambda value: [value.start, value.stop, value.step], lambda content: slice(*content)),
    "bytes": (lambda value: base64.b64encode(value).decode(), partial(base64.b64decode, validate=True)),
    "scalar": (lambda value: [value.dtype.str, value.item()], _make_scalar),
    "dtype": (lambda value: value.str, lambda text: np.dtype(_require(text, str))),
    "type": (lambda value: np.dtype(value).str, lambda text: np.dtype(_require(text, str)).type),
    "object_array": (lambda value: [list(value.shape), list(value.flat)], _make_object_array),
    "sparse": (
        lambda value: [type(value).__name__, list(value.shape), value.data, value.indices, value.indptr],
        _make_sparse,
    ),
    "measure": (lambda value: [value.name, value.params], _make_measure),
    "spline": (lambda value: [value.t, value.c, value.k, value.extrapolate], lambda c: BSpline(*c)),
    "masked_array": (
        lambda value: [value.data, np.ma.getmaskarray(value)],
        lambda content: np.ma.MaskedArray(*content),
    ),
    "transposed": (lambda value: value.T, lambda array: array.T),
    "formula": (lambda value: value.text, lambda text: Formula(_require(text, str))),
    "function_measure": (
        lambda value: [value.function, value.name],
        lambda content: FunctionMeasure(content[0], _require(content[1], str)),
    ),
    "function": (
        lambda value: [getattr(value, "func", value).__name__, getattr(value, "keywords", {})],
        _make_function,
    ),
    "enum": (
        lambda value: [class_name(type(value)), value.name],
        lambda content: _require_class(content[0], Enum)[_require(content[1], str)],
    ),
    "tree": (_tree_state, _make_tree),
    "predictor": (vars, _make_predictor),
    "loss": (lambda value: [type(value).__name__, value.n_classes], _make_loss),
    "generator": (
        lambda value: [type(value.bit_generator).__name__, dict(value.bit_generator.state)],
        _make_generator,
    ),
    "random_state": (lambda value: value.get_state(legacy=False), _make_random_state),
}
#: The tags of values by their types, as far as these decide.
_TAGS: dict[type[Any], str] = {
    **{each: each.__name__ for each in (float, tuple, set, dict, slice, bytes)},
    **dict.fromkeys((OrderedDict, defaultdict), "dict"),
    **dict.fromkeys(_SPARSE_CLASSES.values(), "sparse"),
    **dict.fromkeys(LOSSES.values(), "loss"),
    Bunch: "bunch",
    BSpline: "spline",
    np.ma.MaskedArray: "masked_array",
    np.memmap: "transposed",
    Formula: "formula",
    FunctionMeasure: "function_measure",
    Tree: "tree",
    TreePredictor: "predictor",
    np.random.Generator: "generator",
    np.random.RandomState: "random_state",
}


def _find_tag(value: Any) -> str | None:
    """The tag of a value; None for estimators, records and objects of other packages."""
    if type(value) in _TAGS:
        return _TAGS[type(value)]
    if type(value) is np.ndarray:
        return "object_array" if value.dtype == object else "transposed"
    checks = {
        "scalar": isinstance(value, np.generic) and value.dtype.kind in SCALAR_KINDS,
        "dtype": isinstance(value, np.dtype) and value.names is None,
        "type": isinstance(value, type) and issubclass(value, np.generic),
        "measure": _is_named(value),
        "function": _is_function(value),
        "enum": isinstance(value, Enum) and class_name(type(value)) is not None,
    }
    return next((tag for tag, applies in checks.items() if applies), None)


class Encoder:
    """Encode one model.

    Attributes
    ----------
    packages : set of str
        Optional packages that are needed to open the model.
    untrusted : set of str
        Types that must be trusted to open it.
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()
        self.untrusted: set[str] = set()
        self._members: dict[str, bytes] = {}
        self._nodes: dict[int, Node] = {}
        self._alive: list[Any] = []  # an id is unique only as long as its object lives
        self._objects: list[Any] = []
        self._arrays: list[bytes] = []
        self._n_bytes = 0

    @property
    def members(self) -> dict[str, bytes]:
        """The members of the archive beside the state."""
        return {ARRAYS: b"".join(self._arrays), **self._members}

    def encode_model(self, model: Any) -> dict[str, Node]:
        """The content of state.json."""
        state: dict[str, Node] = {"model": self.encode(model), "objects": []}
        for value in self._objects:  # which grows meanwhile
            name = class_name(type(value))
            if name is not None:
                state["objects"].append(self._estimator(value, name))
                continue
            self.packages |= {"skops", type(value).__module__.partition(".")[0]}
            document, untrusted = dump_document(value)
            self._members[f"estimators/{len(state['objects'])}.skops"] = document
            self.untrusted |= untrusted
            state["objects"].append({"skops": []})
        return state

    def encode(self, value: Any) -> Node:
        """The JSON node of a value."""
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return list(map(self.encode, value))
        is_array = kind in (np.ndarray, np.memmap) and not value.dtype.hasobject
        if is_array and not (value.ndim == 2 and value.strides[0] < value.strides[1]):
            return self._array(value)
        if tag := _find_tag(value):
            return {tag: self.encode(_KINDS[tag][0](value))}
        name = class_name(kind)
        if name is not None and not isinstance(value, BaseEstimator):
            names = [each.name for each in fields(value) if each.init] if is_dataclass(value) else vars(value)
            state = {each: getattr(value, each) for each in names}
            return {"record": [name, _map_values(self.encode, state)]}
        return self._object(value)

    def _array(self, value: Any) -> Node:
        if id(value) not in self._nodes:
            self._nodes[id(value)] = {"array": [_describe(value.dtype), list(value.shape), self._n_bytes]}
            self._alive.append(value)
            self._arrays.append(value.tobytes())
            self._n_bytes += value.nbytes
        return self._nodes[id(value)]

    def _object(self, value: Any) -> Node:
        package = type(value).__module__.partition(".")[0]
        if package in BOOSTERS:
            self.packages.add(package)
            if type(value).__name__ == "Booster":
                return self._booster(value, package)
        if id(value) not in self._nodes:
            self._nodes[id(value)] = {"object": len(self._objects)}
            self._objects.append(value)
        return self._nodes[id(value)]

    def _estimator(self, value: Any, name: str) -> Node:
        params = value.get_params(deep=False)
        left_out = {*params, "_skl_callbacks"}
        fitted = {key: each for key, each in value.__getstate__().items() if key not in left_out}
        _check_no_files(name, params)
        if not name.startswith(tuple(BOOSTERS)):
            params = {key: each for key, each in params.items() if key not in ENVIRONMENT_PARAMETERS}
        if name.startswith("sklearn."):  # other releases may lack a parameter that has its default value
            defaults = signature(type(value)).parameters
            params = {key: each for key, each in params.items() if not _is_same(each, defaults[key].default)}
            fitted = {key: each for key, each in fitted.items() if key not in REMADE_ATTRIBUTES}
        return {"estimator": [name, _map_values(self.encode, params), _map_values(self.encode, fitted)]}

    def _booster(self, value: Any, package: str) -> Node:
        number = sum(name.startswith("boosters/") for name in self._members)
        if package == "xgboost":
            text, attributes = bytes(value.save_raw(raw_format="json")), {}
        else:
            text = value.model_to_string(num_iteration=-1).encode()
            attributes = {name: getattr(value, name) for name in _LIGHTGBM_ATTRIBUTES}
        self._members[f"boosters/{number}.{BOOSTERS[package]}"] = text
        return {"booster": [package, number, _map_values(self.encode, attributes)]}


def _map_values(function: Callable[[Any], Any], values: Any) -> dict[str, Any]:
    return dict(zip(_require(values, dict), map(function, values.values()), strict=True))


class UntrustedTypesError(Exception):
    """Types in skops documents that are not known to be safe, in `args`."""


class Decoder:
    """Decode one model.

    Parameters
    ----------
    objects : list
        The entries of the list "objects".
    archive : Archive
        The model file.
    trusted : collection of str
        Types that the user trusts in skops documents.
    """

    def __init__(self, objects: list[Node], archive: Archive, trusted: Collection[str]) -> None:
        self._nodes = _require(objects, list)
        self._archive, self._trusted = archive, trusted
        self._objects: dict[int, Any] = {}
        self._open: set[int] = set()
        self._bytes, self._arrays = archive.read(ARRAYS), dict[str, Any]()
        # All skops documents are checked before an object is made of any of them.
        names = [name for name in archive.names if name.endswith(".skops")]
        checked = {name: check_document(archive.read(name), trusted) for name in names}
        if untrusted := {kind for _, unknown in checked.values() for kind in unknown}:
            raise UntrustedTypesError(*sorted(untrusted))
        self._documents = {name: document for name, (document, _) in checked.items()}

    def decode_model(self, node: Node) -> Any:
        """The model; the objects that others contain are made first, which keeps the calls shallow."""
        for number in reversed(range(len(self._nodes))):
            self._object(number)
        return self.decode(node)

    def decode(self, node: Node) -> Any:
        """The value of a node."""
        if isinstance(node, list):
            return list(map(self.decode, node))
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise ValueError(f"a value is described by {len(node)} keys, not one")
        ((tag, content),) = node.items()
        if tag in _KINDS:
            return _KINDS[tag][1](self.decode(content))
        if tag not in ("array", "object", "record", "estimator", "booster"):
            raise ValueError(f"values of the kind {tag!r} are not known")
        arguments = [content] if tag == "object" else _require(content, list)
        return getattr(self, f"_{tag}")(*arguments)

    def _object(self, number: Any) -> Any:
        """An entry of "objects", made on its first use."""
        if type(number) is not int or not 0 <= number < len(self._nodes):
            raise ValueError(f"there is no object {number!r}")
        if number not in self._objects:
            if number in self._open:
                raise ValueError(f"object {number} contains itself")
            self._open.add(number)
            if self._nodes[number] == {"skops": []}:
                document = self._documents.get(f"estimators/{number}.skops")
                if document is None:
                    raise ValueError(f"object {number} has no skops document")
                self._objects[number] = load_document(document, self._trusted)
            else:
                self._objects[number] = self.decode(self._nodes[number])
        return self._objects[number]

    def _array(self, descr: Any, shape: Any, start: Any) -> Any:
        key = repr((descr, shape, start))  # an empty array starts where another does
        if key not in self._arrays:
            pairs = isinstance(descr, list)
            dtype = npy.descr_to_dtype([tuple(each) for each in descr] if pairs else _require(descr, str))
            n_values = math.prod(_require(size, int) for size in _require(shape, list))
            is_negative = min([_require(start, int), *shape]) < 0
            if dtype.hasobject or is_negative or (n_values and not dtype.itemsize):
                raise ValueError(f"an array has values of type {dtype}")
            if start + n_values * dtype.itemsize > len(self._bytes):
                raise ValueError(f"an array of shape {shape} has too few bytes of data")
            self._arrays[key] = np.frombuffer(self._bytes, dtype, n_values, start).reshape(shape).copy()
        return self._arrays[key]

    def _record(self, name: Any, state: Any) -> Any:
        kind = _require_class(name, object)
        if issubclass(kind, BaseEstimator | Enum):
            raise ValueError(f"{name} is not made from fields")
        if is_dataclass(kind):
            make: Any = kind
            _check_names(name, state, {field.name for field in fields(kind) if field.init})
            return make(**_map_values(self.decode, state))
        _check_fitted(name, kind, (), state)
        value = kind.__new__(kind)
        vars(value).update(_map_values(self.decode, state))
        return value

    def _estimator(self, name: Any, params: Any, fitted: Any) -> Any:
        kind = _require_class(name, BaseEstimator)
        if not name.startswith(tuple(BOOSTERS)):
            _check_names(name, params, set(signature(kind).parameters))
            params = {key: node for key, node in params.items() if key not in ENVIRONMENT_PARAMETERS}
        _check_fitted(name, kind, signature(kind).parameters, fitted)
        values = _map_values(self.decode, params)
        estimator = kind(**values)
        estimator.__setstate__(_map_values(self.decode, fitted))
        _check_no_files(name, {**values, **estimator.get_params(deep=False)})
        if name.startswith("sklearn."):
            _complete(estimator)
        return estimator

    def _booster(self, package: Any, number: Any, nodes: Any) -> Any:
        """A booster from its text; nothing in a file is ever passed as a file name."""
        ending, attributes = _look_up(BOOSTERS, package), _map_values(self.decode, nodes)
        text = self._archive.read(f"boosters/{_require(number, int)}.{ending}")
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


def _check_names(owner: str, state: Any, known: set[str]) -> None:
    unknown = next((name for name in _require(state, dict) if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{owner} has no parameter {unknown!r}")


def _check_fitted(owner: str, kind: type[Any], parameters: Collection[str], fitted: Any) -> None:
    """Check that a fitted attribute does not replace a method or a parameter."""
    for name in _require(fitted, dict):
        is_taken = name in parameters or callable(getattr(kind, name, None))
        if is_taken or not name.isidentifier() or name.startswith("__"):
            raise ValueError(f"{owner} has no fitted attribute {name!r}")


def _check_no_files(owner: str, params: dict[str, Any]) -> None:
    """Refuse parameters that name files, folders or hosts.

    A vectorizer can open the files that its input names, and a search can set the parameters of other
    estimators. Boosters have many such parameters: only some of theirs may hold text.
    """
    if params.get("input", "content") != "content":
        raise ValueError(f"its {owner} reads files: its parameter 'input' must be 'content'")
    grids = params.get("param_grid", params.get("param_distributions", ()))
    names = [name for grid in ([grids] if isinstance(grids, dict) else grids) for name in grid]
    found = next((name for name in names if FILE_PARAMETERS.search(name)), None)
    if owner.startswith(tuple(BOOSTERS)):
        texts = (name for name, value in params.items() if name not in TEXT_PARAMETERS and _has_text(value))
        found = next(texts, found)
    if found is not None:
        raise ValueError(f"its {owner} has the parameter {found!r}, which model files must not contain")


def _has_text(value: Any) -> bool:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return isinstance(value, str | bytes) or any(map(_has_text, values))


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) is not np.ndarray and bool(value == default))


def _complete(estimator: Any) -> None:
    """Make an estimator's `REMADE_ATTRIBUTES`, and refuse arrays that compiled code would read beyond."""
    if hasattr(estimator, "best_index_"):  # of a search
        scorer = check_scoring(estimator.estimator, scoring=estimator.scoring)
        estimator.scorer_ = getattr(scorer, "_scorers", scorer)
    if hasattr(estimator, "_fit_method"):  # of nearest neighbors
        make_tree = {"kd_tree": KDTree, "ball_tree": BallTree}.get(estimator._fit_method)
        metric = {"metric": estimator.effective_metric_, **estimator.effective_metric_params_}
        estimator._tree = make_tree and make_tree(estimator._fit_X, estimator.leaf_size, **metric)
    if hasattr(estimator, "_fit_dtype"):  # of an imputer, whose types differ between scikit-learn 1.7 and 1.8
        vars(estimator).setdefault("_fill_dtype", estimator._fit_dtype)
        if estimator.statistics_.dtype == object:
            estimator.statistics_ = estimator.statistics_.astype(estimator._fit_dtype)
    n_features = getattr(estimator, "n_features_in_", 0)
    nodes = [each.nodes for trees in getattr(estimator, "_predictors", ()) for each in trees]
    is_wrong = any((each["feature_idx"][each["is_leaf"] == 0] >= n_features).any() for each in nodes)
    parts = getattr(estimator, "estimators_", ()) if type(estimator) in TREE_ENSEMBLES else ()
    trees = [each.tree_ for each in (estimator, *getattr(parts, "flat", parts)) if hasattr(each, "tree_")]
    is_wrong |= any(each.n_features != n_features for each in trees)
    if hasattr(estimator, "_n_support") and hasattr(estimator, "classes_"):  # of a support vector machine
        n_classes, n_vectors = len(estimator._n_support), estimator._n_support.sum()
        shapes = estimator.support_vectors_.shape, estimator._dual_coef_.shape, estimator.support_.shape
        vectors = (0, 0) if estimator.kernel == "precomputed" else (n_vectors, n_features)
        is_wrong |= shapes != (vectors, (n_classes - 1, n_vectors), (n_vectors,))
        is_wrong |= estimator.kernel == "precomputed" and estimator.support_.max() >= n_features
    if is_wrong:
        raise ValueError(f"the sizes of a {type(estimator).__name__} do not agree")
