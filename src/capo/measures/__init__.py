"""What to optimise: measures, each with its exact worst labelling.

`get` makes one by name, `names` lists them, `describe` explains them; any vectorised function of
(tp, fp, fn, tn) becomes one by ``get(function)``, and so does a formula by ``get("10 * tp - 2 * fp")``.
"""

from ._base import Cut, Measure, Oracle
from ._confusion import ConfusionMeasure, ratio
from ._formula import Formula
from ._function import FunctionMeasure
from ._labels import Labels, ScoreCurve, score_curve
from ._ranking import RankingMeasure
from ._registry import Description, describe, get, names

__all__ = [
    "ConfusionMeasure",
    "Cut",
    "Description",
    "Formula",
    "FunctionMeasure",
    "Labels",
    "Measure",
    "Oracle",
    "RankingMeasure",
    "ScoreCurve",
    "describe",
    "get",
    "names",
    "ratio",
    "score_curve",
]
