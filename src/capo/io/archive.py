"""The archive of a model file, and numbers in it, checked before they are used.

Checksums show damage and edits, not who wrote a file. Sizes are compared before anything is unpacked, and
only names of the format are accepted; nothing is ever unpacked to disk.

Both classes take the name of a file in their constructors. A model file holds the text of the booster, which
is passed to the function that parses text; nothing from the file is ever passed as a file name.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import sys
import zipfile
import zlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from .._compat import Tree
from ..exceptions import ModelFileError

MANIFEST, STATE, SUMS = "manifest.json", "state.json", "SHA256SUMS"
#: An archive may unpack to this many bytes ...
MAX_UNPACKED_BYTES = 2**26
#: ... or to this many times its own size.
MAX_UNPACKED_RATIO = 200

#: The first bytes of a zip archive.
_SIGNATURE = b"PK"
_NUMBERED = r"(arrays/\d{1,9}\.npy|boosters/\d{1,9}\.(txt|json)|estimators/\d{1,9}\.skops)"
_MEMBER = re.compile(rf"({re.escape(MANIFEST)}|{re.escape(STATE)}|{SUMS}|{_NUMBERED})", re.ASCII)


class Archive:
    """The members of a model file in memory, each unpacked when it is read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._zip, self._sums = self._open(_read_file(path))

    def _open(self, data: bytes) -> tuple[zipfile.ZipFile, dict[str, str]]:
        if not data.startswith(_SIGNATURE):
            raise ModelFileError(f"{self._path} is not a capo model file.")
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            check_archive(archive, len(data))
            if not {MANIFEST, SUMS} <= set(archive.namelist()):
                raise ModelFileError(f"{self._path} is an archive, but not a capo model file.")
            lines = archive.read(SUMS).decode(errors="replace").splitlines()
        except ModelFileError:
            raise
        except _DAMAGE as error:
            raise ModelFileError(
                f"{self._path} is damaged or truncated: copy or download it again."
            ) from error
        except ValueError as error:
            raise ModelFileError(f"{self._path} cannot be opened: {error}.") from error
        return archive, {line.rpartition("  ")[2]: line.partition("  ")[0] for line in lines}

    def check_names(self) -> list[str]:
        """The names of all members; a name that is not of the format is refused."""
        names = self._zip.namelist()
        unknown = next((name for name in names if not _MEMBER.fullmatch(name)), None)
        if unknown is not None:
            raise ModelFileError(f"{self._path} is not a capo model file: it holds {unknown!r}.")
        return names

    def read(self, name: str) -> bytes:
        """A member, compared with its checksum."""
        try:
            data = self._zip.read(name)
        except KeyError:
            raise ModelFileError(f"{self._path} lacks its part {name!r}.") from None
        except _DAMAGE as error:
            raise ModelFileError(
                f"{self._path} is damaged or truncated: copy or download it again."
            ) from error
        if self._sums.get(name) != hashlib.sha256(data).hexdigest():
            raise ModelFileError(f"{self._path} has been changed or damaged since it was written ({name}).")
        return data


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, NotImplementedError, KeyError)


def write_archive(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    """Write the members and their checksums."""
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**members, SUMS: sums.encode()}.items():
            archive.writestr(name, data)


def check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse archives that hold a name twice, or that would unpack to far more than a model."""
    infos = archive.infolist()
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("it contains two parts with the same name")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise ValueError("it is compressed in a way that model files are not")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > max(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size):
        raise ValueError(f"it would unpack from {size / 1e6:,.1f} MB to {unpacked / 1e6:,.0f} MB")


def _read_file(path: str) -> bytes:
    """The bytes of a file; of one that is no archive only the first, since it may be of any size."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(len(_SIGNATURE))
            return head + file.read() if head == _SIGNATURE else head
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if missing else error.strerror or str(error)
        raise ModelFileError(f"{path} cannot be opened: {reason}.") from error
    except ValueError as error:  # a null character in the name
        raise ModelFileError(f"{path!r} cannot be opened: {error}.") from error


Array = NDArray[Any]

_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_SPARSE_TYPES = {
    kind.__name__: kind for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
}
_BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}


def dump_array(array: Array) -> bytes:
    """An array in NumPy's file format, without pickle."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def load_array(data: bytes) -> Array:
    """An array from NumPy's file format, after `check_array_file`."""
    check_array_file(data)
    return np.load(io.BytesIO(data), allow_pickle=False)


