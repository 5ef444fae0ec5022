"""Minimize J(v) = 1/2 ||v - v0||^2 + C R(v) to a proven gap, by cutting planes.

R is convex and accessed only through an oracle: for scores s = A v it returns a cut, a linear lower bound
of R that is exact at s. Where R is negative, as it can be for measures whose labelings do not
include y, it counts as 0. An iteration

1. minimizes the model, J with R replaced by the cuts so far; its minimum is the dual
   value, a lower bound on J everywhere, and its minimizer v_t the target of the iteration;
2. takes the one product with A of the iteration, the scores of v_t;
3. searches the segment from the best point v_b to v_t, on scores alone, and moves v_b;
4. adds two cuts: the one at v_b, and one a little further toward v_t.

It ends when J(v_b) minus the best dual value is at most C tol. The step from v_b rather
than v_t (Franc and Sonnenburg, JMLR 10, 2009) avoids the oscillation of plain cutting
planes; each line search starts at the length of the last step, which saves most of its
calls of the oracle.

Coordinates may be bounded below by 0. The bounds are rows of the same quadratic
program, and the dual value holds with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from .._accel.threads import VectorPool, single_threaded_blas
from .._compat import ArrayLike, FloatArray, IntArray, NDArray
from ..exceptions import InvalidInputError, check_positive
from ._bundle import Bundle, RoundingErrors
from ._designs import NOT_FINITE, BoundedDesign, as_design
from ._line_search import Cut, Oracle, Segment, add_multiple, changed_rows, cut_error, evaluate_risk

#: Largest excess of the dual over the primal value by rounding, in units of max(C, primal).
MAX_ROUNDING_ERROR = 1e-9


class Status(Enum):
    """The reason why the solver stopped; the value is a sentence that explains it.

    Attributes
    ----------
    OPTIMAL
        The gap is at most ``C * tol``.
    MAX_ITER
        The limit on iterations was reached first.
    STALLED
        The gap stopped falling above ``C * tol``, because of rounding errors.
    INCONSISTENT
        The lower bound exceeds the value that was reached, so that the certificate proves nothing: a cut of
        the oracle is not a lower bound on R, or `rmatvec` is not the transpose of `matvec`.
    STOPPED
        The callback returned a true value.
    INTERRUPTED
        Ctrl-C.

    Examples
    --------
    >>> from capo.engine import Status
    >>> Status.OPTIMAL.value
    'the gap is within the tolerance'
    """

    OPTIMAL = "the gap is within the tolerance"
    MAX_ITER = "the limit on iterations was reached before the tolerance"
    STALLED = "rounding errors keep the gap above the tolerance"
    INCONSISTENT = "the lower bound exceeds the value that was reached, so that it is not valid"
    STOPPED = "stopped by the callback"
    INTERRUPTED = "interrupted from the keyboard"


@dataclass(frozen=True, slots=True)
class Iteration:
    """The state after an iteration: the argument of a callback, and an entry of `Solution.history`.

    Attributes
    ----------
    number : int
        Number of the iteration, from 1.
    primal, dual : float
        The objective J at the best point so far, and the best lower bound so far.
    n_oracle_calls : int
        Calls of the oracle since the start.
    n_cuts : int
        Cuts in the model.
    step : float
        Length of the last step, as a share of the way to the model's minimizer; reduced in iterations that
        found no better point.
    """

    number: int
    primal: float
    dual: float
    n_oracle_calls: int
    n_cuts: int
    step: float

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


@dataclass(frozen=True)
class Solution:
    """A minimizer of J(v) = 1/2 ||v - v0||^2 + C R(v), with its certificate.

    `primal` is J(v), recomputed at `v` and rounded up by a bound of its rounding error; `dual` is a lower
    bound of the minimum of J, rounded down in the same way. So ``J(v) - min J <= gap``, whatever the status
    (other than INCONSISTENT).

    Attributes
    ----------
    v : ndarray
        The best point found.
    C, tol : float
        The problem and the tolerance; optimal means ``gap <= C * tol``.
    status : Status
        Why the solver stopped.
    primal, dual : float
        The value of `v`, and a lower bound on all values.
    n_iter : int
        Iterations: each takes one product with A and adds new cuts.
    n_oracle_calls, n_matvecs, n_rmatvecs : int
        Calls of the oracle, products ``A v`` and products ``A' c``.
    history : list of Iteration
        One entry per iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import CuttingPlane
    >>> from capo.measures import get
    >>> X, y = np.array([[2.0], [1.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    >>> solution = CuttingPlane(X, get("accuracy").oracle(y)).solve(C=10.0, tol=1e-6)
    >>> solution.v.round(4), solution.status
    (array([1.]), <Status.OPTIMAL: 'the gap is within the tolerance'>)
    >>> solution.gap <= solution.C * solution.tol
    True
    """

    v: FloatArray
    C: float
    tol: float
    status: Status
    primal: float
    dual: float
    n_iter: int
    n_oracle_calls: int
    n_matvecs: int
    n_rmatvecs: int
    history: list[Iteration] = field(repr=False)

    def __post_init__(self) -> None:
        consistent = self.gap >= -MAX_ROUNDING_ERROR * max(self.C, abs(self.primal))
        reached = (Status.OPTIMAL, Status.STALLED, Status.MAX_ITER)
        if self.status in reached and not consistent:
            object.__setattr__(self, "status", Status.INCONSISTENT)

    @property
    def gap(self) -> float:
        """Primal minus dual value: how far `v` can be from optimal, in units of J."""
        return self.primal - self.dual

    @property
    def message(self) -> str:
        """The status, with its numbers, in a sentence."""
        return (
            f"{self.status.value}: gap {self.gap:.3g} against C * tol = {self.C * self.tol:.3g} after "
            f"{self.n_iter} iterations (primal {self.primal:.6g}, dual {self.dual:.6g})"
        )


#: Largest number of consecutive slopes that are computed from the previous one.
MAX_UPDATES = 16
#: Factor of the rounding error of the last of them: each adds a product with the difference of two cuts.
UPDATE_ERROR_FACTOR = 2.0 * MAX_UPDATES + 2.0
#: With a larger share of changed rows, a product with all rows is as fast.
MAX_CHANGED_SHARE = 0.25
#: A product with fewer numbers is cheaper than a comparison of cuts.
MIN_SIZE = 2**17
#: Number of rows to compare to decide whether to compare all.
N_SAMPLED = 512
#: All rows are compared if the share among these is at most this many times as large.
SAMPLE_TOLERANCE = 1.3


class SlopeUpdates:
    """The slopes of one cut after the other; from all rows each time after `stop`."""

    def __init__(self, design: BoundedDesign) -> None:
        self.design = design
        self.enabled = design.shape[0] * design.shape[1] >= MIN_SIZE
        # How many times larger the rounding error of a slope can be than that of a product with all rows.
        self.error_factor = UPDATE_ERROR_FACTOR if self.enabled else 1.0
        self.n_updates = 0
        self.coef: FloatArray | None = None
        self.slope: FloatArray

    def stop(self) -> None:
        """Switch to computing all slopes from all rows."""
        self.enabled, self.error_factor, self.coef = False, 1.0, None

    def __call__(self, coef: FloatArray) -> FloatArray:
        """The slope of the cut with these coefficients, which must not change later on."""
        if not self.enabled:
            return self.design.rmatvec(coef)
        can_update = self.coef is not None and self.n_updates < MAX_UPDATES
        changes = _few_changes(coef, self.coef) if can_update else None
        if changes is not None:
            self.n_updates, slope = self.n_updates + 1, self.slope + self.design.rmatvec_rows(*changes)
        else:
            changes, self.n_updates = _few_changes(coef, None), 0
            slope = self.design.rmatvec(coef) if changes is None else self.design.rmatvec_rows(*changes)
        self.coef, self.slope = coef, slope
        return slope


def _few_changes(coef: FloatArray, other: FloatArray | None) -> tuple[IntArray, FloatArray] | None:
    """The rows in which the coefficients differ from others, or from 0, and by how much; None if many do."""
    limit, step = MAX_CHANGED_SHARE * len(coef), -(-len(coef) // N_SAMPLED)
    sampled = coef[::step] != (0.0 if other is None else other[::step])
    if step * np.count_nonzero(sampled) > SAMPLE_TOLERANCE * limit:
        return None
    changes = changed_rows(coef, other)
    return changes if len(changes[0]) <= limit else None


#: The second cut of an iteration lies this share of the way from the best point to the target.
SECOND_CUT_SHARE = 0.1
#: Accuracy of the line search, as a share of the gap.
LINE_SEARCH_TOL = 0.01
#: The line search starts at this multiple of the last step ...
STEP_GROWTH = 1.5
#: ... which is reduced by this factor after an iteration without a step ...
STEP_REDUCTION = 0.3
#: ... and never falls below this.
MIN_STEP = 1e-3
#: Iterations without progress after which the solver stops, because of rounding errors.
MAX_STALLED_ITER = 50
#: Progress below this share of the gap counts as none.
MIN_PROGRESS = 1e-6
#: Largest error of cuts of an oracle that supports errors, as a share of the tolerance ...
CUT_ERROR_SHARE = 0.01
#: ... and of the first cut, which is computed before the tolerance is known.
FIRST_CUT_ERROR = 1e-6
#: With a larger C, squares of multipliers overflow.
MAX_C = 1e100

Callback = Callable[[Iteration], bool | None]
"""A function called after each iteration; the solver stops if it returns a true value."""


class CuttingPlane:
    """Certified minimizer of a quadratic regularizer plus a convex risk, for a sequence of values of C.

    Minimizes

        J(v) = 1/2 ||v - v0||^2 + C max(0, R(A v)),     v_j >= 0 where required

    where the design A is accessed only through matrix-vector products, and the convex R only through an
    oracle, a function of the scores
    ``s = A v`` that returns a cut: numbers `coef` and `loss` with ``R(s) = loss - coef @ s`` and
    ``R(t) >= loss - coef @ t`` for all other scores t. ``-coef`` is a subgradient of R at s.

    An iteration takes one product with A and about three calls of the oracle. The solver keeps its cuts and
    its best point, so that a sequence of increasing values of C costs at most about twice as much as the most
    expensive single fit.

    Parameters
    ----------
    design : array, sparse matrix, LinearOperator or Design
        The matrix A, of shape (n_rows, n_coefficients); see `capo.engine.as_design`.
    oracle : callable
        The cut of R at given scores, such as ``capo.measures.get("f1").oracle(y)``. It must not change
        the array of scores.
    v0 : array-like, optional
        The center of the regularizer; zero if not given.
    nonnegative : array-like of bool, optional
        Which coordinates of v must not be negative.
    keep_cuts : bool, default=False
        Whether to keep one number per row and cut, which `dual_solution` needs.

    Attributes
    ----------
    design : Design
        The matrix A as a design.
    oracle : callable
        The oracle.
    v0 : ndarray of shape (n_coefficients,)
        The center of the regularizer.
    v : ndarray of shape (n_coefficients,)
        The best point so far.
    scores : ndarray of shape (n_rows,)
        ``A v`` at the best point.
    risk : float
        ``max(0, R(A v))`` at the best point.

    References
    ----------
    V. Franc and S. Sonnenburg. Optimized cutting plane algorithm for large-scale risk minimization. JMLR
    10, 2009.

    Examples
    --------
    The mean absolute error, for which capo has no measure:

    >>> import numpy as np
    >>> from capo.engine import CuttingPlane
    >>> from capo.measures import Cut
    >>> X, target = np.array([[1.0], [2.0], [4.0]]), np.array([3.0, 6.0, 12.0])
    >>> def absolute_error(scores):
    ...     coef = np.sign(target - scores) / len(target)
    ...     return Cut(coef, coef @ target)
    >>> solver = CuttingPlane(X, absolute_error)
    >>> for solution in solver.solve_path([0.1, 100.0], tol=1e-6):
    ...     print(solution.v.round(4), solution.gap <= solution.C * 1e-6)
    [0.2333] True
    [3.] True
    """

    def __init__(
        self,
        design: Any,
        oracle: Oracle,
        v0: ArrayLike | None = None,
        nonnegative: ArrayLike | None = None,
        keep_cuts: bool = False,
    ) -> None:
        self.design, self.oracle = as_design(design), oracle
        n_coef = self.design.shape[1]
        self.v0 = _check_vector(0.0 if v0 is None else v0, n_coef, "v0").astype(np.float64)
        bounded = _check_vector(False if nonnegative is None else nonnegative, n_coef, "nonnegative")
        if bounded.dtype != bool:
            raise InvalidInputError(
                f"nonnegative must be one boolean per coefficient: got {bounded.dtype}. For a list of "
                "positions, set them in np.zeros(n_coefficients, dtype=bool)."
            )
        self.v = np.where(bounded, np.maximum(self.v0, 0.0), self.v0)
        self.scores: FloatArray
        self.risk: float
        self._cut: Cut
        self._risk_error = 0.0
        self._cut_coefs: dict[int, FloatArray] | None = {} if keep_cuts else None
        self._step = 1.0
        self._last_C: float | None = None
        self._work = {"n_oracle_calls": 0, "n_matvecs": 0, "n_rmatvecs": 0}
        self._vectors = VectorPool(self.design.shape[0], size=1)
        self._slopes = SlopeUpdates(self.design)
        # A faster oracle whose cuts may lie below R by an error, if there is one.
        self._within: Callable[[float], Oracle] = getattr(oracle, "within", lambda error: oracle)
        self._search = self._within(FIRST_CUT_ERROR)
        with single_threaded_blas:
            self._rounding = RoundingErrors(self.design, self._slopes.error_factor)
            self._bundle = Bundle(self._rounding, np.flatnonzero(bounded))
            self._recompute(np.inf)
            self._rounding.note_cut(self._cut.coef)
            self._add_cut(self._cut)

    def objective(self, C: float) -> float:
        """J at the best point so far.

        Parameters
        ----------
        C : float
            Weight of the risk.

        Returns
        -------
        float
            ``1/2 ||v - v0||^2 + C risk``.
        """
        move = self.v - self.v0
        return float(0.5 * (move @ move) + C * self.risk)

    def solve(
        self, C: float, tol: float = 1e-3, max_iter: int = 10_000, callback: Callback | None = None
    ) -> Solution:
        """Minimize J for one C, starting from the best point and the cuts of previous values of C.

        Parameters
        ----------
        C : float
            Weight of the risk against the regularizer.
        tol : float, default=1e-3
            Accuracy in units of R: the solver stops when the gap is at most ``C * tol``.
        max_iter : int, default=10000
            Limit on iterations.
        callback : callable, optional
            Called with an `Iteration` after each; a true return value stops the solver.

        Returns
        -------
        Solution
            The best point and its certificate, also when a limit, a callback or Ctrl-C stopped the solver.
        """
        C, tol = check_C(C), check_positive(tol, "tol")
        # Remaining overflows are reported by the status, or raised as an error.
        with np.errstate(over="ignore", invalid="ignore"), single_threaded_blas:
            self._search = self._within(CUT_ERROR_SHARE * tol)
            return self._solve(C, tol, max_iter, callback)

    def solve_path(
        self, Cs: ArrayLike, tol: float = 1e-3, max_iter: int = 10_000, callback: Callback | None = None
    ) -> list[Solution]:
        """Minimize J for many values of C, in increasing order.

        Parameters
        ----------
        Cs : array-like
            The values of C, in any order.
        tol, max_iter, callback
            As in `solve`; the limit on iterations applies to each C.

        Returns
        -------
        list of Solution
            One for each C, in the order of `Cs`. After Ctrl-C, or after a callback stopped the solver, the
            remaining values of C get the best point so far with its gap, and the same status.
        """
        values = np.atleast_1d(np.asarray(Cs, dtype=np.float64))
        if values.ndim != 1 or values.size == 0:
            raise InvalidInputError("Cs must be a list of at least one number.")
        solutions: dict[int, Solution] = {}
        stop_status: Status | None = None
        for i in np.argsort(values, kind="stable"):
            solution = self.solve(float(values[i]), tol, max_iter if stop_status is None else 0, callback)
            if stop_status is not None and solution.status is not Status.OPTIMAL:
                solution = replace(solution, status=stop_status)
            elif solution.status in (Status.STOPPED, Status.INTERRUPTED):
                stop_status = solution.status
            solutions[int(i)] = solution
        return [solutions[i] for i in range(len(values))]

    def _solve(self, C: float, tol: float, max_iter: int, callback: Callback | None) -> Solution:
        before, history, dual = self._work.copy(), list[Iteration](), -np.inf
        status: Status | None = None
        try:
            self._search_ray(C)
            while status is None:
                target, bound = self._bundle.solve(C, self.v0, tol)
                if self._bundle.slope_errors is None and self._rounding.is_significant(target, tol):
                    # A common bound of the rounding errors of all slopes is too loose: bound each of them.
                    self._bundle.restart()
                    self._slopes.stop()
                    self._rounding.slope_factor = self._slopes.error_factor
                    self._add_cut(self._cut)
                    continue
                dual = max(dual, bound)
                status = self._stopping_status(C, tol, dual, max_iter, history)
                if status is None:
                    direction = self._matvec(target)
                    direction -= self.scores
                    first, gap = min(1.0, STEP_GROWTH * self._step), self.objective(C) - dual
                    step = self._move(target - self.v, direction, C, first, LINE_SEARCH_TOL * gap)
                    self._step = step if step > MIN_STEP else max(STEP_REDUCTION * self._step, MIN_STEP)
                    calls = self._work["n_oracle_calls"] - before["n_oracle_calls"]
                    state = self.objective(C), dual, calls, self._bundle.n_cuts, self._step
                    history.append(Iteration(len(history) + 1, *state))
                    if callback is not None and callback(history[-1]):
                        status = Status.STOPPED
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if status is not Status.OPTIMAL:
            self._recompute(tol)
        work = {name: count - before[name] for name, count in self._work.items()}
        primal = self._upper_bound(C)
        return Solution(self.v.copy(), C, tol, status, primal, dual, len(history), **work, history=history)

    def dual_solution(self) -> tuple[FloatArray, float]:
        """The multipliers of the last model as one number per row.

        Returns
        -------
        u : ndarray of shape (n_rows,)
            The cuts' `coef`, weighted by their multipliers.
        beta : float
            The cuts' `loss` with the same weights, so that ``C R(A v) >= beta - u @ (A v)`` for all v. With
            v0 = 0, ``beta - 1/2 ||A'u||^2`` is a lower bound on J, for this A and for any other matrix
            with the same rows.
        """
        if self._cut_coefs is None:
            raise InvalidInputError("dual_solution needs a solver with keep_cuts=True.")
        u, beta = np.zeros(self.design.shape[0]), 0.0
        for slot, coef in self._cut_coefs.items():
            multiplier = self._bundle.multipliers[slot] if slot < len(self._bundle.multipliers) else 0.0
            u += multiplier * coef
            beta += multiplier * self._bundle.offsets[slot]
        return u, float(beta)

    def _stopping_status(
        self, C: float, tol: float, dual: float, max_iter: int, history: Sequence[Iteration]
    ) -> Status | None:
        """Whether to stop; the certificate is checked on recomputed scores, with their errors."""
        if self.objective(C) - dual <= C * tol:
            self._recompute(tol)
            if self._upper_bound(C) - dual <= C * tol:
                return Status.OPTIMAL
        if len(history) >= max_iter:
            return Status.MAX_ITER
        if len(history) > MAX_STALLED_ITER:
            earlier = history[-MAX_STALLED_ITER]
            if earlier.gap - (self.objective(C) - dual) <= MIN_PROGRESS * abs(earlier.gap):
                return Status.STALLED
        return None

    def _search_ray(self, C: float) -> None:
        """After a smaller C: search the ray from v0 = 0 through the best point, without a product."""
        before, self._last_C = self._last_C, C
        if before is None or not 0 < before < C or self.v0.any() or not self.v.any():
            return
        growth = C / before - 1.0
        self._move(growth * self.v, growth * self.scores, C, 1.0, LINE_SEARCH_TOL * self.objective(C))

    def _move(
        self, move: FloatArray, direction: FloatArray, C: float, first: float, accuracy: float
    ) -> float:
        """Go to the best point between v and v + move, and add the cut there and one a little further."""
        q0, q1 = float((self.v - self.v0) @ move), float(move @ move)
        segment = Segment(self._search, self.scores, direction, self._vectors, q0, q1, C)
        best, cut = segment.search(self.risk, self._cut, first, accuracy)
        if best.t < 1.0:
            self._add_cut(segment.evaluate(best.t + SECOND_CUT_SHARE * (1.0 - best.t))[1])
        self._work["n_oracle_calls"] += segment.n_evaluations
        if best.t > 0.0:
            self._add_cut(cut)
            add_multiple(self.scores, direction, best.t, direction)
            self.v, self.scores, self.risk, self._cut = self.v + best.t * move, direction, best.risk, cut
        return best.t

    def _recompute(self, tol: float) -> None:
        """Scores, risk and cut at the best point, without the rounding errors of many steps."""
        self._work["n_oracle_calls"] += 1
        scores = self._matvec(self.v)
        risk, cut, _ = evaluate_risk(self._search, scores)
        self.scores, self.risk, self._cut = scores, risk, cut
        self._risk_error = self._rounding.risk_error(self.v) if self.v.any() else 0.0
        if self._rounding.is_significant(self.v, tol):
            self._work["n_oracle_calls"] += 1
            self._risk_error = self._rounding.close_risk_error(self.oracle, self.v, scores, risk)
        self._risk_error += cut_error(cut)

    def _upper_bound(self, C: float) -> float:
        """An upper bound of J at the best point, after `_recompute`."""
        move = self.v - self.v0
        rounding = self._rounding.score_error * float(0.5 * (move @ move)) + C * self._risk_error
        return self.objective(C) + rounding

    def _matvec(self, v: FloatArray) -> FloatArray:
        if not v.any():
            return np.zeros(self.design.shape[0])
        self._work["n_matvecs"] += 1
        return self.design.matvec(v)

    def _add_cut(self, cut: Cut) -> None:
        self._work["n_rmatvecs"] += 1
        slope = self._slopes(cut.coef)
        if not (np.isfinite(slope).all() and np.isfinite(cut.loss)):
            raise InvalidInputError(NOT_FINITE)
        slot = self._bundle.add(slope, cut.loss, cut.coef)
        if self._cut_coefs is not None:
            self._cut_coefs[slot] = cut.coef


def check_C(value: float) -> float:
    """Return C as a float, or raise an error unless it is above 0 and small enough to be squared."""
    C = check_positive(value, "C")
    if C > MAX_C:
        raise InvalidInputError(f"C must be at most {MAX_C:g}, since larger values overflow: got {value!r}.")
    return C


def _check_vector(values: ArrayLike, size: int, name: str) -> NDArray[np.generic]:
    array = np.asarray(values)
    if array.ndim == 0:
        array = np.full(size, array)
    if array.shape != (size,) or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise InvalidInputError(
            f"{name} must be one finite number per coefficient: got shape {array.shape} for {size} "
            "coefficients."
        )
    return array
