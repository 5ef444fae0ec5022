"""Many labels: measures of label matrices, and the models of all labels.

`get` returns a measure by its name, `names` lists the names and `describe` explains the measures.
"""
# Imports from `adaptation`, `label_shift`, `multiclass` and the layers below.

from ._adaptation import (
    MIN_POSITIVE_ROWS,
    LabelData,
    LabelModel,
    LabelModels,
    fit_label_models,
    tries_adaptation,
)
from ._decisions import cut_rows, expected_value
from ._measures import (
    EntryAverage,
    LabelAverage,
    MultilabelMeasure,
    PrecisionAtK,
    RowAverage,
    SamplesF1,
    expected_f1,
)
from ._registry import describe, get, names

__all__ = [
    "MIN_POSITIVE_ROWS",
    "EntryAverage",
    "LabelAverage",
    "LabelData",
    "LabelModel",
    "LabelModels",
    "MultilabelMeasure",
    "PrecisionAtK",
    "RowAverage",
    "SamplesF1",
    "cut_rows",
    "describe",
    "expected_f1",
    "expected_value",
    "fit_label_models",
    "get",
    "names",
    "tries_adaptation",
]
