"""Trees and boosters.

A tree is the list of its nodes, the root first. A split tests whether a column's value is at most (or below,
or equal to one of) some values, and sends missing values to a fixed side. The value of an ensemble is
the sum of the leaves that a row reaches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ..._compat import FloatArray
from ...exceptions import ExportError
from ._graph import (
    ML_DOMAIN,
    ColumnBlock,
    GraphBuilder,
    GraphTable,
    NumericColumns,
    TextColumn,
    encode_categories,
    gather_by_code,
    make_tensor,
)
from ._outputs import ClassifierOutputs

#: The operator's codes for the tests <=, < and "is one of".
BRANCH_LEQ, BRANCH_LT, BRANCH_MEMBER = 0, 1, 6
#: The operator's codes for "sum of the leaves" and "no function of the sum".
AGGREGATE_SUM, POST_TRANSFORM_NONE = 1, 0


@dataclass(frozen=True)
class TreeLeaf:
    """A leaf of a tree."""

    value: float


@dataclass(frozen=True)
class TreeSplit:
    """A test of one column, and the positions in the tree of the two nodes that follow."""

    column: int
    threshold: float
    true_node: int
    false_node: int
    missing_is_true: bool
    mode: int = BRANCH_LEQ
    members: tuple[int, ...] = ()


TreeNodes = Sequence[TreeLeaf | TreeSplit]


@dataclass(frozen=True)
class _NodeRef:
    """The position of a node in the ensemble's list of splits or of leaves."""

    position: int
    is_leaf: bool


@dataclass
class _Ensemble:
    """The nodes of all trees, in the order of the operator's attributes."""

    roots: list[int] = field(default_factory=list)
    splits: list[TreeSplit] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)
    leaf_trees: list[int] = field(default_factory=list)
    true_nodes: list[_NodeRef] = field(default_factory=list)
    false_nodes: list[_NodeRef] = field(default_factory=list)

    @classmethod
    def from_trees(cls, trees: Iterable[TreeNodes]) -> _Ensemble:
        ensemble = cls()
        for tree in trees:
            ensemble.add(tree)
        return ensemble

    def add(self, tree: TreeNodes) -> None:
        if isinstance(tree[0], TreeLeaf):
            # The operator needs a split at the root: both sides of this one lead to the same leaf.
            tree = [TreeSplit(0, 0.0, 1, 1, False), tree[0]]
        refs = self._node_refs(tree)
        self.leaf_trees.extend([len(self.roots)] * sum(ref.is_leaf for ref in refs))
        self.roots.append(len(self.splits))
        for node in tree:
            if isinstance(node, TreeLeaf):
                self.leaves.append(node.value)
            else:
                self.splits.append(node)
                self.true_nodes.append(refs[node.true_node])
                self.false_nodes.append(refs[node.false_node])

    def _node_refs(self, tree: TreeNodes) -> list[_NodeRef]:
        n_splits, n_leaves, refs = len(self.splits), len(self.leaves), []
        for node in tree:
            is_leaf = isinstance(node, TreeLeaf)
            refs.append(_NodeRef(n_leaves if is_leaf else n_splits, is_leaf))
            n_splits, n_leaves = n_splits + (not is_leaf), n_leaves + is_leaf
        return refs

    def attributes(self, dtype: type[np.floating[Any]]) -> dict[str, Any]:
        """The attributes of the TreeEnsemble operator."""
        splits = self.splits
        attributes: dict[str, Any] = {
            "n_targets": 1,
            "aggregate_function": AGGREGATE_SUM,
            "post_transform": POST_TRANSFORM_NONE,
            "tree_roots": self.roots,
            "nodes_featureids": [split.column for split in splits],
            "nodes_modes": make_tensor(np.array([split.mode for split in splits], dtype=np.uint8)),
            "nodes_splits": make_tensor(np.array([split.threshold for split in splits], dtype=dtype)),
            "nodes_truenodeids": [ref.position for ref in self.true_nodes],
            "nodes_trueleafs": [int(ref.is_leaf) for ref in self.true_nodes],
            "nodes_falsenodeids": [ref.position for ref in self.false_nodes],
            "nodes_falseleafs": [int(ref.is_leaf) for ref in self.false_nodes],
            "nodes_missing_value_tracks_true": [int(split.missing_is_true) for split in splits],
            "leaf_targetids": [0] * len(self.leaves),
            "leaf_weights": make_tensor(np.array(self.leaves, dtype=dtype)),
        }
        # The operator expects the sets one after the other, each followed by NaN.
        sets = [[*split.members, np.nan] for split in splits if split.mode == BRANCH_MEMBER]
        if sets:
            attributes["membership_values"] = make_tensor(np.concatenate(sets).astype(dtype))
        return attributes


