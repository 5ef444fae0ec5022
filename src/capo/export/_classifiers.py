"""Conversion of fitted classifiers."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from onnx import TensorProto
from sklearn import ensemble, linear_model, svm, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline

from .._compat import FloatArray
from ..estimators import SVMPerfClassifier, SVMPerfClassifierCV
from ..exceptions import ExportError
from ..learning.auxiliaries import ConstantLabel, LabelwiseClassifier
from ..learning.outputs import MAX_MARGIN, PROBABILITY_EPS
from . import _trees
from ._graph import GraphBuilder, GraphTable
from ._transformers import as_dense_array, convert_transformer, converter_options, emit_kernel, emit_skl2onnx


@dataclass(frozen=True)
class ClassifierOutputs:
    """Margins, probabilities and votes (1 or 0), as far as available: matrices of shape (n, K).

    K is 1 for two classes, and the column is about the second of them. It is the number of classes if there
    are more, and the number of labels for a classifier of a label matrix.
    """

    graph: GraphBuilder
    margin: str | None = None
    probability: str | None = None
    vote: str | None = None

    def score(self) -> str:
        """The margin, else the log-odds, else the label as -1 or +1."""
        if self.margin is not None:
            return self.graph.op("Clip", self.margin, -MAX_MARGIN, MAX_MARGIN)
        if self.probability is None:
            return self.signed_label()
        clipped = self.graph.op("Clip", self.probability, PROBABILITY_EPS, 1.0 - PROBABILITY_EPS)
        return self.graph.op("Log", self.graph.op("Div", clipped, self.graph.op("Sub", 1.0, clipped)))

    def label(self) -> str:
        """1 for a positive row, else 0."""
        if self.vote is not None:
            return self.vote
        value, cut = (self.probability, 0.5) if self.margin is None else (self.margin, 0.0)
        assert value is not None
        return self.graph.cast(self.graph.op("Greater", value, cut))

    def signed_label(self) -> str:
        """+1 for a positive row, else -1."""
        return self.graph.op("Sub", self.graph.op("Mul", self.label(), 2.0), 1.0)

    def class_scores(self, known: list[int], n_classes: int) -> str:
        """Log-probabilities, else margins, in the columns of all classes; the classifier knows `known`."""
        graph, values = self.graph, self.probability or self.margin
        if values is None:
            raise ExportError("its graph has neither probabilities nor margins")
        if self.probability is not None:
            if len(known) == 2:
                values = graph.op("Concat", graph.op("Sub", 1.0, values), values, axis=1)
            values = graph.op("Log", graph.op("Max", values, PROBABILITY_EPS))
        elif len(known) == 2:
            half = graph.op("Mul", graph.op("Identity", values), 0.5)
            values = graph.op("Concat", graph.op("Neg", half), half, axis=1)
        scores = graph.op("Clip", values, -MAX_MARGIN, MAX_MARGIN)
        if known == list(range(n_classes)):
            return scores
        lowest = graph.op("ReduceMin", scores, np.array([1]), keepdims=1)
        if self.probability is not None:
            lowest = graph.op("Add", graph.op("Mul", lowest, 0.0), float(np.log(PROBABILITY_EPS)))
        order = [known.index(k) if k in known else len(known) for k in range(n_classes)]
        return graph.take_columns(graph.op("Concat", scores, lowest, axis=1), order)


def convert_classifier(estimator: Any, table: GraphTable) -> ClassifierOutputs:
    """Convert a fitted classifier."""
    if len(getattr(estimator, "classes_", (0, 1))) < 2:
        raise ExportError(f"its {type(estimator).__name__} was trained on one class only")
    kind = type(estimator)
    names = (kind, f"{kind.__module__}.{kind.__name__}")
    convert = next((_CONVERTERS[each] for each in names if each in _CONVERTERS), _convert_with_skl2onnx)
    return convert(estimator, table)


def unwrap(estimator: Any) -> Any:
    """The classifier inside of pipelines and frozen estimators."""
    while isinstance(estimator, Pipeline | FrozenEstimator):
        estimator = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator.estimator
    return estimator


def _n_outputs(model: Any) -> int:
    """The number of columns of the outputs of a classifier of one label."""
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def _with_probability(graph: GraphBuilder, margin: str, n_outputs: int) -> ClassifierOutputs:
    """The outputs of a classifier whose margins are log-odds, or logarithms of probabilities."""
    is_binary = n_outputs == 1
    probability = graph.op("Sigmoid", margin) if is_binary else graph.op("Softmax", margin, axis=1)
    return ClassifierOutputs(graph, margin, probability)


def _convert_labelwise(model: LabelwiseClassifier, table: GraphTable) -> ClassifierOutputs:
    columns = [convert_classifier(each, table).score() for each in model.estimators_]
    return ClassifierOutputs(table.graph, table.graph.op("Concat", *columns, axis=1))


def _convert_linear(model: Any, table: GraphTable) -> ClassifierOutputs:
    weights = np.atleast_2d(as_dense_array(model.coef_))
    return ClassifierOutputs(table.graph, _weighted_sum(table.graph, table.to_matrix(), weights, model))


def _weighted_sum(graph: GraphBuilder, values: str, weights: FloatArray, model: Any) -> str:
    product = graph.op("MatMul", values, weights.T.copy())
    return graph.op("Add", product, np.ravel(model.intercept_).astype(np.float64))


def _convert_logistic(model: Any, table: GraphTable) -> ClassifierOutputs:
    margin = _convert_linear(model, table).margin
    assert margin is not None
    return _with_probability(table.graph, margin, _n_outputs(model))


def _convert_sgd(model: Any, table: GraphTable) -> ClassifierOutputs:
    if _n_outputs(model) > 1:
        return _convert_with_skl2onnx(model, table)
    return (_convert_logistic if model.loss == "log_loss" else _convert_linear)(model, table)


def _convert_svmperf(model: SVMPerfClassifier, table: GraphTable) -> ClassifierOutputs:
    if model.kernel == "linear":
        return _convert_linear(model, table)
    kernel = model.kernel_
    params = {"gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}
    values = emit_kernel(table.graph, kernel.kind, table.to_matrix(), model.support_vectors_, **params)
    weights = as_dense_array(model.dual_coef_)
    return ClassifierOutputs(table.graph, _weighted_sum(table.graph, values, weights, model))


def _convert_svm(model: Any, table: GraphTable) -> ClassifierOutputs:
    """For many classes one machine for each pair: votes, with ties broken by the sum of the margins."""
    graph, n_classes = table.graph, len(model.classes_)
    if n_classes > 2 and (model.probability is True or model.decision_function_shape != "ovr"):
        raise ExportError(
            f"its {type(model).__name__} of many classes has other parameters than probability=False and "
            "decision_function_shape='ovr'"
        )
    params = {"gamma": float(model._gamma), "coef0": float(model.coef0), "degree": float(model.degree)}
    values = emit_kernel(graph, model.kernel, table.to_matrix(), model.support_vectors_, **params)
    if n_classes == 2:
        return ClassifierOutputs(graph, _weighted_sum(graph, values, as_dense_array(model.dual_coef_), model))
    pairs = list(combinations(range(n_classes), 2))
    # The weight of each support vector in the machine of each pair of classes.
    dual, ends = as_dense_array(model.dual_coef_), np.append(0, np.cumsum(model.n_support_))
    weights = np.zeros((len(pairs), dual.shape[1]))
    for row, (i, j) in zip(weights, pairs, strict=True):
        row[ends[i] : ends[i + 1]] = dual[j - 1, ends[i] : ends[i + 1]]
        row[ends[j] : ends[j + 1]] = dual[i, ends[j] : ends[j + 1]]
    margins = _weighted_sum(graph, values, weights, model)
    for_first = graph.cast(graph.op("GreaterOrEqual", margins, 0.0))
    first, second = (np.eye(n_classes)[[pair[side] for pair in pairs]] for side in (0, 1))
    votes = graph.op("Add", graph.op("MatMul", for_first, first - second), second.sum(axis=0)[None])
    sums = graph.op("MatMul", margins, first - second)
    size = graph.op("Add", graph.op("Abs", sums), 1.0)
    confidence = graph.op("Div", graph.op("Div", sums, size), 3.0)
    return ClassifierOutputs(graph, graph.op("Add", votes, confidence))


def _convert_trees(model: Any, table: GraphTable) -> ClassifierOutputs:
    """One tree or a forest, of one label or of a label matrix."""
    is_forest = isinstance(model, ensemble.RandomForestClassifier | ensemble.ExtraTreesClassifier)
    known = model.classes_ if model.n_outputs_ > 1 else [model.classes_]

    def shares(nodes: Any) -> FloatArray:
        """The share of the second class, or of all classes if there are more, in each node."""
        columns = []
        for values, classes in zip(np.moveaxis(nodes.value, 1, 0), known, strict=True):
            if len(classes) == 1:  # a label of which all training rows have the same value
                columns.append(np.full((len(values), 1), float(classes[0] > 0)))
            else:
                columns.append(values[:, 1:2] if len(classes) == 2 else values[:, : len(classes)])
        return np.column_stack(columns)

    trees = [each.tree_ for each in (model.estimators_ if is_forest else [model])]
    return ClassifierOutputs(table.graph, probability=_trees.emit_mean_of_trees(table, trees, shares))


def _convert_gradient_boosting(model: Any, table: GraphTable) -> ClassifierOutputs:
    if model.init_ != "zero" and type(model.init_) is not DummyClassifier:
        raise ExportError(f"its {type(model).__name__} has an init estimator, {type(model.init_).__name__}")
    graph, baseline = table.graph, model._raw_predict_init(np.zeros((1, model.n_features_in_)))
    nodes = [each.tree_ for each in model.estimators_.ravel()]
    trees = [_trees.sklearn_tree(each, each.value[:, 0, 0]) for each in nodes]
    matrix = _trees.round_to_float32(graph, table.to_matrix())
    total = _trees.emit_trees(graph, matrix, trees, _n_outputs(model))
    margin = graph.op("Add", graph.op("Mul", total, model.learning_rate), baseline.astype(np.float64))
    if model.loss == "log_loss":
        return _with_probability(graph, margin, _n_outputs(model))
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", graph.op("Mul", margin, 2.0)))


def _convert_hist_gradient_boosting(model: Any, table: GraphTable) -> ClassifierOutputs:
    graph, n_outputs = table.graph, _n_outputs(model)
    if model._preprocessor is not None:
        indices = model._preprocessor._transformer_to_input_indices
        encoder = model._preprocessor.named_transformers_["encoder"]
        encoded = convert_transformer(encoder, table.take(indices["encoder"]))
        table = encoded.hstack(table.take(indices["numerical"]))
    trees = [_trees.histogram_tree(each) for iteration in model._predictors for each in iteration]
    total = _trees.emit_trees(graph, table.to_matrix(), trees, n_outputs)
    baseline = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, n_outputs)
    return _with_probability(graph, graph.op("Add", total, baseline), n_outputs)


def _convert_voting(model: Any, table: GraphTable) -> ClassifierOutputs:
    if model.voting == "hard" and _n_outputs(model) > 1:
        return _convert_with_skl2onnx(model, table)
    parts = [convert_classifier(each, table) for each in model.estimators_]
    if model.voting == "soft":
        mean = _mean(table.graph, [_require_probability(each) for each in parts], model._weights_not_none)
        return ClassifierOutputs(table.graph, probability=mean)
    votes = _mean(table.graph, [each.label() for each in parts], model._weights_not_none)
    return ClassifierOutputs(table.graph, vote=table.graph.cast(table.graph.op("Greater", votes, 0.5)))


def _convert_bagging(model: Any, table: GraphTable) -> ClassifierOutputs:
    if any(len(each.classes_) < len(model.classes_) for each in model.estimators_):
        return _convert_with_skl2onnx(model, table)
    graph, pairs = table.graph, zip(model.estimators_, model.estimators_features_, strict=True)
    parts = [convert_classifier(each, table.take(columns)) for each, columns in pairs]
    margins = [each.margin for each in parts if each.margin is not None]
    probability = _mean(graph, [each.probability or each.label() for each in parts])
    vote = graph.cast(graph.op("Greater", probability, 0.5)) if _n_outputs(model) == 1 else None
    return ClassifierOutputs(graph, _mean(graph, margins) if margins else None, probability, vote)


def _convert_ada_boost(model: Any, table: GraphTable) -> ClassifierOutputs:
    if _n_outputs(model) > 1:
        return _convert_with_skl2onnx(model, table)
    labels = [convert_classifier(each, table).signed_label() for each in model.estimators_]
    mean = _mean(table.graph, labels, model.estimator_weights_[: len(labels)])
    return _with_probability(table.graph, table.graph.op("Mul", mean, 2.0), 1)


def _convert_stacking(model: Any, table: GraphTable) -> ClassifierOutputs:
    stack = GraphTable(table.graph, ())
    for estimator, method in zip(model.estimators_, model.stack_method_, strict=True):
        part, n_outputs = convert_classifier(estimator, table), _n_outputs(model)
        if method == "predict" and n_outputs > 1:
            return _convert_with_skl2onnx(model, table)
        value = {"decision_function": part.margin, "predict": part.label()}.get(method)
        stack = stack.hstack(table.numeric(value or _require_probability(part), n_outputs))
    return convert_classifier(model.final_estimator_, stack.hstack(table) if model.passthrough else stack)


def _mean(graph: GraphBuilder, values: list[str], weights: Any = None) -> str:
    shares = np.full(len(values), 1 / len(values)) if weights is None else np.divide(weights, np.sum(weights))
    return graph.op("Sum", *(graph.op("Mul", *pair) for pair in zip(values, shares, strict=True)))


def _require_probability(outputs: ClassifierOutputs) -> str:
    if outputs.probability is None:
        raise ExportError("the graph of one of its classifiers has no probability")
    return outputs.probability


def _convert_calibrated(model: Any, table: GraphTable) -> ClassifierOutputs:
    if _n_outputs(model) > 1:
        return _convert_with_skl2onnx(model, table)
    parts = model.calibrated_classifiers_
    values = [_calibrated_probability(each, convert_classifier(each.estimator, table)) for each in parts]
    return ClassifierOutputs(table.graph, probability=_mean(table.graph, values))


def _calibrated_probability(model: Any, inner: ClassifierOutputs) -> str:
    """The probability that one calibrated classifier gives."""
    (calibrator,), score = model.calibrators, inner.margin or _require_probability(inner)
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


def _convert_lightgbm(model: Any, table: GraphTable) -> ClassifierOutputs:
    margin, probability = _trees.emit_lightgbm(model, table, _n_outputs(model))
    has_margin = hasattr(model, "decision_function")  # from version 4.7 on
    return ClassifierOutputs(table.graph, margin if has_margin else None, probability)


def _convert_with_skl2onnx(estimator: Any, table: GraphTable) -> ClassifierOutputs:
    """Convert a classifier of numeric tables with the output that `capo.learning.outputs` prefers."""
    graph, supported = table.graph, converter_options(estimator)
    classes = np.asarray(getattr(estimator, "classes_", (0, 1)))
    is_binary = len(classes) == 2
    uses_margin = (
        hasattr(estimator, "decision_function") if is_binary else not hasattr(estimator, "predict_proba")
    )
    if uses_margin and "raw_scores" not in supported:
        raise ExportError(f"skl2onnx does not export the decision_function of {type(estimator).__name__}")
    options = {"zipmap": False} if "zipmap" in supported else {}
    label, *scores = emit_skl2onnx(estimator, table, **options)
    if uses_margin:
        # With margins, the label of a graph may be another than that of `predict`.
        _, *scores = emit_skl2onnx(estimator, table, **options, raw_scores=True)
    values, vote = graph.cast(scores[0]) if scores else None, None
    if is_binary:
        values = None if values is None else graph.take_columns(values, [-1])
        vote = graph.cast(graph.op("Reshape", graph.op("Equal", label, classes[1:]), np.array([-1, 1])))
    margin, probability = (values, None) if uses_margin else (None, values)
    return ClassifierOutputs(graph, margin, probability, vote)


_FORESTS = (
    *(tree.DecisionTreeClassifier, tree.ExtraTreeClassifier),
    *(ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier),
)
#: Classifiers of a label matrix whose outputs are known; others treat its columns as they like.
LABEL_MATRIX_CLASSIFIERS = (LabelwiseClassifier, *_FORESTS)
#: By class, or by name if the package is optional.
_CONVERTERS: dict[type | str, Callable[[Any, GraphTable], ClassifierOutputs]] = {
    Pipeline: lambda model, table: convert_classifier(
        model.steps[-1][1], convert_transformer(model[:-1], table)
    ),
    FrozenEstimator: lambda model, table: convert_classifier(model.estimator, table),
    LabelwiseClassifier: _convert_labelwise,
    ConstantLabel: lambda model, table: ClassifierOutputs(table.graph, table.constant(model.log_odds)),
    **dict.fromkeys(
        (GridSearchCV, RandomizedSearchCV, SVMPerfClassifierCV),
        lambda model, table: convert_classifier(model.best_estimator_, table),
    ),
    **dict.fromkeys((linear_model.LogisticRegression, linear_model.LogisticRegressionCV), _convert_logistic),
    LinearDiscriminantAnalysis: _convert_logistic,
    **dict.fromkeys((linear_model.RidgeClassifier, linear_model.RidgeClassifierCV), _convert_linear),
    **dict.fromkeys((svm.LinearSVC, linear_model.Perceptron), _convert_linear),
    linear_model.SGDClassifier: _convert_sgd,
    SVMPerfClassifier: _convert_svmperf,
    **dict.fromkeys((svm.SVC, svm.NuSVC), _convert_svm),
    **dict.fromkeys(_FORESTS, _convert_trees),
    ensemble.GradientBoostingClassifier: _convert_gradient_boosting,
    ensemble.HistGradientBoostingClassifier: _convert_hist_gradient_boosting,
    ensemble.VotingClassifier: _convert_voting,
    ensemble.BaggingClassifier: _convert_bagging,
    ensemble.AdaBoostClassifier: _convert_ada_boost,
    ensemble.StackingClassifier: _convert_stacking,
    CalibratedClassifierCV: _convert_calibrated,
    "lightgbm.sklearn.LGBMClassifier": _convert_lightgbm,
    "xgboost.sklearn.XGBClassifier": lambda model, table: ClassifierOutputs(
        table.graph, probability=_trees.emit_xgboost_probability(model, table)
    ),
}
