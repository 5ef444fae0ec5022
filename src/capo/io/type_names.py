"""The names under which a model file writes capo's own objects.

A name here is part of the file format. Classes and functions may be renamed or moved; their names in this
registry may not change, since files of users hold them. A new dataclass needs one line in `RECORDS`, a new
estimator one in `ESTIMATORS`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any

from ..baselines import (
    C45Classifier,
    CoreVectorMachine,
    CostSVMClassifier,
    PublishedCAPOClassifier,
    RBFNetworkClassifier,
)
from ..baselines import Tree as C45Tree
from ..decisions import (
    Constraint,
    Guarantee,
    PlattCalibrator,
    Population,
    PrevalenceEstimate,
    PriceTerms,
    Savings,
)
from ..engine import Iteration, Solution, Status
from ..estimators import (
    CAPOClassifier,
    MulticlassCAPOClassifier,
    MultilabelCAPOClassifier,
    SVMPerfClassifier,
    SVMPerfClassifierCV,
)
from ..kernels import Kernel, KernelExpansion
from ..learning.auxiliaries import ConstantLabel, LabelwiseClassifier, class_separation, to_dense
from ..learning.classes import ProbabilityStack
from ..learning.combination import FittedCombination, LinearCombination
from ..learning.folds import RepeatedFolds, TimeFolds
from ..learning.labels import LabelModel
from ..learning.outputs import ClassCalibrator, LabelOutput, OutputScale, ScoreOutput
from ..learning.path import CVScore
from ..measures import DecisionRule, multiclass, multilabel
from ..tables.encoders import (
    CategoryOneHotEncoder,
    DateParts,
    DropEmptyColumns,
    KnownCategoryFilter,
    TagIndicators,
    WordFeatures,
)
from ..tables.features import clip_standardized
from ..tables.parsing import ColumnParser
from ..tables.schema import KINDS, ColumnInfo, FeatureSchema

#: Written as constructor parameters and fitted attributes.
ESTIMATORS: dict[str, type[Any]] = {
    "C45Classifier": C45Classifier,
    "CAPOClassifier": CAPOClassifier,
    "CategoryOneHotEncoder": CategoryOneHotEncoder,
    "ConstantLabel": ConstantLabel,
    "ColumnParser": ColumnParser,
    "CoreVectorMachine": CoreVectorMachine,
    "CostSVMClassifier": CostSVMClassifier,
    "DateParts": DateParts,
    "DropEmptyColumns": DropEmptyColumns,
    "KnownCategoryFilter": KnownCategoryFilter,
    "LabelwiseClassifier": LabelwiseClassifier,
    "MulticlassCAPOClassifier": MulticlassCAPOClassifier,
    "MultilabelCAPOClassifier": MultilabelCAPOClassifier,
    "PublishedCAPOClassifier": PublishedCAPOClassifier,
    "RBFNetworkClassifier": RBFNetworkClassifier,
    "SVMPerfClassifier": SVMPerfClassifier,
    "SVMPerfClassifierCV": SVMPerfClassifierCV,
    "TagIndicators": TagIndicators,
    "RepeatedFolds": RepeatedFolds,
    "TimeFolds": TimeFolds,
    "WordFeatures": WordFeatures,
}

#: Estimators of optional packages that are written the same way; the package is imported if a file needs it.
OPTIONAL_ESTIMATORS: dict[str, str] = {
    "LGBMClassifier": "lightgbm",
    "LGBMRegressor": "lightgbm",
    "XGBClassifier": "xgboost",
    "XGBRFClassifier": "xgboost",
    "XGBRegressor": "xgboost",
}

#: Parameters of the machine on which a model was trained, which no file holds: a folder of cached results,
#: which may contain code, and settings of processes and of the screen.
ENVIRONMENT_PARAMETERS = frozenset({"memory", "n_jobs", "verbose"})

#: Dataclasses, written as their fields.
RECORDS: dict[str, type[Any]] = {
    "C45Tree": C45Tree,
    "CVScore": CVScore,
    "ClassCalibrator": ClassCalibrator,
    "Constraint": Constraint,
    "ColumnInfo": ColumnInfo,
    "FeatureSchema": FeatureSchema,
    "FittedCombination": FittedCombination,
    "Guarantee": Guarantee,
    "Iteration": Iteration,
    "Kernel": Kernel,
    "KernelExpansion": KernelExpansion,
    "LabelOutput": LabelOutput,
    "LinearCombination": LinearCombination,
    "OutputScale": OutputScale,
    "PlattCalibrator": PlattCalibrator,
    "Population": Population,
    "PrevalenceEstimate": PrevalenceEstimate,
    "PriceTerms": PriceTerms,
    "Savings": Savings,
    "ScoreOutput": ScoreOutput,
    "Solution": Solution,
    "multiclass.Accuracy": multiclass.Accuracy,
    "multiclass.BalancedAccuracy": multiclass.BalancedAccuracy,
    "multiclass.ClassAverage": multiclass.ClassAverage,
    "multiclass.CohenKappa": multiclass.CohenKappa,
    "multiclass.ConfusionMatrixFunction": multiclass.ConfusionMatrixFunction,
    "multiclass.CostMatrix": multiclass.CostMatrix,
    "multiclass.DecisionRule": DecisionRule,
    "multiclass.GMean": multiclass.GMean,
    "multiclass.GainMatrix": multiclass.GainMatrix,
    "multiclass.MCC": multiclass.MCC,
    "multiclass.MeanRocAUC": multiclass.MeanRocAUC,
    "multiclass.MicroF1": multiclass.MicroF1,
    "multiclass.ProbabilityStack": ProbabilityStack,
    "multilabel.EntryAverage": multilabel.EntryAverage,
    "multilabel.LabelAverage": multilabel.LabelAverage,
    "multilabel.LabelModel": LabelModel,
    "multilabel.PrecisionAtK": multilabel.PrecisionAtK,
    "multilabel.SamplesF1": multilabel.SamplesF1,
    **{f"column kind {name}": kind for name, kind in KINDS.items()},
}

#: Written as the name of the member.
ENUMS: dict[str, type[Enum]] = {"SolverStatus": Status}

#: Written as their name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "class_separation": class_separation,
    "clip_standardized": clip_standardized,
    "to_dense": to_dense,
}

_ESTIMATOR_NAMES = {kind: name for name, kind in ESTIMATORS.items()}
_RECORD_NAMES = {kind: name for name, kind in RECORDS.items()}
_ENUM_NAMES = {kind: name for name, kind in ENUMS.items()}


def estimator_name(kind: type[Any]) -> str | None:
    """The name of an estimator's class in model files; None if it is not written by capo."""
    name = kind.__name__
    if name in OPTIONAL_ESTIMATORS:
        package = sys.modules.get(OPTIONAL_ESTIMATORS[name])
        return name if package is not None and getattr(package, name, None) is kind else None
    return _ESTIMATOR_NAMES.get(kind)


def estimator_class(name: str) -> type[Any] | None:
    """The class of an estimator by its name in model files."""
    if name in OPTIONAL_ESTIMATORS:
        return getattr(import_module(OPTIONAL_ESTIMATORS[name]), name)
    return ESTIMATORS.get(name)


def record_name(kind: type[Any]) -> str | None:
    """The name of a dataclass in model files."""
    return _RECORD_NAMES.get(kind)


def enum_name(kind: type[Any]) -> str | None:
    """The name of an enumeration in model files."""
    return _ENUM_NAMES.get(kind)


def function_name(value: Any) -> str | None:
    """The name of one of capo's functions in model files."""
    return next((name for name, function in FUNCTIONS.items() if function is value), None)
