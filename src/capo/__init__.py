"""capo: train the classifier your metric asks for."""

from . import design, engine, measures
from .classifier import CAPOClassifier
from .svmperf import SVMPerfClassifier, svmperf_path

__all__ = [
    "CAPOClassifier",
    "SVMPerfClassifier",
    "__version__",
    "design",
    "engine",
    "measures",
    "svmperf_path",
]

__version__ = "0.1.0"
