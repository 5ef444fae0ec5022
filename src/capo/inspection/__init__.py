"""Inspect fitted classifiers: summary, evaluation, comparison with simpler methods, plots.

The plots need matplotlib: ``pip install 'capo-learn[plots]'``.
"""

from ._bootstrap import ScoreGroups
from ._comparison import METHODS, ComparedRows, Comparison, MethodResult, compare, compare_on_fold
from ._evaluation import ConfusionCounts, Evaluation, MeasureEstimate, evaluate, evaluate_groups
from ._explanation import (
    ColumnEffect,
    ColumnImportance,
    EffectPoint,
    Importance,
    RowExplanation,
    WorstError,
    explain_rows,
    importance,
    worst_errors,
)
from ._plots import CPathDisplay, SolverDisplay, ThresholdDisplay
from ._summary import Summary, summarize
from ._targets import decide, make_targets, negative_and_positive

__all__ = [
    "METHODS",
    "CPathDisplay",
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
    "ThresholdDisplay",
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
