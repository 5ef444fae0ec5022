"""The solver: cutting planes to a certified gap, for one C or a path of them."""

from ._line_search import CutLike, CutOracle
from ._minimize import minimize, minimize_path
from ._rounding import relative_error
from ._solution import Iteration, Solution, Status
from ._solver import Callback, CuttingPlane

__all__ = [
    "Callback",
    "CutLike",
    "CutOracle",
    "CuttingPlane",
    "Iteration",
    "Solution",
    "Status",
    "minimize",
    "minimize_path",
    "relative_error",
]
