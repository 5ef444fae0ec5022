"""How to optimise: cutting planes to a certified gap, for one C or a path of them."""

from .cutting_plane import Callback, minimize, minimize_path
from .solution import Round, Solution, Status

__all__ = ["Callback", "Round", "Solution", "Status", "minimize", "minimize_path"]
