"""Trees and boosters.

The value of an ensemble is the sum of the leaves that a row reaches. A split tests whether a column's value
is at most (or below, or equal to one of) some values, and sends missing values to a fixed side.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from .._compat import FloatArray, NDArray
from ..exceptions import ExportError
from . import _graph
from ._graph import GraphBuilder, GraphTable, TextColumn, make_tensor

#: The operator's codes for the tests <=, < and "is one of".
BRANCH_LEQ, BRANCH_LT, BRANCH_MEMBER = 0, 1, 6
#: The operator's codes for "sum of the leaves" and "no function of the sum".
AGGREGATE_SUM, POST_TRANSFORM_NONE = 1, 0


class TreeNodes(NamedTuple):
    """The nodes of a tree, the root first: arrays with one entry per node.

    A row goes left if the test of its column is true. A leaf has the value that counts, and -1 as `left`.
    """

    column: NDArray[Any]
    threshold: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    missing_left: NDArray[Any]
    mode: NDArray[Any]
    value: NDArray[Any]
    #: The codes of each test for membership, in the order of the nodes.
    members: Sequence[Sequence[int]] = ()


def emit_trees(
    graph: GraphBuilder,
    matrix: str,
    trees: Sequence[TreeNodes],
    n_targets: int = 1,
    dtype: type[np.floating[Any]] = np.float64,
) -> str:
    """Add the sum of the leaves that each row reaches; the trees belong to the targets in turn."""
    attributes: dict[str, list[Any]] = defaultdict(list)
    members: list[Sequence[float]] = []
    n_splits = n_leaves = 0
    for number, tree in enumerate(map(_with_split, trees)):
        is_leaf = tree.left < 0
        inner = ~is_leaf
        # Splits and leaves are numbered separately.
        position = np.where(is_leaf, n_leaves + np.cumsum(is_leaf), n_splits + np.cumsum(inner)) - 1
        for name, values in {
            "tree_roots": [n_splits],
            "nodes_featureids": tree.column[inner],
            "nodes_modes": tree.mode[inner],
            "nodes_splits": tree.threshold[inner],
            "nodes_truenodeids": position[tree.left[inner]],
            "nodes_trueleafs": is_leaf[tree.left[inner]],
            "nodes_falsenodeids": position[tree.right[inner]],
            "nodes_falseleafs": is_leaf[tree.right[inner]],
            "nodes_missing_value_tracks_true": tree.missing_left[inner],
            "leaf_targetids": np.full(is_leaf.sum(), number % n_targets),
            "leaf_weights": tree.value[is_leaf],
        }.items():
            attributes[name].append(values)
        members += tree.members
        n_splits, n_leaves = n_splits + int(inner.sum()), n_leaves + int(is_leaf.sum())
    types: dict[str, Any] = {"nodes_modes": np.uint8, "nodes_splits": dtype, "leaf_weights": dtype}
    tensors = {name: np.concatenate(values) for name, values in attributes.items()}
    arguments: dict[str, Any] = {
        name: make_tensor(values.astype(types[name])) if name in types else values.astype(int).tolist()
        for name, values in tensors.items()
    }
    if members:
        # The operator expects the sets one after the other, each followed by NaN.
        codes = [code for each in members for code in (*each, np.nan)]
        arguments["membership_values"] = make_tensor(np.array(codes, dtype=dtype))
    return graph.op(
        "TreeEnsemble",
        matrix,
        domain=_graph.ML_DOMAIN,
        n_targets=n_targets,
        aggregate_function=AGGREGATE_SUM,
        post_transform=POST_TRANSFORM_NONE,
        **arguments,
    )


def _with_split(tree: TreeNodes) -> TreeNodes:
    """The tree with a split at its root, as the operator needs it."""
    if tree.left[0] >= 0:
        return tree
    child, zeros = np.array([1, -1]), np.zeros(2, dtype=int)
    return TreeNodes(zeros, zeros, child, child, zeros, zeros, np.array([0.0, tree.value[0]]))


def round_to_float32(graph: GraphBuilder, matrix: str) -> str:
    """Round numbers to single precision, and keep them as doubles."""
    return graph.cast(graph.cast(matrix, TensorProto.FLOAT))


def sklearn_tree(tree: Any, values: FloatArray) -> TreeNodes:
    """The nodes of a scikit-learn tree, which compares numbers rounded to single precision."""
    modes = np.full(tree.node_count, BRANCH_LEQ)
    children, missing = (tree.children_left, tree.children_right), tree.missing_go_to_left
    return TreeNodes(tree.feature, tree.threshold, *children, missing, modes, values)


def emit_mean_of_trees(
    table: GraphTable, trees: Sequence[Any], node_values: Callable[[Any], FloatArray]
) -> str:
    """Add the mean over scikit-learn trees of the row of `node_values` for the leaf that is reached."""
    graph, matrix = table.graph, round_to_float32(table.graph, table.to_matrix())
    values = [node_values(tree) for tree in trees]
    if values[0].shape[1] == 1:
        nodes = [sklearn_tree(tree, each[:, 0]) for tree, each in zip(trees, values, strict=True)]
        return graph.op("Div", emit_trees(graph, matrix, nodes), float(len(trees)))
    # A leaf of the operator has one number: here its position in the table of all leaves.
    nodes, leaf_values, n_leaves = [], [], 0
    for tree, each in zip(trees, values, strict=True):
        is_leaf = tree.children_left < 0
        nodes.append(sklearn_tree(tree, n_leaves + np.cumsum(is_leaf) - 1))
        leaf_values.append(each[is_leaf])
        n_leaves += int(is_leaf.sum())
    positions = graph.cast(emit_trees(graph, matrix, nodes, len(trees)), TensorProto.INT64)
    leaves = graph.op("Gather", np.concatenate(leaf_values), positions, axis=0)
    return graph.op("ReduceMean", leaves, np.array([1]), keepdims=0)


def histogram_tree(predictor: Any) -> TreeNodes:
    """The nodes of a tree of scikit-learn's histogram-based gradient boosting."""
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    is_member = nodes["is_categorical"].astype(bool) & ~is_leaf
    bitsets = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][is_member]]
    bits = np.unpackbits(bitsets.astype("<u4").view(np.uint8), axis=1, bitorder="little")
    members = [np.flatnonzero(each).tolist() for each in bits]
    return _with_members(
        TreeNodes(
            nodes["feature_idx"],
            nodes["num_threshold"],
            np.where(is_leaf, -1, nodes["left"].astype(int)),
            np.where(is_leaf, -1, nodes["right"].astype(int)),
            nodes["missing_go_to_left"],
            np.full(len(nodes), BRANCH_LEQ),
            nodes["value"],
        ),
        np.flatnonzero(is_member),
        members,
    )


