"""The cuts found so far, R(v) >= offset_i - slope_i'v for every v, and bounds of their rounding errors.

Neither C nor v0 enters a cut, so that one bundle serves a whole path of problems. Cuts
whose multiplier has been 0 for a number of iterations are replaced by new ones.

The model of an iteration is a small quadratic program, solved by PIQP:

    min over v, xi >= 0:  1/2 ||v - v0||^2 + C xi   s.t.  slope_i'v + xi >= offset_i,  v_j >= 0 where bounded

It is solved in this form if there are fewer coefficients than cuts, or only few coefficients: no products of
slopes are formed then, which matters if features differ in scale. Otherwise its dual is solved, over the
multipliers of the cuts and the bounds, with the Gram matrix of the slopes. Both give a feasible vector of
multipliers, and from it a lower bound that holds even if the program was not solved exactly.

The certificate includes bounds of the rounding errors of scores, slopes and risks. With u the
unit roundoff, a sum of n products is off by at most n u times the sum of their absolute values, and with near
certainty by less than 10 sqrt(n) u times it (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). The sums of
absolute values are products with |A|: its column sums, taken once, bound the errors at any v, and show
whether they matter. Only in this case, the errors of single scores and slopes are bounded by further products
with |A|.
"""

from __future__ import annotations

import math

import numpy as np
import piqp

from .._compat import FloatArray, IntArray, NDArray
from ..exceptions import CapoError, InvalidInputError
from ._designs import NOT_FINITE, BoundedDesign
from ._line_search import Oracle, evaluate_risk

#: Half the distance from 1 to the next larger float64.
UNIT_ROUNDOFF = 0.5 * float(np.finfo(np.float64).eps)
#: The largest number in a design: squares and their sums must not overflow.
MAX_ELEMENT = 1e100
#: Rounding errors of the risk below this share of the tolerance need no tighter bound.
NEGLIGIBLE_SHARE = 0.01
#: Iterations with a multiplier of 0 after which a cut is dropped.
MAX_INACTIVE_ITER = 15
#: A multiplier below this share of C counts as 0.
MIN_MULTIPLIER = 1e-7
#: With up to this many coefficients the program is always solved in its primal form.
MAX_PRIMAL_COEFFICIENTS = 64
#: Tolerance of the interior point method, as a share of the cutting-plane solver's: errors of the
#: multipliers cause larger ones of the objective, which would stall it ...
QP_TOL_SHARE = 1e-7
#: ... and its limits, relative to an objective of order 1.
MIN_QP_TOL, MAX_QP_TOL = 1e-12, 1e-10


def relative_error(n_terms: int) -> float:
    """The rounding error of a sum of products, relative to the sum of their absolute values.

    Parameters
    ----------
    n_terms : int
        The number of products.

    Returns
    -------
    float
        A bound that holds with near certainty.

    References
    ----------
    N. J. Higham and T. Mary. A new approach to probabilistic rounding error analysis. SIAM Journal on
    Scientific Computing 41(5), 2019.

    Examples
    --------
    >>> from capo.engine import relative_error
    >>> relative_error(10_000) < 1e-12
    True
    """
    return (min(n_terms, 10.0 * math.sqrt(n_terms)) + 2.0) * UNIT_ROUNDOFF


