"""Conversion of a whole fitted classifier of capo to one graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ... import __version__
from ..._typing import FloatArray
from ...auxiliary import positive_class_index
from ...baselines import PublishedCAPOClassifier
from ...estimators import (
    BaseAdaptedClassifier,
    CAPOClassifier,
    MulticlassCAPOClassifier,
    MultilabelCAPOClassifier,
    SVMPerfClassifier,
    SVMPerfClassifierCV,
)
from ...exceptions import InvalidInputError
from ...preprocessing import ColumnKind, is_dataframe
from ._classifiers import convert_classifier
from ._combination import apply_scales, convert_delta
from ._export_errors import REGISTER_CONVERTER, explain_export_errors
from ._graph import GraphBuilder
from ._graph_table import GraphTable, make_input_table
from ._labels import label_array
from ._multiclass import convert_multiclass
from ._multilabel import convert_multilabel
from ._signature import COLUMN_KINDS, TEXT_VALUES
from ._skl2onnx_fallback import check_external_nodes


def convert_model(model: Any, X: Any, text_values: str, column_kinds: Mapping[str, ColumnKind]) -> ModelProto:
    """Convert a fitted classifier to a graph for data like X; the other parameters are in its metadata."""
    # The classifier of many classes or labels that does the work, if there is one.
    model = getattr(model, "delegate_", model)
    convert = _CONVERTERS.get(type(model))
    if convert is None:
        raise InvalidInputError(
            "to_onnx takes a fitted CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV: got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    X = X if is_dataframe(X) or issparse(X) else np.asarray(X)
    model.decision_function(X[:1])  # raises if X does not have the columns of the training table
    graph = convert(model, X)
    graph.metadata_props.add(key=TEXT_VALUES, value=text_values)
    kinds = {name: kind.to_dict() for name, kind in column_kinds.items()}
    graph.metadata_props.add(key=COLUMN_KINDS, value=json.dumps(kinds))
    return graph


def _convert_svmperf(model: Any, X: Any) -> ModelProto:
    graph = GraphBuilder()
    table = make_input_table(graph, X)
    with explain_export_errors("the model", "Train it with another kernel"):
        score = convert_classifier(model, table).margin
    assert score is not None
    return _build(model, graph, {"score": score}, model.classes_)


def _convert_capo(model: BaseAdaptedClassifier, X: Any) -> ModelProto:
    graph = GraphBuilder()
    log_odds = _log_odds(model, make_input_table(graph, X), X)
    score = graph.op("Sub", log_odds, model.combination_.threshold_log_odds)
    probability = graph.op("Sigmoid", log_odds)
    return _build(model, graph, {"score": score, "probability": probability}, model.label_pair)


def _log_odds(model: BaseAdaptedClassifier, table: GraphTable, X: Any) -> str:
    graph, combination = table.graph, model.combination_
    weights = combination.weights
    shape = graph.op("Concat", graph.n_rows(table.blocks[0].value), np.array([1]), axis=0)
    total = graph.op("Expand", weights.intercept, shape)
    parts = zip(model.auxiliaries_, combination.scales, weights.auxiliary.tolist(), strict=True)
    for name, scale, weight in parts:
        if weight != 0.0:
            output = apply_scales(graph, _auxiliary_output(model, name, table, X), [scale])
            total = graph.op("Add", total, graph.op("Mul", output, weight))
    if np.any(weights.delta):
        delta = graph.op("MatMul", convert_delta(model.delta_, table, X), weights.delta[:, None])
        total = graph.op("Add", total, delta)
    return total


def _auxiliary_output(model: BaseAdaptedClassifier, name: str, table: GraphTable, X: Any) -> str:
    """The unscaled output of one auxiliary."""
    remedy = f"Leave it out, replace it, {REGISTER_CONVERTER}"
    with explain_export_errors(f"the auxiliary {name!r}", remedy):
        kind, frozen = model.combination_.output_kind, _frozen_model(model.auxiliaries_[name])
        if frozen is not None and kind.name == "scores":
            raw = _decision(frozen, table, X)
        else:
            outputs = convert_classifier(model.auxiliaries_[name], table)
            raw = outputs.score() if kind.name == "scores" else outputs.signed_label()
        if positive_class_index(model.auxiliaries_[name], model.label_pair) == 0:
            raw = table.graph.op("Neg", raw)

        def python_output(rows: Any) -> FloatArray:
            return kind.predict(model.auxiliaries_[name], rows, model.label_pair)[:, None]

        # Compared as probabilities: large scores may differ by rounding.
        check_external_nodes(table.graph, raw, X, python_output, expit)
    return raw


def _frozen_model(auxiliary: Any) -> BaseAdaptedClassifier | None:
    """The model that an auxiliary is, as in a refit; None if it is another classifier."""
    inner = auxiliary.estimator if isinstance(auxiliary, FrozenEstimator) else auxiliary
    is_adapted = isinstance(inner, BaseAdaptedClassifier) and not hasattr(inner, "delegate_")
    return inner if is_adapted else None


def _decision(model: BaseAdaptedClassifier, table: GraphTable, X: Any) -> str:
    """The decision function of a model, which is about the second of its sorted classes."""
    graph = table.graph
    score = graph.op("Sub", _log_odds(model, table, X), model.combination_.threshold_log_odds)
    return graph.op("Neg", score) if model.classes_[0] == model.pos_label_ else score


def _build(model: Any, graph: GraphBuilder, scores: dict[str, str], label_pair: NDArray[Any]) -> ModelProto:
    """Add the label to the scores, and build the graph with vectors as outputs."""
    labels, label_dtype = label_array(label_pair)
    is_positive = graph.cast(graph.op("Greater", scores["score"], 0.0), TensorProto.INT64)
    columns = {"label": (graph.op("Gather", labels, is_positive), label_dtype)}
    columns.update((name, (value, TensorProto.DOUBLE)) for name, value in sorted(scores.items()))
    outputs = {
        name: (graph.op("Reshape", value, np.array([-1])), dtype, ["n"])
        for name, (value, dtype) in columns.items()
    }
    metadata = {
        "capo_version": __version__,
        "measure": model.measure_.label,
        "pos_label": str(label_pair.tolist()[1]),
        "threshold": repr(_threshold(model)),
    }
    return graph.build(outputs, metadata)


def _threshold(model: Any) -> float:
    return float(getattr(model, "best_estimator_", model).threshold_)


_CONVERTERS: dict[type, Callable[[Any, Any], ModelProto]] = {
    CAPOClassifier: _convert_capo,
    MulticlassCAPOClassifier: convert_multiclass,
    MultilabelCAPOClassifier: convert_multilabel,
    PublishedCAPOClassifier: _convert_capo,
    SVMPerfClassifier: _convert_svmperf,
    SVMPerfClassifierCV: _convert_svmperf,
}
