"""The oracle of a fit whose rows are on the workers: a function of the coefficients.

Each call takes the scores of all partitions, which stay on the workers, their bins, which are merged in a
tree and sent to the client, and the slope of the cut, one vector. Bins are divided further while the error of
the bounds exceeds the accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from ..design import IdentityDesign
from ..engine import relative_error
from ..measures import ClassTotals, Measure
from ._bins import RiskBounds, ScoreBins, bound_risk, place_edges, split_bins
from ._blocks import BlockSummary, bin_scores, score_rows, sum_parts, sum_slope
from ._partitions import Partitions

#: How far R may lie above a cut, as a share of the solver's tolerance.
CUT_ERROR_SHARE = 0.02
#: Edges of the first bins of a call ...
N_EDGES = 768
#: ... those that are added where the error is, if it exceeds the accuracy ...
N_NEW_EDGES = 512
#: ... and how often.
MAX_SPLITS = 8


@dataclass(frozen=True)
class DistributedCut:
    """A cut of R as a function of the coefficients: slope, constant, and how far R may lie above it."""

    coef: FloatArray
    loss: float
    error: float


class DistributedOracle:
    """From coefficients to the cut of their worst labeling.

    Parameters
    ----------
    partitions : Partitions
        The rows.
    measure : Measure
        What to optimize.
    summary : BlockSummary
        That of all rows.
    totals : ClassTotals
        Those of all rows.
    fit_intercept : bool
        Whether the last coefficient is an intercept.
    accuracy : float
        How far R may lie above a cut, apart from rounding errors.
    """

    def __init__(
        self,
        partitions: Partitions,
        measure: Measure,
        summary: BlockSummary,
        totals: ClassTotals,
        *,
        fit_intercept: bool,
        accuracy: float,
    ) -> None:
        self.partitions, self.measure, self.totals = partitions, measure, totals
        self.fit_intercept, self.accuracy = fit_intercept, accuracy
        self.row_sum_error = relative_error(summary.n_rows)
        self.score_error = relative_error(len(summary.column_sums))
        #: Bounds of the sums of absolute values that slopes are computed from.
        self.slope_sizes = summary.column_sums / min(totals.n_pos, totals.n_neg)
        self.edges = np.zeros(1)

    def __call__(self, v: FloatArray) -> DistributedCut:
        scores, bins = self.score_and_bin(v, self.edges)
        bins, bounds = self._divide_until_accurate(scores, bins)
        slope = self.partitions.reduce(
            sum_parts, sum_slope, self.edges, bounds.coef_per_mass, self.fit_intercept, extra=scores
        )
        self.edges = place_edges(bins, bounds.contributions, N_EDGES)
        return DistributedCut(slope, bounds.loss, bounds.error + self._rounding_error(v))

    def make_design(self) -> IdentityDesign:
        """The identity, with the sizes of the oracle's sums in units of its own rounding error.

        Times the number of coefficients, because the solver multiplies by the largest slope or its inverse.
        """
        n_coef = len(self.slope_sizes)
        ratio = 1.0 + self.row_sum_error / relative_error(n_coef)
        return IdentityDesign(n_coef, n_coef * ratio * self.slope_sizes)

    def score_and_bin(self, v: FloatArray, edges: FloatArray) -> tuple[Partitions, ScoreBins]:
        """The scores of the partitions, which stay on the workers, and their bins."""
        scores = self.partitions.map(score_rows, v, self.fit_intercept)
        return scores.persist_and_reduce(ScoreBins.merge, bin_scores, edges)

    def _divide_until_accurate(self, scores: Partitions, bins: ScoreBins) -> tuple[ScoreBins, RiskBounds]:
        """The bins, which are divided where needed, and the bounds of R from them."""
        bounds = bound_risk(self.measure, self.totals, bins)
        for _ in range(MAX_SPLITS):
            edges = split_bins(self.edges, bins, bounds.contributions, N_NEW_EDGES)
            if bounds.error <= self.accuracy or len(edges) == len(self.edges):
                break
            self.edges = edges
            bins = scores.reduce(ScoreBins.merge, bin_scores, edges)
            bounds = bound_risk(self.measure, self.totals, bins)
        return bins, bounds

    def _rounding_error(self, v: FloatArray) -> float:
        """An upper bound of the error of R from the rounding errors of scores and of sums over the rows."""
        size = 1.0 + float(self.slope_sizes @ np.abs(v))
        return (self.row_sum_error + self.score_error) * size
