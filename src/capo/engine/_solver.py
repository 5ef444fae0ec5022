"""Minimise J(v) = 1/2 ||v - v0||^2 + C R(v) to a proven gap, by cutting planes.

R is convex and known by an oracle: for scores s = A v it returns a cut, a linear lower bound
of R that is exact at s. Where R is negative, as it can be for measures whose labellings do not
include y, it counts as 0. A round

1. minimises the model, J with R replaced by the cuts so far; its minimum is the dual
   value, a lower bound of J everywhere, and its minimiser v_t the point to aim at;
2. takes the one product with A of the round, the scores of v_t;
3. searches the segment from the best point v_b to v_t, on scores alone, and moves v_b;
4. adds two cuts: the one at v_b, and one a little further towards v_t.

It ends when J(v_b) minus the best dual value is at most C tol. The step from v_b rather
than v_t (Franc and Sonnenburg, JMLR 10, 2009) keeps the method from the swings of plain
cutting planes; the first look of each search is at the length of the last step, which
saves most of its searches.

Coordinates may be bounded below by 0. The bounds are rows of the same quadratic
programme, and the dual value holds with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ..design import Design, as_design
from ..exceptions import InvalidInputError
from ._bundle import Bundle
from ._line_search import CutLike, Oracle, Segment, risk_at, search
from ._solution import Round, Solution, Status

#: The second cut of a round lies this far from v_b to v_t.
BEYOND = 0.1
#: The line search is as accurate as this share of the gap.
LINE_ACCURACY = 0.01
#: The first look is this much further than the last step; after a round without a step it is shorter.
AHEAD, BACK, SHORTEST = 1.5, 0.3, 1e-3
#: Rounds without any progress after which rounding errors are blamed.
MOST_IDLE_ROUNDS = 50

Callback = Callable[[Round], bool | None]


class CuttingPlane:
    """A problem, its bundle of cuts and its best point, for one C after another.

    Parameters
    ----------
    design : Design
        Scores ``A v`` and pull ``A' c``.
    oracle : callable
        The cut of R at given scores.
    v0 : array-like, optional
        The centre of the regulariser; zero if not given.
    nonnegative : array-like of bool, optional
        Which coordinates of v must not be negative.
    keep_cuts : bool, default=False
        Whether `dual_point` will be asked for, which needs one number per row and cut.
    """

    def __init__(
        self,
        design: Design,
        oracle: Oracle,
        v0: ArrayLike | None = None,
        nonnegative: ArrayLike | None = None,
        keep_cuts: bool = False,
    ) -> None:
        self.design, self.oracle = as_design(design), oracle
        n_coef = self.design.shape[1]
        self.v0 = _vector(0.0 if v0 is None else v0, n_coef, "v0").astype(np.float64)
        bounded = _vector(False if nonnegative is None else nonnegative, n_coef, "nonnegative")
        if bounded.dtype != bool:
            raise InvalidInputError(
                f"nonnegative must be one boolean per coefficient: got {bounded.dtype}. For a list of "
                "positions, set them in np.zeros(n_coefficients, dtype=bool)."
            )
        self.bundle = Bundle(n_coef, np.flatnonzero(bounded))
        self.n_oracle_calls = self.n_matvecs = self.n_rmatvecs = 0
        self.kept: dict[int, FloatArray] | None = {} if keep_cuts else None
        self.v = np.where(bounded, np.maximum(self.v0, 0.0), self.v0)
        self.scores: FloatArray
        self.risk: float
        self.cut: CutLike
        self.step = 1.0
        self.C: float | None = None
        self._look_afresh()
        self._add(self.cut)

    def objective(self, C: float) -> float:
        """J at the best point."""
        move = self.v - self.v0
        return float(0.5 * (move @ move) + C * self.risk)

    def run(
        self,
        C: float,
        tol: float = 1e-3,
        max_rounds: int = 10_000,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve for one C, from where the last one ended; see `minimize`."""
        C, tol = _above_zero(C, "C"), _above_zero(tol, "tol")
        before = self.n_oracle_calls, self.n_matvecs, self.n_rmatvecs
        history: list[Round] = []
        dual = -np.inf
        try:
            self._stretch(C)
            while True:
                target, bound = self.bundle.solve(C, self.v0)
                dual = max(dual, bound)
                status = self._verdict(C, tol, dual, max_rounds, history)
                if status is not None:
                    break
                self._round(target, C, self.objective(C) - dual)
                history.append(self._report(C, dual, len(history) + 1, before[0]))
                if callback is not None and callback(history[-1]):
                    status = Status.STOPPED
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if status is not Status.OPTIMAL:
            self._look_afresh()
        calls, products, pulls = (
            after - start
            for after, start in zip(
                (self.n_oracle_calls, self.n_matvecs, self.n_rmatvecs), before, strict=True
            )
        )
        return Solution(
            self.v.copy(),
            C,
            tol,
            status,
            self.objective(C),
            dual,
            len(history),
            calls,
            products,
            pulls,
            history,
        )

    def dual_point(self) -> tuple[FloatArray, float]:
        """The last dual solution in terms of rows: u and beta with ``C R(v) >= beta - u'A v`` for all v.

        With v0 = 0, ``beta - 1/2 ||A'u||^2`` bounds J from below, for this A and for any other matrix
        that the oracle is asked about.
        """
        if self.kept is None:
            raise InvalidInputError("dual_point needs a solver with keep_cuts=True.")
        u, beta = np.zeros(self.design.shape[0]), 0.0
        for at, coef in self.kept.items():
            multiplier = self.bundle.multipliers.get(at, 0.0)
            u += multiplier * coef
            beta += multiplier * self.bundle.offsets[at]
        return u, float(beta)

    def _verdict(
        self, C: float, tol: float, dual: float, max_rounds: int, history: Sequence[Round]
    ) -> Status | None:
        """Whether to stop; the certificate is checked on scores computed afresh."""
        if self.objective(C) - dual <= C * tol:
            self._look_afresh()
            if self.objective(C) - dual <= C * tol:
                return Status.OPTIMAL
        if len(history) >= max_rounds:
            return Status.MAX_ROUNDS
        if len(history) > MOST_IDLE_ROUNDS:
            then = history[-MOST_IDLE_ROUNDS]
            if then.gap - (self.objective(C) - dual) <= 1e-6 * then.gap:
                return Status.STALLED
        return None

    def _round(self, target: FloatArray, C: float, gap: float) -> None:
        """One product, a search along the segment to `target`, and up to two cuts."""
        direction = self._scores(target)
        direction -= self.scores
        first = min(1.0, AHEAD * self.step)
        step = self._move(target - self.v, direction, C, first, LINE_ACCURACY * gap)
        self.step = step if step > SHORTEST else max(BACK * self.step, SHORTEST)

    def _stretch(self, C: float) -> None:
        """After a smaller C: search the ray from v0 through the best point, which needs no product."""
        before, self.C = self.C, C
        if before is None or not 0 < before < C or self.v0.any() or not self.v.any():
            return
        longer = C / before - 1.0
        self._move(longer * self.v, longer * self.scores, C, 1.0, LINE_ACCURACY * self.objective(C))

    def _move(
        self, move: FloatArray, direction: FloatArray, C: float, first: float, accuracy: float
    ) -> float:
        """Go to the best point between v and v + move, cut there and a little further on."""
        segment = Segment(
            self.oracle, self.scores, direction, float((self.v - self.v0) @ move), float(move @ move), C
        )
        start = segment.describe(0.0, self.risk, self.cut)
        best, cut = search(segment, start, self.cut, first, accuracy)
        if best.t < 1.0:
            self._add(segment.look(best.t + BEYOND * (1.0 - best.t))[1])
        self.n_oracle_calls += segment.looks
        if best.t > 0.0:
            self._add(cut)
            direction *= best.t
            direction += self.scores
            self.v, self.scores, self.risk, self.cut = self.v + best.t * move, direction, best.risk, cut
        return best.t

    def _report(self, C: float, dual: float, number: int, calls_before: int) -> Round:
        calls = self.n_oracle_calls - calls_before
        return Round(number, self.objective(C), dual, calls, self.bundle.n_cuts, self.step)

    def _look_afresh(self) -> None:
        """Scores, risk and cut at the best point, free of the rounding errors of many steps."""
        self.n_oracle_calls += 1
        scores = self._scores(self.v)
        risk, cut = risk_at(self.oracle, scores)
        self.scores, self.risk, self.cut = scores, risk, cut

    def _scores(self, v: FloatArray) -> FloatArray:
        if not v.any():
            return np.zeros(self.design.shape[0])
        self.n_matvecs += 1
        return self.design.matvec(v)

    def _add(self, cut: CutLike) -> None:
        self.n_rmatvecs += 1
        slope = self.design.rmatvec(cut.coef)
        if not (np.isfinite(slope).all() and np.isfinite(cut.loss)):
            raise InvalidInputError(
                "the design or the oracle gave NaN or infinity: remove or impute such rows, and scale "
                "features that overflow."
            )
        at = self.bundle.add(slope, cut.loss)
        if self.kept is not None:
            self.kept[at] = cut.coef


