"""The solver as functions: one C, or many C's that share their cuts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidInputError
from ._line_search import CutOracle
from ._solution import Solution, Status
from ._solver import Callback, CuttingPlane


def minimize(
    design: Any,
    oracle: CutOracle,
    *,
    C: float,
    v0: ArrayLike | None = None,
    nonnegative: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    callback: Callback | None = None,
) -> Solution:
    """Minimize 1/2 ||v - v0||^2 + C R(v), to a gap of at most C tol.

    Parameters
    ----------
    design : array, sparse matrix, LinearOperator or Design
        The matrix A; see `capo.design.as_design`.
    oracle : callable
        The cut of R at given scores, such as ``measure.oracle(y)``.
    C : float
        Weight of the risk against the regularizer.
    v0 : array-like, optional
        The center of the regularizer; zero if not given.
    nonnegative : array-like of bool, optional
        Which coordinates of v must not be negative.
    tol : float, default=1e-3
        Accuracy in units of R.
    max_iter : int, default=10000
        Limit on iterations.
    callback : callable, optional
        Called with an `Iteration` after each; a true return value stops the solver.

    Returns
    -------
    Solution
        The best point and its certificate, also when a limit, a callback or Ctrl-C stopped the
        solver.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import minimize
    >>> from capo.measures import get
    >>> X, y = np.array([[2.0], [1.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    >>> solution = minimize(X, get("accuracy").oracle(y), C=10.0, tol=1e-6)
    >>> solution.status.name, round(solution.primal, 6), solution.gap <= 10.0 * 1e-6
    ('OPTIMAL', 0.5, True)
    """
    return CuttingPlane(design, oracle, v0, nonnegative).solve(C, tol, max_iter, callback)


def minimize_path(
    design: Any,
    oracle: CutOracle,
    *,
    Cs: ArrayLike,
    v0: ArrayLike | None = None,
    nonnegative: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    callback: Callback | None = None,
) -> list[Solution]:
    """Solve for many C's, from small to large, with one bundle of cuts.

    Parameters
    ----------
    design, oracle, v0, nonnegative, tol, max_iter, callback
        As in `minimize`; the limit on iterations is that of each C.
    Cs : array-like
        The values of C, in any order.

    Returns
    -------
    list of Solution
        One for each C, in the order given. After Ctrl-C, or after a callback stopped the solver, the C's
        not yet reached get the best point so far with its gap, and the same status.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.engine import minimize_path
    >>> from capo.measures import get
    >>> X, y = np.array([[2.0], [1.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    >>> path = minimize_path(X, get("accuracy").oracle(y), Cs=[10.0, 0.1], tol=1e-6)
    >>> [float(solution.v[0].round(4)) for solution in path]
    [1.0, 0.175]
    """
    values = np.atleast_1d(np.asarray(Cs, dtype=np.float64))
    if values.ndim != 1 or values.size == 0:
        raise InvalidInputError("Cs must be a list of at least one number.")
    solver = CuttingPlane(design, oracle, v0, nonnegative)
    solutions: dict[int, Solution] = {}
    stop_status: Status | None = None
    for i in np.argsort(values, kind="stable"):
        solution = solver.solve(float(values[i]), tol, max_iter if stop_status is None else 0, callback)
        if stop_status is not None and solution.status is not Status.OPTIMAL:
            solution = replace(solution, status=stop_status)
        elif solution.status in (Status.STOPPED, Status.INTERRUPTED):
            stop_status = solution.status
        solutions[int(i)] = solution
    return [solutions[i] for i in range(len(values))]
