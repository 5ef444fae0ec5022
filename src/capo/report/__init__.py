"""One HTML page about a fitted classifier: what it does, how well, and why.

The page is one file that opens offline: styles, script and numbers are in it, and it asks the network for
nothing.
"""

from ._page import page

__all__ = ["page"]
