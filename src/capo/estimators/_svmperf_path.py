"""SVMperf's problem for many C's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from .. import measures
from ..design import Design, augment
from ..engine import Solution, minimize_path
from ..measures import Measure
from ._convergence import warn_not_converged
from ._svmperf import SVMPerfClassifier


def svmperf_path(
    X: ArrayLike | Design,
    y: ArrayLike,
    *,
    measure: str | Measure | Callable[..., Any] = "f1",
    Cs: ArrayLike,
    tol: float = 1e-3,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 10_000,
) -> list[Solution]:
    """Solutions for many C's, which share their cuts.

    Parameters
    ----------
    X, y, sample_weight
        As in `SVMPerfClassifier.fit`.
    measure, tol, fit_intercept, max_iter
        As in `SVMPerfClassifier`.
    Cs : array-like
        The values of C.

    Returns
    -------
    list of Solution
        One for each C, in the order given; ``v`` is (w, b).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from capo import svmperf_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = svmperf_path(X / X.max(axis=0), y, measure="roc_auc", Cs=[1, 10, 100])
    >>> [bool(solution.gap <= solution.C * 1e-3) for solution in path]
    [True, True, True]
    """
    model = SVMPerfClassifier(measure, tol=tol, fit_intercept=fit_intercept, max_iter=max_iter)
    model._validate_params()
    data = model._validate_training_data(X, y, sample_weight)
    path = minimize_path(
        augment(data.table, bias=1.0 if fit_intercept else None),
        measures.get(measure).for_training().oracle(data.positive, data.weight),
        Cs=Cs,
        tol=tol,
        max_iter=max_iter,
    )
    for solution in path:
        warn_not_converged(solution, stacklevel=3)
    return path
