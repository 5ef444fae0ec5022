"""From the options about the model to an unfitted classifier."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ... import measures
from ...auxiliary import auxiliary_names, check_auxiliary_name
from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...io.tables import TableReader
from ...measures import Measure
from ...model_selection import TimeFolds
from .._console import Console
from ._training_data import ColumnOptions, TableTrainingData, read_training_data

#: Larger parameters of measures are refused as typing errors.
MAX_MEASURE_ARG = 1e50
DELTAS = {"linear": "linear", "rbf": "rbf", "none": None}


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options about the model, as given on the command line."""

    measure: str
    measure_args: Sequence[str] | None
    auxiliaries: Sequence[str]
    delta: str
    folds: int
    jobs: int
    seed: int

    def parse_measure(self) -> Measure:
        """The measure with its parameters."""
        args = [_parse_measure_arg(each) for each in self.measure_args or []]
        repeated = [name for name, count in Counter(name for name, _ in args).items() if count > 1]
        if repeated:
            raise InvalidInputError(f"--measure-arg gives {repeated[0]!r} more than once: choose one value.")
        return measures.get(self.measure, **dict(args))

    def parse_delta(self) -> str | None:
        """The value of `CAPOClassifier.delta`."""
        name = self.delta.lower()
        if name not in DELTAS:
            raise InvalidInputError(f"--delta must be linear, rbf or none: got {self.delta!r}.")
        return DELTAS[name]

    def parse_auxiliaries(self) -> str | list[str]:
        """The value of `CAPOClassifier.auxiliaries`."""
        lists = [[name.strip() for name in each.split(",") if name.strip()] for each in self.auxiliaries]
        if not all(lists):
            raise InvalidInputError(f"--auxiliaries needs at least one of {', '.join(auxiliary_names())}.")
        names = [name for each in lists for name in each]
        for name in names:
            check_auxiliary_name(name)
        return "auto" if names == ["auto"] else names


def prepare_training(
    table: TableReader, columns: ColumnOptions, options: ModelOptions, console: Console
) -> tuple[TableTrainingData, CAPOClassifier]:
    """Read the training data and make the unfitted model; options are checked before the table is read."""
    measure, delta, auxiliaries = options.parse_measure(), options.parse_delta(), options.parse_auxiliaries()
    data = read_training_data(table, columns, console)
    model = CAPOClassifier(
        measure,
        auxiliaries=auxiliaries,
        pos_label=data.pos_label,
        cv=TimeFolds(options.folds) if columns.time else options.folds,
        delta=delta,
        n_jobs=options.jobs or None,
        random_state=options.seed,
        verbose=1,
    )
    return data, model


def _parse_measure_arg(text: str) -> tuple[str, int | float]:
    """Split ``beta=2`` into a name and a number."""
    name, equals, value = text.partition("=")
    try:
        number = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        number = None
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not equals or not is_number or not abs(number) < MAX_MEASURE_ARG:
        raise InvalidInputError(f"--measure-arg must be a name and a number, such as beta=2: got {text!r}.")
    return name.strip(), number
