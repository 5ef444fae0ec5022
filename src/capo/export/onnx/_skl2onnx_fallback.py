"""The fallback for all other estimators: converters that skl2onnx has or the user has registered with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_shapes
from skl2onnx import get_model_alias, to_onnx
from skl2onnx.common._registration import get_converter
from skl2onnx.common.data_types import DoubleTensorType

from ..._compat import FloatArray
from ...exceptions import ExportError
from ._graph import ML_DOMAIN, OPSETS, GraphBuilder, GraphTable, NumericColumns, raw_inputs
from ._outputs import ClassifierOutputs, to_column

#: The version of the ``ai.onnx.ml`` operators that skl2onnx writes.
SKL2ONNX_ML_OPSET = 3
#: Operators of that version that the version used here no longer has.
REMOVED_OPERATORS = frozenset({"TreeEnsembleClassifier", "TreeEnsembleRegressor"})
#: Rows on which an external converter is checked against its estimator.
MAX_CHECKED_ROWS = 200
#: Relative and absolute tolerance of that check.
CHECK_TOLERANCE = 1e-5
#: Start, end and axis of a slice that holds the last column.
_LAST_COLUMN = tuple(np.array([number], dtype=np.int64) for number in (-1, np.iinfo(np.int64).max, 1))


def convert_transformer_with_skl2onnx(estimator: Any, table: GraphTable) -> GraphTable:
    """Convert a transformer of numeric tables."""
    model = _run_skl2onnx(estimator, table.width)
    output, *_ = table.graph.inline_model(model, table.to_matrix())
    width = len(estimator.get_feature_names_out())
    return GraphTable(table.graph, (NumericColumns(table.graph.cast(output), width),))


def convert_classifier_with_skl2onnx(estimator: Any, table: GraphTable) -> ClassifierOutputs:
    """Convert a binary classifier of numeric tables."""
    supported, has_margin = _converter_options(estimator), hasattr(estimator, "decision_function")
    if has_margin and "raw_scores" not in supported:
        raise ExportError(f"skl2onnx does not export the decision_function of {type(estimator).__name__}")
    requested = {"zipmap": False, "raw_scores": has_margin}
    options = {key: value for key, value in requested.items() if key in supported}
    graph, model = table.graph, _run_skl2onnx(estimator, table.width, **options)
    label, *scores = graph.inline_model(model, table.to_matrix())
    positive = np.asarray(getattr(estimator, "classes_", (0, 1))[1:])
    vote = to_column(graph, graph.op("Equal", label, positive))
    column = to_column(graph, graph.op("Slice", scores[0], *_LAST_COLUMN)) if scores else None
    if has_margin:
        return ClassifierOutputs(graph, margin=column, vote=vote)
    return ClassifierOutputs(graph, probability=column, vote=vote)


def emit_skl2onnx_class_scores(estimator: Any, table: GraphTable) -> str:
    """Add the probabilities, or else the margins, of a classifier of many classes of numeric tables."""
    supported, has_probabilities = _converter_options(estimator), hasattr(estimator, "predict_proba")
    if not has_probabilities and "raw_scores" not in supported:
        raise ExportError(f"skl2onnx does not export the scores of {type(estimator).__name__}")
    requested = {"zipmap": False, "raw_scores": not has_probabilities}
    options = {key: value for key, value in requested.items() if key in supported}
    _, *scores = table.graph.inline_model(_run_skl2onnx(estimator, table.width, **options), table.to_matrix())
    return table.graph.cast(scores[0])


def _converter_options(estimator: Any) -> Container[str]:
    """The options that the estimator's converter supports."""
    try:
        return get_converter(get_model_alias(type(estimator))).get_allowed_options() or ()
    except Exception as error:
        raise ExportError(f"skl2onnx has no converter for {type(estimator).__name__}") from error


def _run_skl2onnx(estimator: Any, width: int, **options: Any) -> ModelProto:
    """Convert one estimator to a model whose input is a matrix of doubles."""
    try:
        with warnings.catch_warnings():
            # Warnings of the libraries that skl2onnx uses, about each other.
            warnings.simplefilter("ignore")
            model = to_onnx(
                estimator,
                initial_types=[("X", DoubleTensorType([None, width]))],
                options={id(estimator): options} if options else None,
                target_opset={"": OPSETS[""], ML_DOMAIN: SKL2ONNX_ML_OPSET},
            )
            infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:
        raise ExportError(
            f"skl2onnx cannot convert {type(estimator).__name__} in double precision"
        ) from error
    _check_operators(model, estimator)
    return model


def _check_operators(model: ModelProto, estimator: Any) -> None:
    unsupported = {
        node.op_type
        for node in model.graph.node
        if node.domain not in OPSETS or node.op_type in REMOVED_OPERATORS
    }
    if unsupported:
        raise ExportError(
            f"skl2onnx converts {type(estimator).__name__} with {', '.join(sorted(unsupported))}, which is "
            "not in double precision or not a standard ONNX operator"
        )


def check_external_nodes(
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
    with np.errstate(all="ignore"):
        (output,) = list(ReferenceEvaluator(model).run(None, raw_inputs(rows)))
    close = np.allclose(
        transform(np.asarray(output)),
        transform(expected(rows)),
        rtol=CHECK_TOLERANCE,
        atol=CHECK_TOLERANCE,
    )
    if not close:
        raise ExportError("the outputs of its skl2onnx graph differ from those of the estimator")
