"""Label shift: another share of positives than in training, while each class looks as it did.

`estimate_prevalence` estimates the share of positives among unlabeled rows from a model's scores, with an
interval and with the distance of the scores from any mixture of the two classes as trained.
`CAPOClassifier.for_population` adjusts a model to it.
"""
# Imports from `auxiliary` and the layers below.

from ._mixture import ClassScores, mixture_distance
from ._population import Population, adjust_threshold
from ._prevalence import PrevalenceEstimate, estimate_prevalence

__all__ = [
    "ClassScores",
    "Population",
    "PrevalenceEstimate",
    "adjust_threshold",
    "estimate_prevalence",
    "mixture_distance",
]
