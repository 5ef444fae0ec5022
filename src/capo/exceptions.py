"""Exceptions and warnings.

The hierarchy::

    Exception
    └── CapoError
        ├── InvalidInputError (also a ValueError)   invalid data or parameters
        │   ├── UnknownMeasureError                 there is no measure of that name
        │   └── TableError                          a file cannot be read as a table
        ├── ModelFileError (also a ValueError)      a model file is damaged, unknown, too new or not trusted
        ├── OutputError (also an OSError)           a file cannot be written; no partial file is left
        ├── MeasureFunctionError (also a ValueError) a user's measure function failed
        ├── AuxiliaryError (also a ValueError)      an auxiliary classifier failed
        ├── LabelShiftError (also a ValueError)     more than the share of positives has changed
        ├── ExportError (also a ValueError)         a part of a model cannot be exported
        └── MissingExtraError (also an ImportError) an optional package is not installed

    Warning
    └── CapoWarning (a UserWarning)
        ├── DataWarning                             training data may mislead the classifier or its evaluation
        ├── ExhaustiveSearchWarning                 a measure is not monotone: the search is exhaustive
        ├── ConstraintWarning                       no threshold satisfies the measure's constraint
        ├── IgnoredWeightWarning                    an auxiliary does not support sample weights
        ├── TrivialSolutionWarning                  the optimum gives every row the same score
        └── InterruptedFitWarning                   a fit was interrupted and keeps its best solution

A fit that does not reach its tolerance issues scikit-learn's `sklearn.exceptions.ConvergenceWarning`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from numbers import Real
from typing import Any

__all__ = [
    "AuxiliaryError",
    "CapoError",
    "CapoWarning",
    "ConstraintWarning",
    "DataWarning",
    "ExhaustiveSearchWarning",
    "ExportError",
    "IgnoredWeightWarning",
    "InterruptedFitWarning",
    "InvalidInputError",
    "LabelShiftError",
    "MeasureFunctionError",
    "MissingExtraError",
    "ModelFileError",
    "OutputError",
    "TableError",
    "TrivialSolutionWarning",
    "UnknownMeasureError",
]


class CapoError(Exception):
    """Base class of capo's errors."""


class InvalidInputError(CapoError, ValueError):
    """Invalid data or parameters."""


class UnknownMeasureError(InvalidInputError):
    """There is no measure of that name; the message suggests similar names."""


class TableError(InvalidInputError):
    """A file cannot be read as a table, or is not the table expected; the message locates the problem."""


class ModelFileError(CapoError, ValueError):
    """A file is not a model file, or cannot be opened; the message explains why."""


class OutputError(CapoError, OSError):
    """A file cannot be written; an existing file is left unchanged."""


class MeasureFunctionError(CapoError, ValueError):
    """A user's measure function failed, or did not return one finite number per confusion matrix."""


class AuxiliaryError(CapoError, ValueError):
    """An auxiliary classifier failed in training or prediction; its own error is the cause."""


class LabelShiftError(CapoError, ValueError):
    """New rows are not a mixture of the two training classes: more than the base rate has changed."""


class ExportError(CapoError, ValueError):
    """A part of a model cannot be exported; the message names it and what to do."""


class MissingExtraError(CapoError, ImportError):
    """An optional package is not installed; the message explains how to install it."""


class CapoWarning(UserWarning):
    """Base class of capo's warnings."""


class DataWarning(CapoWarning):
    """Training data that may mislead: an index as a feature, copies of rows, a positive majority."""


class ExhaustiveSearchWarning(CapoWarning):
    """The measure is not monotone in tp and fp, so that the search is exhaustive."""


class ConstraintWarning(CapoWarning):
    """No threshold on the training scores satisfies the measure's constraint."""


class IgnoredWeightWarning(CapoWarning):
    """An auxiliary's `fit` does not support sample_weight, so that it is trained without weights."""


class TrivialSolutionWarning(CapoWarning):
    """The optimum has no weight on any feature, so that all rows have the same score."""


class InterruptedFitWarning(CapoWarning):
    """The fit was interrupted; the best solution so far is kept, with its gap."""


#: Largest number of labels listed in a message.
MAX_LISTED_LABELS = 5
#: Synonyms of measures that similar spelling does not find.
SYNONYMS = {"auprc": "average_precision", "auroc": "roc_auc", "iou": "jaccard", "pr_auc": "average_precision"}


def suggest_names(name: str, known: Sequence[str], otherwise: str) -> str:
    """Return a question with the names that are similar to an unknown one, or another hint."""
    plain = re.sub(r"_?score$", "", name.lower())  # as in "f1_score"
    fbeta = re.sub(r"^f\d(?=_|$)", "fbeta", plain)  # "f2" is "fbeta" with a parameter
    words, unique = sorted(plain.split("_")), list(dict.fromkeys(known))
    near = (
        [each for each in unique if sorted(each.split("_")) == words or each == SYNONYMS.get(plain)]
        or [each for each in unique if each == fbeta]
        or difflib.get_close_matches(plain, unique, n=3, cutoff=0.5)
        or [each for each in unique if each in plain]
    )
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def list_labels(labels: Sequence[Any]) -> str:
    """Return the first labels of a target for a message."""
    more = ", ..." if len(labels) > MAX_LISTED_LABELS else ""
    return ", ".join(repr(label) for label in labels[:MAX_LISTED_LABELS]) + more


def check_positive(value: object, name: str) -> float:
    """Return a number as a float, or raise an error unless it is finite and above 0."""
    if not (isinstance(value, Real) and 0.0 < float(value) < math.inf):
        raise InvalidInputError(f"{name} must be a finite number above 0: got {value!r}.")
    return float(value)
