"""Performance measures, each with an exact search for its worst labeling.

`get` returns a measure by its name, `names` lists the names and `describe` explains the measures. A
vectorized function of (tp, fp, fn, tn), or a formula such as ``get("10 * tp - 2 * fp")``, is a measure too.
"""

from ..engine import Cut, Oracle
from ._base import Measure
from ._binned import BinnedConfusionOracle, BinnedPairOracle, Binner
from ._confusion import ConfusionMeasure, ConstrainedMeasure, Formula, FunctionMeasure, ratio
from ._labels import ClassTotals, GroupedLabels, Labels, score_curve
from ._linear import Cost, LinearMeasure, cost_log_odds
from ._ranking import AveragePrecision, RankingMeasure
from ._registry import Description, describe, get, names
from .multiclass import DecisionRule, ExpectedRows, evaluate_rule

__all__ = [
    "AveragePrecision",
    "BinnedConfusionOracle",
    "BinnedPairOracle",
    "Binner",
    "ClassTotals",
    "ConfusionMeasure",
    "ConstrainedMeasure",
    "Cost",
    "Cut",
    "DecisionRule",
    "Description",
    "ExpectedRows",
    "Formula",
    "FunctionMeasure",
    "GroupedLabels",
    "Labels",
    "LinearMeasure",
    "Measure",
    "Oracle",
    "RankingMeasure",
    "cost_log_odds",
    "describe",
    "evaluate_rule",
    "get",
    "names",
    "ratio",
    "score_curve",
]
