"""Auxiliary classifiers: what they are, how they are cross-fitted, what is read from them."""

from ._cross_fit import Auxiliary, CrossFitResult, cross_fit
from ._defaults import MIN_SAMPLES_LEAF, class_separation, default_auxiliaries, to_dense
from ._outputs import MAX_MARGIN, PROBABILITY_EPS, OutputScale, decision_scores, is_frozen
from ._scaling import Scaling, apply_scales
from ._validation import bind_sample_weight, name_auxiliaries, set_random_states

__all__ = [
    "MAX_MARGIN",
    "MIN_SAMPLES_LEAF",
    "PROBABILITY_EPS",
    "Auxiliary",
    "CrossFitResult",
    "OutputScale",
    "Scaling",
    "apply_scales",
    "bind_sample_weight",
    "class_separation",
    "cross_fit",
    "decision_scores",
    "default_auxiliaries",
    "is_frozen",
    "name_auxiliaries",
    "set_random_states",
    "to_dense",
]
