"""Conversion of fitted classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ..._typing import FloatArray
from ...estimators import SVMPerfClassifier, SVMPerfClassifierCV
from ...exceptions import ExportError
from ._boosters import booster_converters
from ._graph import GraphBuilder
from ._graph_table import GraphTable, NumericColumns
from ._kernels import as_dense_array, emit_kernel
from ._outputs import ClassifierOutputs, outputs_from_margin, weighted_mean
from ._skl2onnx_fallback import convert_classifier_with_skl2onnx
from ._transformers import convert_transformer
from ._trees import (
    emit_tree_ensemble,
    nodes_from_histogram_predictor,
    nodes_from_sklearn_tree,
    round_to_float32,
)

#: From an estimator and its input table to its outputs.
ClassifierConverter = Callable[[Any, GraphTable], ClassifierOutputs]


def convert_classifier(estimator: Any, table: GraphTable) -> ClassifierOutputs:
    """Convert a fitted classifier; the outputs are those for the second of its two classes."""
    if len(getattr(estimator, "classes_", (0, 1))) < 2:
        raise ExportError(f"its {type(estimator).__name__} was trained on one class only")
    kind = type(estimator)
    convert = _CONVERTERS.get(kind) or booster_converters().get(kind) or convert_classifier_with_skl2onnx
    return convert(estimator, table)


def _convert_pipeline(pipeline: Any, table: GraphTable) -> ClassifierOutputs:
    for _, step in pipeline.steps[:-1]:
        if step not in (None, "passthrough"):
            table = convert_transformer(step, table)
    return convert_classifier(pipeline.steps[-1][1], table)


def _convert_frozen(frozen: Any, table: GraphTable) -> ClassifierOutputs:
    return convert_classifier(frozen.estimator, table)


def _convert_search(search: Any, table: GraphTable) -> ClassifierOutputs:
    return convert_classifier(search.best_estimator_, table)


def _convert_linear(model: Any, table: GraphTable) -> ClassifierOutputs:
    return _linear_outputs(model, table, logistic=False)


def _convert_logistic(model: Any, table: GraphTable) -> ClassifierOutputs:
    return _linear_outputs(model, table, logistic=True)


def _convert_sgd(model: Any, table: GraphTable) -> ClassifierOutputs:
    return _linear_outputs(model, table, logistic=model.loss == "log_loss")


def _linear_outputs(model: Any, table: GraphTable, *, logistic: bool) -> ClassifierOutputs:
    graph = table.graph
    product = graph.op("MatMul", table.to_matrix(), as_dense_array(model.coef_).reshape(-1, 1))
    margin = graph.op("Add", product, float(np.ravel(model.intercept_)[0]))
    return outputs_from_margin(graph, margin, logistic=logistic)


def _convert_svmperf(model: SVMPerfClassifier, table: GraphTable) -> ClassifierOutputs:
    if model.kernel == "linear":
        return _convert_linear(model, table)
    kernel = model.kernel_
    params = {"gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}
    return _kernel_expansion_outputs(model, table, kernel.kind, **params)


def _convert_svm(model: Any, table: GraphTable) -> ClassifierOutputs:
    params = {"gamma": float(model._gamma), "coef0": float(model.coef0), "degree": float(model.degree)}
    return _kernel_expansion_outputs(model, table, model.kernel, **params)


def _kernel_expansion_outputs(model: Any, table: GraphTable, kind: Any, **params: float) -> ClassifierOutputs:
    """The outputs of a weighted sum of kernel values at the support vectors."""
    graph = table.graph
    values = emit_kernel(graph, kind, table.to_matrix(), model.support_vectors_, **params)
    product = graph.op("MatMul", values, as_dense_array(model.dual_coef_).T.copy())
    margin = graph.op("Add", product, float(model.intercept_[0]))
    return outputs_from_margin(graph, margin, logistic=False)


def _convert_tree(model: Any, table: GraphTable) -> ClassifierOutputs:
    return _tree_mean_outputs([model], table)


def _convert_forest(model: Any, table: GraphTable) -> ClassifierOutputs:
    return _tree_mean_outputs(model.estimators_, table)


def _tree_mean_outputs(models: list[Any], table: GraphTable) -> ClassifierOutputs:
    trees = [nodes_from_sklearn_tree(model.tree_, model.tree_.value[:, 0, 1]) for model in models]
    total = emit_tree_ensemble(table.graph, round_to_float32(table.graph, table.to_matrix()), trees)
    return ClassifierOutputs(table.graph, probability=table.graph.op("Div", total, float(len(trees))))


def _convert_gradient_boosting(model: Any, table: GraphTable) -> ClassifierOutputs:
    if model.init_ != "zero" and type(model.init_) is not DummyClassifier:
        raise ExportError(f"its {type(model).__name__} has an init estimator, {type(model.init_).__name__}")
    graph, baseline = table.graph, model._raw_predict_init(np.zeros((1, model.n_features_in_)))
    trees = [
        nodes_from_sklearn_tree(each.tree_, each.tree_.value[:, 0, 0]) for each in model.estimators_[:, 0]
    ]
    total = emit_tree_ensemble(graph, round_to_float32(graph, table.to_matrix()), trees)
    margin = graph.op("Add", graph.op("Mul", total, model.learning_rate), float(baseline[0, 0]))
    log_odds = margin if model.loss == "log_loss" else graph.op("Mul", margin, 2.0)
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", log_odds))


def _convert_hist_gradient_boosting(model: Any, table: GraphTable) -> ClassifierOutputs:
    graph, table = table.graph, encode_histogram_columns(model, table)
    trees = [nodes_from_histogram_predictor(predictor) for (predictor,) in model._predictors]
    total = emit_tree_ensemble(graph, table.to_matrix(), trees)
    return outputs_from_margin(graph, graph.op("Add", total, float(np.ravel(model._baseline_prediction)[0])))


def encode_histogram_columns(model: Any, table: GraphTable) -> GraphTable:
    """The columns that the trees of histogram-based gradient boosting split on."""
    if model._preprocessor is None:
        return table
    indices = model._preprocessor._transformer_to_input_indices
    encoder = model._preprocessor.named_transformers_["encoder"]
    encoded = convert_transformer(encoder, table.take(indices["encoder"]))
    return encoded.hstack(table.take(indices["numerical"]))


def _convert_voting(model: Any, table: GraphTable) -> ClassifierOutputs:
    graph, inner = table.graph, [convert_classifier(estimator, table) for estimator in model.estimators_]
    weights = model._weights_not_none
    if model.voting == "soft":
        probabilities = [
            outputs.require_probability(estimator)
            for outputs, estimator in zip(inner, model.estimators_, strict=True)
        ]
        return ClassifierOutputs(graph, probability=weighted_mean(graph, probabilities, weights))
    votes = weighted_mean(graph, [outputs.binary_label() for outputs in inner], weights)
    return ClassifierOutputs(graph, vote=graph.cast(graph.op("Greater", votes, 0.5)))


def _convert_bagging(model: Any, table: GraphTable) -> ClassifierOutputs:
    graph = table.graph
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    inner = [convert_classifier(estimator, table.take(columns)) for estimator, columns in pairs]
    margins = [outputs.margin for outputs in inner if outputs.margin is not None]
    probabilities = [outputs.probability or outputs.binary_label() for outputs in inner]
    mean = weighted_mean(graph, probabilities)
    vote = graph.cast(graph.op("Greater", mean, 0.5))
    return ClassifierOutputs(graph, weighted_mean(graph, margins) if margins else None, mean, vote)


def _convert_ada_boost(model: Any, table: GraphTable) -> ClassifierOutputs:
    graph, weights = table.graph, model.estimator_weights_[: len(model.estimators_)]
    labels = [convert_classifier(estimator, table).signed_label() for estimator in model.estimators_]
    margin = graph.op("Mul", weighted_mean(graph, labels, weights.tolist()), 2.0)
    return outputs_from_margin(graph, margin)


def _convert_stacking(model: Any, table: GraphTable) -> ClassifierOutputs:
    inner = [convert_classifier(estimator, table) for estimator in model.estimators_]
    parts = zip(inner, model.estimators_, model.stack_method_, strict=True)
    columns = tuple(NumericColumns(_stack_column(*part), 1) for part in parts)
    stack = GraphTable(table.graph, columns)
    return convert_classifier(model.final_estimator_, stack.hstack(table) if model.passthrough else stack)


def _stack_column(outputs: ClassifierOutputs, estimator: Any, method: str) -> str:
    if method == "predict_proba":
        return outputs.require_probability(estimator)
    return outputs.score() if method == "decision_function" else outputs.binary_label()


def _convert_calibrated(model: Any, table: GraphTable) -> ClassifierOutputs:
    graph = table.graph
    probabilities = [
        _calibrated_probability(part, convert_classifier(part.estimator, table))
        for part in model.calibrated_classifiers_
    ]
    return ClassifierOutputs(graph, probability=weighted_mean(graph, probabilities))


def _calibrated_probability(model: Any, inner: ClassifierOutputs) -> str:
    """The probability that one calibrated classifier gives."""
    (calibrator,), score = model.calibrators, inner.margin or inner.require_probability(model.estimator)
    if model.method == "isotonic":
        return _interpolate(inner.graph, score, calibrator.X_thresholds_, calibrator.y_thresholds_)
    if model.method != "sigmoid":
        raise ExportError(
            f"its CalibratedClassifierCV has the method {model.method!r} instead of 'sigmoid' or 'isotonic'"
        )
    slope, intercept = -float(calibrator.a_), -float(calibrator.b_)
    log_odds = inner.graph.op("Add", inner.graph.op("Mul", score, slope), intercept)
    return inner.graph.op("Sigmoid", log_odds)


def _interpolate(graph: GraphBuilder, score: str, x: FloatArray, y: FloatArray) -> str:
    """Linear interpolation between the points (x, y), with the first and last y beyond them."""
    if len(x) == 1:
        return graph.op("Add", graph.op("Mul", score, 0.0), float(y[0]))
    clipped = graph.op("Clip", score, float(x[0]), float(x[-1]))
    above = graph.cast(graph.op("Greater", clipped, x[None, 1:-1].astype(np.float64)))
    position = graph.op("ReduceSum", above, np.array([1]), keepdims=0)
    slopes = np.diff(y) / np.diff(x)
    lines = np.column_stack((x[:-1], slopes, y[:-1])).astype(np.float64)
    line = graph.op("Gather", lines, graph.cast(position, TensorProto.INT64), axis=0)
    start, slope, value = (graph.take_columns(line, [column]) for column in range(3))
    return graph.op("Add", graph.op("Mul", graph.op("Sub", clipped, start), slope), value)


_CONVERTERS: dict[type, ClassifierConverter] = {
    Pipeline: _convert_pipeline,
    FrozenEstimator: _convert_frozen,
    **dict.fromkeys((GridSearchCV, RandomizedSearchCV, SVMPerfClassifierCV), _convert_search),
    **dict.fromkeys(
        (LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis), _convert_logistic
    ),
    **dict.fromkeys((LinearSVC, Perceptron, RidgeClassifier, RidgeClassifierCV), _convert_linear),
    SGDClassifier: _convert_sgd,
    SVMPerfClassifier: _convert_svmperf,
    **dict.fromkeys((SVC, NuSVC), _convert_svm),
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), _convert_tree),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _convert_forest),
    GradientBoostingClassifier: _convert_gradient_boosting,
    HistGradientBoostingClassifier: _convert_hist_gradient_boosting,
    VotingClassifier: _convert_voting,
    BaggingClassifier: _convert_bagging,
    AdaBoostClassifier: _convert_ada_boost,
    StackingClassifier: _convert_stacking,
    CalibratedClassifierCV: _convert_calibrated,
}
