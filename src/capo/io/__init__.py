"""Files: tables, model files, and atomic writes."""
# Imports from `baselines` and the layers below.

from ._atomic import atomic_write, check_writable

__all__ = ["atomic_write", "check_writable"]
