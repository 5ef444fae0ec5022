"""Classifiers for data on many machines, or larger than memory, with Dask.

It needs the extra ``[dask]``.
"""

from ..exceptions import MissingExtraError

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise MissingExtraError("capo.dask needs Dask: pip install 'capo-learn[dask]'.") from error

from ._estimators import DaskCAPOClassifier, DaskSVMPerfClassifier, decision_function, predict, predict_proba
from ._evaluation import evaluate

__all__ = [
    "DaskCAPOClassifier",
    "DaskSVMPerfClassifier",
    "decision_function",
    "evaluate",
    "predict",
    "predict_proba",
]
