"""HTML reports about fitted classifiers: operating point or decision rule, quality and training.

A report is a single file that works offline and makes no network requests. Rendering it needs Jinja2:
``pip install 'capo-learn[report]'``.
"""
# Imports from `baselines` and the layers below.

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._class_page import render_class_report
    from ._page import render_report
    from ._priced_page import render_priced_report

__all__ = ["render_class_report", "render_priced_report", "render_report"]

_MODULES = {
    "render_class_report": "._class_page",
    "render_priced_report": "._priced_page",
    "render_report": "._page",
}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that capo.report exists without Jinja2.
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
