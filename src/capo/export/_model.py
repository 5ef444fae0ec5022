"""Whole models.

All targets share one graph: the outputs of an auxiliary are a matrix with K columns, where K is 1 for two
classes, and the number of classes or labels otherwise.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto
from onnx.reference import ReferenceEvaluator
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._compat import FloatArray, NDArray
from ..baselines import PublishedCAPOClassifier
from ..estimators import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV
from ..exceptions import ExportError, InvalidInputError
from ..learning import outputs as learned
from ..measures.multilabel import RowAverage
from ..tables.kinds import is_dataframe
from ._classifiers import LABEL_MATRIX_CLASSIFIERS, ClassifierOutputs, convert_classifier, unwrap
from ._graph import GraphBuilder, GraphTable, make_input_table
from ._transformers import as_dense_array, convert_transformer
from .onnx import COLUMN_KINDS, input_columns, parsed_inputs

#: Remedy for a part without a converter.
REGISTER_CONVERTER = "or register a converter with skl2onnx.update_registered_converter"
#: Rows on which an external converter is checked against its estimator.
MAX_CHECKED_ROWS = 200
#: Relative and absolute tolerance of that check.
CHECK_TOLERANCE = 1e-5


def convert_model(model: Any, X: Any) -> ModelProto:
    """Convert a fitted classifier to a graph for data like X."""
    capo_models = (CAPOClassifier, PublishedCAPOClassifier)
    if not isinstance(model, (*capo_models, SVMPerfClassifier, SVMPerfClassifierCV)):
        raise InvalidInputError(
            "to_onnx takes a fitted CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV: got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    found, prices = getattr(model, "guarantee_", None), getattr(model, "prices_", None)
    if (found is not None and found.segments) or (found is None and prices is not None and prices.asks):
        raise ExportError(
            "an ONNX graph has the same thresholds for all rows, but those of this model depend on the "
            "segment or on the price of asking: export the model without them, or use a model file "
            "(capo.save)."
        )
    X = X if is_dataframe(X) or issparse(X) else np.asarray(X)
    model.decision_function(X[:1])  # raises if X does not have the columns of the training table
    if getattr(model, "text_lengths_", None):
        raise ExportError(
            "the model has a text encoder, which is not exported: encode the texts yourself, and train on a "
            "column of vectors."
        )
    kinds: dict[str, Any] = {}
    if is_dataframe(X) and hasattr(model, "schema_"):
        X = model.schema_.parse(X)
        columns = zip(input_columns(X), model.schema_.columns, strict=True)
        kinds = {name: column.kind.to_dict() for name, column in columns}
    graph = GraphBuilder()
    table = make_input_table(graph, X)
    convert = _OUTPUTS[_target_type(model)] if isinstance(model, capo_models) else _svmperf_outputs
    outputs, notes = convert(model, table, X)
    head = {"capo_version": __version__, "measure": model.measure_.label}
    return graph.build(outputs, {**head, **notes, COLUMN_KINDS: json.dumps(kinds)})


#: The value, data type and shape of each output, by its name.
GraphOutputs = dict[str, tuple[str, int, list[Any]]]


def _target_type(model: Any) -> str:
    return str(getattr(model, "target_type_", "binary"))


def _svmperf_outputs(model: Any, table: GraphTable, X: Any) -> tuple[GraphOutputs, dict[str, str]]:
    with _explain_export_errors("the model", "Train it with another kernel"):
        score = convert_classifier(model, table).margin
    assert score is not None
    threshold = getattr(model, "best_estimator_", model).threshold_
    return _binary_outputs(table.graph, {"score": score}, model.classes_, threshold)


def _capo_outputs(model: Any, table: GraphTable, X: Any) -> tuple[GraphOutputs, dict[str, str]]:
    log_odds = _log_odds(model, table, X)
    probability = table.graph.op("Sigmoid", log_odds)
    scores = {"probability": probability, "score": _score(model, table.graph, log_odds)}
    outputs, notes = _binary_outputs(table.graph, scores, model.label_pair, model.threshold_)
    found = model.guarantee_
    if found is not None and found.abstain_label is not None:
        labels, label_type = _label_array(found.answers(model.label_pair))
        above = (table.graph.op("Greater", log_odds, cut) for cut in (found.lower_cut, found.cut))
        position = table.graph.op("Add", *(table.graph.cast(each, TensorProto.INT64) for each in above))
        label = table.graph.op("Reshape", table.graph.op("Gather", labels, position), np.array([-1]))
        outputs["label"] = (label, label_type, ["n"])
    return outputs, notes


def _binary_outputs(
    graph: GraphBuilder, scores: dict[str, str], label_pair: NDArray[Any], threshold: float
) -> tuple[GraphOutputs, dict[str, str]]:
    """Vectors of the label and of the scores."""
    labels, label_type = _label_array(label_pair)
    is_positive = graph.cast(graph.op("Greater", scores["score"], 0.0), TensorProto.INT64)
    columns = {"label": (graph.op("Gather", labels, is_positive), label_type)}
    columns.update((name, (value, TensorProto.DOUBLE)) for name, value in scores.items())
    outputs: GraphOutputs = {
        name: (graph.op("Reshape", value, np.array([-1])), dtype, ["n"])
        for name, (value, dtype) in columns.items()
    }
    return outputs, {"pos_label": str(label_pair.tolist()[1]), "threshold": repr(float(threshold))}


def _multilabel_outputs(model: Any, table: GraphTable, X: Any) -> tuple[GraphOutputs, dict[str, str]]:
    if isinstance(model.measure_, RowAverage):
        raise ExportError(
            f"a model for {model.measure_.label} chooses the labels of each row together, and only "
            "thresholds on labels are exported: train for an average over labels or entries, such as "
            "f1_macro or f1_micro, or use a model file (capo.save)."
        )
    graph, shape = table.graph, ["n", len(model.classes_)]
    log_odds = _log_odds(model, table, X)
    score = _score(model, graph, log_odds)
    is_chosen = graph.cast(graph.op("Greater", score, 0.0), TensorProto.INT64)
    outputs: GraphOutputs = {
        "label": (is_chosen, TensorProto.INT64, shape),
        "probability": (graph.op("Sigmoid", log_odds), TensorProto.DOUBLE, shape),
        "score": (score, TensorProto.DOUBLE, shape),
    }
    names = [str(name) for name in model.classes_.tolist()]
    return outputs, {"labels": json.dumps(names), "thresholds": json.dumps(model.thresholds_.tolist())}


def _multiclass_outputs(model: Any, table: GraphTable, X: Any) -> tuple[GraphOutputs, dict[str, str]]:
    graph, shape = table.graph, ["n", len(model.classes_)]
    probabilities = _class_probabilities(model, table, X)
    gains = graph.op("MatMul", probabilities, model.rule_.gain.astype(np.float64))
    position = graph.op("ArgMax", gains, axis=1, keepdims=0, select_last_index=0)
    labels, label_type = _label_array(model.classes_)
    outputs: GraphOutputs = {
        "label": (graph.op("Gather", labels, position), label_type, ["n"]),
        "probability": (probabilities, TensorProto.DOUBLE, shape),
        "score": (gains, TensorProto.DOUBLE, shape),
    }
    return outputs, {"classes": json.dumps(model.classes_.tolist(), default=str)}


_OUTPUTS: dict[str, Callable[[Any, GraphTable, Any], tuple[GraphOutputs, dict[str, str]]]] = {
    "binary": _capo_outputs,
    "multiclass": _multiclass_outputs,
    "multilabel": _multilabel_outputs,
}


def _label_array(classes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The classes as int64, double or string, and that data type."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    return np.array([str(each) for each in classes.tolist()], dtype=object), TensorProto.STRING


def _log_odds(model: Any, table: GraphTable, X: Any) -> str:
    """The log-odds of the positive class or of all labels, one column for each."""
    graph, is_binary = table.graph, _target_type(model) == "binary"
    columns = [model.combination_] if is_binary else [each.combination for each in model.label_models_]
    total = table.constant([each.weights.intercept for each in columns])
    for j, name in enumerate(model.auxiliaries_):
        weights = np.array([[each.weights.auxiliary[j] for each in columns]])
        if weights.any():
            raw = _auxiliary_output(model, name, table, X)
            output = _apply_scales(graph, raw, [each.scales[j] for each in columns])
            total = graph.op("Add", total, graph.op("Mul", output, weights))
    delta = np.column_stack([each.weights.delta for each in columns])
    if not delta.any():
        return total
    remedy = f"Train with delta='linear', {REGISTER_CONVERTER}"
    with _explain_export_errors("the delta transformer", remedy):
        features = convert_transformer(model.delta_, table).to_matrix()
        _check_external_nodes(graph, features, X, lambda rows: as_dense_array(model.delta_.transform(rows)))
    return graph.op("Add", total, graph.op("MatMul", features, delta))


def _score(model: Any, graph: GraphBuilder, log_odds: str) -> str:
    """The log-odds minus those at the thresholds."""
    return graph.op("Sub", log_odds, np.reshape(model.decision_.log_odds, (1, -1)))


def _apply_scales(graph: GraphBuilder, raw: str, scales: Sequence[learned.OutputScale]) -> str:
    """Platt's log-odds of each column, clipped before and growing only logarithmically beyond the limit."""
    if all(scale.calibrator is None for scale in scales):
        return raw

    def row(default: float, value: Callable[[Any], float]) -> FloatArray:
        return np.array([[default if scale.calibrator is None else value(scale) for scale in scales]])

    largest, certain = row(np.inf, lambda s: s.max_raw), row(np.inf, lambda s: s.certain_raw)
    if np.isfinite(np.minimum(largest, certain)).any():  # clip as `OutputScale.clip`
        distance = graph.op("Abs", graph.op("Sub", graph.op("Abs", raw), learned.CERTAIN_LOG_ODDS))
        is_certain = graph.op("Less", distance, learned.CERTAIN_LOG_ODDS_TOL)
        most = graph.op("Where", is_certain, np.minimum(largest, certain), largest)
        raw = graph.op("Max", graph.op("Min", raw, most), graph.op("Neg", most))
    scaled = graph.op("Mul", raw, row(1.0, lambda s: s.calibrator.slope))
    log_odds = graph.op("Add", scaled, row(0.0, lambda s: s.calibrator.intercept))
    limits, size = row(np.inf, lambda s: s.max_log_odds), graph.op("Abs", log_odds)
    excess = graph.op("Max", graph.op("Sub", size, limits), 0.0)
    log_excess = graph.op("Log", graph.op("Add", excess, 1.0))
    limited = graph.op("Add", graph.op("Min", size, limits), log_excess)
    return graph.op("Mul", graph.op("Sign", log_odds), limited)


