"""The adaptation on rows that are on the workers: stack, solution, calibration and threshold.

The blocks hold the auxiliaries' scaled outputs, followed by the features of the delta function.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import logit

from .._typing import FloatArray
from ..adaptation import MIN_OUTPUT_STD, STACK_RIDGE, least_risk_scale
from ..engine import CuttingPlane, Solution, Status
from ..exceptions import ConstraintWarning
from ..measures import Measure
from ..model_selection import (
    OperatingPoint,
    PlattCalibrator,
    expected_value_threshold,
    logistic_sums,
    minimize_logistic,
)
from ._bins import ScoreBins
from ._blocks import Block, BlockSummary, ScoredRows, bin_scores, score_rows, sum_parts, summarize
from ._oracle import CUT_ERROR_SHARE, DistributedOracle
from ._partitions import Partitions
from ._spill import load_result
from ._threshold import choose_threshold

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
    """Weights and intercept of the logistic regression on the outputs, as `capo.adaptation.fit_stack`."""
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
