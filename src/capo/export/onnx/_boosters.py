"""LightGBM and XGBoost in the graph, from what they write of their trees themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from ...exceptions import ExportError
from ._graph import Graph
from ._outputs import ClassifierOutputs
from ._table import Numbers, Table, Words, coded, look_up
from ._trees import AT_MOST, BELOW, Leaf, Tree, TreeSplit, among_split, forest, forest_in_single

#: LightGBM takes numbers this near to 0 as 0.
NEAR_ZERO = 1e-35
#: XGBoost raises e to no higher power.
LARGEST_EXPONENT = 88.7


def boosters() -> Mapping[type, Callable[[Any, Table], ClassifierOutputs]]:
    """The classifiers of the libraries that are loaded: a model of theirs is not there without them."""
    found: dict[type, Callable[[Any, Table], ClassifierOutputs]] = {}
    if "lightgbm" in sys.modules:
        found[sys.modules["lightgbm"].LGBMClassifier] = _lightgbm
    if "xgboost" in sys.modules:
        found[sys.modules["xgboost"].XGBClassifier] = _xgboost
    return found


def _lightgbm(model: Any, table: Table) -> ClassifierOutputs:
    written = model.booster_.dump_model()
    kind, *options = written["objective"].split()
    if kind != "binary":
        raise ExportError(f"its LGBMClassifier has the objective {kind!r}, not 'binary'")
    graph, trees = table.graph, [_lightgbm_tree(each) for each in written["tree_info"]]
    matrix = _zeros_missing(graph, _categories_coded(table, written["pandas_categorical"]).matrix(), written)
    total = forest(graph, matrix, trees)
    mean = graph.op("Div", total, float(len(trees))) if written["average_output"] else total
    slope = float(dict(each.split(":") for each in options if ":" in each).get("sigmoid", 1.0))
    margin = total if hasattr(model, "decision_function") else None  # from version 4.7 on
    return ClassifierOutputs(graph, margin, graph.op("Sigmoid", graph.op("Mul", mean, slope)))


def _categories_coded(table: Table, categories: list[list[Any]] | None) -> Table:
    """The table with the columns of words as the codes of a pandas frame's categories."""
    left = list(categories or [])
    if sum(isinstance(each, Words) for each in table.blocks) != len(left):
        raise ExportError("its LGBMClassifier has categories other than those of columns of words")
    blocks = []
    for block in table.blocks:
        if isinstance(block, Words):
            codes = coded(table, block, values := left.pop(0))
            rows = [[each] for each in (*range(len(values)), np.nan, np.nan)]
            block = Numbers(look_up(table.graph, codes, rows), 1)  # noqa: PLW2901
        blocks.append(block)
    return Table(table.graph, tuple(blocks))


def _zeros_missing(graph: Graph, matrix: str, written: dict[str, Any]) -> str:
    """The matrix with NaN for 0 where LightGBM was told that 0 is missing."""
    nodes = (node for each in written["tree_info"] for node in _below(each["tree_structure"]))
    if all(node.get("missing_type") != "Zero" for node in nodes):
        return matrix
    near = graph.op("LessOrEqual", graph.op("Abs", matrix), NEAR_ZERO)
    return graph.op("Where", near, np.nan, matrix)


def _below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node and all below it, each before its children, without recursion: trees may be deep."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(found[side] for side in ("right_child", "left_child") if side in found)


def _lightgbm_tree(tree: dict[str, Any]) -> Tree:
    nodes = list(_below(tree["tree_structure"]))
    places = {id(node): place for place, node in enumerate(nodes)}
    return [_lightgbm_node(node, places) for node in nodes]


def _lightgbm_node(node: dict[str, Any], places: dict[int, int]) -> Leaf | TreeSplit:
    if "leaf_coeff" in node:
        raise ExportError("its LGBMClassifier has linear models in its leaves")
    if "leaf_value" in node:
        return Leaf(node["leaf_value"])
    column = node["split_feature"]
    yes, no = places[id(node["left_child"])], places[id(node["right_child"])]
    if node["decision_type"] == "==":
        return among_split(column, map(int, node["threshold"].split("||")), yes, no, False)
    # Where there was nothing missing in training, a missing number is 0.
    missing = node["threshold"] >= 0 if node["missing_type"] == "None" else node["default_left"]
    return TreeSplit(column, node["threshold"], yes, no, missing, AT_MOST)


def _xgboost(model: Any, table: Table) -> ClassifierOutputs:
    learner = _xgboost_learner(model)
    graph, written = table.graph, learner["gradient_booster"]
    trees = [_xgboost_tree(each) for each in written["model"]["trees"]]
    start = np.float32(json.loads(learner["learner_model_param"]["base_score"].strip("[]")))
    base = Leaf(float(-np.log(np.float32(1.0) / start - np.float32(1.0))))
    # XGBoost reckons in single precision, from the base on: its probabilities near 1 are coarse.
    margin = graph.cast(forest_in_single(graph, table.matrix(), [[base], *trees]))
    odds = graph.op("Exp", graph.op("Min", graph.op("Neg", margin), LARGEST_EXPONENT))
    one = graph.constant(np.ones((1, 1), dtype=np.float32))
    share = graph.op("Div", one, graph.op("Add", graph.cast(odds, TensorProto.FLOAT), one))
    return ClassifierOutputs(graph, probability=graph.cast(share))


def _xgboost_learner(model: Any) -> dict[str, Any]:
    booster = model.get_booster()
    stopped = booster.attr("best_iteration")
    if stopped is not None:
        booster = booster[: int(stopped) + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    kinds = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kinds != ("gbtree", "binary:logistic"):
        raise ExportError(
            f"its XGBClassifier is a {kinds[0]} for {kinds[1]}, not a gbtree for binary:logistic"
        )
    if not np.isnan(model.missing):
        raise ExportError(f"its XGBClassifier takes {model.missing!r} as missing")
    return learner


def _xgboost_tree(tree: dict[str, Any]) -> Tree:
    if any(tree["split_type"]):
        raise ExportError("its XGBClassifier splits on categories: encode them as numbers first")
    parts = zip(
        tree["left_children"],
        tree["right_children"],
        tree["split_indices"],
        np.asarray(tree["split_conditions"], dtype=np.float32).tolist(),
        tree["default_left"],
        strict=True,
    )
    return [
        Leaf(value) if left < 0 else TreeSplit(column, value, left, right, bool(missing), BELOW)
        for left, right, column, value, missing in parts
    ]
