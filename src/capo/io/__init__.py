"""Files: tables, model files, and atomic writes."""

from ._atomic import atomic_write, check_writable

__all__ = ["atomic_write", "check_writable"]
