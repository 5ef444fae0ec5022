"""The cuts of R, the threshold and the adaptation, from rows in partitions.

Each cut takes the scores of all partitions, which stay on the workers, their bins, which are merged in a tree
and sent to the client, and the slope of the cut, one vector.

**Bins.** A bin holds, for each class, the mass of its rows, the sum of their scores, and the least and the
largest of them. R is convex and does not change if rows of one class with equal weights swap their scores. So
it can only fall if the scores of each class within each bin are replaced by their mean, which is an average
over such swaps; and it can only rise if they are moved to the two ends of the bin without changing the mean,
since every other distribution of scores with that mean is an average over swaps of this one. Both problems
have one or two groups of rows for each bin, which the oracles of `capo.measures` search exactly:

    R(means) <= R(scores) <= R(ends)

The cut at the means has one coefficient per unit of mass in each bin. It is a lower bound of R for all scores
of the rows, because it is an average of cuts of their labelings. The difference of the bounds falls with the
square of the bins' widths, and only bins in which the coefficients of the worst labeling change contribute to
it: they are divided further while the difference exceeds the accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import hstack, issparse
from scipy.special import logit

from .. import decisions
from .._compat import BoolArray, FloatArray, IntArray, NDArray
from ..engine import CuttingPlane, IdentityDesign, Solution, Status, relative_error
from ..estimators import CAPOClassifier, replace_weights
from ..exceptions import ConstraintWarning
from ..learning.center import MIN_OUTPUT_STD, STACK_RIDGE, StackPrior, least_risk_scale
from ..learning.combination import LinearCombination
from ..learning.outputs import apply_scales, is_frozen, iter_row_blocks
from ..measures import ClassTotals, Cut, GroupedLabels, Measure
from ._partitions import Block, BlockSummary, Partitions, concatenate_tables

#: Shares of the bins' contributions to the error, of their mass and of their width in the weight of new
#: edges.
CONTRIBUTION_SHARE, MASS_SHARE, WIDTH_SHARE = 0.6, 0.2, 0.2
#: Number of cells of the grid that finds the bins of many scores.
N_CELLS = 2**15
#: Number of rows per slice: arrays of 64 kB are not returned to the operating system after each use.
SLICE_ROWS = 2**13
#: Sums of weights below this count as 0.
MIN_SUM = 1e-300
#: Largest difference between R and a cut, as a share of the solver's tolerance.
CUT_ERROR_SHARE = 0.02
#: Number of edges of the first bins of a cut ...
N_EDGES = 768
#: ... number of edges added where the error is, if it exceeds the accuracy ...
N_NEW_EDGES = 512
#: ... and largest number of times that edges are added.
MAX_SPLITS = 8
#: Number of quantiles of the scores that are first tried as thresholds.
N_QUANTILES = 2048
#: Largest number of passes that divide the bins near the best threshold.
MAX_THRESHOLD_SPLITS = 4
#: Number of bins to divide on each side of the best threshold.
N_NEIGHBORS = 8
#: Edges of the bins of standardized scores, from which calibration and threshold are learned.
STANDARD_EDGES = np.linspace(-8.0, 8.0, 4001)


class ScoredRows(NamedTuple):
    """The scores of the rows of a partition, with their classes and weights."""

    scores: FloatArray
    positive: BoolArray
    weight: FloatArray | None = None


def score_rows(block: Block, v: FloatArray) -> ScoredRows:
    """The scores of a partition, which stay on its worker."""
    return ScoredRows(block.design.matvec(v), block.positive, block.weight)


class BinIndex:
    """Assigns rows to bins, as positions in the flat arrays of `ScoreBins`.

    A grid of equal cells gives the answer for all scores but those in cells with edges. The cell of a number
    never falls as the number rises, rounding included, so that only edges in the cell of a score need to be
    compared with it.
    """

    def __init__(self, edges: FloatArray, n_rows: int) -> None:
        self.edges, self.n_bins = edges, len(edges) + 1
        self.width = float(edges[-1] - edges[0]) if len(edges) else 0.0
        self.has_grid = n_rows >= N_CELLS and 0 < self.width < np.inf
        if self.has_grid:
            edge_cells = self._cells(edges)
            self.below = np.searchsorted(edge_cells, np.arange(N_CELLS))
            self.has_edges = np.bincount(edge_cells, minlength=N_CELLS) > 0

    def iter_slices(self, rows: ScoredRows) -> Iterator[tuple[slice, IntArray]]:
        """Slices of the rows, whose arrays stay in the processor's cache, and the positions of their bins."""
        for start in range(0, len(rows.scores), SLICE_ROWS):
            part = slice(start, start + SLICE_ROWS)
            yield part, self.count_below(rows.scores[part]) + rows.positive[part] * self.n_bins

    def count_below(self, scores: FloatArray) -> IntArray:
        """The number of edges below each score: ``searchsorted(edges, scores)``, faster for many scores."""
        if not self.has_grid:
            return np.searchsorted(self.edges, scores)
        cells = self._cells(scores)
        index = self.below[cells]
        unclear = np.flatnonzero(self.has_edges[cells])
        index[unclear] = np.searchsorted(self.edges, scores[unclear])
        return index

    def _cells(self, values: FloatArray) -> IntArray:
        cells = values - self.edges[0]
        cells *= (N_CELLS - 1) / self.width
        return np.clip(cells, 0, N_CELLS - 1, out=cells).astype(np.intp)


