"""Classic classifiers that the paper builds on or compares with."""

from ._c45 import C45Classifier, NodeSplit, Tree, added_errors, sort_entries, total_entropy
from ._core_vector_machine import CoreVectorMachine
from ._cost_svm import CostSVMClassifier
from ._published_capo import PublishedCAPOClassifier, fit_in_sample
from ._rbf_network import RBFNetworkClassifier

__all__ = [
    "C45Classifier",
    "CoreVectorMachine",
    "CostSVMClassifier",
    "NodeSplit",
    "PublishedCAPOClassifier",
    "RBFNetworkClassifier",
    "Tree",
    "added_errors",
    "fit_in_sample",
    "sort_entries",
    "total_entropy",
]
