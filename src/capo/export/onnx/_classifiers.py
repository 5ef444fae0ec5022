"""Classifiers in the graph: what each says of a row."""

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
from ._boosters import boosters
from ._graph import Graph
from ._kernels import dense, kernel
from ._outputs import ClassifierOutputs, average, with_margin
from ._skl2onnx_fallback import foreign_classifier
from ._table import Numbers, Table
from ._transformers import transform_table
from ._trees import forest, of_histograms, of_sklearn, single

#: From an estimator of exactly this type and its table to what it says.
Classify = Callable[[Any, Table], ClassifierOutputs]


def classifier_outputs(estimator: Any, table: Table) -> ClassifierOutputs:
    """What a fitted classifier says of the rows of a table about the second of its classes."""
    if len(getattr(estimator, "classes_", (0, 1))) < 2:
        raise ExportError(f"its {type(estimator).__name__} knows one class alone")
    kind = type(estimator)
    return (_CLASSIFIERS.get(kind) or boosters().get(kind) or foreign_classifier)(estimator, table)


def _pipeline(pipeline: Any, table: Table) -> ClassifierOutputs:
    for _, step in pipeline.steps[:-1]:
        if step not in (None, "passthrough"):
            table = transform_table(step, table)
    return classifier_outputs(pipeline.steps[-1][1], table)


def _frozen(frozen: Any, table: Table) -> ClassifierOutputs:
    return classifier_outputs(frozen.estimator, table)


def _searched(search: Any, table: Table) -> ClassifierOutputs:
    return classifier_outputs(search.best_estimator_, table)


def _linear(model: Any, table: Table) -> ClassifierOutputs:
    return _margin_of(model, table, logistic=False)


def _logistic(model: Any, table: Table) -> ClassifierOutputs:
    return _margin_of(model, table, logistic=True)


def _sgd(model: Any, table: Table) -> ClassifierOutputs:
    return _margin_of(model, table, logistic=model.loss == "log_loss")


def _margin_of(model: Any, table: Table, *, logistic: bool) -> ClassifierOutputs:
    graph = table.graph
    product = graph.op("MatMul", table.matrix(), dense(model.coef_).reshape(-1, 1))
    margin = graph.op("Add", product, float(np.ravel(model.intercept_)[0]))
    return with_margin(graph, margin, logistic=logistic)


def _svmperf(model: SVMPerfClassifier, table: Table) -> ClassifierOutputs:
    if model.kernel == "linear":
        return _linear(model, table)
    used = model.kernel_
    return _expansion(model, table, used.kind, gamma=used.gamma, coef0=used.coef0, degree=used.degree)


def _svm(model: Any, table: Table) -> ClassifierOutputs:
    params = {"gamma": float(model._gamma), "coef0": float(model.coef0), "degree": float(model.degree)}
    return _expansion(model, table, model.kernel, **params)


def _expansion(model: Any, table: Table, kind: Any, **params: float) -> ClassifierOutputs:
    """A weighted sum of kernels at the support vectors."""
    graph = table.graph
    values = kernel(graph, kind, table.matrix(), model.support_vectors_, **params)
    product = graph.op("MatMul", values, dense(model.dual_coef_).T.copy())
    margin = graph.op("Add", product, float(model.intercept_[0]))
    return with_margin(graph, margin, logistic=False)


def _tree(model: Any, table: Table) -> ClassifierOutputs:
    return _mean_of_trees([model], table)


def _forest(model: Any, table: Table) -> ClassifierOutputs:
    return _mean_of_trees(model.estimators_, table)


def _mean_of_trees(models: list[Any], table: Table) -> ClassifierOutputs:
    trees = [of_sklearn(each.tree_, each.tree_.value[:, 0, 1]) for each in models]
    total = forest(table.graph, single(table.graph, table.matrix()), trees)
    return ClassifierOutputs(table.graph, probability=table.graph.op("Div", total, float(len(trees))))


def _gradient_boosting(model: Any, table: Table) -> ClassifierOutputs:
    if model.init_ != "zero" and type(model.init_) is not DummyClassifier:
        raise ExportError(f"its {type(model).__name__} starts from a {type(model.init_).__name__}")
    graph, start = table.graph, model._raw_predict_init(np.zeros((1, model.n_features_in_)))
    trees = [of_sklearn(each.tree_, each.tree_.value[:, 0, 0]) for each in model.estimators_[:, 0]]
    total = forest(graph, single(graph, table.matrix()), trees)
    margin = graph.op("Add", graph.op("Mul", total, model.learning_rate), float(start[0, 0]))
    odds = margin if model.loss == "log_loss" else graph.op("Mul", margin, 2.0)
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", odds))


def _histogram_boosting(model: Any, table: Table) -> ClassifierOutputs:
    graph = table.graph
    if model._preprocessor is not None:
        places = model._preprocessor._transformer_to_input_indices
        codes = transform_table(
            model._preprocessor.named_transformers_["encoder"], table.take(places["encoder"])
        )
        table = codes.beside(table.take(places["numerical"]))
    trees = [of_histograms(predictor) for (predictor,) in model._predictors]
    total = forest(graph, table.matrix(), trees)
    return with_margin(graph, graph.op("Add", total, float(np.ravel(model._baseline_prediction)[0])))


