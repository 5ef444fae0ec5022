"""Inspect fitted classifiers: summary, evaluation, comparison with simpler methods, plots.

The plots need matplotlib: ``pip install 'capo-learn[plots]'``.
"""

from ._bootstrap import ScoreGroups
from ._comparison import METHODS, ComparedRows, Comparison, MethodResult, compare, compare_on_fold
from ._evaluation import ClassRates, ConfusionCounts, Evaluation, MeasureEstimate, evaluate, evaluate_groups
from ._explanation import RowExplanation, WorstError, explain_rows, worst_errors
from ._importance import ColumnEffect, ColumnImportance, EffectPoint, Importance, importance
from ._plots import CPathDisplay, SolverDisplay, ThresholdDisplay, WeightsDisplay
from ._summary import Summary, SummaryLine, summarize
from ._targets import decide, make_targets, negative_and_positive

__all__ = [
    "METHODS",
    "CPathDisplay",
    "ClassRates",
    "ColumnEffect",
    "ColumnImportance",
    "ComparedRows",
    "Comparison",
    "ConfusionCounts",
    "EffectPoint",
    "Evaluation",
    "Importance",
    "MeasureEstimate",
    "MethodResult",
    "RowExplanation",
    "ScoreGroups",
    "SolverDisplay",
    "Summary",
    "SummaryLine",
    "ThresholdDisplay",
    "WeightsDisplay",
    "WorstError",
    "compare",
    "compare_on_fold",
    "decide",
    "evaluate",
    "evaluate_groups",
    "explain_rows",
    "importance",
    "make_targets",
    "negative_and_positive",
    "summarize",
    "worst_errors",
]
