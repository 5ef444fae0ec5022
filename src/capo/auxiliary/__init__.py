"""Auxiliary classifiers: what they are, how they are cross-fitted, what is read from them."""

from .auto import auto_auxiliaries
from .crossfit import Auxiliary, CrossFitted, Split, cross_fit
from .folds import fold_of_rows, split
from .given import named, seeded, with_weight
from .outputs import Scale, is_frozen, read
from .scaling import Scaling, on_scale

__all__ = [
    "Auxiliary",
    "CrossFitted",
    "Scale",
    "Scaling",
    "Split",
    "auto_auxiliaries",
    "cross_fit",
    "fold_of_rows",
    "is_frozen",
    "named",
    "on_scale",
    "read",
    "seeded",
    "split",
    "with_weight",
]
