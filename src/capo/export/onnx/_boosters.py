"""LightGBM and XGBoost classifiers in the graph, from the trees that the libraries dump."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from ...exceptions import ExportError
from ._graph import GraphBuilder
from ._graph_table import (
    ColumnBlock,
    GraphTable,
    NumericColumns,
    TextColumn,
    encode_categories,
    gather_by_code,
)
from ._outputs import ClassifierOutputs
from ._trees import (
    BRANCH_LEQ,
    BRANCH_LT,
    TreeLeaf,
    TreeNodes,
    TreeSplit,
    emit_class_ensemble,
    emit_tree_ensemble,
    emit_tree_ensemble_float32,
    make_member_split,
)

#: LightGBM treats numbers with an absolute value up to this as 0.
LIGHTGBM_ZERO = 1e-35
#: XGBoost clips the exponent in its logistic function to this.
XGBOOST_MAX_EXPONENT = 88.7


def booster_converters() -> Mapping[type, Callable[[Any, GraphTable], ClassifierOutputs]]:
    """The converters for the libraries that are imported; a model of any other cannot exist."""
    converters: dict[type, Callable[[Any, GraphTable], ClassifierOutputs]] = {}
    if "lightgbm" in sys.modules:
        converters[sys.modules["lightgbm"].LGBMClassifier] = _convert_lightgbm
    if "xgboost" in sys.modules:
        converters[sys.modules["xgboost"].XGBClassifier] = _convert_xgboost
    return converters


def _convert_lightgbm(model: Any, table: GraphTable) -> ClassifierOutputs:
    dump, options = _lightgbm_dump(model, "binary")
    graph, matrix, trees = table.graph, *_lightgbm_trees(table, dump)
    total = emit_tree_ensemble(graph, matrix, trees)
    mean = graph.op("Div", total, float(len(trees))) if dump["average_output"] else total
    slope = float(options.get("sigmoid", 1.0))
    margin = total if hasattr(model, "decision_function") else None  # from version 4.7 on
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", graph.op("Mul", mean, slope)))


def emit_lightgbm_probabilities(model: Any, table: GraphTable) -> str:
    """Add the probabilities of a LightGBM classifier of many classes."""
    dump, options = _lightgbm_dump(model, "multiclass")
    graph, matrix, trees = table.graph, *_lightgbm_trees(table, dump)
    n_classes = int(options["num_class"])
    classes = [number % n_classes for number in range(len(trees))]
    total = emit_class_ensemble(graph, matrix, trees, classes, n_classes)
    mean = graph.op("Div", total, len(trees) / n_classes) if dump["average_output"] else total
    return graph.op("Softmax", mean, axis=1)


def _lightgbm_dump(model: Any, expected: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The trees as LightGBM dumps them, and the options of the objective."""
    dump = model.booster_.dump_model()
    objective, *options = dump["objective"].split()
    if objective != expected:
        raise ExportError(f"its LGBMClassifier has the objective {objective!r} instead of {expected!r}")
    return dump, dict(option.split(":") for option in options if ":" in option)


def _lightgbm_trees(table: GraphTable, dump: dict[str, Any]) -> tuple[str, list[TreeNodes]]:
    """The matrix that the trees split on, and the trees."""
    matrix = _encode_pandas_categories(table, dump["pandas_categorical"]).to_matrix()
    return _mask_zeros(table.graph, matrix, dump), [_lightgbm_tree(tree) for tree in dump["tree_info"]]


def _encode_pandas_categories(table: GraphTable, categories: list[list[Any]] | None) -> GraphTable:
    """Replace text columns by the codes that LightGBM gives to the categories of a pandas data frame."""
    remaining = iter(categories or [])
    n_text = sum(isinstance(block, TextColumn) for block in table.blocks)
    if n_text != len(categories or []):
        raise ExportError("its LGBMClassifier has categorical columns that are not text")
    blocks: list[ColumnBlock] = []
    for block in table.blocks:
        if isinstance(block, TextColumn):
            column = encode_categories(table, block, values := next(remaining))
            codes = [[code] for code in (*range(len(values)), np.nan, np.nan)]
            blocks.append(NumericColumns(gather_by_code(table.graph, column, codes), 1))
        else:
            blocks.append(block)
    return GraphTable(table.graph, tuple(blocks))


