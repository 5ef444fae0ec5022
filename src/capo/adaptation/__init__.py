"""From the auxiliaries' outputs to a classifier: prior, path over C, choice, operating point."""
# Imports from `auxiliary` and the layers below.

from ._adapt import AdaptationResult, adapt, parse_C
from ._combination import FittedCombination, LinearCombination
from ._data import AdaptationData, RepeatData
from ._priors import (
    MIN_OUTPUT_STD,
    STACK_RIDGE,
    Prior,
    StackPrior,
    UnitPrior,
    ZeroPrior,
    fit_stack,
    least_risk_scale,
)
from ._problem import AdaptationProblem, FoldProblem, Objective, make_folds, make_parts
from ._scaling import OutputScaler, known_threshold

__all__ = [
    "MIN_OUTPUT_STD",
    "STACK_RIDGE",
    "AdaptationData",
    "AdaptationProblem",
    "AdaptationResult",
    "FittedCombination",
    "FoldProblem",
    "LinearCombination",
    "Objective",
    "OutputScaler",
    "Prior",
    "RepeatData",
    "StackPrior",
    "UnitPrior",
    "ZeroPrior",
    "adapt",
    "fit_stack",
    "known_threshold",
    "least_risk_scale",
    "make_folds",
    "make_parts",
    "parse_C",
]
