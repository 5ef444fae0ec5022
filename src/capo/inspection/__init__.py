"""Inspect fitted classifiers: summary, evaluation, comparison with simpler methods, plots.

The plots need matplotlib: ``pip install 'capo-learn[plots]'``.
"""
# Imports from `multilabel` and the layers below.

from ._class_rates import ClassRates
from ._compare import compare, compare_on_fold
from ._compare_many import compare_many
from ._comparison import METHODS, Comparison, ComparisonSource, MethodResult
from ._contributions import Contribution, RowExplanation, explain_rows
from ._effects import ColumnEffect, EffectPoint
from ._evaluation import (
    ConfusionCounts,
    ConstraintResult,
    Evaluation,
    MeasureEstimate,
    describe_few_rows,
    evaluate,
    evaluate_groups,
)
from ._fold_results import FoldResult
from ._importance import importance
from ._importance_result import ColumnImportance, Importance
from ._multiclass_evaluation import MulticlassEvaluation, evaluate_multiclass
from ._multiclass_summary import summarize_multiclass
from ._multilabel_evaluation import MultilabelEvaluation, evaluate_multilabel
from ._multilabel_summary import summarize_multilabel
from ._plots import CPathDisplay, SolverDisplay, ThresholdDisplay, WeightsDisplay
from ._score_groups import ScoreGroups
from ._scored_outputs import decide, negative_and_positive
from ._summary import Summary, SummaryLine, frozen_auxiliary_names, summarize
from ._worst_errors import WorstError, worst_errors

__all__ = [
    "METHODS",
    "CPathDisplay",
    "ClassRates",
    "ColumnEffect",
    "ColumnImportance",
    "Comparison",
    "ComparisonSource",
    "ConfusionCounts",
    "ConstraintResult",
    "Contribution",
    "EffectPoint",
    "Evaluation",
    "FoldResult",
    "Importance",
    "MeasureEstimate",
    "MethodResult",
    "MulticlassEvaluation",
    "MultilabelEvaluation",
    "RowExplanation",
    "ScoreGroups",
    "SolverDisplay",
    "Summary",
    "SummaryLine",
    "ThresholdDisplay",
    "WeightsDisplay",
    "WorstError",
    "compare",
    "compare_many",
    "compare_on_fold",
    "decide",
    "describe_few_rows",
    "evaluate",
    "evaluate_groups",
    "evaluate_multiclass",
    "evaluate_multilabel",
    "explain_rows",
    "frozen_auxiliary_names",
    "importance",
    "negative_and_positive",
    "summarize",
    "summarize_multiclass",
    "summarize_multilabel",
    "worst_errors",
]
