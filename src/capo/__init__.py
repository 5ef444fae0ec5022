"""capo: train the classifier your metric asks for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import design, engine, measures, rivals
    from .classifier import CAPOClassifier
    from .files import load, save
    from .svmperf import SVMPerfClassifier, svmperf_path
    from .svmperf_cv import SVMPerfClassifierCV

__all__ = [
    "CAPOClassifier",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "__version__",
    "design",
    "engine",
    "load",
    "measures",
    "rivals",
    "save",
    "svmperf_path",
]

__version__ = "0.1.0"

#: Where each name is; imported on first use, so that the command line starts at once.
_WHERE = {
    "CAPOClassifier": "classifier",
    "SVMPerfClassifier": "svmperf",
    "SVMPerfClassifierCV": "svmperf_cv",
    "load": "files",
    "save": "files",
    "svmperf_path": "svmperf",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
