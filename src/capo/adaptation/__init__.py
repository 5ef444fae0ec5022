"""From cross-fitted columns to a classifier: prior, path over C, choice, operating point."""

from ._path_search import GridPoint, PathSearch
from ._pipeline import AdaptationResult, adapt, parse_C
from ._problem import AdaptationData, LinearCombination, Settings
from ._scores import CVScore, cv_score

__all__ = [
    "AdaptationData",
    "AdaptationResult",
    "CVScore",
    "GridPoint",
    "LinearCombination",
    "PathSearch",
    "Settings",
    "adapt",
    "cv_score",
    "parse_C",
]
