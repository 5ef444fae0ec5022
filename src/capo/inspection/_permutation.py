"""Outputs of a model for rows whose columns come from other rows, and the bootstrap of their values.

A *pair* is a row i that gets the values of some columns from another row j, its *donor*. Each row has R
donors, one from each of R permutations. The value of a measure on all pairs estimates its value in a
population in which the columns are independent of everything else.

The bootstrap draws rows with replacement; row i is drawn w_i times. The pairs of row i then have the weight
w_i, divided among them in proportion to the weights w_j of their donors. Resampling the rows with their
donors fixed would miss that the donors are a sample, too. Products of random weights make the standard
errors somewhat too large, up to a third in simulations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ._evaluated_rows import EvaluatedRows
from ._explained_table import ColumnGroup, ExplainedTable
from ._scored_outputs import ScoredOutputs

#: Rows that are predicted at once.
BLOCK_ROWS = 20_000
#: Draws of a resample until it has rows of every class.
MAX_DRAWS = 100


class PermutedOutputs:
    """Outputs of models for rows as they are, and with groups of columns from other rows.

    Parameters
    ----------
    table : ExplainedTable
        The table.
    scored : ScoredOutputs
        What predicts and evaluates the rows.
    parts : sequence of EvaluatedRows
        One model with all rows, or the model of each fold with the rows that it holds out. A row's donors are
        rows of the same part.
    n_repeats : int
        The number of donors of each row.
    random : RandomState
        Draws the permutations.
    """

    def __init__(
        self,
        table: ExplainedTable,
        scored: ScoredOutputs,
        parts: Sequence[EvaluatedRows],
        n_repeats: int,
        random: np.random.RandomState,
    ) -> None:
        self._table, self._scored, self._parts, self._n_repeats = table, scored, parts, n_repeats
        #: The positions of all rows in the table.
        self.rows = np.concatenate([part.rows for part in parts])
        starts = np.cumsum([0, *(len(part.rows) for part in parts)])
        ranges = [np.arange(*ends) for ends in itertools.pairwise(starts)]
        #: For each repeat and each row, the position of its donor among `rows`.
        self.donors = np.stack(
            [np.concatenate([random.permutation(each) for each in ranges]) for _ in range(n_repeats)]
        )
        self._ranges = ranges
        #: The outputs of the rows as they are.
        self.outputs = np.concatenate(
            [scored.predict(p.model, table.mix(*_mix_with_itself(table, p))) for p in parts]
        )

    def iter_permuted(self, groups: Sequence[ColumnGroup]) -> Iterator[FloatArray]:
        """Yield, for each group of columns, the outputs of all pairs, of shape (n_repeats * n_rows, ...)."""
        masks = np.zeros((len(groups), len(self._table.names)), dtype=bool)
        for mask, group in zip(masks, groups, strict=True):
            mask[list(group.positions)] = True
        n_at_once = max(1, BLOCK_ROWS // (self._n_repeats * len(self.rows)))
        for start in range(0, len(groups), n_at_once):
            block = masks[start : start + n_at_once]
            per_part = [
                self._permute_part(part, rows, block)
                for part, rows in zip(self._parts, self._ranges, strict=True)
            ]
            joined = np.concatenate(per_part, axis=2)
            yield from joined.reshape(len(block), -1, *joined.shape[3:])

    def _permute_part(self, part: EvaluatedRows, rows: IntArray, masks: BoolArray) -> FloatArray:
        """The outputs of the pairs of one part, of shape (n_groups, n_repeats, n_rows of the part, ...)."""
        donors = self.rows[self.donors[:, rows]]
        copies = [(mask, donor) for mask in masks for donor in donors]
        n_at_once = max(1, BLOCK_ROWS // len(rows))
        outputs = []
        for start in range(0, len(copies), n_at_once):
            chosen = copies[start : start + n_at_once]
            own = np.broadcast_to(part.rows, (len(chosen), len(rows)))
            mixed = self._table.mix(
                own, np.stack([donor for _, donor in chosen]), np.stack([mask for mask, _ in chosen])
            )
            outputs.append(self._scored.predict(part.model, mixed))
        joined = np.concatenate(outputs)
        return joined.reshape(len(masks), len(donors), len(rows), *joined.shape[1:])


def _mix_with_itself(table: ExplainedTable, part: EvaluatedRows) -> tuple[IntArray, IntArray, BoolArray]:
    rows = part.rows[np.newaxis]
    return rows, rows, np.zeros((1, len(table.names)), dtype=bool)


def split_weight(weight: FloatArray, donors: IntArray) -> FloatArray:
    """Divide the weight of each row among its pairs, in proportion to the weights of their donors."""
    donor_weight = weight[donors]
    total = donor_weight.sum(axis=0)
    share = np.divide(
        donor_weight, total, out=np.full(donor_weight.shape, 1.0 / len(donors)), where=total > 0
    )
    return (weight * share).ravel()


class RowBootstrap:
    """Weights of rows that are drawn with replacement.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        The sample weights.
    strata : ndarray of shape (n_rows,)
        Every resample has rows of each stratum that has any.
    units : ndarray of shape (n_rows,)
        Rows with the same number are drawn together.
    n_resamples : int
        The number of resamples.
    random : RandomState
        Draws the rows.
    """

    def __init__(
        self,
        weight: FloatArray,
        strata: IntArray,
        units: IntArray,
        n_resamples: int,
        random: np.random.RandomState,
    ) -> None:
        self._weight, self._strata, self._units = weight, strata, units
        self._n_units = int(units.max()) + 1
        self._present = np.bincount(strata, weight > 0) > 0
        self._seeds = random.randint(2**31 - 1, size=n_resamples)

    def row_weights(self) -> Iterator[FloatArray]:
        """Yield the weights of the rows in each resample, the same ones in every call."""
        return (self._draw(np.random.default_rng(seed)) for seed in self._seeds)

    def pair_weights(self, donors: IntArray) -> Iterator[FloatArray]:
        """Yield the weights of the pairs in each resample."""
        return (split_weight(weight, donors) for weight in self.row_weights())

    def _draw(self, random: np.random.Generator) -> FloatArray:
        for _ in range(MAX_DRAWS):
            drawn = random.integers(self._n_units, size=self._n_units)
            weight = self._weight * np.bincount(drawn, minlength=self._n_units)[self._units]
            if ((np.bincount(self._strata, weight, len(self._present)) > 0) == self._present).all():
                return weight
        return self._weight
