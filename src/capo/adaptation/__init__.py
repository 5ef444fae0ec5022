"""From cross-fitted columns to a classifier: prior, path over C, choice, operating point."""

from .adapt import Adapted, adapt, as_grid
from .figures import Figure, figure
from .problem import Rows, Settings, Weights
from .selection import Candidate, Walk

__all__ = [
    "Adapted",
    "Candidate",
    "Figure",
    "Rows",
    "Settings",
    "Walk",
    "Weights",
    "adapt",
    "as_grid",
    "figure",
]
