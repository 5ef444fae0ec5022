"""capo: train the classifier your metric asks for."""

from . import design, engine, measures, rivals
from .classifier import CAPOClassifier
from .svmperf import SVMPerfClassifier, svmperf_path
from .svmperf_cv import SVMPerfClassifierCV

__all__ = [
    "CAPOClassifier",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "__version__",
    "design",
    "engine",
    "measures",
    "rivals",
    "svmperf_path",
]

__version__ = "0.1.0"
