"""Warnings about solutions that did not reach the tolerance."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from ..engine import Solution, Status
from ..exceptions import InterruptedFitWarning


def warn_not_converged(
    solution: Solution, stacklevel: int, *, limits: str = "max_iter or tol", C_is_given: bool = True
) -> None:
    """Warn if the solver stopped before it reached its tolerance."""
    if solution.status is Status.INTERRUPTED:
        message = f"{solution.message}. The best solution so far is kept."
        warnings.warn(message, InterruptedFitWarning, stacklevel=stacklevel + 1)
    elif solution.status in (Status.MAX_ITER, Status.STALLED, Status.INCONSISTENT):
        remedies = f"Raise {limits}, use smaller values of C" if C_is_given else f"Raise {limits}"
        warnings.warn(
            f"{solution.message}. {remedies}, or scale the features to a similar range.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
