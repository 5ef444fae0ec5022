"""What to optimise: measures, each with its exact worst labelling.

`get` makes one by name, `names` lists them, and any vectorised function of
(tp, fp, fn, tn) becomes one by ``get(function)``.
"""

from .base import Cut, Measure, Oracle
from .function import FunctionMeasure
from .ranking import RankingMeasure
from .registry import get, names
from .table import TableMeasure

__all__ = [
    "Cut",
    "FunctionMeasure",
    "Measure",
    "Oracle",
    "RankingMeasure",
    "TableMeasure",
    "get",
    "names",
]