def _with_members(tree: TreeNodes, nodes: Iterable[int], members: Sequence[Sequence[int]]) -> TreeNodes:
    """The tree, with set-membership tests at some nodes."""
    mode, threshold = tree.mode.copy(), tree.threshold.copy()
    for node, codes in zip(nodes, members, strict=True):
        # The operator needs at least one code; no number is below minus infinity.
        mode[node], threshold[node] = (BRANCH_MEMBER, 0.0) if codes else (BRANCH_LT, -np.inf)
    used = [codes for codes in members if codes]
    return tree._replace(mode=mode, threshold=threshold, members=used)


#: LightGBM treats numbers with an absolute value up to this as 0.
LIGHTGBM_ZERO = 1e-35
#: XGBoost clips the exponent in its logistic function to this.
XGBOOST_MAX_EXPONENT = 88.7


def emit_lightgbm(model: Any, table: GraphTable, n_targets: int) -> tuple[str, str]:
    """Add the margins and the probabilities of a LightGBM classifier."""
    dump = model.booster_.dump_model()
    objective, *parts = dump["objective"].split()
    expected = "binary" if n_targets == 1 else "multiclass"
    if objective != expected:
        raise ExportError(f"its LGBMClassifier has the objective {objective!r} instead of {expected!r}")
    graph, trees = table.graph, [_lightgbm_tree(tree) for tree in dump["tree_info"]]
    matrix = _encode_pandas_categories(table, dump["pandas_categorical"]).to_matrix()
    nodes = (node for tree in dump["tree_info"] for node in _iter_nodes(tree["tree_structure"]))
    if any(node.get("missing_type") == "Zero" for node in nodes):  # trained with zero_as_missing
        is_zero = graph.op("LessOrEqual", graph.op("Abs", matrix), LIGHTGBM_ZERO)
        matrix = graph.op("Where", is_zero, np.nan, matrix)
    total = emit_trees(graph, matrix, trees, n_targets)
    mean = graph.op("Div", total, len(trees) / n_targets) if dump["average_output"] else total
    if n_targets > 1:
        return total, graph.op("Softmax", mean, axis=1)
    options = dict(part.split(":") for part in parts if ":" in part)
    return total, graph.op("Sigmoid", graph.op("Mul", mean, float(options.get("sigmoid", 1.0))))


