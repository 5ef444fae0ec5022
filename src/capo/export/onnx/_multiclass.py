"""Conversion of a classifier of many classes: probabilities, and the decision rule."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto
from scipy.special import softmax

from ... import __version__
from ..._typing import FloatArray
from ...auxiliary import ClassCalibrator, ClassOutput, class_positions_of
from ...estimators import MulticlassCAPOClassifier
from ._class_scores import convert_class_scores
from ._export_errors import REGISTER_CONVERTER, explain_export_errors
from ._graph import GraphBuilder
from ._graph_table import GraphTable, make_input_table
from ._labels import label_array
from ._skl2onnx_fallback import check_external_nodes


def convert_multiclass(model: MulticlassCAPOClassifier, X: Any) -> ModelProto:
    """Convert a fitted classifier of many classes to a graph for data like X."""
    graph = GraphBuilder()
    probabilities = _probabilities(model, make_input_table(graph, X), X)
    gains = graph.op("MatMul", probabilities, model.rule_.gain.astype(np.float64))
    position = graph.op("ArgMax", gains, axis=1, keepdims=0, select_last_index=0)
    labels, label_dtype = label_array(model.classes_)
    n_classes = len(model.classes_)
    outputs: dict[str, tuple[str, int, list[Any]]] = {
        "label": (graph.op("Gather", labels, position), label_dtype, ["n"]),
        "probability": (probabilities, TensorProto.DOUBLE, ["n", n_classes]),
        "score": (gains, TensorProto.DOUBLE, ["n", n_classes]),
    }
    metadata = {
        "capo_version": __version__,
        "measure": model.measure_.label,
        "classes": json.dumps(model.classes_.tolist(), default=str),
    }
    return graph.build(outputs, metadata)


def _probabilities(model: MulticlassCAPOClassifier, table: GraphTable, X: Any) -> str:
    graph, stack = table.graph, model.stack_
    shape = graph.op("Concat", graph.n_rows(table.blocks[0].value), np.array([1]), axis=0)
    total = graph.op("Add", graph.op("Expand", 0.0, shape), stack.intercepts[None].astype(np.float64))
    parts = zip(model.auxiliaries_, stack.calibrators, stack.weights.tolist(), stack.is_used, strict=True)
    inputs = []
    for name, calibrator, weight, is_used in parts:
        if is_used:
            inputs.append(_calibrate(graph, _auxiliary_output(model, name, table, X), calibrator))
            total = graph.op("Add", total, graph.op("Mul", inputs[-1], weight))
    if stack.correction is not None:
        total = graph.op("Add", total, _correction(graph, inputs, stack.correction))
    return graph.op("Softmax", total, axis=1)


def _correction(graph: GraphBuilder, inputs: list[str], correction: FloatArray) -> str:
    """How the centered log-probabilities of all auxiliaries change the scores."""
    centered = [
        graph.op("Sub", each, graph.op("ReduceMean", each, np.array([1]), keepdims=1)) for each in inputs
    ]
    product = graph.op("MatMul", graph.op("Concat", *centered, axis=1), correction[:-1].astype(np.float64))
    return graph.op("Add", product, correction[-1:].astype(np.float64))


def _calibrate(graph: GraphBuilder, raw: str, calibrator: ClassCalibrator) -> str:
    scores = graph.op("Add", graph.op("Mul", raw, calibrator.slope), calibrator.intercepts[None])
    floored = graph.op("Add", graph.op("Softmax", scores, axis=1), calibrator.floor)
    total = 1.0 + len(calibrator.intercepts) * calibrator.floor
    return graph.op("Log", graph.op("Div", floored, total))


def _auxiliary_output(model: MulticlassCAPOClassifier, name: str, table: GraphTable, X: Any) -> str:
    """The raw output of one auxiliary, one column for each class."""
    estimator, remedy = model.auxiliaries_[name], f"Leave it out, replace it, {REGISTER_CONVERTER}"
    with explain_export_errors(f"the auxiliary {name!r}", remedy):
        known = class_positions_of(estimator, model.classes_)
        raw = convert_class_scores(estimator, table).raw_output(known, len(model.classes_))

        def python_output(rows: Any) -> FloatArray:
            return ClassOutput().predict(estimator, rows, model.classes_)

        def as_probabilities(scores: FloatArray) -> FloatArray:
            return np.asarray(softmax(scores, axis=1))

        check_external_nodes(table.graph, raw, X, python_output, as_probabilities)
    return raw
