"""Thresholds that keep a constraint on new rows with a stated confidence.

`certify` tests a sequence of thresholds, fixed before the labels of the calibration rows are seen, with exact
binomial tests, and returns a `Guarantee`. `CAPOClassifier.guarantee` applies it to a fitted model.
"""
# Imports from `testing` and the layers below.

from ._certify import certify
from ._constraint import Constraint, rate_names
from ._guarantee import ALL_ROWS_CUT, NO_ROW_CUT, Guarantee
from ._plan import TrainingScores, plan_cuts

__all__ = [
    "ALL_ROWS_CUT",
    "NO_ROW_CUT",
    "Constraint",
    "Guarantee",
    "TrainingScores",
    "certify",
    "plan_cuts",
    "rate_names",
]
