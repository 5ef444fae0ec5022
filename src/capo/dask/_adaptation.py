"""The oracle, the threshold and the adaptation over partitions.

Each call takes the scores of all partitions, which stay on the workers, their bins, which are merged in a
tree and sent to the client, and the slope of the cut, one vector. Bins are divided further while the error of
the bounds exceeds the accuracy.

The blocks hold the auxiliaries' scaled outputs, followed by the features of the delta function.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import logit

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import (
    OperatingPoint,
    PlattCalibrator,
    expected_value_threshold,
    logistic_sums,
    minimize_logistic,
)
from ..engine import CuttingPlane, IdentityDesign, Solution, Status, relative_error
from ..exceptions import ConstraintWarning
from ..learning.center import MIN_OUTPUT_STD, STACK_RIDGE, least_risk_scale
from ..measures import ClassTotals, Measure
from ._bins import RiskBounds, ScoreBins, bound_risk, place_edges, score_widths, split_bins
from ._blocks import Block, BlockSummary, ScoredRows, bin_scores, score_rows, sum_parts, sum_slope, summarize
from ._partitions import Partitions, load_result

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


#: Quantiles of the scores that are tried first.
N_QUANTILES = 2048
#: Passes that divide the bins near the best threshold.
THRESHOLD_MAX_SPLITS = 4
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
    for _ in range(THRESHOLD_MAX_SPLITS):
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


#: Edges of the bins of standardized scores, from which calibration and threshold are learned.
STANDARD_EDGES = np.linspace(-8.0, 8.0, 4001)


class Weights(NamedTuple):
    """Coefficients of the outputs, the features and the constant, and the solver's certificate."""

    v: FloatArray
    solution: Solution | None


@dataclass(frozen=True)
class DistributedAdaptation:
    """The weights for some rows: the stack of the auxiliaries, and at C > 0 the adaptation around it.

    Attributes
    ----------
    measure : Measure
        What to optimize.
    C : float
        Weight of the risk; 0 for the stack itself.
    tol : float
        The solver's tolerance.
    n_outputs : int
        Number of auxiliaries, whose weights are at least 0.
    """

    measure: Measure
    C: float
    tol: float
    n_outputs: int

    def solve(self, partitions: Partitions) -> Weights:
        """Return the weights."""
        summary = partitions.reduce(BlockSummary.merge, summarize, True)
        stack = fit_stack(partitions, self.n_outputs, summary)
        v = np.zeros(len(summary.column_sums))
        v[: self.n_outputs], v[-1] = stack[:-1], stack[-1]
        if self.C == 0:
            return Weights(v, None)
        oracle = DistributedOracle(
            partitions,
            self.measure.for_training(),
            summary,
            summary.totals(weighted=False),
            fit_intercept=True,
            accuracy=CUT_ERROR_SHARE * self.tol,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            v[-1] -= choose_threshold(oracle, self.measure, v)
        center = least_risk_scale(oracle, v) * v
        bounded = np.arange(len(v)) < self.n_outputs
        solution = CuttingPlane(oracle.make_design(), oracle, center, bounded).solve(self.C, self.tol)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return Weights(solution.v, solution)


def fit_stack(partitions: Partitions, n_outputs: int, summary: BlockSummary) -> FloatArray:
    """Weights and intercept of the logistic regression on the outputs, as in `learning.center`."""
    sums = partitions.reduce(sum_parts, sum_outputs, n_outputs) / summary.n_rows
    mean, constant = sums[0], np.sqrt(np.maximum(sums[1] - sums[0] ** 2, 0.0)) <= MIN_OUTPUT_STD
    shared = mean, ~constant
    weights, bias = minimize_logistic(
        lambda v: partitions.reduce(sum_parts, sum_logistic, shared, v),
        n_outputs,
        (summary.totals(weighted=False).n_pos, float(summary.n_rows)),
        ridge=STACK_RIDGE,
        center=1.0 / max(1, int(np.sum(~constant))),
        nonnegative=True,
    )
    weights[constant] = 0.0
    return np.append(weights, bias - weights @ mean)


def sum_outputs(block: Block, n_outputs: int) -> FloatArray:
    """Sums of the outputs and of their squares."""
    outputs = _outputs(block, n_outputs)
    return np.array([outputs.sum(axis=0), (outputs**2).sum(axis=0)])


def sum_logistic(block: Block, shared: tuple[FloatArray, FloatArray], v: FloatArray) -> FloatArray:
    """The logistic loss of a partition, and its gradient."""
    mean, used = shared
    centered = (_outputs(block, len(mean)) - mean) * used
    return logistic_sums(centered, block.positive.astype(np.float64), np.ones(len(block.positive)), v)


def _outputs(block: Block, n_outputs: int) -> FloatArray:
    outputs: Any = load_result(block.X)[:, :n_outputs]
    return np.asarray(outputs.toarray() if issparse(outputs) else outputs)


def standardize(partitions: Partitions, v: FloatArray) -> FloatArray:
    """The coefficients whose scores have mean 0 and standard deviation 1."""
    scores, sums = partitions.map(score_rows, v, True).persist_and_reduce(sum_parts, sum_scores, 0.0)
    mean = sums[1] / sums[0]
    std = np.sqrt(scores.reduce(sum_parts, sum_scores, float(mean))[2] / sums[0])
    standard = v / (std if std > 0 else 1.0)
    standard[-1] -= mean / (std if std > 0 else 1.0)
    return standard


def sum_scores(rows: ScoredRows, center: float) -> FloatArray:
    """The number of rows, the sum of their scores, and that of the squared distances from a center."""
    scores = rows.scores
    return np.array([len(scores), scores.sum(), ((scores - center) ** 2).sum()])


def bin_standard_scores(partitions: Partitions, v: FloatArray) -> ScoreBins:
    """The rows by class and standardized score."""
    scores = partitions.map(score_rows, v, True)
    bins: ScoreBins = scores.reduce(ScoreBins.merge, bin_scores, STANDARD_EDGES)
    return bins


def choose_operating_point(measure: Measure, bins: ScoreBins, probability: float | None) -> OperatingPoint:
    """The calibration, and the threshold of the best expected value or at a given probability."""
    labels, index = bins.groups()
    mass = bins.mass[labels, index]
    scores = bins.total[labels, index] / mass
    calibration = PlattCalibrator.fit_counts(scores, labels > 0, mass)
    if probability is not None:
        return OperatingPoint(float(calibration.scores(logit(probability))), calibration)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConstraintWarning)
            threshold = expected_value_threshold(measure, scores, calibration.probability(scores), mass)
    except ConstraintWarning:  # no threshold is expected to meet the constraint; one may on these rows
        threshold = measure.threshold(labels > 0, scores, mass)
    return OperatingPoint(threshold, calibration)


def score_bins(measure: Measure, bins: ScoreBins, threshold: float) -> float:
    """The measure of binned rows at a threshold."""
    labels, index = bins.groups()
    mass = bins.mass[labels, index]
    return measure.score(labels > 0, bins.total[labels, index] / mass - threshold, mass)
