"""Conversion of fitted classifiers of many classes: one column for each class that they know.

The columns are those that `capo.auxiliary.ClassOutput` uses: probabilities, or else margins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ..._typing import FloatArray
from ...auxiliary import MAX_MARGIN, PROBABILITY_EPS
from ...exceptions import ExportError
from ._boosters import emit_lightgbm_probabilities
from ._classifiers import convert_classifier, encode_histogram_columns
from ._graph import GraphBuilder
from ._graph_table import GraphTable
from ._kernels import as_dense_array, emit_kernel
from ._skl2onnx_fallback import emit_skl2onnx_class_scores
from ._transformers import convert_transformer
from ._trees import (
    TreeLeaf,
    TreeNodes,
    TreeSplit,
    emit_class_ensemble,
    emit_mean_of_leaves,
    nodes_from_histogram_predictor,
    nodes_from_sklearn_tree,
    round_to_float32,
)


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
    convert = _CONVERTERS.get(kind) or _booster_converters().get(kind) or _convert_with_skl2onnx
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


def _convert_pipeline(pipeline: Any, table: GraphTable) -> ClassScores:
    for _, step in pipeline.steps[:-1]:
        if step not in (None, "passthrough"):
            table = convert_transformer(step, table)
    return convert_class_scores(pipeline.steps[-1][1], table)


def _convert_frozen(frozen: Any, table: GraphTable) -> ClassScores:
    return convert_class_scores(frozen.estimator, table)


def _convert_search(search: Any, table: GraphTable) -> ClassScores:
    return convert_class_scores(search.best_estimator_, table)


def _linear_margins(model: Any, table: GraphTable) -> str:
    product = table.graph.op("MatMul", table.to_matrix(), as_dense_array(model.coef_).T.copy())
    return table.graph.op("Add", product, np.ravel(model.intercept_).astype(np.float64))


def _convert_linear(model: Any, table: GraphTable) -> ClassScores:
    return ClassScores(table.graph, _linear_margins(model, table), False)


def _convert_softmax(model: Any, table: GraphTable) -> ClassScores:
    return _softmax(table.graph, _linear_margins(model, table))


def _softmax(graph: GraphBuilder, margins: str) -> ClassScores:
    return ClassScores(graph, graph.op("Softmax", margins, axis=1), True)


def _convert_tree(model: Any, table: GraphTable) -> ClassScores:
    return _mean_of_trees([model], table)


def _convert_forest(model: Any, table: GraphTable) -> ClassScores:
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


def _convert_gradient_boosting(model: Any, table: GraphTable) -> ClassScores:
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


def _convert_hist_gradient_boosting(model: Any, table: GraphTable) -> ClassScores:
    table, n_classes = encode_histogram_columns(model, table), len(model.classes_)
    trees = [nodes_from_histogram_predictor(each) for iteration in model._predictors for each in iteration]
    classes = [number % n_classes for number in range(len(trees))]
    total = emit_class_ensemble(table.graph, table.to_matrix(), trees, classes, n_classes)
    baseline = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, n_classes)
    return _softmax(table.graph, table.graph.op("Add", total, baseline))


def _convert_svm(model: Any, table: GraphTable) -> ClassScores:
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
    Pipeline: _convert_pipeline,
    FrozenEstimator: _convert_frozen,
    **dict.fromkeys((GridSearchCV, RandomizedSearchCV), _convert_search),
}
_CONVERTERS: dict[type, ScoreConverter] = {
    **dict.fromkeys((LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis), _convert_softmax),
    **dict.fromkeys((LinearSVC, Perceptron, RidgeClassifier, RidgeClassifierCV), _convert_linear),
    **dict.fromkeys((SVC, NuSVC), _convert_svm),
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), _convert_tree),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _convert_forest),
    GradientBoostingClassifier: _convert_gradient_boosting,
    HistGradientBoostingClassifier: _convert_hist_gradient_boosting,
}
