"""capo: combine classifiers and adapt them to a performance measure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        adaptation,
        auxiliary,
        baselines,
        design,
        engine,
        exceptions,
        export,
        guarantees,
        inspection,
        io,
        kernels,
        label_shift,
        measures,
        model_selection,
        multiclass,
        multilabel,
        prices,
        report,
        testing,
    )
    from .estimators import (
        CAPOClassifier,
        MulticlassCAPOClassifier,
        MultilabelCAPOClassifier,
        SVMPerfClassifier,
        SVMPerfClassifierCV,
        svmperf_path,
    )
    from .io.model_files import load, save

__all__ = [
    "CAPOClassifier",
    "MulticlassCAPOClassifier",
    "MultilabelCAPOClassifier",
    "SVMPerfClassifier",
    "SVMPerfClassifierCV",
    "__version__",
    "adaptation",
    "auxiliary",
    "baselines",
    "design",
    "engine",
    "exceptions",
    "export",
    "guarantees",
    "inspection",
    "io",
    "kernels",
    "label_shift",
    "load",
    "measures",
    "model_selection",
    "multiclass",
    "multilabel",
    "prices",
    "report",
    "save",
    "svmperf_path",
    "testing",
]

__version__ = "0.1.0"

#: Where each name is; imported on first use, so that the command line starts at once.
_WHERE = {
    "CAPOClassifier": "estimators",
    "MulticlassCAPOClassifier": "estimators",
    "MultilabelCAPOClassifier": "estimators",
    "SVMPerfClassifier": "estimators",
    "SVMPerfClassifierCV": "estimators",
    "load": "io.model_files",
    "save": "io.model_files",
    "svmperf_path": "estimators",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    if name in __all__ or name == "preprocessing":
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
