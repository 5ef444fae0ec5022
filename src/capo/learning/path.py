"""Out-of-fold values along a path of C, and the choice of C.

The value is that of all rows together, each scored by a model that has not seen it; a measure of
labels uses thresholds that have not seen it either. The standard error is that of the jackknife over
folds. Unlike the standard deviation of a mean over folds it also exists where a fold has no positive
row.

The folds move up the grid together, so that each C starts from the cuts of the smaller ones. The
search continues past the end of the grid as long as the last C is the best, and stops early when the
last few C's with different scores were significantly worse than the best.

C > 0 is chosen only if the gain exceeds its standard error, all folds share it, and the choice is the same
without almost any of the folds. Of the values of C that are about as good as the best one, the smallest is
chosen, which is closest to the model at C = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._compat import BoolArray, FloatArray, IntArray
from ..decisions import ThresholdRule
from ..measures import Measure


@dataclass(frozen=True)
class CVScore:
    """An out-of-fold value, and the values without each fold in turn.

    Attributes
    ----------
    value : float
        The value of the measure on all rows.
    leave_one_out : ndarray of shape (n_folds,)
        The values without the rows of each fold in turn.
    max_std : float, default=inf
        The largest standard deviation that a value can have.
    """

    value: float
    leave_one_out: FloatArray
    max_std: float = math.inf

    @classmethod
    def jackknife(
        cls, value: Callable[[BoolArray | slice], float], folds: IntArray, max_std: float = math.inf
    ) -> CVScore:
        """Return the value of all rows and those without each fold; `value` computes that of some rows."""
        leave_one_out = [value(folds != fold) for fold in np.unique(folds)]
        return cls(value(slice(None)), np.array(leave_one_out), max_std)

    @property
    def std(self) -> float:
        """The standard deviation of the value of one fold."""
        return min(self.standard_error * math.sqrt(len(self.leave_one_out)), self.max_std)

    @property
    def standard_error(self) -> float:
        """The standard error of the value."""
        return _jackknife_error(self.leave_one_out)

    def gain_std_error(self, baseline: CVScore) -> float:
        """The standard error of the difference between two values of the same rows."""
        return _jackknife_error(self.leave_one_out - baseline.leave_one_out)


def _jackknife_error(values: FloatArray) -> float:
    n = len(values)
    return float(np.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2)))


@dataclass(frozen=True)
class CVScorer:
    """Computes the `CVScore` of out-of-fold scores for one measure, one set of rows and their folds.

    Attributes
    ----------
    measure : Measure
        The measure to evaluate.
    threshold : ThresholdRule
        Chooses each fold's threshold from the rows of the other folds.
    positive : ndarray of bool, shape (n_samples,)
        Which rows are positive.
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    folds : ndarray of int, shape (n_samples,)
        The number of the fold in which each row is held out.
    """

    measure: Measure
    threshold: ThresholdRule
    positive: BoolArray
    weight: FloatArray | None
    folds: IntArray

    def __call__(self, scores: FloatArray) -> CVScore:
        """Evaluate out-of-fold scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_folds, n_samples)
            The score of each row; or, for each fold, scores from models that have not seen the fold.
        """
        by_fold = np.broadcast_to(scores, (self.folds.max() + 1, len(self.folds)))
        held_out = by_fold[self.folds, np.arange(len(self.folds))]
        return self.evaluate(held_out - (self.thresholds(by_fold) if self.measure.needs_threshold else 0.0))

    def evaluate(self, decisions: FloatArray) -> CVScore:
        """Evaluate scores from which their thresholds have been subtracted."""

        def value(rows: BoolArray | slice) -> float:
            measure = self.measure.for_rows(rows)
            return measure.score(self.positive[rows], decisions[rows], self._weight(rows))

        return CVScore.jackknife(value, self.folds, self.measure.max_std)

    def thresholds(self, by_fold: FloatArray) -> FloatArray:
        """For each row, the threshold chosen on the scores that its fold has for the other folds."""
        thresholds = np.zeros(len(self.folds))
        for fold in np.unique(self.folds):
            held_out, others = self.folds == fold, self.folds != fold
            point = self.threshold(
                self.measure.for_rows(others),
                by_fold[fold, others],
                self.positive[others],
                self._weight(others),
            )
            row_log_odds = self.measure.for_rows(held_out).row_log_odds
            thresholds[held_out] = (
                point.score if row_log_odds is None else point.calibration.scores(row_log_odds)
            )
        return thresholds

    def take_rows(self, rows: BoolArray) -> CVScorer:
        """Return the scorer of some rows."""
        measure, folds = self.measure.for_rows(rows), self.folds[rows]
        return CVScorer(measure, self.threshold, self.positive[rows], self._weight(rows), folds)

    def _weight(self, rows: BoolArray | slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[rows]


#: The ratio of neighboring C's where a grid has only one.
DEFAULT_STEP = 10.0**0.5
#: The values of ``C="auto"``. Larger ones fit the training rows closely and are slow.
AUTO_VALUES = tuple(10.0 ** (0.5 * step) for step in range(-4, 5))
#: The values of ``C="auto"`` where the path has to cost less.
COARSE_AUTO_VALUES = AUTO_VALUES[::2]
#: Largest number of extensions of a user's grid.
MAX_GRID_EXTENSIONS = 16
#: An early stop needs this many consecutive values of C, with different scores, that are significantly worse.
N_LOSSES_TO_STOP = 2
#: A C is significantly worse if its loss exceeds this many standard errors.
MIN_LOSS_STD_ERRORS = 2.0
#: The least gain over C = 0 in its standard errors over parts of the rows, and over folds.
MIN_GAIN_STD_ERRORS, MIN_GAIN_FOLD_STD_ERRORS = 1.5, 1.0
#: The least gain as a share of the standard error of the value at C = 0: a tiny gain that all rows share does
#: not justify C > 0 if the value depends on a few rows.
MIN_SHARE_OF_ERROR = 0.5
#: The number of parts of the rows: five folds are too few for a standard error that can be relied upon.
N_PARTS = 20
#: C > 0 is chosen only if this share of the folds can be left out, one at a time, with the same result.
MIN_SHARE_OF_FOLDS = 0.8


@dataclass(frozen=True)
class CGrid:
    """The values of C to try.

    Attributes
    ----------
    values : tuple of float
        The C's; 0 stands for the prior.
    max_extensions : int
        Largest number of values to add beyond an end of the grid while the best C is at that end.
    stop_early : bool
        Whether the search may end before the last C.
    """

    values: tuple[float, ...]
    max_extensions: int = 0
    stop_early: bool = False

    def with_zero(self) -> CGrid:
        """Return the grid with C = 0 among its values."""
        return CGrid(tuple(sorted({0.0, *self.values})), self.max_extensions, self.stop_early)


#: The grid of ``C="auto"``.
AUTO_GRID = CGrid(AUTO_VALUES, stop_early=True)
#: The same with half of the values.
COARSE_AUTO_GRID = CGrid(COARSE_AUTO_VALUES, stop_early=True)


@dataclass(frozen=True)
class GridPoint:
    """One C with its out-of-fold scores.

    Attributes
    ----------
    C : float
        The value.
    scores : ndarray of shape (n_samples,)
        The score of each row from the model of its fold.
    thresholds : ndarray of shape (n_samples,)
        The threshold that each row's score is compared with, chosen without the rows of its fold; 0 for a
        measure that needs none.
    fold_scores : ndarray of shape (n_folds, n_samples)
        The scores of all rows in each fold; its threshold is chosen on those of the other folds.
    cv_score : CVScore
        The measure's value on these scores.
    n_iter : int
        The solver's iterations in all folds.
    has_new_scores : bool
        Whether the scores differ from those of the previous C.
    """

    C: float
    scores: FloatArray
    thresholds: FloatArray
    fold_scores: FloatArray
    cv_score: CVScore
    n_iter: int
    has_new_scores: bool = True

    def with_folds(self, by_fold: Sequence[GridPoint], scorer: CVScorer) -> GridPoint:
        """Return the point in which the scores of each fold are those of a point of its own."""
        if all(point.C == self.C for point in by_fold):
            return self
        scores, thresholds, fold_scores = self.scores.copy(), self.thresholds.copy(), self.fold_scores.copy()
        for number, (fold, point) in enumerate(zip(np.unique(scorer.folds), by_fold, strict=True)):
            rows = scorer.folds == fold
            scores[rows], thresholds[rows] = point.scores[rows], point.thresholds[rows]
            fold_scores[number] = point.fold_scores[number]
        value = scorer.evaluate(scores - thresholds)
        return replace(self, scores=scores, thresholds=thresholds, fold_scores=fold_scores, cv_score=value)


class PathSearch:
    """Evaluates a sequence of values of C, in ascending order.

    Parameters
    ----------
    problems : sequence
        The problem of each fold, with its `test_rows`. The method `test_scores` returns their scores at a C,
        and the solver's iterations. Together the folds hold out every row once.
    scorer : CVScorer
        Evaluates the out-of-fold scores of all rows.
    log : callable
        Is called with a format string and its values after each C.
    nested : sequence, optional
        For each fold, problems whose models have seen neither the fold nor their own `test_rows`, which
        together are the rows of the other folds. The fold's threshold is chosen on their scores; by default
        on those of the other folds.
    """

    def __init__(
        self,
        problems: Sequence[Any],
        scorer: CVScorer,
        log: Callable[..., None] = lambda *line: None,
        nested: Sequence[Sequence[Any]] = (),
    ) -> None:
        self.problems, self.scorer, self.log, self.nested = problems, scorer, log, nested
        self.points: list[GridPoint] = []

    def run(self, grid: CGrid) -> list[GridPoint]:
        """Evaluate the grid and its extensions; returns the points in the order of their evaluation."""
        pending = sorted(grid.values)
        nonzero = [C for C in pending if C > 0]
        step = nonzero[-1] / nonzero[-2] if len(nonzero) > 1 else DEFAULT_STEP
        extensions = grid.max_extensions
        while pending:
            point = self.evaluate(pending.pop(0))
            self.log("C=%g: %.4f out of fold", point.C, point.cv_score.value)
            if grid.stop_early and self._should_stop_early():
                break
            if not pending and extensions:
                pending.extend(self._next_beyond(step))
                extensions -= 1
        return self.points

    def evaluate(self, C: float) -> GridPoint:
        """Solve all folds for one C and add the point; equal scores have the value of the previous point."""
        scores, n_iter = np.zeros(len(self.scorer.folds)), 0
        for problem in self.problems:
            scores[problem.test_rows], added = problem.test_scores(C)
            n_iter += added
        by_fold = np.broadcast_to(scores, (len(self.problems), len(scores)))
        if self.nested:
            by_fold = by_fold.copy()
        for row, problems in zip(by_fold, self.nested, strict=False):
            for problem in problems:
                row[problem.test_rows], added = problem.test_scores(C)
                n_iter += added
        if self.points and np.array_equal(scores, self.points[-1].scores):
            point = replace(self.points[-1], C=C, n_iter=n_iter, has_new_scores=False)
        else:
            has_threshold = self.scorer.measure.needs_threshold
            thresholds = self.scorer.thresholds(by_fold) if has_threshold else np.zeros(len(scores))
            value = self.scorer.evaluate(scores - thresholds)
            point = GridPoint(C, scores, thresholds, by_fold, value, n_iter)
        self.points.append(point)
        return point

    def _next_beyond(self, step: float) -> list[float]:
        """The next C past the end at which the best one is, if it is at an end."""
        Cs, best = [point.C for point in self.points], self.best.C
        if best == max(Cs):
            return [best * step]
        return [best / step] if best == min(Cs) > 0 else []

    @property
    def best(self) -> GridPoint:
        """The point with the best value; of several, the one evaluated first."""
        return max(self.points, key=lambda point: point.cv_score.value)

    def _should_stop_early(self) -> bool:
        different = (point.cv_score for point in self.points if point.has_new_scores)
        best, last = self.best.cv_score, list(different)[-N_LOSSES_TO_STOP:]
        return len(last) == N_LOSSES_TO_STOP and all(
            best.value - score.value > MIN_LOSS_STD_ERRORS * score.gain_std_error(best) for score in last
        )

    def choose(self) -> tuple[GridPoint, list[GridPoint]]:
        """Return the chosen point, and for each fold the point that is chosen without its rows.

        The latter evaluate the choice: their scores of the fold's rows have not seen them. They are equal to
        the chosen point where there is nothing to choose.
        """
        folds, first = self.scorer.folds, self.points[0]
        numbers = np.unique(folds)
        if first.C > 0:
            return self.best, [self.best] * len(numbers)
        if (chosen := self._choose_without(-1)) is first:
            return first, [first] * len(numbers)
        by_fold = [self._choose_without(fold) for fold in numbers]
        if np.mean([point.C > 0 for point in by_fold]) < MIN_SHARE_OF_FOLDS:
            return first, [first] * len(numbers)
        return chosen, by_fold

    def _choose_without(self, fold: int) -> GridPoint:
        """Return the point chosen on the rows of the other folds."""
        rows = self.scorer.folds != fold
        scorer, first = self.scorer.take_rows(rows), self.points[0]
        parts = replace(scorer, folds=_deal_parts(scorer.positive, scorer.folds))
        if scorer.folds.min() == scorer.folds.max():
            scorer = parts

        def evaluate(point: GridPoint, scorer: CVScorer) -> CVScore:
            return scorer.evaluate((point.scores - point.thresholds)[rows])

        baseline, by_parts = evaluate(first, scorer), evaluate(first, parts)
        # Out of fold, a model that has learned nothing is often below chance: compensating for that is not a
        # gain.
        least_value = max(baseline.value, scorer.evaluate(np.zeros(int(rows.sum()))).value)
        gaining: list[tuple[GridPoint, CVScore]] = []
        for point in self.points:
            if not point.has_new_scores or (score := evaluate(point, scorer)).value <= least_value:
                continue
            least = max(
                MIN_GAIN_FOLD_STD_ERRORS * score.gain_std_error(baseline),
                MIN_SHARE_OF_ERROR * by_parts.standard_error,
            )
            if score.value - least_value <= least or (score.leave_one_out <= baseline.leave_one_out).any():
                continue
            score = evaluate(point, parts)
            if score.value - least_value > MIN_GAIN_STD_ERRORS * score.gain_std_error(by_parts):
                gaining.append((point, score))
        best = max((score for _, score in gaining), key=lambda score: score.value, default=by_parts)
        about_best = (
            point for point, score in gaining if best.value - score.value <= best.gain_std_error(score)
        )
        return next(about_best, first)


def _deal_parts(positive: BoolArray, folds: IntArray) -> IntArray:
    """Divide each fold into parts with equal shares of the positive rows; about `N_PARTS` in all."""
    numbers = np.unique(folds)
    n_parts, parts = -(-N_PARTS // len(numbers)), np.empty(len(folds), dtype=np.int64)
    for number, fold in enumerate(numbers):
        for is_class in (positive, ~positive):
            rows = np.flatnonzero(is_class & (folds == fold))
            parts[rows] = number * n_parts + np.arange(len(rows)) % n_parts
    return parts
