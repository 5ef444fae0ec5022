"""Matrices accessed only through products; no other subpackage distinguishes dense and sparse data."""
# Imports from `_buffers`, `_compiled`, `_lookup`, `_threads` and the layers below.

from ._augmented import AugmentedDesign, ConstantColumn, ScaledDesign
from ._base import BoundedDesign, Design, iter_row_blocks
from ._chunked import ChunkedDesign
from ._dense import DenseDesign
from ._factory import as_design, augment, from_blocks
from ._identity import IdentityDesign
from ._operator import OperatorDesign
from ._sparse import SparseDesign

__all__ = [
    "AugmentedDesign",
    "BoundedDesign",
    "ChunkedDesign",
    "ConstantColumn",
    "DenseDesign",
    "Design",
    "IdentityDesign",
    "OperatorDesign",
    "ScaledDesign",
    "SparseDesign",
    "as_design",
    "augment",
    "from_blocks",
    "iter_row_blocks",
]
