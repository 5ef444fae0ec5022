"""An HTML report about a fitted classifier: its operating point, its quality and its training.

The report is a single file that works offline and makes no network requests. Rendering it needs Jinja2:
``pip install 'capo-learn[report]'``.
"""

from ._page import render_report

__all__ = ["render_report"]
