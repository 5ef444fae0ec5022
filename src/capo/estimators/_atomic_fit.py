"""A `fit` that sets all attributes or none."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Estimator = TypeVar("Estimator")


def atomic_fit(fit: Callable[..., Estimator]) -> Callable[..., Estimator]:
    """Run `fit` on an unfitted shallow copy, and take over its attributes only if it succeeds.

    If a refit fails or is interrupted, the estimator remains fitted as it was before. If it succeeds, no
    attribute of the previous fit is left, such as `coef_` after a change of the kernel.
    """

    @wraps(fit)
    def wrapper(self: Estimator, *args: Any, **kwargs: Any) -> Estimator:
        attempt = object.__new__(type(self))
        vars(attempt).update({name: value for name, value in vars(self).items() if not name.endswith("_")})
        fit(attempt, *args, **kwargs)
        vars(self).clear()
        vars(self).update(vars(attempt))
        return self

    return wrapper
