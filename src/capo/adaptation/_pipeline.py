"""The whole adaptation: choose C in cross-validation, solve with all rows, set the operating point."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._typing import IntArray
from ..engine import Solution
from ..exceptions import ConstraintWarning, InvalidInputError
from ._path_search import AUTO_GRID, GridPoint, PathSearch
from ._problem import AdaptationData, LinearCombination, Problem, Settings
from ._scores import CVScore, cv_score
from ._threshold import OperatingPoint, operating_point

#: With fewer rows of a class a fold than this, a choice among many C's is luck, and the prior is kept.
LEAST_A_FOLD = 5


@dataclass(frozen=True)
class AdaptationResult:
    """What adaptation found.

    Attributes
    ----------
    weights : Weights
        They give the log-odds of the positive class.
    point : OperatingPoint
        The probability above which a row is positive, and where it came from.
    chosen : Candidate
        The C that was chosen, and its figure.
    candidates : list of Candidate
        All C's that were tried; C = 0, where it is one of them, is the prior.
    singles : list of Figure
        Each auxiliary by itself.
    solution : Solution, optional
        The solver's certificate for all rows; None if C = 0 was chosen.
    """

    weights: LinearCombination
    point: OperatingPoint
    chosen: GridPoint
    candidates: list[GridPoint]
    singles: list[CVScore]
    solution: Solution | None

    def results(self) -> dict[str, NDArray[Any]]:
        """The path in the manner of scikit-learn's searches."""
        tried, first = self.candidates, self.candidates[0].cv_score
        value = np.array([each.cv_score.value for each in tried])
        return {
            "param_C": np.array([each.C for each in tried]),
            "test_score": value,
            "std_test_score": np.array([each.cv_score.spread for each in tried]),
            "gain": value - first.value,
            "gain_error": np.array([each.cv_score.error_of_gain(first) for each in tried]),
            "rank_test_score": rankdata(-value, method="min").astype(int),
            "rounds": np.array([each.rounds for each in tried]),
        }


def parse_C(C: Any, prior: str) -> float | list[float] | None:
    """A number, a grid, or None for the path; with a sentence for what is none of them."""
    if isinstance(C, str):
        return None
    try:
        values = np.asarray(C, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim > 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(f"C must be 'auto', a number of at least 0 or a list of them: got {C!r}.")
    if prior == "zero" and (values == 0).any():
        raise InvalidInputError(
            "C = 0 keeps the prior, and the prior 'zero' is no classifier: give C above 0."
        )
    return float(values) if values.ndim == 0 else sorted(set(values.tolist()))


def adapt(
    rows: AdaptationData,
    folds: IntArray,
    settings: Settings,
    C: float | Sequence[float] | None,
    extend: bool,
    rule: str,
    say: Callable[..., None],
) -> AdaptationResult:
    """Adapt the auxiliaries' columns to the measure; C is a number, a grid, or None for the path.

    The path is always extended while the best C is at its end, a grid if `extend` says so.
    """
    with warnings.catch_warnings():
        # What matters to the user is said of the last cut, below.
        warnings.simplefilter("ignore", ConstraintWarning)
        walk = PathSearch(rows, folds, settings)
        if C is None and settings.prior != "zero" and _rarest(rows, folds) < LEAST_A_FOLD:
            C = 0.0
        extend = C is None or (extend and not isinstance(C, float))
        walk.run(_grid(C, settings), extend=extend, leave=C is None, say=say)
        chosen = walk.candidates[-1] if isinstance(C, float) else walk.chosen(rule)
        weights, solution = Problem(rows, settings).at(chosen.C)
        singles = [cv_score(settings, column, rows, folds) for column in rows.held_out(folds).T]
    point = operating_point(settings.measure, chosen.scores, rows.positive, rows.weight, settings.threshold)
    curve = point.calibration
    return AdaptationResult(
        weights.normalised(rows, centred=settings.centred).times(curve.slope, curve.intercept),
        point,
        chosen,
        walk.candidates,
        singles,
        solution,
    )


def _rarest(rows: AdaptationData, folds: IntArray) -> float:
    """Rows of the rarer class in a fold, on average."""
    positives = int(rows.positive.sum())
    return min(positives, len(rows.positive) - positives) / len(np.unique(folds))


def _grid(C: float | Sequence[float] | None, settings: Settings) -> list[float]:
    """The C's to try; the prior is one of them where there is one."""
    given = AUTO_GRID if C is None else [C] if isinstance(C, float) else C
    return sorted({*given} if settings.prior == "zero" else {0.0, *given})
