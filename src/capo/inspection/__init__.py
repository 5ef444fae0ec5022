"""Inspect fitted classifiers: summary, evaluation, comparison with simpler methods, plots.

The plots need matplotlib: ``pip install 'capo-learn[plots]'``.
"""

from ._compare import FoldResult, compare, compare_on_fold
from ._comparison import METHODS, Comparison, ComparisonSource, MethodResult
from ._evaluation import (
    ConfusionCounts,
    ConstraintResult,
    Evaluation,
    MeasureEstimate,
    describe_few_rows,
    evaluate,
)
from ._multiclass_summary import summarize_multiclass
from ._multilabel_summary import summarize_multilabel
from ._plots import CPathDisplay, SolverDisplay, ThresholdDisplay, WeightsDisplay
from ._summary import Summary, frozen_auxiliary_names, summarize

__all__ = [
    "METHODS",
    "CPathDisplay",
    "Comparison",
    "ComparisonSource",
    "ConfusionCounts",
    "ConstraintResult",
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
    "describe_few_rows",
    "evaluate",
    "frozen_auxiliary_names",
    "summarize",
    "summarize_multiclass",
    "summarize_multilabel",
]
