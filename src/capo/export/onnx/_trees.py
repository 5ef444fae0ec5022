"""Trees of any maker as one operator.

A tree is the list of its nodes, the root first. A node asks whether its column is at most (or below,
or equal to one of) some values, and missing values go the way that the node says. A forest's value is the
sum of the leaves that a row falls into.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ._graph import ML, Graph, tensor

#: How the operator calls its questions.
AT_MOST, BELOW, AMONG = 0, 1, 6
#: The operator's "sum of the leaves", and no function of the sum.
SUM, PLAIN = 1, 0


@dataclass(frozen=True)
class Leaf:
    """Where a tree ends."""

    value: float


@dataclass(frozen=True)
class TreeSplit:
    """A question, and the positions in the tree of the nodes to go to."""

    column: int
    value: float
    yes: int
    no: int
    missing_yes: bool
    question: int = AT_MOST
    among: tuple[int, ...] = ()


Tree = Sequence[Leaf | TreeSplit]


@dataclass
class _Lists:
    """The operator's attributes while they grow."""

    roots: list[int] = field(default_factory=list)
    splits: list[TreeSplit] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)
    tree_of_leaf: list[int] = field(default_factory=list)
    yes: list[tuple[int, bool]] = field(default_factory=list)
    no: list[tuple[int, bool]] = field(default_factory=list)

    def add(self, tree: Tree) -> None:
        """One tree more."""
        if isinstance(tree[0], Leaf):
            # A tree must begin with a question: this one has the same answer both ways.
            tree = [TreeSplit(0, 0.0, 1, 1, False), tree[0]]
        places = self._places(tree)
        self.tree_of_leaf.extend([len(self.roots)] * sum(leaf for _, leaf in places))
        self.roots.append(len(self.splits))
        for node in tree:
            if isinstance(node, Leaf):
                self.leaves.append(node.value)
            else:
                self.splits.append(node)
                self.yes.append(places[node.yes])
                self.no.append(places[node.no])

    def _places(self, tree: Tree) -> list[tuple[int, bool]]:
        """Where each node of a tree comes, among splits or leaves, and whether it is a leaf."""
        n_splits, n_leaves, places = len(self.splits), len(self.leaves), []
        for node in tree:
            leaf = isinstance(node, Leaf)
            places.append((n_leaves if leaf else n_splits, leaf))
            n_splits, n_leaves = n_splits + (not leaf), n_leaves + leaf
        return places


def forest(graph: Graph, matrix: str, trees: Iterable[Tree]) -> str:
    """The sum over trees of the leaf that each row falls into."""
    return graph.op("TreeEnsemble", matrix, domain=ML, **_attributes(_gathered(trees), np.float64))


def forest_in_single(graph: Graph, matrix: str, trees: Iterable[Tree]) -> str:
    """The sum in single precision, in the order of the trees."""
    values = graph.cast(matrix, TensorProto.FLOAT)
    attributes = _attributes(lists := _gathered(trees), np.float32)
    apart = {"n_targets": len(lists.roots), "leaf_targetids": lists.tree_of_leaf}
    leaves = graph.op("TreeEnsemble", values, domain=ML, **attributes | apart)
    # The operator itself sums in an order of its own.
    sums = graph.op("CumSum", leaves, np.array(1))
    return graph.columns(sums, [len(lists.roots) - 1])


def _gathered(trees: Iterable[Tree]) -> _Lists:
    lists = _Lists()
    for tree in trees:
        lists.add(tree)
    return lists


def _attributes(lists: _Lists, dtype: type[np.floating[Any]]) -> dict[str, Any]:
    splits = lists.splits
    attributes: dict[str, Any] = {
        "n_targets": 1,
        "aggregate_function": SUM,
        "post_transform": PLAIN,
        "tree_roots": lists.roots,
        "nodes_featureids": [each.column for each in splits],
        "nodes_modes": tensor(np.array([each.question for each in splits], dtype=np.uint8)),
        "nodes_splits": tensor(np.array([each.value for each in splits], dtype=dtype)),
        "nodes_truenodeids": [place for place, _ in lists.yes],
        "nodes_trueleafs": [int(leaf) for _, leaf in lists.yes],
        "nodes_falsenodeids": [place for place, _ in lists.no],
        "nodes_falseleafs": [int(leaf) for _, leaf in lists.no],
        "nodes_missing_value_tracks_true": [int(each.missing_yes) for each in splits],
        "leaf_targetids": [0] * len(lists.leaves),
        "leaf_weights": tensor(np.array(lists.leaves, dtype=dtype)),
    }
    sets = [[*each.among, np.nan] for each in splits if each.question == AMONG]
    if sets:
        attributes["membership_values"] = tensor(np.concatenate(sets).astype(dtype))
    return attributes


def single(graph: Graph, matrix: str) -> str:
    """The numbers rounded to single precision, as doubles."""
    return graph.cast(graph.cast(matrix, TensorProto.FLOAT))


def of_sklearn(tree: Any, values: NDArray[np.float64]) -> Tree:
    """A tree of scikit-learn, which compares numbers rounded to single precision."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    columns, thresholds = tree.feature.tolist(), tree.threshold.tolist()
    missing = tree.missing_go_to_left.astype(bool).tolist()
    return [
        Leaf(float(values[i]))
        if left[i] == right[i]
        else TreeSplit(columns[i], thresholds[i], left[i], right[i], missing[i])
        for i in range(tree.node_count)
    ]


def of_histograms(predictor: Any) -> Tree:
    """A tree of scikit-learn's histogram-based boosting."""
    return [_of_record(node, predictor.raw_left_cat_bitsets) for node in predictor.nodes]


def _of_record(node: Any, sets: NDArray[np.uint32]) -> Leaf | TreeSplit:
    if node["is_leaf"]:
        return Leaf(float(node["value"]))
    column, yes, no = (int(node[each]) for each in ("feature_idx", "left", "right"))
    missing = bool(node["missing_go_to_left"])
    if not node["is_categorical"]:
        return TreeSplit(column, float(node["num_threshold"]), yes, no, missing)
    words = sets[node["bitset_idx"]]
    among = [code for code in range(32 * len(words)) if words[code // 32] >> (code % 32) & 1]
    return among_split(column, among, yes, no, missing)


def among_split(column: int, among: Iterable[int], yes: int, no: int, missing_yes: bool) -> TreeSplit:
    """Whether a column has one of some codes; no codes are no question."""
    codes = tuple(among)
    if not codes:
        # No number is below minus infinity.
        return TreeSplit(column, -np.inf, yes, no, missing_yes, BELOW)
    return TreeSplit(column, 0.0, yes, no, missing_yes, AMONG, codes)
