"""The solver: cutting planes to a certified gap, for one C or a path of them."""

from ._bundle import relative_error
from ._designs import BoundedDesign, Design, IdentityDesign, as_design, augment, from_blocks, iter_row_slices
from ._line_search import Cut, Oracle
from ._solver import CuttingPlane, Iteration, Solution, Status, check_C

__all__ = [
    "BoundedDesign",
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
    "from_blocks",
    "iter_row_slices",
    "relative_error",
]
