"""Kernels between the rows of a table and constant vectors, such as support vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._typing import FloatArray
from ...exceptions import ExportError
from ._graph import GraphBuilder


def emit_kernel(graph: GraphBuilder, name: Any, rows: str, vectors: Any, **params: float) -> str:
    """Add the kernel values of each row with each vector; `params` are gamma, coef0 and degree."""
    emit = _KERNELS.get(name) if isinstance(name, str) else None
    if emit is None:
        raise ExportError(f"its kernel is not one of {', '.join(_KERNELS)}")
    return emit(graph, rows, as_dense_array(vectors), **params)


def as_dense_array(matrix: Any) -> FloatArray:
    """Convert a matrix, sparse or not, to an array of doubles."""
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


def _inner_products(graph: GraphBuilder, rows: str, vectors: FloatArray) -> str:
    return graph.op("MatMul", rows, vectors.T.copy())


def _linear(graph: GraphBuilder, rows: str, vectors: FloatArray, **_: float) -> str:
    return _inner_products(graph, rows, vectors)


def _scaled_squared_distances(graph: GraphBuilder, rows: str, vectors: FloatArray, gamma: float) -> str:
    """Squared distances times gamma, with one vector as the origin for numerical accuracy."""
    rows, vectors = graph.op("Sub", rows, vectors[:1]), vectors - vectors[:1]
    squared_norms = graph.op("ReduceSum", graph.op("Mul", rows, rows), np.array([1]), keepdims=1)
    cross_terms = _inner_products(graph, rows, -2.0 * vectors)
    distance = graph.op("Add", graph.op("Add", cross_terms, squared_norms), (vectors**2).sum(axis=1)[None, :])
    return graph.op("Mul", graph.op("Max", distance, 0.0), gamma)


def _rbf(graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float) -> str:
    return graph.op("Exp", graph.op("Neg", _scaled_squared_distances(graph, rows, vectors, gamma)))


def _laplacian(graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float) -> str:
    return graph.op(
        "Exp", graph.op("Neg", graph.op("Sqrt", _scaled_squared_distances(graph, rows, vectors, gamma)))
    )


def _inverse_distance(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float
) -> str:
    distance = graph.op("Sqrt", _scaled_squared_distances(graph, rows, vectors, gamma))
    return graph.op("Reciprocal", graph.op("Add", distance, 1.0))


def _inverse_squared_distance(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, **_: float
) -> str:
    return graph.op(
        "Reciprocal", graph.op("Add", _scaled_squared_distances(graph, rows, vectors, gamma), 1.0)
    )


def _poly(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, coef0: float, degree: float
) -> str:
    products = _inner_products(graph, rows, gamma * vectors)
    return graph.op("Pow", graph.op("Add", products, coef0), degree)


def _sigmoid(
    graph: GraphBuilder, rows: str, vectors: FloatArray, *, gamma: float, coef0: float, **_: float
) -> str:
    products = _inner_products(graph, rows, gamma * vectors)
    return graph.op("Tanh", graph.op("Add", products, coef0))


_KERNELS: dict[str, Callable[..., str]] = {
    "linear": _linear,
    "rbf": _rbf,
    "laplacian": _laplacian,
    "inverse_distance": _inverse_distance,
    "inverse_squared_distance": _inverse_squared_distance,
    "poly": _poly,
    "sigmoid": _sigmoid,
}
