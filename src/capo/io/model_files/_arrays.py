"""Numbers from a file, checked before they are used: arrays, sparse matrices, trees, random generators."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from ..._sklearn_compat import Tree

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
