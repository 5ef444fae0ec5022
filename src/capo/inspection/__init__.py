"""Inspect fitted classifiers: summary, evaluation, comparison with simpler methods, plots.

The plots need matplotlib: ``pip install 'capo-learn[plots]'``.
"""

from ._comparison import METHODS, Comparison, FoldResult, MethodResult, compare, compare_on_fold
from ._evaluation import ConfusionCounts, Evaluation, MeasureEstimate, evaluate
from ._multiclass_summary import summarize_multiclass
from ._plots import CPathDisplay, SolverDisplay, ThresholdDisplay, WeightsDisplay
from ._summary import Summary, frozen_auxiliary_names, summarize

__all__ = [
    "METHODS",
    "CPathDisplay",
    "Comparison",
    "ConfusionCounts",
    "Evaluation",
    "FoldResult",
    "MeasureEstimate",
    "MethodResult",
    "SolverDisplay",
    "Summary",
    "ThresholdDisplay",
    "WeightsDisplay",
    "compare",
    "compare_on_fold",
    "evaluate",
    "frozen_auxiliary_names",
    "summarize",
    "summarize_multiclass",
]
