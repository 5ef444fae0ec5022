"""Parts of a fitted combination in the graph: scales of the auxiliaries' outputs, and the delta function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...auxiliary import CERTAIN_LOG_ODDS, CERTAIN_LOG_ODDS_TOL, OutputScale
from ._export_errors import REGISTER_CONVERTER, explain_export_errors
from ._graph import GraphBuilder
from ._graph_table import GraphTable
from ._kernels import as_dense_array
from ._skl2onnx_fallback import check_external_nodes
from ._transformers import convert_transformer


def apply_scales(graph: GraphBuilder, raw: str, scales: Sequence[OutputScale]) -> str:
    """Platt's log-odds of each column, clipped before and growing only logarithmically beyond the limit."""
    if all(scale.calibrator is None for scale in scales):
        return raw
    raw = _clip_raw(graph, raw, scales)
    slopes = [1.0 if scale.calibrator is None else scale.calibrator.slope for scale in scales]
    intercepts = [0.0 if scale.calibrator is None else scale.calibrator.intercept for scale in scales]
    limits = np.array([[np.inf if scale.calibrator is None else scale.max_log_odds for scale in scales]])
    log_odds = graph.op("Add", graph.op("Mul", raw, np.array([slopes])), np.array([intercepts]))
    size = graph.op("Abs", log_odds)
    excess = graph.op("Max", graph.op("Sub", size, limits), 0.0)
    log_excess = graph.op("Log", graph.op("Add", excess, 1.0))
    limited = graph.op("Add", graph.op("Min", size, limits), log_excess)
    return graph.op("Mul", graph.op("Sign", log_odds), limited)


def _clip_raw(graph: GraphBuilder, raw: str, scales: Sequence[OutputScale]) -> str:
    """The raw outputs, clipped to what the resolution of each classifier allows (`OutputScale.clip`)."""
    largest = np.array([[np.inf if scale.calibrator is None else scale.max_raw for scale in scales]])
    certain = np.array([[np.inf if scale.calibrator is None else scale.certain_raw for scale in scales]])
    if not np.isfinite(np.minimum(largest, certain)).any():
        return raw
    distance = graph.op("Abs", graph.op("Sub", graph.op("Abs", raw), CERTAIN_LOG_ODDS))
    is_certain = graph.op("Less", distance, CERTAIN_LOG_ODDS_TOL)
    limits = graph.op("Where", is_certain, np.minimum(largest, certain), largest)
    return graph.op("Max", graph.op("Min", raw, limits), graph.op("Neg", limits))


def convert_delta(transformer: Any, table: GraphTable, X: Any) -> str:
    """The features of the delta function."""
    with explain_export_errors("the delta transformer", f"Train with delta='linear', {REGISTER_CONVERTER}"):
        features = convert_transformer(transformer, table).to_matrix()
        check_external_nodes(
            table.graph, features, X, lambda rows: as_dense_array(transformer.transform(rows))
        )
    return features
