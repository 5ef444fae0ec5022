"""From cross-fitted columns to a classifier: prior, path over C, choice, operating point."""

from .adapt import Adapted, adapt, as_grid
from .figures import Figure, figure
from .problem import Rows, Settings, Weights

__all__ = ["Adapted", "Figure", "Rows", "Settings", "Weights", "adapt", "as_grid", "figure"]
