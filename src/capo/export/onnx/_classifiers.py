"""Conversion of fitted classifiers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
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

from ..._compat import FloatArray
from ...estimators import SVMPerfClassifier, SVMPerfClassifierCV
from ...exceptions import ExportError
from ...learning.outputs import MAX_MARGIN, PROBABILITY_EPS
from ._graph import GraphBuilder, GraphTable, NumericColumns
from ._outputs import ClassifierOutputs, outputs_from_margin, weighted_mean
from ._skl2onnx_fallback import convert_classifier_with_skl2onnx, emit_skl2onnx_class_scores
from ._transformers import as_dense_array, convert_transformer, emit_kernel
from ._trees import (
    TreeLeaf,
    TreeNodes,
    TreeSplit,
    booster_converters,
    emit_class_ensemble,
    emit_lightgbm_probabilities,
    emit_mean_of_leaves,
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


@dataclass(frozen=True)
class ClassScores:
    """A matrix with one column for each class that a classifier knows."""

    graph: GraphBuilder
    values: str
    are_probabilities: bool

    def raw_output(self, known: list[int], n_classes: int) -> str:
        """Log-probabilities or margins in the columns of all classes."""
        graph = self.graph
        if self.are_probabilities:
            scores = graph.op("Log", graph.op("Max", self.values, PROBABILITY_EPS))
        else:
            scores = self.values
        scores = graph.op("Clip", scores, -MAX_MARGIN, MAX_MARGIN)
        if known == list(range(n_classes)):
            return scores
        lowest = graph.op("ReduceMin", scores, np.array([1]), keepdims=1)
        if self.are_probabilities:
            lowest = graph.op("Add", graph.op("Mul", lowest, 0.0), float(np.log(PROBABILITY_EPS)))
        order = [known.index(k) if k in known else len(known) for k in range(n_classes)]
        return graph.take_columns(graph.op("Concat", scores, lowest, axis=1), order)


ScoreConverter = Callable[[Any, GraphTable], ClassScores]


def convert_class_scores(estimator: Any, table: GraphTable) -> ClassScores:
    """Convert a fitted classifier."""
    kind = type(estimator)
    if kind in _WRAPPERS:
        return _WRAPPERS[kind](estimator, table)
    if len(getattr(estimator, "classes_", ())) == 2:
        return _from_binary(estimator, table)
    convert = _CLASS_SCORES_CONVERTERS.get(kind) or _booster_converters().get(kind) or _convert_with_skl2onnx
    return convert(estimator, table)


def _from_binary(estimator: Any, table: GraphTable) -> ClassScores:
    graph, outputs = table.graph, convert_classifier(estimator, table)
    if hasattr(estimator, "predict_proba"):
        positive = outputs.require_probability(estimator)
        return ClassScores(graph, graph.op("Concat", graph.op("Sub", 1.0, positive), positive, axis=1), True)
    if outputs.margin is None:
        raise ExportError(f"its {type(estimator).__name__} has neither probabilities nor margins")
    half = graph.op("Mul", graph.op("Identity", outputs.margin), 0.5)
    return ClassScores(graph, graph.op("Concat", graph.op("Neg", half), half, axis=1), False)


def _convert_pipeline_class_scores(pipeline: Any, table: GraphTable) -> ClassScores:
    for _, step in pipeline.steps[:-1]:
        if step not in (None, "passthrough"):
            table = convert_transformer(step, table)
    return convert_class_scores(pipeline.steps[-1][1], table)


def _convert_frozen_class_scores(frozen: Any, table: GraphTable) -> ClassScores:
    return convert_class_scores(frozen.estimator, table)


def _convert_search_class_scores(search: Any, table: GraphTable) -> ClassScores:
    return convert_class_scores(search.best_estimator_, table)


def _linear_margins(model: Any, table: GraphTable) -> str:
    product = table.graph.op("MatMul", table.to_matrix(), as_dense_array(model.coef_).T.copy())
    return table.graph.op("Add", product, np.ravel(model.intercept_).astype(np.float64))


def _convert_linear_class_scores(model: Any, table: GraphTable) -> ClassScores:
    return ClassScores(table.graph, _linear_margins(model, table), False)


def _convert_softmax(model: Any, table: GraphTable) -> ClassScores:
    return _softmax(table.graph, _linear_margins(model, table))


def _softmax(graph: GraphBuilder, margins: str) -> ClassScores:
    return ClassScores(graph, graph.op("Softmax", margins, axis=1), True)


def _convert_tree_class_scores(model: Any, table: GraphTable) -> ClassScores:
    return _mean_of_trees([model], table)


def _convert_forest_class_scores(model: Any, table: GraphTable) -> ClassScores:
    return _mean_of_trees(model.estimators_, table)


def _mean_of_trees(models: list[Any], table: GraphTable) -> ClassScores:
    trees, leaf_values = leaf_table([model.tree_ for model in models], lambda tree: tree.value[:, 0, :])
    matrix = round_to_float32(table.graph, table.to_matrix())
    return ClassScores(table.graph, emit_mean_of_leaves(table.graph, matrix, trees, leaf_values), True)


def leaf_table(
    sklearn_trees: list[Any], node_values: Callable[[Any], FloatArray]
) -> tuple[list[TreeNodes], FloatArray]:
    """Return trees whose leaves have the number of a row, and the vectors of the leaves in these rows."""
    trees: list[TreeNodes] = []
    rows: list[FloatArray] = []
    for tree in sklearn_trees:
        is_leaf = tree.children_left == tree.children_right
        first = sum(len(each) for each in rows)
        positions = np.where(is_leaf, first + np.cumsum(is_leaf) - 1, 0).astype(np.float64)
        trees.append(nodes_from_sklearn_tree(tree, positions))
        rows.append(node_values(tree)[is_leaf])
    return trees, np.concatenate(rows).astype(np.float64)


def _convert_gradient_boosting_class_scores(model: Any, table: GraphTable) -> ClassScores:
    if model.init_ != "zero" and type(model.init_) is not DummyClassifier:
        raise ExportError(f"its {type(model).__name__} has an init estimator, {type(model.init_).__name__}")
    rate, n_classes = float(model.learning_rate), model.estimators_.shape[1]
    trees = [
        _scale_leaves(nodes_from_sklearn_tree(each.tree_, each.tree_.value[:, 0, 0]), rate)
        for each in model.estimators_.ravel()
    ]
    graph, classes = table.graph, [number % n_classes for number in range(len(trees))]
    matrix = round_to_float32(graph, table.to_matrix())
    total = emit_class_ensemble(graph, matrix, trees, classes, n_classes)
    baseline = model._raw_predict_init(np.zeros((1, model.n_features_in_)))
    return _softmax(graph, graph.op("Add", total, np.asarray(baseline, dtype=np.float64)))


def _scale_leaves(tree: TreeNodes, factor: float) -> TreeNodes:
    return [node if isinstance(node, TreeSplit) else TreeLeaf(node.value * factor) for node in tree]


def _convert_hist_gradient_boosting_class_scores(model: Any, table: GraphTable) -> ClassScores:
    table, n_classes = encode_histogram_columns(model, table), len(model.classes_)
    trees = [nodes_from_histogram_predictor(each) for iteration in model._predictors for each in iteration]
    classes = [number % n_classes for number in range(len(trees))]
    total = emit_class_ensemble(table.graph, table.to_matrix(), trees, classes, n_classes)
    baseline = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, n_classes)
    return _softmax(table.graph, table.graph.op("Add", total, baseline))


def _convert_svm_class_scores(model: Any, table: GraphTable) -> ClassScores:
    """One machine for each pair of classes: votes, with ties broken by the sum of the margins."""
    if model.probability is True or model.decision_function_shape != "ovr":
        raise ExportError(
            f"its {type(model).__name__} of many classes has other parameters than probability=False and "
            "decision_function_shape='ovr'"
        )
    graph, n_classes = table.graph, len(model.classes_)
    params = {"gamma": float(model._gamma), "coef0": float(model.coef0), "degree": float(model.degree)}
    values = emit_kernel(graph, model.kernel, table.to_matrix(), model.support_vectors_, **params)
    pairs = list(combinations(range(n_classes), 2))
    product = graph.op("MatMul", values, _pair_coefficients(model, pairs))
    margins = graph.op("Add", product, np.asarray(model.intercept_, dtype=np.float64))
    for_first = graph.cast(graph.op("GreaterOrEqual", margins, 0.0))
    first, second = (np.eye(n_classes)[[pair[side] for pair in pairs]] for side in (0, 1))
    votes = graph.op("Add", graph.op("MatMul", for_first, first - second), second.sum(axis=0)[None])
    sums = graph.op("MatMul", margins, first - second)
    size = graph.op("Add", graph.op("Abs", sums), 1.0)
    confidence = graph.op("Div", graph.op("Div", sums, size), 3.0)
    return ClassScores(graph, graph.op("Add", votes, confidence), False)


def _pair_coefficients(model: Any, pairs: list[tuple[int, int]]) -> FloatArray:
    """The weight of each support vector in the machine of each pair of classes."""
    dual = as_dense_array(model.dual_coef_)
    ends = np.append(0, np.cumsum(model.n_support_))
    weights = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        weights[ends[i] : ends[i + 1], column] = dual[j - 1, ends[i] : ends[i + 1]]
        weights[ends[j] : ends[j + 1], column] = dual[i, ends[j] : ends[j + 1]]
    return weights


def _convert_lightgbm(model: Any, table: GraphTable) -> ClassScores:
    return ClassScores(table.graph, emit_lightgbm_probabilities(model, table), True)


def _booster_converters() -> Mapping[type, ScoreConverter]:
    return {sys.modules["lightgbm"].LGBMClassifier: _convert_lightgbm} if "lightgbm" in sys.modules else {}


def _convert_with_skl2onnx(estimator: Any, table: GraphTable) -> ClassScores:
    values = emit_skl2onnx_class_scores(estimator, table)
    return ClassScores(table.graph, values, hasattr(estimator, "predict_proba"))


_WRAPPERS: dict[type, ScoreConverter] = {
    Pipeline: _convert_pipeline_class_scores,
    FrozenEstimator: _convert_frozen_class_scores,
    **dict.fromkeys((GridSearchCV, RandomizedSearchCV), _convert_search_class_scores),
}
_CLASS_SCORES_CONVERTERS: dict[type, ScoreConverter] = {
    **dict.fromkeys((LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis), _convert_softmax),
    **dict.fromkeys(
        (LinearSVC, Perceptron, RidgeClassifier, RidgeClassifierCV), _convert_linear_class_scores
    ),
    **dict.fromkeys((SVC, NuSVC), _convert_svm_class_scores),
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), _convert_tree_class_scores),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _convert_forest_class_scores),
    GradientBoostingClassifier: _convert_gradient_boosting_class_scores,
    HistGradientBoostingClassifier: _convert_hist_gradient_boosting_class_scores,
}
