"""Which C: all of them in cross-validation, one path a fold, judged by the measure itself.

The folds walk up the grid together. C = 0, the prior, is where they start; they go on past the end
of the grid as long as the last C is the best, and stop early when the last few have lost for sure.
Adaptation has to prove itself: C = 0 is left only for a gain that is above twice its standard error and
does not hang on any one fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ._problem import AdaptationData, LinearCombination, Problem, Settings
from ._scores import CVScore, cv_score

#: The grid of ``C="auto"``, its factor and how often it may be extended; and how often a grid of the user's.
AUTO_GRID = tuple(10.0 ** (0.5 * step) for step in range(-4, 7))
FACTOR, MOST_EXTENSIONS, MOST_OF_A_GRID = 10.0**0.5, 4, 16
#: The walk ends after this many C's in a row that are worse than the best by this many errors.
LOST_IN_A_ROW, LOST_ERRORS = 2, 2.0
#: In cross-validation the gap may be this share of the risk of a prior, within these limits.
CV_SHARE, CV_LIMITS = 0.1, (1e-4, 1e-2)
#: ... and a fold goes no further than this many rounds.
CV_ROUNDS = 500


@dataclass(frozen=True)
class GridPoint:
    """One C: its out-of-fold scores and how good they are."""

    C: float
    scores: FloatArray
    cv_score: CVScore
    rounds: int


@dataclass(frozen=True)
class Fold:
    """A fold's problem, its training rows, and the rows it is judged on."""

    problem: Problem
    train: AdaptationData
    test: AdaptationData
    index: IntArray

    def scores(self, weights: LinearCombination) -> FloatArray:
        """Scores of the rows held out, on the scale of the rows trained on."""
        weights = weights.normalised(self.train, centred=self.problem.settings.centred)
        return weights.scores(self.test.columns, self.test.features)


class PathSearch:
    """Candidates for one C after another, upwards."""

    def __init__(self, rows: AdaptationData, folds: IntArray, settings: Settings) -> None:
        self.rows, self.folds, self.settings = rows, folds, settings
        self.parts = [self._fold(number) for number in np.unique(folds)]
        self.candidates: list[GridPoint] = []

    def _fold(self, number: int) -> Fold:
        rows, index = self.rows.in_fold(number), np.flatnonzero(self.folds == number)
        train = rows.take(np.flatnonzero(self.folds != number))
        return Fold(Problem(train, self.settings), train, rows.take(index), index)

    def step(self, C: float) -> GridPoint:
        """The candidate for the next C."""
        scores, rounds = np.zeros(len(self.folds)), 0
        for fold in self.parts:
            weights, solution = fold.problem.at(C, self._tol(fold.problem), CV_ROUNDS)
            scores[fold.index] = fold.scores(weights)
            rounds += solution.n_rounds if solution is not None else 0
        self.candidates.append(GridPoint(C, scores, self._figure(scores), rounds))
        return self.candidates[-1]

    def _figure(self, scores: FloatArray) -> CVScore:
        """The figure of the scores; that of the last candidate if they have not changed."""
        if self.candidates and np.array_equal(scores, self.candidates[-1].scores):
            return self.candidates[-1].cv_score
        return cv_score(self.settings, scores, self.rows, self.folds)

    def _tol(self, problem: Problem) -> float:
        if self.settings.prior == "zero":  # whose risk says nothing
            return self.settings.tol
        low, high = CV_LIMITS
        return max(self.settings.tol, float(np.clip(CV_SHARE * problem.prior_risk, low, high)))

    def run(self, Cs: Sequence[float], *, extend: bool, leave: bool, say: Callable[..., None]) -> None:
        """Walk up the grid; past its ends if `extend`, not to its end if `leave` and all is lost."""
        ahead = sorted(Cs)
        above_zero = [C for C in ahead if C > 0]
        factor = above_zero[-1] / above_zero[-2] if len(above_zero) > 1 else FACTOR
        extensions = 0 if not extend else MOST_EXTENSIONS if leave else MOST_OF_A_GRID
        while ahead:
            found = self.step(ahead.pop(0))
            say("C=%g: %s %.4f out of fold", found.C, self.settings.measure.label, found.cv_score.value)
            if leave and self._lost():
                return
            if not ahead and extensions:
                ahead.extend(self._beyond(factor))
                extensions -= 1

    def _beyond(self, factor: float) -> list[float]:
        """The C past the end at which the best is, if it is at one; below C = 0 there is nothing."""
        Cs = [each.C for each in self.candidates]
        if max(Cs) == self.best.C:
            return [max(Cs) * factor]
        return [min(Cs) / factor] if self.best.C == min(Cs) > 0 else []

    @property
    def best(self) -> GridPoint:
        """The candidate with the best value, the smallest C of several."""
        return max(self.candidates, key=lambda each: each.cv_score.value)

    def _lost(self) -> bool:
        best, last = self.best, self.candidates[-LOST_IN_A_ROW:]
        return len(last) == LOST_IN_A_ROW and all(
            best.cv_score.value - each.cv_score.value
            > LOST_ERRORS * each.cv_score.error_of_gain(best.cv_score)
            for each in last
        )

    def chosen(self, rule: str) -> GridPoint:
        """The candidate to use.

        ``"one_se"`` is the first within a standard error of the best. ``"best"`` is the best of those
        that convince against C = 0, which is kept if there are none.
        """
        best, first = self.best, self.candidates[0]
        if rule == "one_se":
            enough = best.cv_score.value - best.cv_score.error
            return next(each for each in self.candidates if each.cv_score.value >= enough)
        if first.C > 0:
            return best
        convincing = [each for each in self.candidates if each.cv_score.convinces(first.cv_score)]
        return max(convincing, key=lambda each: each.cv_score.value, default=first)
