"""What to tell a user about a solution that fell short of its certificate."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from ..engine import Solution, Status
from ..exceptions import InterruptedFitWarning


def warn_not_converged(solution: Solution, stacklevel: int, limits: str = "max_iter or tol") -> None:
    """Say so once if the solver did not reach its tolerance."""
    if solution.status is Status.INTERRUPTED:
        kept = f"{solution.message}. The best solution so far is kept."
        warnings.warn(kept, InterruptedFitWarning, stacklevel=stacklevel + 1)
    elif solution.status in (Status.MAX_ROUNDS, Status.STALLED):
        warnings.warn(
            f"{solution.message}. Raise {limits}, lower C, or scale the features to a similar range.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
