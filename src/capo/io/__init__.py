"""Files: tables to learn from, and models to keep."""

from ._atomic import atomic_write, check_writable

__all__ = ["atomic_write", "check_writable"]
