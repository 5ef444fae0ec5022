"""The tree: its nodes, their replacement in pruning, the leaves of rows, and the tree as text.

A node holds rows of total weight W, of which P is of the positive class. Its entropy, times W, is

    H(W, P) = W log2 W - P log2 P - (W - P) log2 (W - P)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import xlogy

from ..._typing import FloatArray, IntArray
from ._entries import Reader


@dataclass
class Tree:
    """The nodes, one list per attribute; `left` and `right` of a leaf are -1."""

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    W: list[float] = field(default_factory=list)
    P: list[float] = field(default_factory=list)
    rows: dict[int, IntArray] = field(default_factory=dict)  # the training rows of each leaf

    def add_leaf(self, W: float, P: float, rows: IntArray) -> int:
        """Append a leaf and return its number."""
        for values, value in zip(self._parts(), (-1, math.nan, -1, -1, W, P), strict=True):
            values.append(value)
        self.rows[len(self.W) - 1] = rows
        return len(self.W) - 1

    def _parts(self) -> tuple[list[Any], ...]:
        return self.column, self.threshold, self.left, self.right, self.W, self.P

    def errors(self, node: int) -> float:
        """Weight of the rows that are misclassified if the node is a leaf."""
        return min(self.P[node], self.W[node] - self.P[node])

    def below(self, root: int) -> Iterator[int]:
        """The node and all its descendants, parents first, left before right."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            if self.left[node] >= 0:
                stack += (self.right[node], self.left[node])

    def rows_below(self, root: int) -> IntArray:
        """The training rows of the node."""
        return np.concatenate([self.rows[node] for node in self.below(root) if node in self.rows])

    def cut_off(self, node: int) -> None:
        """Make the node a leaf."""
        rows = self.rows_below(node)
        for under in self.below(node):
            self.rows.pop(under, None)
        self.rows[node], self.left[node], self.right[node] = rows, -1, -1

    def replace(self, node: int, larger: int, smaller: int) -> None:
        """Replace a node by its larger branch."""
        for under in self.below(smaller):
            self.rows.pop(under, None)
        for part in self._parts()[:4]:
            part[node] = part[larger]

    def routes(self, root: int, rows: IntArray, read: Reader) -> Iterator[tuple[int, IntArray]]:
        """The leaves below `root` that these rows reach, each with its rows."""
        stack = [(root, rows)]
        while stack:
            node, rows = stack.pop()
            if not len(rows):
                continue
            if self.left[node] < 0:
                yield node, rows
                continue
            goes_left = read(self.column[node], rows) <= self.threshold[node]
            stack += ((self.left[node], rows[goes_left]), (self.right[node], rows[~goes_left]))

    def compact(self) -> Tree:
        """A copy without the pruned nodes and the training rows."""
        kept = list(self.below(0))
        place = {node: position for position, node in enumerate(kept)}
        place[-1] = -1
        column, threshold, left, right, W, P = ([part[node] for node in kept] for part in self._parts())
        return Tree(column, threshold, [place[i] for i in left], [place[i] for i in right], W, P)

    def depth(self) -> int:
        """Number of tests on the longest path to a leaf."""
        depth = [0] * len(self.W)
        for node in self.below(0):
            if self.left[node] >= 0:
                depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return max(depth)

    def gains(self, n_features: int) -> FloatArray:
        """Information gain of the tests on each feature, times the weight."""
        H = total_entropy(np.array(self.W), np.array(self.P))
        gain = np.zeros(n_features)
        for node, left in enumerate(self.left):
            if left >= 0:
                gain[self.column[node]] += H[node] - H[left] - H[self.right[node]]
        return np.maximum(gain, 0.0)

    def lines(self, names: Sequence[str], classes: list[Any]) -> Iterator[str]:
        """The tree as text, one line per branch."""
        stack = [(0, "", "")]
        while stack:
            node, indent, test = stack.pop()
            is_leaf = self.left[node] < 0
            if test or is_leaf:
                yield indent + test + (self._leaf(node, classes) if is_leaf else "")
            if not is_leaf:
                indent += "|   " if test else ""
                name, threshold = names[self.column[node]], f"{self.threshold[node]:.10g}"
                stack.append((self.right[node], indent, f"{name} > {threshold}"))
                stack.append((self.left[node], indent, f"{name} <= {threshold}"))

    def _leaf(self, node: int, classes: list[Any]) -> str:
        label = classes[int(self.P[node] > self.W[node] - self.P[node])]
        wrong = f"/{self.errors(node):.1f}" if self.errors(node) else ""
        return f": {label} ({self.W[node]:.1f}{wrong})"


def total_entropy(W: Any, P: Any) -> Any:
    """H(W, P)."""
    N = np.maximum(W - P, 0.0)
    return (xlogy(W, W) - xlogy(P, P) - xlogy(N, N)) / math.log(2)
