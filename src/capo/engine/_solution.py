"""The solver's result: a point, and the certificate of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .._compat import FloatArray

#: How far the dual value may exceed the primal one by rounding, in units of max(C, primal).
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
        The lower bound exceeds the value that was reached, so that the certificate proves nothing: a cut
        of the oracle is no lower bound on R, or `rmatvec` is not the transpose of `matvec`.
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
    INCONSISTENT = "the lower bound exceeds the value that was reached, so that it proves nothing"
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

    `primal` is J(v), computed anew at `v` and rounded up by a bound of its rounding error; `dual` is a lower
    bound of the minimum of J, rounded down likewise. So
    ``J(v) - min J <= gap``, whatever the status (other than INCONSISTENT).

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
    >>> from capo.engine import minimize
    >>> from capo.measures import get
    >>> X, y = np.array([[2.0], [1.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    >>> solution = minimize(X, get("accuracy").oracle(y), C=10.0, tol=1e-6)
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
