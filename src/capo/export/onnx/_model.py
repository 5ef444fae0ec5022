"""The whole of a fitted model as one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from ... import __version__
from ...auxiliary import OutputScale
from ...estimators import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV
from ...exceptions import ExportError, InvalidInputError
from ...preprocessing import is_dataframe
from ._classifiers import classifier_outputs
from ._graph import Graph
from ._kernels import dense
from ._skl2onnx_fallback import compare
from ._table import Table, input_table
from ._transformers import transform_table

#: What to do about a part that skl2onnx does not know.
CONVERTER = "or give it a converter with skl2onnx.update_registered_converter"


def graph_of(model: Any, X: Any) -> ModelProto:
    """The graph of a fitted classifier for tables like X."""
    emit = _MODELS.get(type(model))
    if emit is None:
        raise InvalidInputError(
            "to_onnx takes a fitted CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV: got a "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    X = X if is_dataframe(X) or issparse(X) else np.asarray(X)
    model.decision_function(X[:1])  # refuses a table that is not like the one trained on
    return emit(model, X)


def _svmperf(model: Any, X: Any) -> ModelProto:
    graph = Graph()
    table = input_table(graph, X)
    with _naming("the model", "Train it with another kernel"):
        score = classifier_outputs(model, table).margin
    assert score is not None
    return _finished(model, graph, {"score": score})


def _capo(model: CAPOClassifier, X: Any) -> ModelProto:
    graph = Graph()
    table = input_table(graph, X)
    odds = _log_odds(model, table, X)
    score, probability = graph.op("Sub", odds, model._log_odds_cut), graph.op("Sigmoid", odds)
    return _finished(model, graph, {"score": score, "probability": probability})


def _log_odds(model: CAPOClassifier, table: Table, X: Any) -> str:
    graph, weights = table.graph, model._weights
    shape = graph.op("Concat", graph.rows(table.blocks[0].value), np.array([1]), axis=0)
    total = graph.op("Expand", weights.bias, shape)
    parts = zip(model.auxiliaries_, model._scales, weights.auxiliary.tolist(), strict=True)
    for name, scale, weight in parts:
        if weight != 0.0:
            column = _on_scale(graph, _raw(model, name, table, X), scale)
            total = graph.op("Add", total, graph.op("Mul", column, weight))
    if np.any(weights.delta):
        total = graph.op("Add", total, graph.op("MatMul", _features(model, table, X), weights.delta[:, None]))
    return total


def _raw(model: CAPOClassifier, name: str, table: Table, X: Any) -> str:
    """What one auxiliary says."""
    with _naming(f"the auxiliary {name!r}", f"Leave it out, replace it, {CONVERTER}"):
        answer = classifier_outputs(model.auxiliaries_[name], table)
        raw = answer.score() if model._outputs == "scores" else answer.label()
        # Large scores differ by rounding alone.
        compare(table.graph, raw, X, lambda rows: model._said(name, rows)[:, None], expit)
    return raw


def _features(model: CAPOClassifier, table: Table, X: Any) -> str:
    """Phi, the features of the delta function."""
    delta: Any = model.delta_
    with _naming("the delta transformer", f"Train with delta='linear', {CONVERTER}"):
        features = transform_table(delta, table).matrix()
        compare(table.graph, features, X, lambda rows: dense(delta.transform(rows)))
    return features


def _on_scale(graph: Graph, raw: str, scale: OutputScale) -> str:
    if scale.platt is None:
        return raw
    odds = graph.op("Add", graph.op("Mul", raw, scale.platt.slope), scale.platt.intercept)
    size = graph.op("Abs", odds)
    beyond = graph.op("Max", graph.op("Sub", size, scale.limit), 0.0)
    grown = graph.op("Add", graph.op("Min", size, scale.limit), graph.op("Log", graph.op("Add", beyond, 1.0)))
    return graph.op("Mul", graph.op("Sign", odds), grown)


def _finished(model: Any, graph: Graph, outputs: dict[str, str]) -> ModelProto:
    labels, kind = _labels(model.classes_)
    above = graph.cast(graph.op("Greater", outputs["score"], 0.0), TensorProto.INT64)
    columns = {"label": (graph.op("Gather", labels, above), kind)}
    columns.update((name, (value, TensorProto.DOUBLE)) for name, value in sorted(outputs.items()))
    found = {
        name: (graph.op("Reshape", value, np.array([-1])), kind, ["n"])
        for name, (value, kind) in columns.items()
    }
    notes = {
        "capo_version": __version__,
        "measure": model.measure_.label,
        "threshold": repr(_threshold(model)),
    }
    return graph.model(found, notes)


def _threshold(model: Any) -> float:
    return float(getattr(model, "best_estimator_", model).threshold_)


def _labels(classes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The two labels as a tensor has them: whole numbers, other numbers or words."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    return classes.astype(object), TensorProto.STRING


@contextmanager
def _naming(part: str, remedy: str) -> Iterator[None]:
    """Say of which part an error is, and what can be done."""
    try:
        yield
    except ExportError as error:
        raise ExportError(f"{part} cannot be written as ONNX: {error}. {remedy}.") from (
            error.__cause__ or error
        )


_MODELS: dict[type, Callable[[Any, Any], ModelProto]] = {
    CAPOClassifier: _capo,
    SVMPerfClassifier: _svmperf,
    SVMPerfClassifierCV: _svmperf,
}