def check_array_file(data: bytes) -> None:
    """Refuse a header that promises other data than follows: NumPy would allocate what it promises."""
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


def is_sparse(value: Any) -> bool:
    """Whether the value is a sparse matrix of a type that model files hold."""
    return _SPARSE_TYPES.get(type(value).__name__) is type(value)


def make_sparse(name: str, shape: tuple[int, ...], data: Array, indices: Array, indptr: Array) -> Any:
    """A sparse matrix whose indices lie inside it."""
    matrix = _SPARSE_TYPES[name]((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def tree_state(tree: Tree) -> dict[str, Any]:
    """A scikit-learn tree as plain state."""
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    return {"n_features": n_features, "n_classes": n_classes, "n_outputs": n_outputs, **state}


def make_tree(n_features: int, n_classes: Array, n_outputs: int, **state: Any) -> Tree:
    """A scikit-learn tree; scikit-learn itself would follow any index without a check."""
    n_nodes = state["node_count"]
    if n_classes.shape != (n_outputs,) or not (n_classes > 0).all() or state["nodes"].shape != (n_nodes,):
        raise ValueError("the sizes of a tree do not agree")
    _check_tree_nodes(state["nodes"], n_features)
    tree = Tree(n_features, n_classes.astype(np.intp), n_outputs)
    tree.__setstate__(state)
    return tree


def _check_tree_nodes(nodes: Array, n_features: int) -> None:
    """Branches must lead to later nodes of the tree, and splits must be on one of its columns."""
    left, right, feature = (nodes[name] for name in ("left_child", "right_child", "feature"))
    inner = np.flatnonzero(left != -1)
    children = np.stack([left[inner], right[inner]])
    if (children <= inner).any() or (children >= len(nodes)).any():
        raise ValueError("a branch of a tree leads out of it")
    if (feature[inner] < 0).any() or (feature[inner] >= n_features).any():
        raise ValueError("a tree splits on a column that it does not have")


def generator_state(generator: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """A random generator as the name of its bit generator and plain state."""
    bits = generator.bit_generator
    return type(bits).__name__, dict(bits.state)


def make_generator(name: str, state: Any) -> np.random.Generator:
    """A random generator from plain state."""
    bits = _BIT_GENERATORS[name](0)
    bits.state = state
    return np.random.Generator(bits)


#: The booster's class in each package, and the ending of the member that holds its text.
BOOSTER_CLASSES = {"lightgbm": "Booster", "xgboost": "Booster"}
ENDINGS = {"lightgbm": "txt", "xgboost": "json"}
#: Attributes of a LightGBM booster that are not in its text.
_LIGHTGBM_ATTRIBUTES = ("best_iteration", "best_score", "params")


def booster_package(value: Any) -> str | None:
    """The package of a booster; None for anything else."""
    package = type(value).__module__.partition(".")[0]
    kind = BOOSTER_CLASSES.get(package)
    return package if kind and type(value) is getattr(sys.modules[package], kind, None) else None


def dump_booster(booster: Any, package: str) -> tuple[bytes, dict[str, Any]]:
    """The booster's text, and its further attributes."""
    if package == "xgboost":
        return bytes(booster.save_raw(raw_format="json")), {}
    attributes = {name: getattr(booster, name) for name in _LIGHTGBM_ATTRIBUTES}
    return booster.model_to_string(num_iteration=-1).encode(), attributes


def load_booster(text: bytes, package: str, attributes: dict[str, Any]) -> Any:
    """A booster from its text."""
    return _LOADERS[package](text, attributes)


def _load_lightgbm(text: bytes, attributes: dict[str, Any]) -> Any:
    if set(attributes) != set(_LIGHTGBM_ATTRIBUTES):
        raise ValueError("a LightGBM booster has unexpected attributes")
    booster = import_module("lightgbm").Booster(model_str=text.decode())
    for name, value in attributes.items():
        setattr(booster, name, value)
    return booster


def _load_xgboost(text: bytes, attributes: dict[str, Any]) -> Any:
    if attributes:
        raise ValueError("an XGBoost booster has unexpected attributes")
    json.loads(text)  # XGBoost's own parser overflows the stack on deep nesting
    booster = import_module("xgboost").Booster()
    booster.load_model(bytearray(text))
    return booster


_LOADERS = {"lightgbm": _load_lightgbm, "xgboost": _load_xgboost}