class ScoreBins(NamedTuple):
    """Rows by class (negative, positive) and bin, in arrays of shape (2, n_bins)."""

    mass: FloatArray
    total: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def from_rows(cls, rows: ScoredRows, edges: FloatArray) -> ScoreBins:
        """Bins between the edges; an edge belongs to the bin below it."""
        index = BinIndex(edges, len(rows.scores))
        size = 2 * index.n_bins
        mass, total = np.zeros(size), np.zeros(size)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        for part, bins in index.iter_slices(rows):
            scores, weight = rows.scores[part], None if rows.weight is None else rows.weight[part]
            mass += np.bincount(bins, weight, minlength=size)
            total += np.bincount(bins, scores if weight is None else weight * scores, minlength=size)
            used = slice(None) if weight is None else weight > 0
            np.minimum.at(low, bins[used], scores[used])
            np.maximum.at(high, bins[used], scores[used])
        return cls(*(values.reshape(2, -1) for values in (mass, total, low, high)))

    @classmethod
    def merge(cls, parts: list[ScoreBins]) -> ScoreBins:
        """The bins of all parts, summed in their order."""
        mass, total, low, high = zip(*parts, strict=True)
        return cls(np.sum(mass, axis=0), np.sum(total, axis=0), np.min(low, axis=0), np.max(high, axis=0))

    def groups(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Class, bin, mass and mean score of each group that has rows."""
        labels, bins = np.nonzero(self.mass)
        mass = self.mass[labels, bins]
        return labels, bins, mass, self.total[labels, bins] / mass

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest score of each bin."""
        return self.low.min(axis=0), self.high.max(axis=0)

    @property
    def widths(self) -> FloatArray:
        """The distance between the ends of each bin, 0 for an empty one."""
        return np.maximum(self.ends[1] - self.ends[0], 0.0)


def bin_scores(rows: Partitions, edges: FloatArray) -> ScoreBins:
    """The bins of all rows."""
    bins: ScoreBins = rows.reduce(ScoreBins.merge, ScoreBins.from_rows, edges)
    return bins


def bound_risk(measure: Measure, totals: ClassTotals, bins: ScoreBins) -> tuple[Cut, FloatArray]:
    """Search the worst labeling of the bins' means and of their ends.

    Returns the cut, with one coefficient per unit of mass for each class and bin, and upper bounds of the
    bins' shares of its error.
    """

    def search(groups: IntArray, mass: FloatArray, scores: FloatArray) -> Cut:
        return measure.oracle_for(GroupedLabels(labels[groups] > 0, mass, totals))(scores)

    labels, index, mass, mean = bins.groups()
    low, high = bins.low[labels, index], bins.high[labels, index]
    mean = np.clip(mean, low, high)
    cut = search(np.arange(len(mean)), mass, mean)
    per_mass = np.zeros(bins.mass.shape)
    per_mass[labels, index] = cut.coef / mass

    # The rows of each group, moved to its ends.
    width = high - low
    upper_share = np.divide(mean - low, width, out=np.ones(len(mean)), where=width > 0)
    end_mass = np.concatenate([mass * (1.0 - upper_share), mass * upper_share])
    used = end_mass > 0
    groups, ends = np.tile(np.arange(len(mean)), 2)[used], np.concatenate([low, high])[used]
    spread = search(groups, end_mass[used], ends)
    shares = np.bincount(index[groups], -spread.coef * (ends - mean[groups]), minlength=bins.mass.shape[1])
    error = max(spread.value(ends) - cut.value(mean), 0.0)
    return Cut(per_mass, cut.loss, error), np.maximum(shares, 0.0)


def split_bins(edges: FloatArray, bins: ScoreBins, contributions: FloatArray, n_new: int) -> FloatArray:
    """The edges and about `n_new` new ones, in the bins that contribute to the error of the bounds.

    The error of a bin that is divided into k parts falls with k squared, so that the sum of all errors is
    least with a number of parts that is proportional to the cube root of the contribution.
    """
    return np.union1d(edges, spread_edges(bins, np.cbrt(contributions), n_new))


def place_edges(bins: ScoreBins, contributions: FloatArray, n_edges: int) -> FloatArray:
    """Edges for scores that are near those of the bins: where these contribute, and where there are rows."""
    mass = bins.mass.sum(axis=0)
    parts = ((CONTRIBUTION_SHARE, np.cbrt(contributions)), (MASS_SHARE, mass), (WIDTH_SHARE, bins.widths))
    density = np.sum([share * values / max(values.sum(), MIN_SUM) for share, values in parts], axis=0)
    # Scores that many rows share keep a separate bin.
    heavy = np.flatnonzero(mass >= 2.0 * mass.sum() / n_edges)
    ends = np.maximum.accumulate(bins.ends[1])[np.concatenate([heavy, heavy[heavy > 0] - 1])]
    spread = spread_edges(bins, density, n_edges)
    return np.unique(np.concatenate([spread, ends[np.isfinite(ends)], [0.0]]))


def spread_edges(bins: ScoreBins, weight: FloatArray, n_edges: int) -> FloatArray:
    """About `n_edges` edges inside bins that hold different scores, in proportion to the bins' weights."""
    width = bins.widths
    wide = np.flatnonzero((width > 0) & (weight > 0))
    if not wide.size:
        return np.empty(0)
    cumulative = np.append(0.0, np.cumsum(weight[wide] / weight[wide].sum()))
    position = (np.arange(n_edges) + 0.5) / n_edges
    group = np.clip(np.searchsorted(cumulative, position, side="right") - 1, 0, len(wide) - 1)
    share = (position - cumulative[group]) / np.diff(cumulative)[group]
    return bins.ends[0][wide][group] + np.clip(share, 0.0, 1.0) * width[wide][group]


class DistributedOracle:
    """Oracle that maps coefficients to the cut of their worst labeling.

    Parameters
    ----------
    blocks : Partitions
        The rows.
    measure : Measure
        What to optimize.
    summary : BlockSummary
        The summary of all rows.
    tol : float
        The solver's tolerance: R may lie above a cut by a small share of it, apart from rounding errors.
    """

    def __init__(self, blocks: Partitions, measure: Measure, summary: BlockSummary, tol: float) -> None:
        self.blocks, self.measure, self.totals = blocks, measure.for_training(), summary.totals
        self.accuracy, self.edges = CUT_ERROR_SHARE * tol, np.zeros(1)
        n_coef, sum_error = len(summary.column_sums), relative_error(summary.n_rows)
        self.relative_error = sum_error + relative_error(n_coef)
        #: Bounds of the sums of absolute values that slopes are computed from.
        self.slope_sizes = summary.column_sums / min(self.totals.n_pos, self.totals.n_neg)
        # In units of the solver's own rounding error, and times the number of coefficients, because the
        # solver multiplies by the largest slope or its inverse.
        ratio = 1.0 + sum_error / relative_error(n_coef)
        self.design = IdentityDesign(n_coef, n_coef * ratio * self.slope_sizes)

    def __call__(self, v: FloatArray) -> Cut:
        rows = self.blocks.map(score_rows, v).persist()
        bins = bin_scores(rows, self.edges)
        for number in range(MAX_SPLITS + 1):
            cut, shares = bound_risk(self.measure, self.totals, bins)
            edges = split_bins(self.edges, bins, shares, N_NEW_EDGES)
            if cut.error <= self.accuracy or len(edges) == len(self.edges) or number == MAX_SPLITS:
                break
            self.edges, bins = edges, bin_scores(rows, edges)
        slope = self.blocks.zip(rows).reduce(sum_parts, sum_slope, self.edges, cut.coef)
        self.edges = place_edges(bins, shares, N_EDGES)
        rounding_error = self.relative_error * (1.0 + float(self.slope_sizes @ np.abs(v)))
        return Cut(slope, cut.loss, cut.error + rounding_error)


def sum_slope(block: Block, rows: ScoredRows, edges: FloatArray, coef_per_mass: FloatArray) -> FloatArray:
    """The contribution of a partition to the slope ``A' coef``, with the coefficients by class and bin."""
    per_mass, coef = coef_per_mass.ravel(), np.empty(len(rows.scores))
    for part, bins in BinIndex(edges, len(coef)).iter_slices(rows):
        coef[part] = per_mass[bins]
    if block.weight is not None:
        coef *= block.weight
    return block.design.rmatvec(coef)


def sum_parts(parts: list[FloatArray]) -> FloatArray:
    """The sum of some parts, in their order."""
    return np.sum(parts, axis=0)


def choose_threshold(oracle: DistributedOracle, measure: Measure, v: FloatArray) -> float:
    """The best threshold between two bins; bins near it are divided until each contains equal scores.

    The first bins hold at most about a 2,000th of the rows each.
    """
    rows = oracle.blocks.map(score_rows, v).persist()
    coarse = np.union1d(oracle.edges, [0.0])
    bins = bin_scores(rows, coarse)
    edges = split_bins(coarse, bins, bins.mass.sum(axis=0), N_QUANTILES)
    bins = bin_scores(rows, edges)
    for _ in range(MAX_THRESHOLD_SPLITS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            used, below, _ = _best_threshold(measure, bins)
        near = np.zeros(len(edges) + 1, dtype=bool)
        near[used[max(below - N_NEIGHBORS, 0) : below + N_NEIGHBORS]] = True
        if not (bins.widths[near] > 0).any():
            break
        # Edges far from the threshold are no longer needed.
        inside = near[:-1] | near[1:]
        edges = np.union1d(coarse, split_bins(edges[inside], bins, near.astype(np.float64), N_NEW_EDGES))
        bins = bin_scores(rows, edges)
    return _best_threshold(measure, bins)[2]


def _best_threshold(measure: Measure, bins: ScoreBins) -> tuple[IntArray, int, float]:
    """The bins with rows, the number of them below the best threshold, and the threshold.

    The measure gets the position of each bin instead of its scores: 0.5, 1.5, ... above 0 and -0.5, -1.5, ...
    below, so that a threshold of 0 has the same meaning for both.
    """
    used = np.flatnonzero(bins.mass.sum(axis=0) > 0)
    low, high = (end[used] for end in bins.ends)
    position = np.arange(len(used)) - np.count_nonzero(high <= 0) + 0.5
    labels, index = np.nonzero(bins.mass[:, used])
    found = measure.threshold(labels > 0, position[index], bins.mass[:, used][labels, index])
    below = int(np.count_nonzero(position <= found))
    if found == 0.0:
        return used, below, 0.0
    # Exactly the scores of the bins below do not exceed the threshold.
    if below == 0:
        threshold = np.nextafter(low[0], -np.inf)
    elif below == len(low):
        threshold = np.nextafter(high[-1], np.inf)
    else:
        middle = 0.5 * high[below - 1] + 0.5 * low[below]
        threshold = middle if middle < low[below] else high[below - 1]
    return used, below, float(threshold)


def fit_sample(parts: list[tuple[Any, NDArray[Any]]], model: CAPOClassifier) -> CAPOClassifier:
    """Fit a classifier to the rows of all parts."""
    tables, labels = zip(*(part for part in parts if len(part[1])), strict=True)
    return model.fit(concatenate_tables(tables), np.concatenate(labels))


def make_inputs(rows: tuple[Any, NDArray[Any]], model: CAPOClassifier, label_pair: NDArray[Any]) -> Block:
    """The scaled outputs of the auxiliaries, followed by the features of the delta function.

    Auxiliaries without weight in the model of the sample are left out.
    """
    X, labels = rows
    weights, parts = model.combination_.weights, []
    for block in iter_row_blocks(X) if len(labels) else ():
        outputs = apply_scales(model.combination_.scales, list(model.auxiliary_outputs(block).T))
        outputs[:, weights.auxiliary == 0] = 0.0
        features = model.delta_features(block)
        if issparse(features):
            parts.append(hstack([outputs, features], format="csr", dtype=np.float64))
        else:
            parts.append(outputs if features is None else np.hstack([outputs, np.asarray(features, float)]))
    if not parts:
        n_delta = len(weights.delta) if weights.delta.any() else 0
        parts = [np.empty((0, len(weights.auxiliary) + n_delta))]
    return Block(concatenate_tables(parts), labels == label_pair[1])


def adapt_partitions(
    model: CAPOClassifier, blocks: Partitions, tol: float, threshold: str | float
) -> CAPOClassifier:
    """The classifier of the sample with the weights and the threshold of all other rows.

    The first and second half of the blocks belong to two random halves of these rows. The calibration and the
    threshold come from models trained on one half and applied to the other.
    """
    measure, n_outputs = model.measure_, len(model.auxiliary_weights_)
    is_external = all(
        is_frozen(each) or name in model.score_columns for name, each in model.auxiliaries_.items()
    )
    prior = StackPrior(model.delta_ridge_, is_external)
    problem = (n_outputs, measure, float(model.C_), tol, prior)
    middle = len(blocks.parts) // 2
    halves = [blocks[:middle], blocks[middle:]]
    held_out = []
    for training, half in zip(halves[::-1], halves, strict=True):
        v = standardize(training, solve_adaptation(training, *problem)[0])
        held_out.append(bin_scores(half.map(score_rows, v), STANDARD_EDGES))
    scored = [ScoreBins.merge(held_out), *held_out[::-1]]
    point, *other_points = [choose_operating_point(measure, bins, threshold) for bins in scored]
    v, solution = solve_adaptation(blocks, *problem)
    v = standardize(blocks, v)
    delta = v[n_outputs:-1] if len(v) - 1 > n_outputs else np.zeros(len(model.combination_.weights.delta))
    weights = LinearCombination(v[:n_outputs], delta, float(v[-1]))
    adapted = copy(model)
    log_odds = weights.transform(point.calibration.slope, point.calibration.intercept)
    replace_weights(adapted, log_odds, point.log_odds, solution)
    scores = []
    for bins, other_point in zip(held_out, other_points, strict=True):
        labels, _, mass, means = bins.groups()
        scores.append(measure.score(labels > 0, means - other_point.score, mass))
    adapted.score_ = float(np.mean(scores))
    return adapted


def solve_adaptation(
    blocks: Partitions, n_outputs: int, measure: Measure, C: float, tol: float, prior: StackPrior
) -> tuple[FloatArray, Solution | None]:
    """The weights for some rows: the model at C = 0, and at C > 0 the adaptation around it.

    The blocks hold the scaled outputs of the auxiliaries, whose weights are at least 0, followed by the
    features of the delta function. The weight of the constant is the last one.
    """
    summary: BlockSummary = blocks.reduce(BlockSummary.merge, BlockSummary.from_block)
    v = fit_center(blocks, n_outputs, summary, prior)
    if C == 0:
        return v, None
    oracle = DistributedOracle(blocks, measure, summary, tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        v[-1] -= choose_threshold(oracle, measure, v)
    center = least_risk_scale(oracle, v) * v
    bounded = np.arange(len(v)) < n_outputs
    solution = CuttingPlane(oracle.design, oracle, center, bounded).solve(C, tol)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution.v, solution


def fit_center(blocks: Partitions, n_outputs: int, summary: BlockSummary, prior: StackPrior) -> FloatArray:
    """The logistic regression on outputs and features, as in `learning.center`; its bias comes last."""
    sums = blocks.reduce(sum_parts, sum_outputs, n_outputs) / summary.n_rows
    has_delta = bool(np.isfinite(prior.delta_ridge))
    used = np.full(len(summary.column_sums) - 1, has_delta)
    used[:n_outputs] = np.sqrt(np.maximum(sums[1] - sums[0] ** 2, 0.0)) > MIN_OUTPUT_STD
    is_output = np.arange(len(used)) < n_outputs
    mean, goal = np.zeros(len(used)), np.where(used & is_output, 1.0 / max(1, used[:n_outputs].sum()), 0.0)
    mean[:n_outputs] = sums[0] * used[:n_outputs]
    output_ridge = STACK_RIDGE
    if prior.is_external and has_delta:
        output_ridge, goal = min(STACK_RIDGE, prior.delta_ridge), np.zeros(len(used))
    ridge = np.where(used & ~is_output, prior.delta_ridge, output_ridge)
    weights, bias = decisions.minimize_logistic(
        lambda v: blocks.reduce(sum_parts, sum_logistic, mean, used, v),
        (summary.totals.n_pos, float(summary.n_rows)),
        decisions.LogisticPenalty.of_weights(len(used), ridge, goal, is_output),
        np.append(goal, logit(np.clip(summary.totals.n_pos / summary.n_rows, 1e-9, 1.0 - 1e-9))),
    )
    weights = np.where(used, weights, 0.0)
    return np.append(weights, bias - float(weights @ mean))


def sum_outputs(block: Block, n_outputs: int) -> FloatArray:
    """Sums of the outputs and of their squares."""
    columns = block.X[:, :n_outputs]
    outputs = np.asarray(columns.toarray() if issparse(columns) else columns)
    return np.array([outputs.sum(axis=0), (outputs**2).sum(axis=0)])


def sum_logistic(block: Block, mean: FloatArray, used: BoolArray, v: FloatArray) -> FloatArray:
    """The logistic loss of a partition, and its gradient; the means are subtracted from the columns."""
    weights = np.where(used, v[:-1], 0.0)
    uncentered = np.append(weights, v[-1] - weights @ mean)
    target, weight = block.positive.astype(np.float64), np.ones(len(block.positive))
    loss, *slope, total = decisions.logistic_sums(block.X, target, weight, uncentered)
    return np.concatenate([[loss], np.where(used, slope - mean * total, 0.0), [total]])


def standardize(blocks: Partitions, v: FloatArray) -> FloatArray:
    """The coefficients whose scores have mean 0 and standard deviation 1."""
    scores = blocks.map(score_rows, v).persist()
    n_rows, total, _ = scores.reduce(sum_parts, sum_scores, 0.0)
    mean = float(total / n_rows)
    std = float(np.sqrt(scores.reduce(sum_parts, sum_scores, mean)[2] / n_rows)) or 1.0
    standard = v / std
    standard[-1] -= mean / std
    return standard


def sum_scores(rows: ScoredRows, center: float) -> FloatArray:
    """The number of rows, the sum of their scores, and the sum of the squared distances from a center."""
    scores = rows.scores
    return np.array([len(scores), scores.sum(), ((scores - center) ** 2).sum()])


def choose_operating_point(
    measure: Measure, bins: ScoreBins, threshold: str | float
) -> decisions.OperatingPoint:
    """The calibration, and the threshold with the best expected value or at a fixed probability."""
    labels, _, mass, scores = bins.groups()
    calibration = decisions.PlattCalibrator.fit(scores, labels > 0, counts=mass)
    if isinstance(threshold, str):
        rule = decisions.ExpectedValueThreshold()
        return rule.choose(calibration, measure, scores, labels > 0, mass, counts=mass)
    return decisions.OperatingPoint(float(calibration.scores(logit(threshold))), calibration)
