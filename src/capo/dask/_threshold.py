"""The threshold on training scores that stay on the workers."""

from __future__ import annotations

import warnings

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import ConstraintWarning
from ..measures import Measure
from ._bins import ScoreBins, score_widths, split_bins
from ._blocks import bin_scores
from ._oracle import N_NEW_EDGES, DistributedOracle

#: Quantiles of the scores that are tried first.
N_QUANTILES = 2048
#: Passes that divide the bins near the best threshold.
MAX_SPLITS = 4
#: Bins on each side of the best threshold that are divided.
N_NEIGHBORS = 8


def choose_threshold(oracle: DistributedOracle, measure: Measure, v: FloatArray) -> float:
    """The best threshold between two bins, which are divided near it until they hold equal scores.

    The first bins hold at most about a 2,000th of the rows each.
    """
    coarse = np.union1d(oracle.edges, [0.0])
    scores, bins = oracle.score_and_bin(v, coarse)
    edges = split_bins(coarse, bins, bins.mass.sum(axis=0), N_QUANTILES)
    bins = scores.reduce(ScoreBins.merge, bin_scores, edges)
    for _ in range(MAX_SPLITS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            below, _ = _best_threshold(measure, bins)
        near = _mask_near_threshold(bins, below)
        if not (score_widths(bins)[near] > 0).any():
            break
        # Edges far from the threshold have served their purpose.
        inside = near[:-1] | near[1:]
        edges = np.union1d(coarse, split_bins(edges[inside], bins, near.astype(np.float64), N_NEW_EDGES))
        bins = scores.reduce(ScoreBins.merge, bin_scores, edges)
    return _best_threshold(measure, bins)[1]


def _nonempty_bins(bins: ScoreBins) -> IntArray:
    return np.flatnonzero(bins.mass.sum(axis=0) > 0)


def _mask_near_threshold(bins: ScoreBins, below: int) -> BoolArray:
    """A mask of the bins next to the threshold above `below` of the bins with rows."""
    near = np.zeros(bins.mass.shape[1], dtype=bool)
    near[_nonempty_bins(bins)[max(below - N_NEIGHBORS, 0) : below + N_NEIGHBORS]] = True
    return near


def _best_threshold(measure: Measure, bins: ScoreBins) -> tuple[int, float]:
    """The number of bins with rows below the best threshold, and the threshold.

    The measure gets the position of each bin in place of its scores, from 0.5 for those above 0 and from -0.5
    for the others, so that a threshold of 0 is one for both.
    """
    used = _nonempty_bins(bins)
    low, high = bins.low.min(axis=0)[used], bins.high.max(axis=0)[used]
    position = np.arange(len(used)) - np.count_nonzero(high <= 0) + 0.5
    mass = bins.mass[:, used]
    y = np.repeat([False, True], len(used))
    kept = mass.ravel() > 0
    found = measure.threshold(y[kept], np.tile(position, 2)[kept], mass.ravel()[kept])
    below = int(np.count_nonzero(position <= found))
    return below, 0.0 if found == 0.0 else _threshold_above(below, low, high)


def _threshold_above(below: int, low: FloatArray, high: FloatArray) -> float:
    """A threshold that exactly the scores of the first `below` bins do not exceed."""
    if below == 0:
        return float(np.nextafter(low[0], -np.inf))
    if below == len(low):
        return float(np.nextafter(high[-1], np.inf))
    middle = 0.5 * high[below - 1] + 0.5 * low[below]
    return float(middle if middle < low[below] else high[below - 1])