def _encode_pandas_categories(table: GraphTable, categories: list[list[Any]] | None) -> GraphTable:
    """Replace text columns by the codes that LightGBM gives to the categories of a pandas data frame."""
    remaining = iter(categories or [])
    n_text = sum(isinstance(block, TextColumn) for block in table.blocks)
    if n_text != len(categories or []):
        raise ExportError("its LGBMClassifier has categorical columns that are not text")
    blocks: list[_graph.ColumnBlock] = []
    for block in table.blocks:
        if isinstance(block, TextColumn):
            column = _graph.encode_categories(table, block, values := next(remaining))
            codes = [[code] for code in (*range(len(values)), np.nan, np.nan)]
            blocks.append(_graph.NumericColumns(_graph.gather_by_code(table.graph, column, codes), 1))
        else:
            blocks.append(block)
    return GraphTable(table.graph, tuple(blocks))


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
    rows: list[tuple[Any, ...]] = []
    members: dict[int, list[int]] = {}
    for node in nodes:
        if "leaf_coeff" in node:
            raise ExportError("its LGBMClassifier has linear models in its leaves")
        if "leaf_value" in node:
            rows.append((0, 0.0, -1, -1, False, BRANCH_LEQ, node["leaf_value"]))
            continue
        threshold, missing_left = node["threshold"], node["default_left"]
        if node["decision_type"] == "==":
            members[len(rows)] = [int(code) for code in threshold.split("||")]
            threshold, missing_left = 0.0, False
        elif node["missing_type"] == "None":
            # A column without missing values in training treats a missing value as 0.
            missing_left = threshold >= 0
        children = (positions[id(node["left_child"])], positions[id(node["right_child"])])
        rows.append((node["split_feature"], threshold, *children, missing_left, BRANCH_LEQ, 0.0))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return _with_members(TreeNodes._make((*columns, ())), members, list(members.values()))


def emit_xgboost_probability(model: Any, table: GraphTable) -> str:
    """Add the probability of an XGBoost classifier of two classes.

    XGBoost computes in single precision, from the base score on: its probabilities near 1 are coarse.
    """
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
    graph, trees = table.graph, [_xgboost_tree(t) for t in learner["gradient_booster"]["model"]["trees"]]
    base_score = np.float32(json.loads(learner["learner_model_param"]["base_score"].strip("[]")))
    base, leaf = -np.log(np.float32(1.0) / base_score - np.float32(1.0)), np.array([-1])
    trees.insert(0, TreeNodes(leaf, leaf, leaf, leaf, leaf, leaf, np.array([base])))
    # The operator does not define the order of its own sum: one target for each tree, and CumSum instead.
    values = graph.cast(table.to_matrix(), TensorProto.FLOAT)
    leaves = emit_trees(graph, values, trees, len(trees), np.float32)
    sums = graph.op("CumSum", leaves, np.array(1))
    margin = graph.cast(graph.take_columns(sums, [len(trees) - 1]))
    odds = graph.op("Exp", graph.op("Min", graph.op("Neg", margin), XGBOOST_MAX_EXPONENT))
    one = graph.add_constant(np.ones((1, 1), dtype=np.float32))
    return graph.cast(graph.op("Div", one, graph.op("Add", graph.cast(odds, TensorProto.FLOAT), one)))


def _xgboost_tree(tree: dict[str, Any]) -> TreeNodes:
    if any(tree["split_type"]):
        raise ExportError("its XGBClassifier splits on categories: encode them as numbers first")
    names = ("split_indices", "split_conditions", "left_children", "right_children", "default_left")
    columns = [np.asarray(tree[name]) for name in names]
    # The condition of a leaf is its value.
    values = np.asarray(tree["split_conditions"], dtype=np.float32)
    return TreeNodes._make((*columns, np.full(len(values), BRANCH_LT), values, ()))
