"""capo: train the classifier your metric asks for."""

from . import design, engine, measures
from .svmperf import SVMPerfClassifier, svmperf_path

__all__ = ["SVMPerfClassifier", "__version__", "design", "engine", "measures", "svmperf_path"]

__version__ = "0.1.0"
