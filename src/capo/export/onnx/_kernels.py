"""Kernels between the rows of a table and rows that are known now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...exceptions import ExportError
from ._graph import Graph


def kernel(graph: Graph, name: Any, rows: str, others: Any, **params: float) -> str:
    """The kernel of each row with each of the others; `params` are gamma, coef0 and degree."""
    make = _KERNELS.get(name) if isinstance(name, str) else None
    if make is None:
        raise ExportError(f"its kernel is none of {', '.join(_KERNELS)}")
    return make(graph, rows, dense(others), **params)


def dense(matrix: Any) -> NDArray[np.float64]:
    """A matrix, sparse or not, as an array of doubles."""
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


def _inner(graph: Graph, rows: str, others: NDArray[np.float64]) -> str:
    return graph.op("MatMul", rows, others.T.copy())


def _linear(graph: Graph, rows: str, others: NDArray[np.float64], **_: float) -> str:
    return _inner(graph, rows, others)


def _distance(graph: Graph, rows: str, others: NDArray[np.float64], gamma: float) -> str:
    """The gamma-fold squared distances, with rows counted from one of the others to keep digits."""
    rows, others = graph.op("Sub", rows, others[:1]), others - others[:1]
    lengths = graph.op("ReduceSum", graph.op("Mul", rows, rows), np.array([1]), keepdims=1)
    cross = _inner(graph, rows, -2.0 * others)
    distance = graph.op("Add", graph.op("Add", cross, lengths), (others**2).sum(axis=1)[None, :])
    return graph.op("Mul", graph.op("Max", distance, 0.0), gamma)


def _rbf(graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, **_: float) -> str:
    return graph.op("Exp", graph.op("Neg", _distance(graph, rows, others, gamma)))


def _laplacian(graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, **_: float) -> str:
    return graph.op("Exp", graph.op("Neg", graph.op("Sqrt", _distance(graph, rows, others, gamma))))


def _inverse(graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, **_: float) -> str:
    distance = graph.op("Sqrt", _distance(graph, rows, others, gamma))
    return graph.op("Reciprocal", graph.op("Add", distance, 1.0))


def _inverse_squared(
    graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, **_: float
) -> str:
    return graph.op("Reciprocal", graph.op("Add", _distance(graph, rows, others, gamma), 1.0))


def _poly(
    graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, coef0: float, degree: float
) -> str:
    scaled = _inner(graph, rows, gamma * others)
    return graph.op("Pow", graph.op("Add", scaled, coef0), degree)


def _sigmoid(
    graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, coef0: float, **_: float
) -> str:
    scaled = _inner(graph, rows, gamma * others)
    return graph.op("Tanh", graph.op("Add", scaled, coef0))


_KERNELS: dict[str, Callable[..., str]] = {
    "linear": _linear,
    "rbf": _rbf,
    "laplacian": _laplacian,
    "inverse_distance": _inverse,
    "inverse_squared_distance": _inverse_squared,
    "poly": _poly,
    "sigmoid": _sigmoid,
}