def minimize(
    design: Design,
    oracle: Oracle,
    *,
    C: float,
    v0: ArrayLike | None = None,
    nonnegative: ArrayLike | None = None,
    tol: float = 1e-3,
    max_rounds: int = 10_000,
    callback: Callback | None = None,
) -> Solution:
    """Minimise 1/2 ||v - v0||^2 + C R(v), to a gap of at most C tol.

    Parameters
    ----------
    design : Design
        Scores ``A v`` and pull ``A' c``.
    oracle : callable
        The cut of R at given scores, such as ``measure.oracle(y)``.
    C : float
        Weight of the risk against the regulariser.
    v0 : array-like, optional
        The centre of the regulariser; zero if not given.
    nonnegative : array-like of bool, optional
        Which coordinates of v must not be negative.
    tol : float, default=1e-3
        Accuracy in units of R.
    max_rounds : int, default=10000
        Limit on rounds.
    callback : callable, optional
        Called with a `Round` after each; a true return value stops the solver.

    Returns
    -------
    Solution
        The best point and its certificate, also when a limit, a callback or Ctrl-C stopped it.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.design import as_design
    >>> from capo.engine import minimize
    >>> from capo.measures import get
    >>> X, y = np.array([[2.0], [1.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    >>> solution = minimize(as_design(X), get("accuracy").oracle(y), C=10.0, tol=1e-6)
    >>> solution.status.name, round(solution.primal, 6), solution.gap <= 10.0 * 1e-6
    ('OPTIMAL', 0.5, True)
    """
    return CuttingPlane(design, oracle, v0, nonnegative).run(C, tol, max_rounds, callback)


