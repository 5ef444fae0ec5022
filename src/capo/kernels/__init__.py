"""Kernel functions, and low-rank factorizations of their matrices."""
# Imports from `design` and the layers below.

from ._expansion import KernelExpansion
from ._factorization import KernelFactor, factorize_kernel
from ._functions import (
    Kernel,
    KernelLike,
    default_gamma_grid,
    make_kernel,
    mean_squared_distance,
    names,
)

__all__ = [
    "Kernel",
    "KernelExpansion",
    "KernelFactor",
    "KernelLike",
    "default_gamma_grid",
    "factorize_kernel",
    "make_kernel",
    "mean_squared_distance",
    "names",
]