def _class_probabilities(model: Any, table: GraphTable, X: Any) -> str:
    graph, stack = table.graph, model.stack_
    total = table.constant(stack.intercepts)
    parts = zip(model.auxiliaries_, stack.calibrators, stack.weights.tolist(), stack.is_used, strict=True)
    inputs = []
    for name, calibrator, weight, is_used in parts:
        if is_used:
            raw = graph.op("Mul", _auxiliary_output(model, name, table, X), calibrator.slope)
            shares = graph.op("Softmax", graph.op("Add", raw, calibrator.intercepts[None]), axis=1)
            floored = graph.op("Add", shares, calibrator.floor)
            sums = 1.0 + len(calibrator.intercepts) * calibrator.floor
            inputs.append(graph.op("Log", graph.op("Div", floored, sums)))
            total = graph.op("Add", total, graph.op("Mul", inputs[-1], weight))
    if stack.correction is not None:
        # The effect of the centered log-probabilities of all auxiliaries on the scores.
        means = [graph.op("ReduceMean", each, np.array([1]), keepdims=1) for each in inputs]
        centered = [graph.op("Sub", each, mean) for each, mean in zip(inputs, means, strict=True)]
        product = graph.op("MatMul", graph.op("Concat", *centered, axis=1), stack.correction[:-1])
        total = graph.op("Add", total, graph.op("Add", product, stack.correction[-1:]))
    return graph.op("Softmax", total, axis=1)


