"""C4.5's decision tree for numeric features, as WEKA's J48 grows and prunes it."""

from ._classifier import C45Classifier
from ._tree import Tree

__all__ = ["C45Classifier", "Tree"]
