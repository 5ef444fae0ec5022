"""Kernels: functions of two rows, and their matrices as products of thin factors."""

from .expansion import Expansion
from .factor import Factor, factorise
from .functions import (
    Kernel,
    KernelLike,
    make_kernel,
    mean_squared_distance,
    names,
    row_blocks,
    widths_to_try,
)

__all__ = [
    "Expansion",
    "Factor",
    "Kernel",
    "KernelLike",
    "factorise",
    "make_kernel",
    "mean_squared_distance",
    "names",
    "row_blocks",
    "widths_to_try",
]
