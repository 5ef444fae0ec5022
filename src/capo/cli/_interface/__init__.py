"""The commands as a shell sees them: names, parameters and help.

Each command is a function that imports its implementation from `commands` when it runs, so that
``capo --help`` answers at once.
"""

from ._evaluation import evaluate, explain, report
from ._information import demo, measures, show
from ._prediction import adjust, export, guarantee, predict
from ._training import compare, fit, inspect, refit

__all__ = [
    "adjust",
    "compare",
    "demo",
    "evaluate",
    "explain",
    "export",
    "fit",
    "guarantee",
    "inspect",
    "measures",
    "predict",
    "refit",
    "report",
    "show",
]