def _voting(model: Any, table: Table) -> ClassifierOutputs:
    graph, inner = table.graph, [classifier_outputs(each, table) for each in model.estimators_]
    weights = model._weights_not_none
    if model.voting == "soft":
        shares = [each.share(who) for each, who in zip(inner, model.estimators_, strict=True)]
        return ClassifierOutputs(graph, probability=average(graph, shares, weights))
    votes = average(graph, [each.voted() for each in inner], weights)
    return ClassifierOutputs(graph, vote=graph.cast(graph.op("Greater", votes, 0.5)))


def _bagging(model: Any, table: Table) -> ClassifierOutputs:
    graph = table.graph
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    inner = [classifier_outputs(each, table.take(columns)) for each, columns in pairs]
    margins = [each.margin for each in inner if each.margin is not None]
    shares = [each.probability or each.voted() for each in inner]
    share = average(graph, shares)
    vote = graph.cast(graph.op("Greater", share, 0.5))
    return ClassifierOutputs(graph, average(graph, margins) if margins else None, share, vote)


def _ada_boost(model: Any, table: Table) -> ClassifierOutputs:
    graph, weights = table.graph, model.estimator_weights_[: len(model.estimators_)]
    labels = [classifier_outputs(each, table).label() for each in model.estimators_]
    margin = graph.op("Mul", average(graph, labels, weights.tolist()), 2.0)
    return with_margin(graph, margin)


def _stacking(model: Any, table: Table) -> ClassifierOutputs:
    inner = [classifier_outputs(each, table) for each in model.estimators_]
    pairs = zip(inner, model.estimators_, model.stack_method_, strict=True)
    columns = [_for_stack(each, who, method) for each, who, method in pairs]
    stack = Table(table.graph, tuple(Numbers(each, 1) for each in columns))
    return classifier_outputs(model.final_estimator_, stack.beside(table) if model.passthrough else stack)


def _for_stack(inner: ClassifierOutputs, who: Any, method: str) -> str:
    if method == "predict_proba":
        return inner.share(who)
    return inner.score() if method == "decision_function" else inner.voted()


def _calibrated(model: Any, table: Table) -> ClassifierOutputs:
    graph = table.graph
    shares = [
        _curve(each, classifier_outputs(each.estimator, table)) for each in model.calibrated_classifiers_
    ]
    return ClassifierOutputs(graph, probability=average(graph, shares))


def _curve(model: Any, inner: ClassifierOutputs) -> str:
    """The probability that one of the curves gives to a score."""
    (curve,), score = model.calibrators, inner.margin or inner.share(model.estimator)
    if model.method == "isotonic":
        return _between(inner.graph, score, curve.X_thresholds_, curve.y_thresholds_)
    if model.method != "sigmoid":
        raise ExportError(f"its CalibratedClassifierCV has the method {model.method!r}")
    odds = inner.graph.op("Add", inner.graph.op("Mul", score, -float(curve.a_)), -float(curve.b_))
    return inner.graph.op("Sigmoid", odds)


def _between(graph: Graph, score: str, at: FloatArray, values: FloatArray) -> str:
    """The line between the two points around each score, the outermost value beyond them."""
    if len(at) == 1:
        return graph.op("Add", graph.op("Mul", score, 0.0), float(values[0]))
    inside = graph.op("Clip", score, float(at[0]), float(at[-1]))
    above = graph.cast(graph.op("Greater", inside, at[None, 1:-1].astype(np.float64)))
    place = graph.op("ReduceSum", above, np.array([1]), keepdims=0)
    slopes = np.diff(values) / np.diff(at)
    lines = np.column_stack((at[:-1], slopes, values[:-1])).astype(np.float64)
    chosen = graph.op("Gather", lines, graph.cast(place, TensorProto.INT64), axis=0)
    start, slope, value = (graph.columns(chosen, [each]) for each in range(3))
    return graph.op("Add", graph.op("Mul", graph.op("Sub", inside, start), slope), value)


_CLASSIFIERS: dict[type, Classify] = {
    Pipeline: _pipeline,
    FrozenEstimator: _frozen,
    **dict.fromkeys((GridSearchCV, RandomizedSearchCV, SVMPerfClassifierCV), _searched),
    **dict.fromkeys((LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis), _logistic),
    **dict.fromkeys((LinearSVC, Perceptron, RidgeClassifier, RidgeClassifierCV), _linear),
    SGDClassifier: _sgd,
    SVMPerfClassifier: _svmperf,
    **dict.fromkeys((SVC, NuSVC), _svm),
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), _tree),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _forest),
    GradientBoostingClassifier: _gradient_boosting,
    HistGradientBoostingClassifier: _histogram_boosting,
    VotingClassifier: _voting,
    BaggingClassifier: _bagging,
    AdaBoostClassifier: _ada_boost,
    StackingClassifier: _stacking,
    CalibratedClassifierCV: _calibrated,
}
