"""Classic classifiers that the paper builds on or compares with."""
# Imports from `estimators` and the layers below.

from ._c45 import C45Classifier
from ._c45 import Tree as C45Tree
from ._core_vector_machine import CoreVectorMachine
from ._cost_svm import CostSVMClassifier
from ._published_capo import PublishedCAPOClassifier
from ._rbf_network import RBFNetworkClassifier

__all__ = [
    "C45Classifier",
    "C45Tree",
    "CoreVectorMachine",
    "CostSVMClassifier",
    "PublishedCAPOClassifier",
    "RBFNetworkClassifier",
]
