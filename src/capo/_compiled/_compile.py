"""The decorator of kernels: compiled when their module is imported, and without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

#: Arrays in C order; those that a kernel only reads may be write-protected, such as those mapped from a file.
FLOAT64_OUT = types.float64[::1]
INT32_OUT = types.int32[::1]
INT64_OUT = types.int64[::1]


def read_only(dtype: Any, n_dimensions: int = 1) -> Any:
    """The type of an array in C order that a kernel only reads."""
    return types.Array(dtype, n_dimensions, "C", readonly=True)


FLOAT64 = read_only(types.float64)
INT32 = read_only(types.int32)
INT64 = read_only(types.int64)
BOOL = read_only(types.boolean)


def kernel(*signatures: Any, sum_in_any_order: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile for these types of arguments, and store the result in Numba's cache.

    With other types a call raises a TypeError: nothing is compiled during a fit. `sum_in_any_order` lets the
    compiler add in parallel and fuse products with sums, which BLAS does too.
    """
    allowed = {"reassoc", "contract", "nsz"} if sum_in_any_order else False
    return numba.njit(list(signatures), cache=True, nogil=True, fastmath=allowed, error_model="numpy")
