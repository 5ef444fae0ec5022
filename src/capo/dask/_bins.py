"""Scores in bins: a lower and an upper bound of R, and a cut, from a few thousand numbers.

A bin holds, for each class, the mass of its rows, the sum of their scores, and the least and the largest of
them. R is convex and does not change if rows of one class with equal weights swap their scores. So it can
only fall if the scores of each class within each bin are replaced by their mean, which is an average over
such swaps; and it can only rise if they are moved to the two ends of the bin with the mean kept, since every
other distribution of scores with that mean is an average over swaps of this one. Both problems have one or
two groups of rows for each bin, which the oracles of `capo.measures` search exactly:

    R(means) <= R(scores) <= R(ends)

The cut at the means has one coefficient per unit of mass in each bin. It is a lower bound of R for all scores
of the rows, because it is an average of cuts of their labelings. The difference of the bounds falls with the
square of the bins' widths, and only bins in which the coefficients of the worst labeling change contribute to
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._compat import BoolArray, FloatArray, IntArray
from ..measures import ClassTotals, Cut, GroupedLabels, Measure

#: Parts of the weight of new edges that are given by the bins' contributions to the error, by their mass and
#: by their width.
CONTRIBUTION_SHARE, MASS_SHARE, WIDTH_SHARE = 0.6, 0.2, 0.2
#: Cells of the grid that finds the bins of many scores.
N_CELLS = 2**15
#: Rows that are taken at once: their arrays of 64 kB are not returned to the operating system after each use.
SLICE_ROWS = 2**13
#: Sums of weights below this count as 0.
MIN_SUM = 1e-300


class ScoreBins(NamedTuple):
    """Rows by class (negative, positive) and bin, in arrays of shape (2, n_bins)."""

    mass: FloatArray
    total: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def from_scores(
        cls, scores: FloatArray, positive: BoolArray, weight: FloatArray | None, edges: FloatArray
    ) -> ScoreBins:
        """Bins that end at the edges, which belong to the bin below them."""
        index = BinIndex(edges, len(scores))
        shape = 2 * index.n_bins
        mass, total, low, high = (
            np.zeros(shape),
            np.zeros(shape),
            np.full(shape, np.inf),
            np.full(shape, -np.inf),
        )
        for part in iter_slices(len(scores)):
            x, w = scores[part], None if weight is None else weight[part]
            bins = index.find(x, positive[part])
            mass += np.bincount(bins, w, minlength=shape)
            total += np.bincount(bins, x if w is None else w * x, minlength=shape)
            seen = slice(None) if w is None else w > 0
            np.minimum.at(low, bins[seen], x[seen])
            np.maximum.at(high, bins[seen], x[seen])
        return cls(*(np.reshape(values, (2, index.n_bins)) for values in (mass, total, low, high)))

    @staticmethod
    def merge(parts: list[ScoreBins]) -> ScoreBins:
        """The bins of all parts, summed in their order."""
        mass, total = (np.sum([part[i] for part in parts], axis=0) for i in (0, 1))
        low = np.min([part.low for part in parts], axis=0)
        return ScoreBins(mass, total, low, np.max([part.high for part in parts], axis=0))

    def groups(self) -> tuple[IntArray, IntArray]:
        """Class and bin of each group that has rows."""
        labels, bins = np.nonzero(self.mass)
        return labels, bins


class BinIndex:
    """Finds the bins of rows: their positions in the flat arrays of `ScoreBins`.

    A grid of equal cells gives the answer for all scores but those in cells with edges. The cell of a number
    never falls as the number rises, rounding included, so that only edges in the cell of a score need to be
    compared with it.
    """

    def __init__(self, edges: FloatArray, n_rows: int) -> None:
        self.edges, self.n_bins = edges, len(edges) + 1
        self.width = float(edges[-1] - edges[0]) if len(edges) else 0.0
        self.has_grid = n_rows >= N_CELLS and 0 < self.width < np.inf
        if self.has_grid:
            edge_cells = _cells(edges, edges[0], self.width)
            self.below = np.searchsorted(edge_cells, np.arange(N_CELLS))
            self.has_edges = np.bincount(edge_cells, minlength=N_CELLS) > 0

    def find(self, scores: FloatArray, positive: BoolArray) -> IntArray:
        """The positions of some rows."""
        index = self.count_below(scores)
        index += positive * self.n_bins
        return index

    def count_below(self, scores: FloatArray) -> IntArray:
        """How many edges are below each score: ``searchsorted(edges, scores)``, faster for many scores."""
        if not self.has_grid:
            return np.searchsorted(self.edges, scores)
        cells = _cells(scores, self.edges[0], self.width)
        index = self.below[cells]
        unclear = np.flatnonzero(self.has_edges[cells])
        index[unclear] = np.searchsorted(self.edges, scores[unclear])
        return index


def iter_slices(n_rows: int) -> Iterator[slice]:
    """Rows in slices whose arrays stay in the processor's cache, and in memory that is used again."""
    return (slice(start, start + SLICE_ROWS) for start in range(0, n_rows, SLICE_ROWS))


