"""From the options about the model to an unfitted classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...auxiliary import auxiliary_names, check_auxiliary_name
from ...estimators import CAPOClassifier
from ...exceptions import InvalidInputError
from ...io.tables import Schema, TablePart, TableSchema
from ...model_selection import DEFAULT_N_FOLDS, RepeatedFolds, TimeFolds
from .._console import Console
from .._durations import parse_duration
from .._options import ColumnOptions, ModelOptions
from ._budget import choose_auxiliaries
from ._measure import RequestedMeasure, matrix_files
from ._training_data import TableTrainingData, read_training_data

#: The built-in set of auxiliaries of each preset.
PRESETS = {"fast": "fast", "balanced": "auto", "best": "best"}
DELTAS = {"linear": "linear", "rbf": "rbf", "none": None}


def option_files(columns: ColumnOptions, options: ModelOptions) -> list[Path]:
    """The files that options name: the kinds of columns, and matrices of costs or gains."""
    return [*([] if columns.types is None else [columns.types]), *matrix_files(options.measure_args or [])]


def prepare_training(
    table: TablePart,
    columns: ColumnOptions,
    options: ModelOptions,
    console: Console,
    *,
    n_models: int = 1,
    n_repeats: int = 1,
) -> tuple[TableTrainingData, CAPOClassifier]:
    """Read the training data and make the unfitted model; options are checked before the table is read.

    `n_models` are trained within the budget, each with folds that are drawn `n_repeats` times.
    """
    measure = RequestedMeasure.parse(options.measure_name, options.measure_args or [])
    many_classes = measure.check()
    delta, auxiliaries = _parse_delta(options.delta), parse_auxiliaries(options)
    if n_repeats > 1 and columns.time:
        raise InvalidInputError("--repeats draws folds at random, which --time does not allow: remove one.")
    budget = None if options.budget is None else parse_duration(options.budget, "--budget")
    data = read_training_data(table, columns, options.prices, console, many_classes=many_classes)
    kind = data.target.kind
    if n_repeats > 1 and kind != "binary":
        raise InvalidInputError("--repeats is for targets of two classes: leave it out.")
    model = CAPOClassifier(
        measure.for_target(kind, data.y),
        auxiliaries=auxiliaries,
        pos_label=data.target.pos_label,
        cv=_make_cv(columns, options, n_repeats),
        # Many classes have no delta function: there is none to leave out.
        delta="linear" if kind == "multiclass" and delta is None else delta,
        column_kinds=_text_kinds(data.schema),
        n_jobs=options.jobs or None,
        random_state=options.seed,
        verbose=2,  # the console decides how much of it is shown
    )
    if budget is not None:
        n_folds = options.folds or DEFAULT_N_FOLDS
        choose_auxiliaries(model, data, budget, console, n_folds=n_folds, n_models=n_models * n_repeats)
    return data, model


def _text_kinds(schema: Schema) -> dict[str, dict[str, Any]] | None:
    """The kinds of the columns whose data type does not tell them: free text and lists of tags."""
    if not isinstance(schema, TableSchema):
        return None
    kinds = {name: kind.to_dict() for name, kind in schema.columns.items() if kind.role in ("text", "tags")}
    return kinds or None


def _make_cv(columns: ColumnOptions, options: ModelOptions, n_repeats: int) -> Any:
    """The value of `CAPOClassifier.cv`."""
    n_folds = options.folds or DEFAULT_N_FOLDS
    if columns.time:
        return TimeFolds(n_folds)
    return options.folds if n_repeats == 1 else RepeatedFolds(n_folds, n_repeats, options.seed)


def parse_auxiliaries(options: ModelOptions) -> str | list[str]:
    """The value of `CAPOClassifier.auxiliaries`."""
    if options.preset is not None:
        return _parse_preset(options.preset, options.auxiliaries)
    if options.auxiliaries is None:
        return "auto"
    lists = [[name.strip() for name in each.split(",") if name.strip()] for each in options.auxiliaries]
    if not all(lists):
        raise InvalidInputError(f"--auxiliaries needs at least one of {', '.join(auxiliary_names())}.")
    names = [name for each in lists for name in each]
    for name in names:
        check_auxiliary_name(name)
    return "auto" if names == ["auto"] else names


def _parse_preset(preset: str, auxiliaries: list[str] | None) -> str:
    if preset not in PRESETS:
        raise InvalidInputError(f"--preset must be fast, balanced or best: got {preset!r}.")
    if auxiliaries is not None:
        raise InvalidInputError(
            "--preset and --auxiliaries both choose the classifiers: remove one, or add the set to "
            f"the list, as in -a {PRESETS[preset]},{auxiliaries[0]}."
        )
    return PRESETS[preset]


def _parse_delta(text: str) -> str | None:
    """The value of `CAPOClassifier.delta`."""
    name = text.lower()
    if name not in DELTAS:
        raise InvalidInputError(f"--delta must be linear, rbf or none: got {text!r}.")
    return DELTAS[name]
