"""An HTML report about a fitted classifier: its operating point, its quality and its training.

The report is a single file that works offline and makes no network requests. Rendering it needs Jinja2:
``pip install 'capo-learn[report]'``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._page import render_report

__all__ = ["render_report"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that capo.report exists without Jinja2.
    if name == "render_report":
        from ._page import render_report  # noqa: PLC0415

        return render_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