def emit_tree_ensemble(graph: GraphBuilder, matrix: str, trees: Iterable[TreeNodes]) -> str:
    """Add the sum over trees of the leaf that each row reaches."""
    attributes = _Ensemble.from_trees(trees).attributes(np.float64)
    return graph.op("TreeEnsemble", matrix, domain=ML_DOMAIN, **attributes)


def emit_class_ensemble(
    graph: GraphBuilder, matrix: str, trees: Iterable[TreeNodes], classes: Sequence[int], n_classes: int
) -> str:
    """Add for each class the sum over its trees of the leaf that each row reaches."""
    ensemble = _Ensemble.from_trees(trees)
    targets = {"n_targets": n_classes, "leaf_targetids": [classes[tree] for tree in ensemble.leaf_trees]}
    attributes = ensemble.attributes(np.float64) | targets
    return graph.op("TreeEnsemble", matrix, domain=ML_DOMAIN, **attributes)


def emit_mean_of_leaves(
    graph: GraphBuilder, matrix: str, trees: Sequence[TreeNodes], leaf_values: FloatArray
) -> str:
    """Add the mean over trees of a vector for each leaf; a leaf's value is its row in `leaf_values`."""
    ensemble = _Ensemble.from_trees(trees)
    targets = {"n_targets": len(trees), "leaf_targetids": ensemble.leaf_trees}
    attributes = ensemble.attributes(np.float64) | targets
    positions = graph.op("TreeEnsemble", matrix, domain=ML_DOMAIN, **attributes)
    vectors = graph.op("Gather", leaf_values, graph.cast(positions, TensorProto.INT64), axis=0)
    return graph.op("ReduceMean", vectors, np.array([1]), keepdims=0)


def emit_tree_ensemble_float32(graph: GraphBuilder, matrix: str, trees: Iterable[TreeNodes]) -> str:
    """Add the same sum in single precision, accumulated in the order of the trees."""
    values, ensemble = graph.cast(matrix, TensorProto.FLOAT), _Ensemble.from_trees(trees)
    n_trees = len(ensemble.roots)
    # The operator does not define the order of its own sum: one target for each tree, and CumSum instead.
    targets = {"n_targets": n_trees, "leaf_targetids": ensemble.leaf_trees}
    attributes = ensemble.attributes(np.float32) | targets
    leaves = graph.op("TreeEnsemble", values, domain=ML_DOMAIN, **attributes)
    sums = graph.op("CumSum", leaves, np.array(1))
    return graph.take_columns(sums, [n_trees - 1])


def round_to_float32(graph: GraphBuilder, matrix: str) -> str:
    """Round numbers to single precision, and keep them as doubles."""
    return graph.cast(graph.cast(matrix, TensorProto.FLOAT))


def nodes_from_sklearn_tree(tree: Any, values: FloatArray) -> TreeNodes:
    """The nodes of a scikit-learn tree, which compares numbers rounded to single precision."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    columns, thresholds = tree.feature.tolist(), tree.threshold.tolist()
    missing = tree.missing_go_to_left.astype(bool).tolist()
    return [
        TreeLeaf(float(values[i]))
        if left[i] == right[i]
        else TreeSplit(columns[i], thresholds[i], left[i], right[i], missing[i])
        for i in range(tree.node_count)
    ]


def nodes_from_histogram_predictor(predictor: Any) -> TreeNodes:
    """The nodes of a tree of scikit-learn's histogram-based gradient boosting."""
    return [_node_from_record(node, predictor.raw_left_cat_bitsets) for node in predictor.nodes]


def _node_from_record(node: Any, bitsets: NDArray[np.uint32]) -> TreeLeaf | TreeSplit:
    if node["is_leaf"]:
        return TreeLeaf(float(node["value"]))
    column, left, right = (int(node[field]) for field in ("feature_idx", "left", "right"))
    missing = bool(node["missing_go_to_left"])
    if not node["is_categorical"]:
        return TreeSplit(column, float(node["num_threshold"]), left, right, missing)
    bitset = bitsets[node["bitset_idx"]]
    members = [code for code in range(32 * len(bitset)) if bitset[code // 32] >> (code % 32) & 1]
    return make_member_split(column, members, left, right, missing)


def make_member_split(
    column: int, members: Iterable[int], true_node: int, false_node: int, missing_is_true: bool
) -> TreeSplit:
    """A split on whether a column's code is one of some codes."""
    codes = tuple(members)
    if not codes:
        # The operator needs at least one code; no number is below minus infinity.
        return TreeSplit(column, -np.inf, true_node, false_node, missing_is_true, BRANCH_LT)
    return TreeSplit(column, 0.0, true_node, false_node, missing_is_true, BRANCH_MEMBER, codes)


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