class RoundingErrors:
    """Bounds of rounding errors for one design; rejects a design whose squares would overflow.

    `slope_factor` multiplies the errors of slopes that are not computed from all rows.
    """

    def __init__(self, design: BoundedDesign, slope_factor: float = 1.0) -> None:
        self.slope_factor = slope_factor
        n_rows, n_coef = design.shape
        self.design = design
        self.row_sum_error, self.score_error = relative_error(n_rows), relative_error(n_coef)
        self.max_coef = 1.0 / max(n_rows, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            self.column_sums = design.rmatvec(np.ones(n_rows), absolute=True)
            if not self.column_sums.max(initial=0.0) > MAX_ELEMENT:
                return  # NaN is found in the products
            column = int(np.argmax(self.column_sums))
            elements = design.matvec(1.0 * (np.arange(n_coef) == column), absolute=True)
        row = int(np.argmax(elements))
        if not np.isfinite(elements[row]):
            raise InvalidInputError(NOT_FINITE)
        raise InvalidInputError(
            f"column {column} of the design contains {elements[row]:.3g} in row {row} (both counted from 0): "
            f"numbers above {MAX_ELEMENT:g} overflow in the solver's products. Scale this feature, clip it, "
            "or remove the row."
        )

    def note_cut(self, coef: FloatArray) -> None:
        """Raise the largest coefficient of a cut to that of this one."""
        self.max_coef = max(self.max_coef, float(coef.max(initial=0.0)), -float(coef.min(initial=0.0)))

    @property
    def max_slopes(self) -> FloatArray:
        """Upper bounds of the sizes of a cut's slopes, one per coefficient."""
        return self.max_coef * self.column_sums

    def risk_error(self, v: FloatArray) -> float:
        """An upper bound of the error of R at v, from column sums alone."""
        error = self.row_sum_error + self.score_error
        return error * (1.0 + float(self.max_slopes @ np.abs(v)))

    def is_significant(self, v: FloatArray, tol: float) -> bool:
        """Whether errors at v, with updated slopes, may exceed a small share of the tolerance."""
        return not self.slope_factor * self.risk_error(v) <= NEGLIGIBLE_SHARE * tol

    def slope_error(self, coef: FloatArray) -> FloatArray:
        """A bound of the error of the slope of the cut with these coefficients."""
        return self.row_sum_error * self.design.rmatvec(coef, absolute=True)

    def close_risk_error(self, oracle: Oracle, v: FloatArray, scores: FloatArray, risk: float) -> float:
        """An upper bound of the error of R at v, from the errors of single scores.

        For a monotone R, all scores are made worse by their errors, so that rows far on the right side have
        no effect, however large their scores are.
        """
        errors = self.score_error * self.design.matvec(v, absolute=True)
        direction = getattr(oracle, "direction", None)
        if direction is None:
            worst, coef = risk + self.max_coef * float(errors.sum()), np.full(len(scores), self.max_coef)
        else:
            worst, cut, _ = evaluate_risk(oracle, scores - direction * errors)
            coef = np.abs(cut.coef)
        sum_error = self.row_sum_error * (1.0 + float(coef @ (np.abs(scores) + errors)))
        return max(worst - risk, 0.0) + sum_error


class Bundle:
    """Cuts with their Gram matrix, in growing arrays with slots that are reused; the first is R >= 0.

    `multipliers` are the solution of the last problem, by slot. `slope_errors` are bounds of the
    slopes' rounding errors, None if one bound is used for all of them.
    """

    def __init__(self, rounding: RoundingErrors, bounded: NDArray[np.intp], capacity: int = 64) -> None:
        self.rounding, self.bounded = rounding, bounded
        n_coef = len(rounding.column_sums)
        self.slope_errors: FloatArray | None = None
        self.slopes = np.zeros((capacity, n_coef))
        self.offsets = np.zeros(capacity)
        self.gram = np.zeros((capacity, capacity))
        self.n_inactive = np.zeros(capacity, dtype=np.intp)
        self.in_use = np.zeros(capacity, dtype=bool)
        self.in_use[0] = True
        self.n_slots = 1
        self.multipliers = np.zeros(1)

    @property
    def n_cuts(self) -> int:
        """Number of cuts in use."""
        return int(self.in_use.sum())

    def restart(self) -> None:
        """Drop all cuts but the first, and keep the slope errors of later cuts."""
        self.in_use[1:] = False
        self.slope_errors = np.zeros_like(self.slopes)

    def add(self, slope: FloatArray, offset: float, coef: FloatArray) -> int:
        """Add a cut, in the slot of a dropped one if there is any; returns the slot."""
        if self.in_use.all():
            more = len(self.offsets)
            self.slopes = np.pad(self.slopes, ((0, more), (0, 0)))
            if self.slope_errors is not None:
                self.slope_errors = np.pad(self.slope_errors, ((0, more), (0, 0)))
            self.gram, self.offsets = np.pad(self.gram, (0, more)), np.pad(self.offsets, (0, more))
            self.n_inactive, self.in_use = np.pad(self.n_inactive, (0, more)), np.pad(self.in_use, (0, more))
        slot = int(np.argmin(self.in_use))
        self.n_slots = max(self.n_slots, slot + 1)
        self.slopes[slot], self.offsets[slot] = slope, offset
        if self.slope_errors is not None:
            self.slope_errors[slot] = self.rounding.slope_error(coef)
        row = self.slopes[: self.n_slots] @ slope
        self.gram[slot, : self.n_slots] = self.gram[: self.n_slots, slot] = row
        self.in_use[slot], self.n_inactive[slot] = True, 0
        return slot

    def solve(self, C: float, v0: FloatArray, tol: float) -> tuple[FloatArray, float]:
        """Minimize the model 1/2 ||v - v0||^2 + C max_i (offset_i - slope_i'v) over the bounds.

        Returns the minimizer and a lower bound on the minimum: for any multipliers x of the cuts the
        least value of ``1/2 ||v - v0||^2 + x'(offsets - slopes v)``, which ``v0 + slopes'x`` has once
        it is cut off at the bounds. Rounding errors are subtracted from it. `tol` is the required accuracy of
        the minimum, in units of the risk.
        """
        slots, slopes = np.flatnonzero(self.in_use), self.slopes[: self.n_slots]
        offsets = self.offsets[slots]
        qp_tol = min(max(QP_TOL_SHARE * tol, MIN_QP_TOL), MAX_QP_TOL)
        is_primal = len(v0) <= max(len(slots), MAX_PRIMAL_COEFFICIENTS)
        x = (self._solve_primal if is_primal else self._solve_dual)(slots, v0, C, qp_tol)
        if not np.isfinite(x).all():
            raise CapoError(
                f"the quadratic program of {len(slots)} cuts could not be solved. Scale the features to a "
                "similar range, or lower C."
            )
        x = np.maximum(x, 0.0)
        x *= C / max(x.sum(), 1.0)
        self.multipliers = np.zeros(self.n_slots)
        self.multipliers[slots] = x
        v = v0 + self.multipliers @ slopes
        if len(self.bounded):
            v[self.bounded] = np.maximum(v[self.bounded], 0.0)
        self.n_inactive[slots] += 1
        self.n_inactive[slots[x > MIN_MULTIPLIER * C]] = 0
        self.in_use &= self.n_inactive <= MAX_INACTIVE_ITER
        self.in_use[0] = True
        move = v - v0
        bound = 0.5 * (move @ move) + x @ (offsets - (slopes @ v)[slots])
        return v, float(bound - self._bound_error(slots, x, v, v0))

    def _slopes(self, slots: IntArray) -> FloatArray:
        """The slopes of the cuts in use, copied only if there are others."""
        return self.slopes[: self.n_slots] if len(slots) == self.n_slots else self.slopes[slots]

    def _solve_primal(self, slots: IntArray, v0: FloatArray, C: float, tol: float) -> FloatArray:
        """Over (v, xi), divided by C: the multipliers of the cuts then sum to 1."""
        d = len(v0)
        P = np.zeros((d + 1, d + 1))
        np.fill_diagonal(P[:d, :d], 1.0 / C)
        lower = np.full(d + 1, -np.inf)
        lower[self.bounded], lower[d] = 0.0, 0.0
        G = np.empty((len(slots), d + 1))
        np.negative(self._slopes(slots), out=G[:, :d])
        G[:, d] = -1.0
        result = _solve(P, np.append(v0 / -C, 1.0), G, -self.offsets[slots], lower, tol)
        return np.asarray(result.z_u)

    def _solve_dual(self, slots: IntArray, v0: FloatArray, C: float, tol: float) -> FloatArray:
        """Over the multipliers divided by C, those of the bounds after those of the cuts."""
        m, k = len(slots), len(self.bounded)
        P, q, total = C * self.gram[np.ix_(slots, slots)], -self.offsets[slots], np.ones((1, m))
        if v0.any():
            q = self._slopes(slots) @ v0 - self.offsets[slots]
        if k:
            cross = self._slopes(slots)[:, self.bounded]
            P = np.block([[P, C * cross], [C * cross.T, C * np.eye(k)]])
            q, total = np.append(q, v0[self.bounded]), np.append(total, np.zeros((1, k)), axis=1)
        result = _solve(P, q, total, np.ones(1), np.zeros(m + k), tol)
        return np.asarray(result.x[:m])

    def _bound_error(self, slots: NDArray[np.intp], x: FloatArray, v: FloatArray, v0: FloatArray) -> float:
        """A bound of the error of the lower bound, from the errors of the slopes and of its own sums."""
        total = float(x.sum())
        if self.slope_errors is None:
            sizes = total * self.rounding.max_slopes
            errors = self.rounding.slope_factor * self.rounding.row_sum_error * sizes
        else:
            sizes, errors = x @ np.abs(self.slopes[slots]), x @ self.slope_errors[slots]
        size, move = np.abs(v), v - v0
        off = relative_error(len(x)) * (sizes + np.abs(v0)) + UNIT_ROUNDOFF * size
        own = 0.5 * (move @ move) + x @ np.abs(self.offsets[slots]) + sizes @ size
        first_order = errors @ size + self.rounding.row_sum_error * total
        second_order = 0.5 * (errors @ errors + off @ off)
        return float(first_order + second_order + relative_error(len(x) + len(v)) * own)


def _solve(
    P: FloatArray, c: FloatArray, G: FloatArray, upper: FloatArray, lower: FloatArray, tol: float
) -> piqp.Result:
    """Minimize 1/2 x'Px + c'x subject to G x <= upper and x >= lower."""
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = tol
    solver.setup(P, c, None, None, G, None, upper, lower, None)
    solver.solve()
    return solver.result