def _auxiliary_output(model: Any, name: str, table: GraphTable, X: Any) -> str:
    """The raw output of one auxiliary, as the model takes it from the estimator."""
    estimator, target_type = model.auxiliaries_[name], _target_type(model)
    with _explain_export_errors(f"the auxiliary {name!r}", f"Leave it out, replace it, {REGISTER_CONVERTER}"):
        is_multilabel = target_type == "multilabel"
        if is_multilabel and not isinstance(unwrap(estimator), LABEL_MATRIX_CLASSIFIERS):
            raise ExportError(f"its {type(unwrap(estimator)).__name__} was trained on all labels together")
        outputs = _convert_auxiliary(estimator, table, X)
        if target_type == "multiclass":
            if outputs.probability is None and hasattr(estimator, "predict_proba"):
                raise ExportError(f"the graph of its {type(estimator).__name__} has no probability")
            known = learned.class_positions_of(estimator, model.classes_)
            raw = outputs.class_scores(known, len(model.classes_))
            predict = partial(learned.ClassOutput().predict, estimator, classes=model.classes_)
            _check_external_nodes(table.graph, raw, X, predict, partial(softmax, axis=1))
            return raw
        kind: Any = learned.LabelColumnsOutput() if is_multilabel else model.combination_.output_kind
        labels = model.classes_ if is_multilabel else model.label_pair
        raw = outputs.signed_label() if isinstance(kind, learned.LabelOutput) else outputs.score()
        if target_type == "binary" and learned.positive_class_index(estimator, labels) == 0:
            raw = table.graph.op("Neg", raw)

        def python_output(rows: Any) -> FloatArray:
            return np.asarray(kind.predict(estimator, rows, labels)).reshape(rows.shape[0], -1)

        # Compared as probabilities: large scores may differ by rounding.
        _check_external_nodes(table.graph, raw, X, python_output, expit)
        return raw