def minimize_path(
    design: Design,
    oracle: Oracle,
    *,
    Cs: ArrayLike,
    v0: ArrayLike | None = None,
    nonnegative: ArrayLike | None = None,
    tol: float = 1e-3,
    max_rounds: int = 10_000,
    callback: Callback | None = None,
) -> list[Solution]:
    """Solve for many C's, from small to large, with one bundle of cuts.

    Takes the parameters of `minimize`, with an array `Cs` in the place of C, and returns one
    solution per C in the order given. After Ctrl-C, or a callback's stop, the C's not yet reached get
    the best point so far with its gap, and the same status.
    """
    values = np.atleast_1d(np.asarray(Cs, dtype=np.float64))
    if values.ndim != 1 or values.size == 0:
        raise InvalidInputError("Cs must be a list of at least one number.")
    solver = CuttingPlane(design, oracle, v0, nonnegative)
    solutions: dict[int, Solution] = {}
    ended: Status | None = None
    for i in np.argsort(values, kind="stable"):
        solution = solver.run(float(values[i]), tol, max_rounds if ended is None else 0, callback)
        if ended is not None and solution.status is not Status.OPTIMAL:
            solution = replace(solution, status=ended)
        elif solution.status in (Status.STOPPED, Status.INTERRUPTED):
            ended = solution.status
        solutions[int(i)] = solution
    return [solutions[i] for i in range(len(values))]


def _above_zero(value: float, name: str) -> float:
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise InvalidInputError(f"{name} must be a finite number above 0: got {value!r}.")
    return number


def _vector(values: ArrayLike, size: int, name: str) -> NDArray[np.generic]:
    array = np.asarray(values)
    if array.ndim == 0:
        array = np.full(size, array)
    if array.shape != (size,) or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise InvalidInputError(
            f"{name} must be one finite number per coefficient: got shape {array.shape} for {size} "
            "coefficients."
        )
    return array
