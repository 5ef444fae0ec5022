"""Pruning the tree by the errors to be expected in its leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from ..._typing import IntArray
from ._entries import TIE, Rows
from ._tree import Tree

#: A pruned tree may be worse by this many errors.
WORSE_BY = 0.1


def added_errors(W: float, E: float, confidence: float) -> float:
    """Errors to be expected in a leaf beyond the E seen among weight W: J48's upper confidence limit.

    The limit is exact for E = 0, linear between 0 and 1, and from there the normal approximation to the
    binomial distribution with continuity correction.

    Parameters
    ----------
    W, E : float
        Weight of the leaf's rows, and of those of the other class.
    confidence : float
        Probability of so few errors at the limit.

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
        none = W * (1.0 - confidence ** (1.0 / W))
        return none if E == 0 else none + E * (added_errors(W, 1.0, confidence) - none)
    if E + 0.5 >= W:
        return max(W - E, 0.0)
    z = float(-ndtri(confidence))
    rate = (E + 0.5) / W
    spread = z * math.sqrt(rate / W - rate**2 / W + z**2 / (4 * W**2))
    return W * (rate + z**2 / (2 * W) + spread) / (1 + z**2 / W) - E


def collapse(tree: Tree) -> None:
    """Cut off the subtrees that save no training error."""
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
    """Replaces subtrees, from the bottom up, by a leaf or by their larger branch."""

    def __init__(self, tree: Tree, rows: Rows, confidence: float, raising: bool) -> None:
        self.tree, self.rows, self.confidence, self.raising = tree, rows, confidence, raising
        self.expected = [0.0] * len(tree.W)

    def run(self) -> None:
        stack = [(0, False)]
        while stack:
            node, branches_done = stack.pop()
            left, right = self.tree.left[node], self.tree.right[node]
            if left < 0:
                self.expected[node] = self._of_leaf(self.tree.W[node], self.tree.P[node])
            elif not branches_done:
                stack += ((node, True), (right, False), (left, False))
            elif self._settle(node, left, right):
                stack.append((node, False))

    def _settle(self, node: int, left: int, right: int) -> bool:
        """Decide on a node whose branches are done; true if it was replaced by one of them."""
        tree = self.tree
        smaller, larger = (left, right) if tree.W[right] >= tree.W[left] else (right, left)
        as_tree = self.expected[left] + self.expected[right]
        as_leaf = self._of_leaf(tree.W[node], tree.P[node])
        as_branch = self._raised(smaller, larger) if self.raising else math.inf
        if as_leaf <= min(as_tree, as_branch) + WORSE_BY + TIE:
            tree.cut_off(node)
            self.expected[node] = as_leaf
            return False
        if as_branch <= as_tree + WORSE_BY + TIE:
            self._raise(node, smaller, larger)
            return True
        self.expected[node] = as_tree
        return False

    def _of_leaf(self, W: float, P: float) -> float:
        E = min(P, W - P)
        return E + added_errors(W, E, self.confidence)

    def _raised(self, smaller: int, larger: int) -> float:
        """Errors to be expected if the larger branch took the rows of the smaller one too."""
        if self.tree.left[larger] < 0:
            return math.inf  # that would be a leaf
        expected = self.expected[larger]
        for leaf, rows in self._moved(smaller, larger):
            W, P = self.rows.totals(rows)
            expected += self._of_leaf(self.tree.W[leaf] + W, self.tree.P[leaf] + P) - self.expected[leaf]
        return expected

    def _moved(self, smaller: int, larger: int) -> Iterator[tuple[int, IntArray]]:
        return self.tree.routes(larger, self.tree.gathered(smaller), self.rows.read)

    def _raise(self, node: int, smaller: int, larger: int) -> None:
        tree = self.tree
        for leaf, rows in self._moved(smaller, larger):
            tree.rows[leaf] = np.concatenate([tree.rows[leaf], rows])
        for under in reversed(list(tree.below(larger))):
            if tree.left[under] < 0:
                tree.W[under], tree.P[under] = self.rows.totals(tree.rows[under])
            else:
                left, right = tree.left[under], tree.right[under]
                tree.W[under], tree.P[under] = tree.W[left] + tree.W[right], tree.P[left] + tree.P[right]
        tree.replace(node, larger, smaller)