def _convert_auxiliary(estimator: Any, table: GraphTable, X: Any) -> ClassifierOutputs:
    """The outputs of an auxiliary, which may be a model itself, as in a refit."""
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    is_model = isinstance(inner, CAPOClassifier | PublishedCAPOClassifier)
    if not is_model or _target_type(inner) != "binary":
        return convert_classifier(estimator, table)
    # The decision function is about the second of the sorted classes.
    graph, score = table.graph, _score(inner, table.graph, _log_odds(inner, table, X))
    is_reversed = inner.classes_[0] == inner.pos_label_
    return ClassifierOutputs(graph, graph.op("Neg", score) if is_reversed else score)


@contextmanager
def _explain_export_errors(part: str, remedy: str) -> Iterator[None]:
    """Complete the reason in an ExportError to a sentence about a part of the model, with a remedy."""
    try:
        yield
    except ExportError as error:
        message = f"{part} cannot be exported to ONNX: {error}. {remedy}."
        raise ExportError(message) from (error.__cause__ or error)


def _check_external_nodes(
    graph: GraphBuilder,
    value: str,
    X: Any,
    expected: Callable[[Any], FloatArray],
    transform: Callable[[FloatArray], FloatArray] = np.asarray,
) -> None:
    """Raise if a value that external converters contribute to differs from the expected one on rows of X.

    Both are compared after `transform`. A graph without external nodes is not checked.
    """
    if not graph.has_external_nodes:
        return
    graph.has_external_nodes, rows = False, X[:MAX_CHECKED_ROWS]
    model = graph.build({"value": (value, TensorProto.DOUBLE, ["n", None])}, {})
    try:
        with np.errstate(all="ignore"):
            (output,) = list(ReferenceEvaluator(model).run(None, parsed_inputs(rows)))
    except Exception as error:
        raise ExportError("its skl2onnx graph cannot be run") from error
    found, wanted = transform(np.asarray(output)), transform(expected(rows))
    if not np.allclose(found, wanted, rtol=CHECK_TOLERANCE, atol=CHECK_TOLERANCE):
        raise ExportError("the outputs of its skl2onnx graph differ from those of the estimator")
