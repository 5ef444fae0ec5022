"""The solver: cutting planes to a certified gap, for one C or a path of them."""

from ._designs import (
    AugmentedDesign,
    BoundedDesign,
    ConstantColumn,
    DenseDesign,
    Design,
    IdentityDesign,
    OperatorDesign,
    ScaledDesign,
    SparseDesign,
    as_design,
    augment,
    from_blocks,
    iter_row_blocks,
)
from ._line_search import CutOracle
from ._rounding import MAX_ELEMENT, relative_error
from ._solution import Iteration, Solution, Status
from ._solver import MAX_UPDATES, CuttingPlane, SlopeUpdates, check_C, minimize, minimize_path

__all__ = [
    "MAX_ELEMENT",
    "MAX_UPDATES",
    "AugmentedDesign",
    "BoundedDesign",
    "ConstantColumn",
    "CutOracle",
    "CuttingPlane",
    "DenseDesign",
    "Design",
    "IdentityDesign",
    "Iteration",
    "OperatorDesign",
    "ScaledDesign",
    "SlopeUpdates",
    "Solution",
    "SparseDesign",
    "Status",
    "as_design",
    "augment",
    "check_C",
    "from_blocks",
    "iter_row_blocks",
    "minimize",
    "minimize_path",
    "relative_error",
]
