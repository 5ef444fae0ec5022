"""Classic classifiers that the paper builds on or compares with."""

from ._c45 import C45Classifier, Tree
from ._core_vector_machine import CoreVectorMachine
from ._cost_svm import CostSVMClassifier
from ._published_capo import PublishedCAPOClassifier
from ._rbf_network import RBFNetworkClassifier

__all__ = [
    "C45Classifier",
    "CoreVectorMachine",
    "CostSVMClassifier",
    "PublishedCAPOClassifier",
    "RBFNetworkClassifier",
    "Tree",
]