def _mask_zeros(graph: GraphBuilder, matrix: str, dump: dict[str, Any]) -> str:
    """Replace 0 by NaN if the model was trained with ``zero_as_missing``."""
    nodes = (node for tree in dump["tree_info"] for node in _iter_nodes(tree["tree_structure"]))
    if all(node.get("missing_type") != "Zero" for node in nodes):
        return matrix
    is_zero = graph.op("LessOrEqual", graph.op("Abs", matrix), LIGHTGBM_ZERO)
    return graph.op("Where", is_zero, np.nan, matrix)


def _iter_nodes(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a node and its descendants, parents first, without recursion: trees may be deep."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node[side] for side in ("right_child", "left_child") if side in node)


def _lightgbm_tree(tree: dict[str, Any]) -> TreeNodes:
    nodes = list(_iter_nodes(tree["tree_structure"]))
    positions = {id(node): position for position, node in enumerate(nodes)}
    return [_lightgbm_node(node, positions) for node in nodes]


def _lightgbm_node(node: dict[str, Any], positions: dict[int, int]) -> TreeLeaf | TreeSplit:
    if "leaf_coeff" in node:
        raise ExportError("its LGBMClassifier has linear models in its leaves")
    if "leaf_value" in node:
        return TreeLeaf(node["leaf_value"])
    column = node["split_feature"]
    left, right = positions[id(node["left_child"])], positions[id(node["right_child"])]
    if node["decision_type"] == "==":
        return make_member_split(column, map(int, node["threshold"].split("||")), left, right, False)
    # A column without missing values in training treats a missing value as 0.
    missing_left = node["threshold"] >= 0 if node["missing_type"] == "None" else node["default_left"]
    return TreeSplit(column, node["threshold"], left, right, missing_left, BRANCH_LEQ)


def _convert_xgboost(model: Any, table: GraphTable) -> ClassifierOutputs:
    learner = _xgboost_learner(model)
    graph, trees = table.graph, [_xgboost_tree(t) for t in learner["gradient_booster"]["model"]["trees"]]
    base_score = np.float32(json.loads(learner["learner_model_param"]["base_score"].strip("[]")))
    base = TreeLeaf(float(-np.log(np.float32(1.0) / base_score - np.float32(1.0))))
    # XGBoost computes in single precision, from the base score on: its probabilities near 1 are coarse.
    margin = graph.cast(emit_tree_ensemble_float32(graph, table.to_matrix(), [[base], *trees]))
    odds = graph.op("Exp", graph.op("Min", graph.op("Neg", margin), XGBOOST_MAX_EXPONENT))
    one = graph.add_constant(np.ones((1, 1), dtype=np.float32))
    probability = graph.op("Div", one, graph.op("Add", graph.cast(odds, TensorProto.FLOAT), one))
    return ClassifierOutputs(graph, probability=graph.cast(probability))


def _xgboost_learner(model: Any) -> dict[str, Any]:
    booster = model.get_booster()
    best_iteration = booster.attr("best_iteration")
    if best_iteration is not None:
        booster = booster[: int(best_iteration) + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if (kind, objective) != ("gbtree", "binary:logistic"):
        raise ExportError(
            f"its XGBClassifier has the booster {kind!r} and the objective {objective!r} instead of "
            "'gbtree' and 'binary:logistic'"
        )
    if not np.isnan(model.missing):
        raise ExportError(f"its XGBClassifier has missing={model.missing!r} instead of NaN")
    return learner


def _xgboost_tree(tree: dict[str, Any]) -> TreeNodes:
    if any(tree["split_type"]):
        raise ExportError("its XGBClassifier splits on categories: encode them as numbers first")
    nodes = zip(
        tree["left_children"],
        tree["right_children"],
        tree["split_indices"],
        np.asarray(tree["split_conditions"], dtype=np.float32).tolist(),
        tree["default_left"],
        strict=True,
    )
    return [
        TreeLeaf(value) if left < 0 else TreeSplit(column, value, left, right, bool(missing), BRANCH_LT)
        for left, right, column, value, missing in nodes
    ]
