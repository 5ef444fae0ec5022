"""Performance measures, each with an exact search for its worst labeling.

`get` returns a measure by its name, `names` lists the names and `describe` explains the measures. A
vectorized function of (tp, fp, fn, tn), or a formula such as ``get("10 * tp - 2 * fp")``, is a measure too.
"""
# Imports from `design` and the layers below.

from ._base import Cut, Measure, Oracle
from ._confusion_base import ConfusionMeasure, ratio
from ._constrained import ConstrainedMeasure
from ._formula import Formula
from ._function import FunctionMeasure
from ._labels import ClassTotals, GroupedLabels, Labels
from ._linear import Cost, LinearMeasure, cost_log_odds
from ._ranking import AveragePrecision, RankingMeasure
from ._registry import Description, describe, get, names
from ._score_curve import ScoreCurve, score_curve

__all__ = [
    "AveragePrecision",
    "ClassTotals",
    "ConfusionMeasure",
    "ConstrainedMeasure",
    "Cost",
    "Cut",
    "Description",
    "Formula",
    "FunctionMeasure",
    "GroupedLabels",
    "Labels",
    "LinearMeasure",
    "Measure",
    "Oracle",
    "RankingMeasure",
    "ScoreCurve",
    "cost_log_odds",
    "describe",
    "get",
    "names",
    "ratio",
    "score_curve",
]
