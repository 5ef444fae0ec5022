"""The options of the commands, in groups by what they are about.

A group is a dataclass of the values, whose fields are annotated with the names and the help of their options.
The commands take a group as one parameter (`expand_groups`), and pass it on to their implementation. The
modules here import nothing heavy, because ``capo --help`` needs them.
"""

from ._cluster import ClusterOptions, FitClusterOptions
from ._columns import ColumnOptions, FitColumnOptions
from ._explanation import ExplanationOptions
from ._groups import expand_groups
from ._guarantee import GuaranteeOptions
from ._model import (
    ComparisonModelOptions,
    FitModelOptions,
    JobsOption,
    ModelOptions,
    SeedOption,
)
from ._model_file import ModelArgument, ModelFileOptions, ModelOutputOption, OptionalModelOutputOption
from ._output import (
    ConsoleOptions,
    DriftConsoleOptions,
    JsonOption,
    QuietOption,
    TrainingConsoleOptions,
    output_option,
)
from ._panels import COLUMNS, MODEL, OUTPUT, PANELS
from ._table import OptionalTableOptions, TableOptions

__all__ = [
    "COLUMNS",
    "MODEL",
    "OUTPUT",
    "PANELS",
    "ClusterOptions",
    "ColumnOptions",
    "ComparisonModelOptions",
    "ConsoleOptions",
    "DriftConsoleOptions",
    "ExplanationOptions",
    "FitClusterOptions",
    "FitColumnOptions",
    "FitModelOptions",
    "GuaranteeOptions",
    "JobsOption",
    "JsonOption",
    "ModelArgument",
    "ModelFileOptions",
    "ModelOptions",
    "ModelOutputOption",
    "OptionalModelOutputOption",
    "OptionalTableOptions",
    "QuietOption",
    "SeedOption",
    "TableOptions",
    "TrainingConsoleOptions",
    "expand_groups",
    "output_option",
]
