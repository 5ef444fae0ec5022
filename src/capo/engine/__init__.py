"""The solver: cutting planes to a certified gap, for one C or a path of them."""
# Imports from `design` and the layers below.

from ._line_search import CutLike, CutOracle, InexactCut
from ._minimize import minimize, minimize_path
from ._rounding import relative_error
from ._solution import Iteration, Solution, Status
from ._solver import Callback, CuttingPlane, check_C

__all__ = [
    "Callback",
    "CutLike",
    "CutOracle",
    "CuttingPlane",
    "InexactCut",
    "Iteration",
    "Solution",
    "Status",
    "check_C",
    "minimize",
    "minimize_path",
    "relative_error",
]
