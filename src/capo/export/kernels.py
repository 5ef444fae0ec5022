"""Kernels between the rows of a table and rows that are known now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..exceptions import ExportError
from .graph import Graph


def kernel(graph: Graph, name: Any, rows: str, others: Any, **params: float) -> str:
    """The kernel of each row with each of the others; `params` are gamma, coef0 and degree."""
    make = _KERNELS.get(name) if isinstance(name, str) else None
    if make is None:
        raise ExportError(f"its kernel {name!r} is none of {', '.join(_KERNELS)}")
    return make(graph, rows, dense(others), **params)


def dense(matrix: Any) -> NDArray[np.float64]:
    """A matrix, sparse or not, as an array of doubles."""
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


def _inner(graph: Graph, rows: str, others: NDArray[np.float64]) -> str:
    return graph.op("MatMul", rows, others.T.copy())


def _linear(graph: Graph, rows: str, others: NDArray[np.float64], **_: float) -> str:
    return _inner(graph, rows, others)


def _rbf(graph: Graph, rows: str, others: NDArray[np.float64], *, gamma: float, **_: float) -> str:
    lengths = graph.op("ReduceSum", graph.op("Mul", rows, rows), np.array([1], dtype=np.int64), keepdims=1)
    cross = _inner(graph, rows, -2.0 * others)
    distance = graph.op("Add", graph.op("Add", cross, lengths), (others**2).sum(axis=1)[None, :])
    return graph.op("Exp", graph.op("Mul", graph.op("Max", distance, 0.0), -gamma))


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
    "poly": _poly,
    "sigmoid": _sigmoid,
}
