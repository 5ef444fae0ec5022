"""Classic classifiers that the paper builds on or compares with."""

from .c45 import C45Classifier
from .core_vector_machine import CoreVectorMachine
from .cost_svm import CostSVMClassifier
from .rbf_network import RBFNetworkClassifier

__all__ = ["C45Classifier", "CoreVectorMachine", "CostSVMClassifier", "RBFNetworkClassifier"]
