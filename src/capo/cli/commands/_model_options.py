"""From the options about the model to an unfitted classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from ... import measures, multiclass, multilabel
from ...auxiliary import auxiliary_names, check_auxiliary_name
from ...estimators import CAPOClassifier
from ...exceptions import CapoError, InvalidInputError, UnknownMeasureError
from ...io.tables import TablePart
from ...model_selection import TimeFolds
from .._console import Console
from .._durations import parse_duration
from ._budget import choose_auxiliaries
from ._measure_args import parse_measure_args, use_labels_of
from ._targets import TargetKind
from ._training_data import ColumnOptions, TableTrainingData, read_training_data

#: The measures of each kind of target.
MEASURE_REGISTRIES: dict[TargetKind, Any] = {
    "binary": measures,
    "multiclass": multiclass,
    "multilabel": multilabel,
}
TARGET_DESCRIPTIONS: dict[TargetKind, str] = {
    "binary": "two classes",
    "multiclass": "classes",
    "multilabel": "several labels per row",
}
#: The built-in set of auxiliaries of each preset.
PRESETS = {"fast": "fast", "balanced": "auto", "best": "best"}
DELTAS = {"linear": "linear", "rbf": "rbf", "none": None}


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options about the model, as given on the command line."""

    measure: str
    measure_args: Sequence[str] | None
    auxiliaries: Sequence[str] | None
    preset: str | None
    delta: str
    folds: int
    jobs: int
    seed: int
    budget: str | None = None

    def check_measure(self) -> bool:
        """Raise if there is no such measure; return whether it is one of many classes and not of two."""
        errors: dict[TargetKind, CapoError] = {}
        for kind, registry in MEASURE_REGISTRIES.items():
            try:
                registry.get(self.measure, **self._measure_params)
            except CapoError as error:
                errors[kind] = error
        if len(errors) == len(MEASURE_REGISTRIES):
            known = (each for each in errors.values() if not isinstance(each, UnknownMeasureError))
            raise next(known, errors["binary"])
        return "binary" in errors and "multiclass" not in errors

    def parse_measure(self, kind: TargetKind, y: NDArray[Any]) -> Any:
        """The measure of a kind of target and its labels, with its parameters."""
        try:
            return MEASURE_REGISTRIES[kind].get(self.measure, **use_labels_of(self._measure_params, y))
        except UnknownMeasureError as error:
            if self.measure.strip() in MEASURE_REGISTRIES[kind].names():
                raise
            raise UnknownMeasureError(
                f"the measure {self.measure.strip()!r} does not fit the target, which has "
                f"{TARGET_DESCRIPTIONS[kind]}: choose another measure (see 'capo measures')."
            ) from error

    @cached_property
    def _measure_params(self) -> dict[str, Any]:
        return parse_measure_args(self.measure_args or [])

    def parse_delta(self) -> str | None:
        """The value of `CAPOClassifier.delta`."""
        name = self.delta.lower()
        if name not in DELTAS:
            raise InvalidInputError(f"--delta must be linear, rbf or none: got {self.delta!r}.")
        return DELTAS[name]

    def parse_auxiliaries(self) -> str | list[str]:
        """The value of `CAPOClassifier.auxiliaries`."""
        if self.preset is not None:
            return self._parse_preset(self.preset)
        if self.auxiliaries is None:
            return "auto"
        lists = [[name.strip() for name in each.split(",") if name.strip()] for each in self.auxiliaries]
        if not all(lists):
            raise InvalidInputError(f"--auxiliaries needs at least one of {', '.join(auxiliary_names())}.")
        names = [name for each in lists for name in each]
        for name in names:
            check_auxiliary_name(name)
        return "auto" if names == ["auto"] else names

    def parse_budget(self) -> float | None:
        """The seconds that training may take; None for any time."""
        return None if self.budget is None else parse_duration(self.budget, "--budget")

    def _parse_preset(self, preset: str) -> str:
        if preset not in PRESETS:
            raise InvalidInputError(f"--preset must be fast, balanced or best: got {preset!r}.")
        if self.auxiliaries is not None:
            raise InvalidInputError(
                "--preset and --auxiliaries both choose the classifiers: remove one, or add the set to "
                f"the list, as in -a {PRESETS[preset]},{self.auxiliaries[0]}."
            )
        return PRESETS[preset]


def prepare_training(
    table: TablePart,
    columns: ColumnOptions,
    options: ModelOptions,
    console: Console,
    *,
    n_models: int = 1,
) -> tuple[TableTrainingData, CAPOClassifier]:
    """Read the training data and make the unfitted model; options are checked before the table is read.

    `n_models` are trained within the budget.
    """
    many_classes, delta, auxiliaries = (
        options.check_measure(),
        options.parse_delta(),
        options.parse_auxiliaries(),
    )
    budget = options.parse_budget()
    data = read_training_data(table, columns, console, many_classes=many_classes)
    kind = data.target.kind
    model = CAPOClassifier(
        options.parse_measure(kind, data.y),
        auxiliaries=auxiliaries,
        pos_label=data.target.pos_label,
        cv=TimeFolds(options.folds) if columns.time else options.folds,
        # Many classes have no delta function: there is none to leave out.
        delta="linear" if kind == "multiclass" and delta is None else delta,
        n_jobs=options.jobs or None,
        random_state=options.seed,
        verbose=2,  # the console decides how much of it is shown
    )
    if budget is not None:
        choose_auxiliaries(model, data, budget, console, n_folds=options.folds, n_models=n_models)
    return data, model
