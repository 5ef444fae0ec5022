"""The outputs of a classifier in the graph, as `capo.learning.outputs.OutputKind` chooses them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from ...exceptions import ExportError
from ...learning.outputs import MAX_MARGIN, PROBABILITY_EPS
from ._graph import GraphBuilder


@dataclass(frozen=True)
class ClassifierOutputs:
    """Columns for the positive class: a margin, a probability and a vote (1 or 0), as far as available."""

    graph: GraphBuilder
    margin: str | None = None
    probability: str | None = None
    vote: str | None = None

    def score(self) -> str:
        """The margin, else the log-odds, else the label as -1 or +1."""
        if self.margin is not None:
            return self.graph.op("Clip", self.margin, -MAX_MARGIN, MAX_MARGIN)
        if self.probability is None:
            return self.signed_label()
        clipped = self.graph.op("Clip", self.probability, PROBABILITY_EPS, 1.0 - PROBABILITY_EPS)
        return self.graph.op("Log", self.graph.op("Div", clipped, self.graph.op("Sub", 1.0, clipped)))

    def signed_label(self) -> str:
        """+1 for a positive row, else -1."""
        return self.graph.op("Sub", self.graph.op("Mul", self.binary_label(), 2.0), 1.0)

    def binary_label(self) -> str:
        """1 for a positive row, else 0."""
        if self.vote is not None:
            return self.vote
        value, cut = (self.probability, 0.5) if self.margin is None else (self.margin, 0.0)
        if value is None:
            raise ExportError("its graph has no output")
        return self.graph.cast(self.graph.op("Greater", value, cut))

    def require_probability(self, estimator: object) -> str:
        """The probability, or an error if the graph of the estimator has none."""
        if self.probability is None:
            raise ExportError(f"the graph of its {type(estimator).__name__} has no probability")
        return self.probability


def outputs_from_margin(graph: GraphBuilder, margin: str, *, logistic: bool = True) -> ClassifierOutputs:
    """The outputs for a margin that is positive above 0 and, if `logistic`, equal to the log-odds."""
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", margin) if logistic else None)


def weighted_mean(graph: GraphBuilder, values: list[str], weights: list[float] | None = None) -> str:
    """The mean of columns, weighted if there are weights."""
    if weights is None:
        return graph.op("Div", graph.op("Sum", *values), float(len(values)))
    terms = [graph.op("Mul", value, float(weight)) for value, weight in zip(values, weights, strict=True)]
    return graph.op("Div", graph.op("Sum", *terms), float(sum(weights)))


def to_column(graph: GraphBuilder, value: str) -> str:
    """A vector, or a matrix with one column, as a column of doubles."""
    return graph.cast(graph.op("Reshape", value, np.array([-1, 1], dtype=np.int64)), TensorProto.DOUBLE)
