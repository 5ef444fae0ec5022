"""What a classifier says of a row, in the graph: as `capo.auxiliary.read` reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from ...auxiliary import MAX_MARGIN, PROBABILITY_EPS
from ...exceptions import ExportError
from ._graph import Graph


@dataclass(frozen=True)
class ClassifierOutputs:
    """Columns for the positive class: a margin, a probability and a vote (1 or 0), those that there are."""

    graph: Graph
    margin: str | None = None
    probability: str | None = None
    vote: str | None = None

    def score(self) -> str:
        """The margin, or the log-odds, or -1 and +1."""
        if self.margin is not None:
            return self.graph.op("Clip", self.margin, -MAX_MARGIN, MAX_MARGIN)
        if self.probability is None:
            return self.label()
        share = self.graph.op("Clip", self.probability, PROBABILITY_EPS, 1.0 - PROBABILITY_EPS)
        return self.graph.op("Log", self.graph.op("Div", share, self.graph.op("Sub", 1.0, share)))

    def label(self) -> str:
        """+1 for a positive row, else -1."""
        return self.graph.op("Sub", self.graph.op("Mul", self.voted(), 2.0), 1.0)

    def voted(self) -> str:
        """1 for a positive row, else 0."""
        if self.vote is not None:
            return self.vote
        value, cut = (self.probability, 0.5) if self.margin is None else (self.margin, 0.0)
        if value is None:
            raise ExportError("it says nothing of a row")
        return self.graph.cast(self.graph.op("Greater", value, cut))

    def share(self, who: object) -> str:
        """The probability."""
        if self.probability is None:
            raise ExportError(f"the probability of its {type(who).__name__} is not known to the graph")
        return self.probability


def with_margin(graph: Graph, margin: str, *, logistic: bool = True) -> ClassifierOutputs:
    """A margin above 0 is positive; a `logistic` one is the log-odds."""
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", margin) if logistic else None)


def average(graph: Graph, values: list[str], weights: list[float] | None = None) -> str:
    """The weighted mean of columns."""
    if weights is None:
        return graph.op("Div", graph.op("Sum", *values), float(len(values)))
    parts = [graph.op("Mul", value, float(weight)) for value, weight in zip(values, weights, strict=True)]
    return graph.op("Div", graph.op("Sum", *parts), float(sum(weights)))


def as_column(graph: Graph, value: str) -> str:
    """A vector, or a matrix of one column, as a column of doubles."""
    return graph.cast(graph.op("Reshape", value, np.array([-1, 1], dtype=np.int64)), TensorProto.DOUBLE)
