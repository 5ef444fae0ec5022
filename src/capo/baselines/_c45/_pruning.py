"""Pruning of the tree by the expected errors of its leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from ..._typing import IntArray
from ._entries import TIE, TrainingRows
from ._tree import Tree

#: Pruning may raise the expected errors by this much.
MAX_ADDED_ERRORS = 0.1


def added_errors(W: float, E: float, confidence: float) -> float:
    """Expected errors of a leaf beyond the E observed among weight W: J48's upper confidence limit.

    The limit is exact for E = 0, linear between E = 0 and 1, and above that the normal approximation to
    the binomial distribution with continuity correction.

    Parameters
    ----------
    W, E : float
        Weight of the leaf's rows, and of those that it misclassifies.
    confidence : float
        Probability of at most E errors if the error rate is at the limit.

    Returns
    -------
    float
        Expected errors minus E.

    Examples
    --------
    >>> round(added_errors(6, 0, 0.25), 3)  # 6 x 0.206, Quinlan's example
    1.238
    """
    if E < 1:
        at_zero = W * (1.0 - confidence ** (1.0 / W))
        return at_zero if E == 0 else at_zero + E * (added_errors(W, 1.0, confidence) - at_zero)
    if E + 0.5 >= W:
        return max(W - E, 0.0)
    z = float(-ndtri(confidence))
    rate = (E + 0.5) / W
    half_width = z * math.sqrt(rate / W - rate**2 / W + z**2 / (4 * W**2))
    return W * (rate + z**2 / (2 * W) + half_width) / (1 + z**2 / W) - E


def collapse(tree: Tree) -> None:
    """Remove the subtrees that do not reduce the training error."""
    errors = [tree.errors(node) for node in range(len(tree.W))]
    for node in reversed(range(len(errors))):
        if tree.left[node] >= 0:
            errors[node] = errors[tree.left[node]] + errors[tree.right[node]]
    stack = [0]
    while stack:
        node = stack.pop()
        if tree.left[node] < 0:
            continue
        if errors[node] >= tree.errors(node) - 1e-3:
            tree.cut_off(node)
        else:
            stack += (tree.right[node], tree.left[node])


class Pruner:
    """Replaces subtrees by a leaf or by their larger branch, from the bottom up."""

    def __init__(self, tree: Tree, rows: TrainingRows, confidence: float, raising: bool) -> None:
        self.tree, self.rows, self.confidence, self.raising = tree, rows, confidence, raising
        self.expected = [0.0] * len(tree.W)

    def run(self) -> None:
        """Prune the tree in place."""
        stack = [(0, False)]
        while stack:
            node, branches_done = stack.pop()
            left, right = self.tree.left[node], self.tree.right[node]
            if left < 0:
                self.expected[node] = self._leaf_errors(self.tree.W[node], self.tree.P[node])
            elif not branches_done:
                stack += ((node, True), (right, False), (left, False))
            elif self._prune_node(node, left, right):
                stack.append((node, False))

    def _prune_node(self, node: int, left: int, right: int) -> bool:
        """Prune a node whose branches have been pruned; true if one of them replaced it."""
        tree = self.tree
        smaller, larger = (left, right) if tree.W[right] >= tree.W[left] else (right, left)
        as_tree = self.expected[left] + self.expected[right]
        as_leaf = self._leaf_errors(tree.W[node], tree.P[node])
        as_branch = self._errors_if_raised(smaller, larger) if self.raising else math.inf
        if as_leaf <= min(as_tree, as_branch) + MAX_ADDED_ERRORS + TIE:
            tree.cut_off(node)
            self.expected[node] = as_leaf
            return False
        if as_branch <= as_tree + MAX_ADDED_ERRORS + TIE:
            self._raise(node, smaller, larger)
            return True
        self.expected[node] = as_tree
        return False

    def _leaf_errors(self, W: float, P: float) -> float:
        E = min(P, W - P)
        return E + added_errors(W, E, self.confidence)

    def _errors_if_raised(self, smaller: int, larger: int) -> float:
        """Expected errors if the larger branch replaced the node."""
        if self.tree.left[larger] < 0:
            return math.inf  # replacing the node by a leaf is considered separately
        expected = self.expected[larger]
        for leaf, rows in self._reroute(smaller, larger):
            W, P = self.rows.totals(rows)
            expected += self._leaf_errors(self.tree.W[leaf] + W, self.tree.P[leaf] + P) - self.expected[leaf]
        return expected

    def _reroute(self, smaller: int, larger: int) -> Iterator[tuple[int, IntArray]]:
        """The leaves of the larger branch that the rows of the smaller one reach."""
        return self.tree.routes(larger, self.tree.rows_below(smaller), self.rows.read)

    def _raise(self, node: int, smaller: int, larger: int) -> None:
        tree = self.tree
        for leaf, rows in self._reroute(smaller, larger):
            tree.rows[leaf] = np.concatenate([tree.rows[leaf], rows])
        for under in reversed(list(tree.below(larger))):
            if tree.left[under] < 0:
                tree.W[under], tree.P[under] = self.rows.totals(tree.rows[under])
            else:
                left, right = tree.left[under], tree.right[under]
                tree.W[under], tree.P[under] = tree.W[left] + tree.W[right], tree.P[left] + tree.P[right]
        tree.replace(node, larger, smaller)
