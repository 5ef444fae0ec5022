"""What a fitted classifier does and how well: summary, evaluation, comparison, plots."""

from ._comparison import Comparison, System, compare, compare_on_fold
from ._evaluation import Evaluation, Value, evaluate
from ._plots import CPathDisplay, SolverDisplay, ThresholdDisplay, WeightsDisplay
from ._summary import Summary, frozen_auxiliary_names, summarize

__all__ = [
    "CPathDisplay",
    "Comparison",
    "Evaluation",
    "SolverDisplay",
    "Summary",
    "System",
    "ThresholdDisplay",
    "Value",
    "WeightsDisplay",
    "compare",
    "compare_on_fold",
    "evaluate",
    "frozen_auxiliary_names",
    "summarize",
]
