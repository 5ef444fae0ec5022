"""The small quadratic programme of a cutting-plane round, through DAQP.

    max over x >= 0, sum of the first m at most C:  q'x - 1/2 x'K x

K is a Gram matrix, of a rank that is at most the number of coefficients. A ridge far
below the accuracy of the certificate makes it definite; any x that comes back is made
feasible, and the lower bound is computed from that x and the true K.
"""

from __future__ import annotations

import daqp
import numpy as np
from numpy.typing import NDArray

from ..exceptions import CapoError

FloatArray = NDArray[np.float64]

_RIDGES = (1e-11, 1e-9, 1e-7)


def solve_simplex_qp(K: FloatArray, q: FloatArray, C: float, m: int) -> FloatArray:
    """Multipliers of the cuts (the first `m`, sharing C) and of the bounds (the rest)."""
    size = len(q)
    scale = C * max(float(np.trace(K)) / size, np.finfo(float).tiny)
    unit = max(float(np.abs(q).max()), scale, np.finfo(float).tiny)
    upper, lower = np.full(size + 1, 1e30), np.zeros(size + 1)
    upper[-1] = 1.0
    lower[-1] = -1e30
    total = np.zeros((1, size))
    total[0, :m] = 1.0
    sense = np.zeros(size + 1, dtype=np.int32)
    H, f = K * (C / unit), q / -unit
    diagonal = np.arange(size)
    for ridge in _RIDGES:
        H[diagonal, diagonal] += ridge * scale / unit
        x, _, flag, _ = daqp.solve(H, f, total, upper, lower, sense)
        if flag > 0 and np.isfinite(x).all():
            return _feasible(np.asarray(x), m) * C
    raise CapoError(
        f"the quadratic programme of {size} cuts could not be solved (DAQP's exit flag {flag}). "
        "Scale the features to a similar range, or lower C."
    )


def _feasible(x: FloatArray, m: int) -> FloatArray:
    x = np.maximum(x, 0.0)
    total = x[:m].sum()
    if total > 1.0:
        x[:m] /= total
    return x
