"""From the auxiliaries' outputs to a classifier: prior, path over C, choice, operating point."""

from ._combination import FittedCombination, LinearCombination
from ._data import AdaptationData
from ._pipeline import AdaptationResult, adapt, parse_C
from ._priors import Prior, StackPrior, UnitPrior, ZeroPrior, fit_stack
from ._problem import Fold, Objective, Problem, make_folds

__all__ = [
    "AdaptationData",
    "AdaptationResult",
    "FittedCombination",
    "Fold",
    "LinearCombination",
    "Objective",
    "Prior",
    "Problem",
    "StackPrior",
    "UnitPrior",
    "ZeroPrior",
    "adapt",
    "fit_stack",
    "make_folds",
    "parse_C",
]
