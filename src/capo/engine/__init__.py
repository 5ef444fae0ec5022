"""The solver: cutting planes to a certified gap, for one C or a path of them."""

from ._bundle import relative_error
from ._designs import (
    BoundedDesign,
    ChunkedDesign,
    Design,
    IdentityDesign,
    as_design,
    augment,
    iter_row_slices,
)
from ._line_search import Cut, Oracle
from ._solver import CuttingPlane, Iteration, Solution, Status, check_C

__all__ = [
    "BoundedDesign",
    "ChunkedDesign",
    "Cut",
    "CuttingPlane",
    "Design",
    "IdentityDesign",
    "Iteration",
    "Oracle",
    "Solution",
    "Status",
    "as_design",
    "augment",
    "check_C",
    "iter_row_slices",
    "relative_error",
]
