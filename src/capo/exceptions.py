"""What can go wrong, by name.

The hierarchy::

    Exception
    └── CapoError
        ├── InvalidInputError (also a ValueError)   data or a parameter capo cannot use
        │   ├── UnknownMeasureError                 no measure of that name
        │   └── TableError                          a file that cannot be read as the table it should be
        ├── ModelFileError (also a ValueError)      a model file: damaged, foreign, newer, not trusted
        ├── OutputError (also an OSError)           a file that cannot be written; nothing is left half-done
        ├── MeasureFunctionError (also a ValueError) a user's measure function returned nonsense
        ├── AuxiliaryError (also a ValueError)      an auxiliary classifier failed; says which and why
        ├── ExportError (also a ValueError)         a part of a model cannot be written in a format
        └── MissingExtraError (also an ImportError) an optional package is not installed

    Warning
    └── CapoWarning (a UserWarning)
        ├── ExhaustiveSearchWarning                 a measure without structure: every table is tried
        ├── ConstraintWarning                       a floor or ceiling the training rows never meet
        ├── IgnoredWeightWarning                    an auxiliary takes no weights of rows
        ├── TrivialSolutionWarning                  the optimum gives every row the same score
        └── InterruptedFitWarning                   Ctrl-C: the best solution so far is kept

A fit that stopped short of its tolerance warns with scikit-learn's own
`sklearn.exceptions.ConvergenceWarning`.
"""

__all__ = [
    "AuxiliaryError",
    "CapoError",
    "CapoWarning",
    "ConstraintWarning",
    "ExhaustiveSearchWarning",
    "ExportError",
    "IgnoredWeightWarning",
    "InterruptedFitWarning",
    "InvalidInputError",
    "MeasureFunctionError",
    "MissingExtraError",
    "ModelFileError",
    "OutputError",
    "TableError",
    "TrivialSolutionWarning",
    "UnknownMeasureError",
]


class CapoError(Exception):
    """Base class of every error that capo raises on purpose."""


class InvalidInputError(CapoError, ValueError):
    """Data or a parameter that capo cannot use; the message says what to do."""


class UnknownMeasureError(InvalidInputError):
    """No measure has that name; the message lists the nearest ones."""


class TableError(InvalidInputError):
    """A file that cannot be read, or does not hold the table it should; the message says where."""


class ModelFileError(CapoError, ValueError):
    """A file that is not a model, or not one that can be opened here; the message says why."""


class OutputError(CapoError, OSError):
    """A file that cannot be written; what was there before is still there."""


class MeasureFunctionError(CapoError, ValueError):
    """A user's measure function returned something that is not one number per table."""


class AuxiliaryError(CapoError, ValueError):
    """An auxiliary classifier could not be trained or read; its own error is the cause."""


class ExportError(CapoError, ValueError):
    """A part of a model cannot be written in the format; the message says which and what to do."""


class MissingExtraError(CapoError, ImportError):
    """An optional package is needed and not installed; the message says how to get it."""


class CapoWarning(UserWarning):
    """Base class of capo's warnings."""


class ExhaustiveSearchWarning(CapoWarning):
    """The measure is not monotone in tp and fp, so that every table is tried."""


class ConstraintWarning(CapoWarning):
    """No threshold on the training scores meets the measure's floor or ceiling."""


class IgnoredWeightWarning(CapoWarning):
    """An auxiliary's `fit` takes no sample_weight, so that it is trained on rows of equal weight."""


class TrivialSolutionWarning(CapoWarning):
    """The optimum has no weight on any feature, so that every row gets the same score."""


class InterruptedFitWarning(CapoWarning):
    """The fit was interrupted; the best solution so far is kept, with its gap."""
