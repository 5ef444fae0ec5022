"""HTML reports about fitted classifiers: operating point or decision rule, quality and training.

A report is a single file that works offline and makes no network requests. Rendering it needs Jinja2:
``pip install 'capo-learn[report]'``.
"""
# Imports from `baselines` and the layers below.

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._page import render_report, write_report

__all__ = ["render_report", "write_report"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that capo.report exists without Jinja2.
    if name in __all__:
        return getattr(import_module("._page", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
