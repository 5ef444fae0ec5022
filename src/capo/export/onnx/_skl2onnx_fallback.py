"""Estimators that are left to skl2onnx: all that it, or the user, has registered a converter for."""

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

from ..._typing import FloatArray
from ...exceptions import ExportError
from ._graph import ML, OPSETS, Graph
from ._inputs import onnx_inputs
from ._outputs import ClassifierOutputs, as_column
from ._table import Numbers, Table

#: Operators that skl2onnx knows of this domain.
ML_VERSION = 3
#: Operators of that version which the later one has no more.
OUTDATED = frozenset({"TreeEnsembleClassifier", "TreeEnsembleRegressor"})
#: Rows on which a graph that was not made here is compared with its estimator, and how near it must be.
MOST_ROWS, CLOSE = 200, 1e-5
#: Where a slice begins and ends, and its axis.
_LAST_COLUMN = tuple(np.array([each], dtype=np.int64) for each in (-1, np.iinfo(np.int64).max, 1))


def foreign_transformer(estimator: Any, table: Table) -> Table:
    """What a transformer makes of a table of numbers."""
    (found,) = table.graph.call(converted(estimator, table.width), table.matrix())[:1]
    width = len(estimator.get_feature_names_out())
    return Table(table.graph, (Numbers(table.graph.cast(found), width),))


def converted(estimator: Any, width: int, **options: Any) -> ModelProto:
    """A model of one estimator that takes a matrix of doubles."""
    kinds = [("X", DoubleTensorType([None, width]))]
    try:
        with warnings.catch_warnings():
            # Of libraries that skl2onnx uses, about each other.
            warnings.simplefilter("ignore")
            model = to_onnx(
                estimator,
                initial_types=kinds,
                options={id(estimator): options} if options else None,
                target_opset={"": OPSETS[""], ML: ML_VERSION},
            )
            infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:
        raise ExportError(
            f"skl2onnx cannot convert a {type(estimator).__name__} in double precision"
        ) from error
    unknown = {
        node.op_type for node in model.graph.node if node.domain not in OPSETS or node.op_type in OUTDATED
    }
    if unknown:
        raise ExportError(
            f"skl2onnx converts a {type(estimator).__name__} with {', '.join(sorted(unknown))}, an operator "
            "that is not in double precision or not part of ONNX"
        )
    return model


def foreign_classifier(estimator: Any, table: Table) -> ClassifierOutputs:
    """What a classifier of two classes says of a table of numbers."""
    allowed, scored = _options(estimator), hasattr(estimator, "decision_function")
    if scored and "raw_scores" not in allowed:
        raise ExportError(f"skl2onnx does not give the decision_function of a {type(estimator).__name__}")
    wanted = {"zipmap": False, "raw_scores": scored}
    options = {key: value for key, value in wanted.items() if key in allowed}
    graph = table.graph
    label, *rest = graph.call(converted(estimator, table.width, **options), table.matrix())
    positive = np.asarray(getattr(estimator, "classes_", (0, 1))[1:])
    vote = as_column(graph, graph.op("Equal", label, positive))
    column = as_column(graph, graph.op("Slice", rest[0], *_LAST_COLUMN)) if rest else None
    return ClassifierOutputs(graph, column if scored else None, None if scored else column, vote)


def _options(estimator: Any) -> Container[str]:
    """What can be asked of the estimator's converter."""
    try:
        return get_converter(get_model_alias(type(estimator))).get_allowed_options() or ()
    except Exception as error:
        raise ExportError(f"skl2onnx does not know a {type(estimator).__name__}") from error


def compare(
    graph: Graph,
    value: str,
    X: Any,
    true: Callable[[Any], FloatArray],
    seen: Callable[[FloatArray], FloatArray] = np.asarray,
) -> None:
    """Refuse a value to which others' converters have led if it is not the true one for the rows of X."""
    if not graph.borrowed:
        return
    graph.borrowed, rows = False, X[:MOST_ROWS]
    inner = graph.model({"value": (value, TensorProto.DOUBLE, ["n", None])}, {})
    with np.errstate(all="ignore"):
        (found,) = list(ReferenceEvaluator(inner).run(None, onnx_inputs(rows)))
    if not np.allclose(seen(np.asarray(found)), seen(true(rows)), rtol=CLOSE, atol=CLOSE):
        raise ExportError("the graph that skl2onnx makes of it does not say what it says itself")