def _cells(values: FloatArray, start: float, width: float) -> IntArray:
    cells = values - start
    cells *= (N_CELLS - 1) / width
    return np.clip(cells, 0, N_CELLS - 1, out=cells).astype(np.intp)


@dataclass(frozen=True)
class RiskBounds:
    """What bins tell of R at their scores.

    Attributes
    ----------
    loss : float
        The constant of the cut.
    lower, upper : float
        Bounds of R.
    coef_per_mass : ndarray of shape (2, n_bins)
        The coefficient of each row, per unit of its weight, by class and bin.
    contributions : ndarray of shape (n_bins,)
        Upper bounds of the bins' shares of ``upper - lower``.
    """

    loss: float
    lower: float
    upper: float
    coef_per_mass: FloatArray
    contributions: FloatArray

    @property
    def error(self) -> float:
        """The difference of the bounds."""
        return max(self.upper - self.lower, 0.0)


def bound_risk(measure: Measure, totals: ClassTotals, bins: ScoreBins) -> RiskBounds:
    """Search the worst labeling of the bins' means and of their ends."""
    labels, index = bins.groups()
    mass, low, high = (values[labels, index] for values in (bins.mass, bins.low, bins.high))
    mean = np.clip(bins.total[labels, index] / mass, low, high)
    cut, lower = _search(measure, totals, labels > 0, mass, mean)
    per_mass = np.zeros(bins.mass.shape)
    per_mass[labels, index] = cut.coef / mass

    ends, groups, end_mass = _move_to_ends(mean, mass, low, high)
    spread, upper = _search(measure, totals, labels[groups] > 0, end_mass, ends)
    contributions = np.bincount(
        index[groups], -spread.coef * (ends - mean[groups]), minlength=bins.mass.shape[1]
    )
    return RiskBounds(cut.loss, lower, upper, per_mass, np.maximum(contributions, 0.0))


def _search(
    measure: Measure, totals: ClassTotals, positive: BoolArray, mass: FloatArray, scores: FloatArray
) -> tuple[Cut, float]:
    cut = measure.oracle_for(GroupedLabels(positive, mass, totals))(scores)
    return cut, cut.value(scores)


def _move_to_ends(
    mean: FloatArray, mass: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """The ends of the groups as groups of their own: their scores, original groups and masses."""
    width = high - low
    upper_share = np.divide(mean - low, width, out=np.ones(len(mean)), where=width > 0)
    masses = np.concatenate([mass * (1.0 - upper_share), mass * upper_share])
    groups = np.tile(np.arange(len(mean)), 2)
    kept = masses > 0
    return np.concatenate([low, high])[kept], groups[kept], masses[kept]


def split_bins(edges: FloatArray, bins: ScoreBins, contributions: FloatArray, n_new: int) -> FloatArray:
    """The edges with about `n_new` more, in the bins that contribute to the error of the bounds.

    The error of a bin that is divided into k parts falls with k squared, so that the sum of all errors is
    least with a number of parts that is proportional to the cube root of the contribution.
    """
    return np.union1d(edges, spread_edges(bins, np.cbrt(contributions), n_new))


def place_edges(bins: ScoreBins, contributions: FloatArray, n_edges: int) -> FloatArray:
    """Edges for scores that are near those of the bins: where these contribute, and where there are rows."""
    mass = bins.mass.sum(axis=0)
    width = score_widths(bins)
    parts = ((CONTRIBUTION_SHARE, np.cbrt(contributions)), (MASS_SHARE, mass), (WIDTH_SHARE, width))
    density = np.sum([share * values / max(values.sum(), MIN_SUM) for share, values in parts], axis=0)
    # Scores that many rows share keep a bin of their own.
    heavy = np.flatnonzero(mass >= 2.0 * mass.sum() / n_edges)
    high = np.maximum.accumulate(bins.high.max(axis=0))
    ends = high[np.concatenate([heavy, heavy[heavy > 0] - 1])]
    spread = spread_edges(bins, density, n_edges)
    return np.unique(np.concatenate([spread, ends[np.isfinite(ends)], [0.0]]))


def score_widths(bins: ScoreBins) -> FloatArray:
    """The distance between the least and the largest score of each bin, 0 for an empty one."""
    width = bins.high.max(axis=0) - bins.low.min(axis=0)
    return np.where(np.isfinite(width), width, 0.0)


def spread_edges(bins: ScoreBins, weight: FloatArray, n_edges: int) -> FloatArray:
    """About `n_edges` edges inside bins that hold different scores, in proportion to the bins' weights."""
    width = score_widths(bins)
    wide = np.flatnonzero((width > 0) & (weight > 0))
    if not wide.size:
        return np.empty(0)
    cumulative = np.append(0.0, np.cumsum(weight[wide] / weight[wide].sum()))
    position = (np.arange(n_edges) + 0.5) / n_edges
    group = np.clip(np.searchsorted(cumulative, position, side="right") - 1, 0, len(wide) - 1)
    share = (position - cumulative[group]) / np.diff(cumulative)[group]
    return bins.low.min(axis=0)[wide][group] + np.clip(share, 0.0, 1.0) * width[wide][group]
