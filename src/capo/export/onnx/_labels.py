"""Labels in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto


def label_array(classes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The classes as int64, double or string, and that data type."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    return classes.astype(object), TensorProto.STRING
