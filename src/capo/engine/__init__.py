"""The solver: cutting planes to a certified gap, for one C or a path of them."""

from ._designs import BoundedDesign, Design, IdentityDesign, as_design, augment, from_blocks, iter_row_slices
from ._line_search import Cut, Oracle
from ._rounding import relative_error
from ._solution import Iteration, Solution, Status
from ._solver import CuttingPlane, check_C, check_positive, minimize, minimize_path

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
    "check_positive",
    "from_blocks",
    "iter_row_slices",
    "minimize",
    "minimize_path",
    "relative_error",
]
