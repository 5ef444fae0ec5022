"""Loops over rows that Numba compiles, for large problems, where the extra `[numba]` is installed.

NumPy code is always there beside a kernel and is what the tests compare it with. `load_kernels` is the only
place that decides between the two. A module of kernels, such as `_vectors`, is imported by nothing else: it
imports Numba and compiles its functions, or loads them from Numba's cache, when it is imported.
"""
# Imports from `_sklearn_compat`, `_typing`, `exceptions` and the layers below.

from ._loader import MIN_STEPS, load_kernels

__all__ = ["MIN_STEPS", "load_kernels"]
