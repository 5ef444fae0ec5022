"""What the solver returns: a point, and the proof of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .._typing import FloatArray


class Status(Enum):
    """Why the solver stopped; the value is the sentence for people."""

    OPTIMAL = "the gap is within the tolerance"
    MAX_ROUNDS = "the limit on rounds was reached before the tolerance"
    STALLED = "rounding errors keep the gap above the tolerance"
    STOPPED = "a callback asked to stop"
    INTERRUPTED = "interrupted from the keyboard"


@dataclass(frozen=True, slots=True)
class Round:
    """The state after a round: what a callback sees."""

    number: int
    primal: float
    dual: float
    oracle_calls: int
    cuts: int
    step: float

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


@dataclass(frozen=True)
class Solution:
    """The minimiser of J(v) = 1/2 ||v - v0||^2 + C R(v), with its certificate.

    `primal` is J(v), computed afresh at `v`; `dual` is a lower bound of the minimum of J, so
    that `v` is within `gap` of optimal whatever the status.

    Attributes
    ----------
    v : ndarray
        The best point found.
    C, tol : float
        The problem and the tolerance; optimal means ``gap <= C * tol``.
    status : Status
        Why the solver stopped.
    primal, dual : float
        The value of `v`, and a lower bound of all values.
    n_rounds : int
        Rounds: each takes one product with A and adds new cuts.
    n_oracle_calls, n_products, n_pulls : int
        Searches for the worst labelling, products ``A v`` and products ``A' c``.
    history : list of Round
        One entry a round.
    """

    v: FloatArray
    C: float
    tol: float
    status: Status
    primal: float
    dual: float
    n_rounds: int
    n_oracle_calls: int
    n_matvecs: int
    n_rmatvecs: int
    history: list[Round] = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, status=Status[state["status"]])

    @property
    def gap(self) -> float:
        """How far `v` can be from optimal, in units of J."""
        return self.primal - self.dual

    @property
    def message(self) -> str:
        """The status, with its numbers, in a sentence."""
        return (
            f"{self.status.value}: gap {self.gap:.3g} against C * tol = {self.C * self.tol:.3g} after "
            f"{self.n_rounds} rounds (primal {self.primal:.6g}, dual {self.dual:.6g})"
        )
