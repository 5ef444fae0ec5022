"""Conversion of a classifier of several labels per row: probabilities, and labels above thresholds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ... import __version__
from ..._typing import FloatArray
from ...auxiliary import ConstantLabel, LabelColumnsOutput, LabelwiseClassifier
from ...estimators import MultilabelCAPOClassifier
from ...exceptions import ExportError
from ...multilabel import RowAverage
from ._class_scores import leaf_table
from ._classifiers import convert_classifier
from ._combination import apply_scales, convert_delta
from ._export_errors import REGISTER_CONVERTER, explain_export_errors
from ._graph import GraphBuilder
from ._graph_table import GraphTable, make_input_table
from ._outputs import ClassifierOutputs
from ._skl2onnx_fallback import check_external_nodes
from ._transformers import convert_transformer
from ._trees import emit_mean_of_leaves, round_to_float32


def convert_multilabel(model: MultilabelCAPOClassifier, X: Any) -> ModelProto:
    """Convert a fitted classifier of several labels per row to a graph for data like X."""
    if isinstance(model.measure_, RowAverage):
        raise ExportError(
            f"a model for {model.measure_.label} chooses the labels of each row together, and only "
            "thresholds on labels are exported: train for an average over labels or entries, such as "
            "f1_macro or f1_micro, or use a model file (capo.save)."
        )
    graph = GraphBuilder()
    log_odds = _log_odds(model, make_input_table(graph, X), X)
    thresholds = np.array([each.combination.threshold_log_odds for each in model.label_models_])
    score = graph.op("Sub", log_odds, thresholds[None])
    shape: list[Any] = ["n", len(thresholds)]
    outputs = {
        "label": (graph.cast(graph.op("Greater", score, 0.0), TensorProto.INT64), TensorProto.INT64, shape),
        "probability": (graph.op("Sigmoid", log_odds), TensorProto.DOUBLE, shape),
        "score": (score, TensorProto.DOUBLE, shape),
    }
    metadata = {
        "capo_version": __version__,
        "measure": model.measure_.label,
        "labels": json.dumps([str(name) for name in model.classes_.tolist()]),
        "thresholds": json.dumps(model.thresholds_.tolist()),
    }
    return graph.build(outputs, metadata)


def _log_odds(model: MultilabelCAPOClassifier, table: GraphTable, X: Any) -> str:
    """The log-odds of all labels, one column for each."""
    graph, combinations = table.graph, [each.combination for each in model.label_models_]
    intercepts = np.array([each.weights.intercept for each in combinations])
    shape = graph.op("Concat", graph.n_rows(table.blocks[0].value), np.array([1]), axis=0)
    total = graph.op("Add", graph.op("Expand", 0.0, shape), intercepts[None])
    for j, name in enumerate(model.auxiliaries_):
        weights = np.array([each.weights.auxiliary[j] for each in combinations])
        if weights.any():
            scales = [each.scales[j] for each in combinations]
            output = apply_scales(graph, _auxiliary_output(model, name, table, X), scales)
            total = graph.op("Add", total, graph.op("Mul", output, weights[None]))
    delta = np.column_stack([each.weights.delta for each in combinations])
    if delta.any():
        features = convert_delta(model.delta_, table, X)
        total = graph.op("Add", total, graph.op("MatMul", features, delta))
    return total


def _auxiliary_output(model: MultilabelCAPOClassifier, name: str, table: GraphTable, X: Any) -> str:
    """The raw output of one auxiliary, one column for each label."""
    estimator, remedy = model.auxiliaries_[name], f"Leave it out, replace it, {REGISTER_CONVERTER}"
    with explain_export_errors(f"the auxiliary {name!r}", remedy):
        raw = _label_scores(estimator, table)

        def python_output(rows: Any) -> FloatArray:
            return LabelColumnsOutput().predict(estimator, rows, model.classes_)

        check_external_nodes(table.graph, raw, X, python_output, expit)
    return raw


def _label_scores(estimator: Any, table: GraphTable) -> str:
    """Log-odds or margins as `LabelColumnsOutput` has them."""
    convert = _CONVERTERS.get(type(estimator))
    if convert is None:
        raise ExportError(f"its {type(estimator).__name__} was trained on all labels together")
    return convert(estimator, table)


def _convert_pipeline(pipeline: Any, table: GraphTable) -> str:
    for _, step in pipeline.steps[:-1]:
        if step not in (None, "passthrough"):
            table = convert_transformer(step, table)
    return _label_scores(pipeline.steps[-1][1], table)


def _convert_frozen(frozen: Any, table: GraphTable) -> str:
    return _label_scores(frozen.estimator, table)


def _convert_labelwise(model: LabelwiseClassifier, table: GraphTable) -> str:
    columns = [_convert_label(each, table) for each in model.estimators_]
    return table.graph.op("Concat", *columns, axis=1)


def _convert_label(model: Any, table: GraphTable) -> str:
    if not isinstance(model, ConstantLabel):
        return convert_classifier(model, table).score()
    graph = table.graph
    shape = graph.op("Concat", graph.n_rows(table.blocks[0].value), np.array([1]), axis=0)
    return graph.op("Expand", float(model.log_odds), shape)


def _convert_tree(model: Any, table: GraphTable) -> str:
    return _mean_of_trees([model], model.classes_, table)


def _convert_forest(model: Any, table: GraphTable) -> str:
    return _mean_of_trees(model.estimators_, model.classes_, table)


def _mean_of_trees(models: list[Any], classes: list[Any], table: GraphTable) -> str:
    """Trees of all labels: a leaf has the share of positive rows of each label."""

    def positive_shares(tree: Any) -> FloatArray:
        columns = [
            tree.value[:, k, 1] if len(known) > 1 else np.full(tree.node_count, float(known[0] > 0))
            for k, known in enumerate(classes)
        ]
        return np.column_stack(columns)

    trees, leaf_values = leaf_table([model.tree_ for model in models], positive_shares)
    matrix = round_to_float32(table.graph, table.to_matrix())
    mean = emit_mean_of_leaves(table.graph, matrix, trees, leaf_values)
    return ClassifierOutputs(table.graph, probability=mean).score()


_CONVERTERS: dict[type, Callable[[Any, GraphTable], str]] = {
    Pipeline: _convert_pipeline,
    FrozenEstimator: _convert_frozen,
    LabelwiseClassifier: _convert_labelwise,
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), _convert_tree),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _convert_forest),
}
