"""capo: combine classifiers and adapt them to a performance measure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        baselines,
        decisions,
        engine,
        exceptions,
        export,
        inspection,
        io,
        kernels,
        learning,
        measures,
        report,
        tables,
        testing,
    )
    from .estimators import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV, svmperf_path
    from .io.model_file import load, save
    from .learning.auxiliaries import ScoreColumn
    from .learning.folds import TimeFolds

__all__ = [
    "CAPOClassifier",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "ScoreColumn",
    "TimeFolds",
    "__version__",
    "baselines",
    "decisions",
    "engine",
    "exceptions",
    "export",
    "inspection",
    "io",
    "kernels",
    "learning",
    "load",
    "measures",
    "report",
    "save",
    "svmperf_path",
    "tables",
    "testing",
]

__version__ = "0.1.0"

#: The module of each name, imported on first use, so that the command line starts quickly.
_WHERE = {
    "CAPOClassifier": "estimators",
    "SVMPerfClassifier": "estimators",
    "SVMPerfClassifierCV": "estimators",
    "ScoreColumn": "learning.auxiliaries",
    "TimeFolds": "learning.folds",
    "load": "io.model_file",
    "save": "io.model_file",
    "svmperf_path": "estimators",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
