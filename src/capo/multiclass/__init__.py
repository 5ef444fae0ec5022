"""Many classes: measures of the K x K confusion matrix, decision rules, and the stack of probabilities.

`get` returns a measure by its name, `names` lists the names and `describe` explains the measures.
"""
# Imports from `auxiliary` and the layers below.

from ._base import (
    ConfusionMatrixMeasure,
    FractionMeasure,
    LinearMeasure,
    MulticlassMeasure,
    RuleSearch,
)
from ._choice import RuleChoice, RuleChooser, calibration_error
from ._class_average import BestCut, ClassAverage, best_cut
from ._measures import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    ConfusionMatrixFunction,
    CostMatrix,
    GainMatrix,
    GMean,
    MicroF1,
)
from ._ranking import (
    RocAUCOneVsOne,
    RocAUCOneVsOneWeighted,
    RocAUCOneVsRest,
    RocAUCOneVsRestWeighted,
)
from ._registry import describe, get, is_matrix_function, names
from ._rules import DecisionRule, ExpectedRows, confusion_matrix
from ._stack import ProbabilityStack, StackFit, fit_stack

__all__ = [
    "MCC",
    "Accuracy",
    "BalancedAccuracy",
    "BestCut",
    "ClassAverage",
    "CohenKappa",
    "ConfusionMatrixFunction",
    "ConfusionMatrixMeasure",
    "CostMatrix",
    "DecisionRule",
    "ExpectedRows",
    "FractionMeasure",
    "GMean",
    "GainMatrix",
    "LinearMeasure",
    "MicroF1",
    "MulticlassMeasure",
    "ProbabilityStack",
    "RocAUCOneVsOne",
    "RocAUCOneVsOneWeighted",
    "RocAUCOneVsRest",
    "RocAUCOneVsRestWeighted",
    "RuleChoice",
    "RuleChooser",
    "RuleSearch",
    "StackFit",
    "best_cut",
    "calibration_error",
    "confusion_matrix",
    "describe",
    "fit_stack",
    "get",
    "is_matrix_function",
    "names",
]
