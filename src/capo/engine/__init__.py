"""How to optimise: cutting planes to a certified gap, for one C or a path of them."""

from ._solution import Round, Solution, Status
from ._solver import Callback, CuttingPlane, minimize, minimize_path

__all__ = ["Callback", "CuttingPlane", "Round", "Solution", "Status", "minimize", "minimize_path"]
