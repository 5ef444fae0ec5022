"""Array types that annotations share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "FloatArray", "IntArray"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
#: Positions of rows, columns or folds.
IntArray = NDArray[np.intp]
