"""What to optimise: measures, each with its exact worst labelling.

`get` makes one by name, `names` lists them, `describe` explains them; any vectorised function of
(tp, fp, fn, tn) becomes one by ``get(function)``, and so does a formula by ``get("10 * tp - 2 * fp")``.
"""

from .base import Cut, Measure, Oracle
from .formula import Formula
from .function import FunctionMeasure
from .ranking import RankingMeasure
from .registry import Description, describe, get, names
from .table import TableMeasure

__all__ = [
    "Cut",
    "Description",
    "Formula",
    "FunctionMeasure",
    "Measure",
    "Oracle",
    "RankingMeasure",
    "TableMeasure",
    "describe",
    "get",
    "names",
]
