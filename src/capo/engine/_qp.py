"""The small quadratic program of a cutting-plane iteration, through PIQP.

    min over v, xi >= 0:  1/2 ||v - v0||^2 + C xi   s.t.  slope_i'v + xi >= offset_i,  v_j >= 0 where bounded

It is solved in this form where there are fewer coefficients than cuts, or few of them: then no product
of slopes is ever formed, which matters when features differ in scale. Otherwise its dual is solved, over
the multipliers of the cuts and the bounds, with the Gram matrix of the slopes. Either way the result is a
feasible vector of multipliers, from which the caller computes a lower bound that holds however exactly
the program was solved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import piqp

from .._compat import FloatArray, IntArray
from ..exceptions import CapoError

#: With up to this many coefficients the program is always solved in its primal form.
MAX_PRIMAL_COEFFICIENTS = 64
#: Tolerance of the interior point method, as a share of the cutting-plane solver's: errors of the
#: multipliers cause larger ones of the objective, which would stall it ...
QP_TOL_SHARE = 1e-7
#: ... and its limits, relative to an objective of order 1.
MIN_QP_TOL, MAX_QP_TOL = 1e-12, 1e-10


def solve_multipliers(
    slopes: Callable[[], FloatArray],
    offsets: FloatArray,
    gram: Callable[[], FloatArray],
    v0: FloatArray,
    bounded: IntArray,
    C: float,
    tol: float,
) -> FloatArray:
    """Multipliers of the cuts, at least 0 and with a sum of at most C.

    `slopes` and their `gram` matrix are called only if they are needed: both are copies.
    """
    qp_tol = min(max(QP_TOL_SHARE * tol, MIN_QP_TOL), MAX_QP_TOL)
    if len(v0) <= max(len(offsets), MAX_PRIMAL_COEFFICIENTS):
        x = _solve_primal(slopes(), offsets, v0, bounded, C, qp_tol)
    else:
        x = _solve_dual(slopes, offsets, gram(), v0, bounded, C, qp_tol)
    if not np.isfinite(x).all():
        raise CapoError(
            f"the quadratic program of {len(offsets)} cuts could not be solved. Scale the features to a "
            "similar range, or lower C."
        )
    x = np.maximum(x, 0.0)
    return x * (C / max(x.sum(), 1.0))


def _solve_primal(
    slopes: FloatArray, offsets: FloatArray, v0: FloatArray, bounded: IntArray, C: float, tol: float
) -> FloatArray:
    """Over (v, xi), divided by C: the multipliers of the cuts then sum to 1."""
    d = len(v0)
    P = np.zeros((d + 1, d + 1))
    np.fill_diagonal(P[:d, :d], 1.0 / C)
    lower = np.full(d + 1, -np.inf)
    lower[bounded], lower[d] = 0.0, 0.0
    G = np.empty((len(offsets), d + 1))
    np.negative(slopes, out=G[:, :d])
    G[:, d] = -1.0
    result = _solve(P, np.append(v0 / -C, 1.0), G, -offsets, lower, tol)
    return np.asarray(result.z_u)


def _solve_dual(
    slopes: Callable[[], FloatArray],
    offsets: FloatArray,
    gram: FloatArray,
    v0: FloatArray,
    bounded: IntArray,
    C: float,
    tol: float,
) -> FloatArray:
    """Over the multipliers divided by C, those of the bounds after those of the cuts."""
    m, k = len(offsets), len(bounded)
    P, q, total = C * gram, -offsets, np.ones((1, m))
    if v0.any():
        q = slopes() @ v0 - offsets
    if k:
        cross = slopes()[:, bounded]
        P = np.block([[P, C * cross], [C * cross.T, C * np.eye(k)]])
        q, total = np.append(q, v0[bounded]), np.append(total, np.zeros((1, k)), axis=1)
    result = _solve(P, q, total, np.ones(1), np.zeros(m + k), tol)
    return np.asarray(result.x[:m])


def _solve(
    P: FloatArray, c: FloatArray, G: FloatArray, upper: FloatArray, lower: FloatArray, tol: float
) -> piqp.Result:
    """Minimize 1/2 x'Px + c'x subject to G x <= upper and x >= lower."""
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = tol
    solver.setup(P, c, None, None, G, None, upper, lower, None)
    solver.solve()
    return solver.result
