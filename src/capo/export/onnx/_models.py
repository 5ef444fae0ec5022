"""Whole models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

from ... import __version__
from ..._compat import FloatArray
from ...baselines import PublishedCAPOClassifier
from ...estimators import (
    BaseAdaptedClassifier,
    CAPOClassifier,
    MulticlassCAPOClassifier,
    MultilabelCAPOClassifier,
    SVMPerfClassifier,
    SVMPerfClassifierCV,
)
from ...exceptions import ExportError, InvalidInputError
from ...learning.auxiliaries import ConstantLabel, LabelwiseClassifier
from ...learning.outputs import (
    CERTAIN_LOG_ODDS,
    CERTAIN_LOG_ODDS_TOL,
    ClassCalibrator,
    ClassOutput,
    LabelColumnsOutput,
    OutputScale,
    class_positions_of,
    positive_class_index,
)
from ...measures.multilabel import RowAverage
from ...tables.kinds import ColumnKind, is_dataframe
from ._classifiers import convert_class_scores, convert_classifier, leaf_table
from ._graph import (
    COLUMN_KINDS,
    REGISTER_CONVERTER,
    TEXT_VALUES,
    GraphBuilder,
    GraphTable,
    explain_export_errors,
    label_array,
    make_input_table,
)
from ._outputs import ClassifierOutputs
from ._skl2onnx_fallback import check_external_nodes
from ._transformers import as_dense_array, convert_transformer
from ._trees import emit_mean_of_leaves, round_to_float32


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
            output = apply_scales(graph, _auxiliary_output_multilabel(model, name, table, X), scales)
            total = graph.op("Add", total, graph.op("Mul", output, weights[None]))
    delta = np.column_stack([each.weights.delta for each in combinations])
    if delta.any():
        features = convert_delta(model.delta_, table, X)
        total = graph.op("Add", total, graph.op("MatMul", features, delta))
    return total


def _auxiliary_output_multilabel(
    model: MultilabelCAPOClassifier, name: str, table: GraphTable, X: Any
) -> str:
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


def convert_model(model: Any, X: Any, text_values: str, column_kinds: Mapping[str, ColumnKind]) -> ModelProto:
    """Convert a fitted classifier to a graph for data like X; the other parameters are in its metadata."""
    # The classifier of many classes or labels that does the work, if there is one.
    model = getattr(model, "delegate_", model)
    convert = _MODELS_CONVERTERS.get(type(model))
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
    log_odds = _log_odds_models(model, make_input_table(graph, X), X)
    score = graph.op("Sub", log_odds, model.combination_.threshold_log_odds)
    probability = graph.op("Sigmoid", log_odds)
    return _build(model, graph, {"score": score, "probability": probability}, model.label_pair)


def _log_odds_models(model: BaseAdaptedClassifier, table: GraphTable, X: Any) -> str:
    graph, combination = table.graph, model.combination_
    weights = combination.weights
    shape = graph.op("Concat", graph.n_rows(table.blocks[0].value), np.array([1]), axis=0)
    total = graph.op("Expand", weights.intercept, shape)
    parts = zip(model.auxiliaries_, combination.scales, weights.auxiliary.tolist(), strict=True)
    for name, scale, weight in parts:
        if weight != 0.0:
            output = apply_scales(graph, _auxiliary_output_models(model, name, table, X), [scale])
            total = graph.op("Add", total, graph.op("Mul", output, weight))
    if np.any(weights.delta):
        delta = graph.op("MatMul", convert_delta(model.delta_, table, X), weights.delta[:, None])
        total = graph.op("Add", total, delta)
    return total


def _auxiliary_output_models(model: BaseAdaptedClassifier, name: str, table: GraphTable, X: Any) -> str:
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
    score = graph.op("Sub", _log_odds_models(model, table, X), model.combination_.threshold_log_odds)
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


_MODELS_CONVERTERS: dict[type, Callable[[Any, Any], ModelProto]] = {
    CAPOClassifier: _convert_capo,
    MulticlassCAPOClassifier: convert_multiclass,
    MultilabelCAPOClassifier: convert_multilabel,
    PublishedCAPOClassifier: _convert_capo,
    SVMPerfClassifier: _convert_svmperf,
    SVMPerfClassifierCV: _convert_svmperf,
}
