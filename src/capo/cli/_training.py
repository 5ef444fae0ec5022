"""From a table to a model, and to a comparison."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import measures
from ..estimators import CAPOClassifier
from ..exceptions import InvalidInputError
from ..inspection import compare
from ..io.model_files import save
from ..io.tables import (
    Batch,
    Roles,
    Schema,
    SchemaInference,
    SparseRows,
    SparseSchema,
    TableReader,
    TableSchema,
)
from ..measures import Measure
from ..preprocessing import encode_binary_labels
from ._auxiliaries import auxiliaries_by_name
from ._console import Console
from ._output import check_output, size, to_stdout

#: Parameters of measures beyond this are slips of the finger.
LARGEST_PARAMETER = 1e50
DELTAS = {"linear": "linear", "rbf": "rbf", "none": None}


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What was asked for, option by option."""

    target: str | None
    measure: str
    measure_args: list[str] | None
    auxiliaries: str
    positive: str | None
    weight: str | None
    drop: list[str] | None
    ids: list[str] | None
    categories: list[str] | None
    delta: str
    folds: int
    jobs: int
    seed: int

    def made_measure(self) -> Measure:
        """The measure with its parameters."""
        return measures.get(self.measure, **dict(_parameter(each) for each in self.measure_args or []))

    def made_delta(self) -> str | None:
        """The delta function's features."""
        if self.delta not in DELTAS:
            raise InvalidInputError(f"the delta function is linear, rbf or none: got {self.delta!r}.")
        return DELTAS[self.delta]


@dataclass(frozen=True)
class Problem:
    """A table ready to be learned from, and the model that is to learn."""

    schema: Schema
    X: Any
    y: NDArray[np.generic]
    weight: NDArray[np.float64] | None
    model: CAPOClassifier


def run_fit(table: TableReader, wanted: FitOptions, output: Path, screen: Console) -> None:
    """Train, write the model, show its summary."""
    if to_stdout(output):
        raise InvalidInputError("a model goes to a file: name it with --output.")
    check_output(output, table.path)
    problem = _problem(table, wanted, screen)
    with screen.step("training"):
        model = problem.model.fit(problem.X, problem.y, sample_weight=problem.weight)
    with screen.step("writing"):
        training = {"table": table.name, "rows": len(problem.y), "sha256": fingerprint(table)}
        save(model, output, schema=problem.schema.to_dict(), training=training)
    screen.result(model.summary(), _found(model, output))
    screen.say(f"\nwrote {output} ({size(output)})")


def run_compare(table: TableReader, wanted: FitOptions, folds: int, screen: Console) -> None:
    """Compare with what is simpler, and say whether it is worth it."""
    problem = _problem(table, wanted, screen)
    with screen.step("comparing") as step:
        found = compare(
            problem.model,
            problem.X,
            problem.y,
            sample_weight=problem.weight,
            folds=folds,
            random_state=wanted.seed,
            on_progress=step.progress,
        )
    size = f"{len(problem.y):,} rows, {found.folds} folds"
    head = f"{table.name}: {size}; default learner: {found.default_learner}"
    screen.result(f"{head}\n\n{found}", found.to_dict())


def fingerprint(table: TableReader) -> str:
    """What tells a file from others; nothing for a pipe."""
    path = Path(table.path)
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _problem(table: TableReader, wanted: FitOptions, screen: Console) -> Problem:
    measure, delta = wanted.made_measure(), wanted.made_delta()
    with screen.step(f"reading {table.name}"):
        batch = table.read()
        learned = _learned(batch, wanted)
        schema = learned.schema
        X, y, weight = schema.features(batch), schema.labels(batch), schema.weights(batch)
    classes, positive = _classes(y, wanted, schema)
    _check_weight(weight, positive, classes, wanted)
    for note in learned.notes:
        screen.note(note)
    screen.say(_size(schema, classes, positive))
    model = CAPOClassifier(
        measure,
        auxiliaries=_auxiliaries(wanted.auxiliaries, X),
        pos_label=classes.tolist()[1],
        cv=wanted.folds,
        delta=delta,
        n_jobs=wanted.jobs or None,
        random_state=wanted.seed,
        verbose=1,
    )
    return Problem(schema, X, y, weight, model)


def _check_weight(
    weight: NDArray[np.float64] | None,
    positive: NDArray[np.bool_],
    classes: NDArray[np.generic],
    wanted: FitOptions,
) -> None:
    if weight is None:
        return
    for label, rows in zip(classes.tolist(), (~positive, positive), strict=True):
        if not weight[rows].any():
            raise InvalidInputError(
                f"the weights in {wanted.weight!r} are 0 for all rows of {label!r}: some must count."
            )


def _auxiliaries(given: str, X: Any) -> Any:
    names = [name.strip() for name in given.split(",") if name.strip()]
    return "auto" if names == ["auto"] else auxiliaries_by_name(names, X)


def _learned(batch: Batch, wanted: FitOptions) -> SchemaInference:
    """The schema, and what to know of it."""
    by_name = [wanted.target, wanted.weight, wanted.drop, wanted.ids, wanted.categories]
    if isinstance(batch.rows, SparseRows):
        if any(by_name):
            raise InvalidInputError(
                "a file in svmlight's format has its labels in front and no columns by name: leave out "
                "--target, --weight, --drop, --id and --category."
            )
        return SchemaInference(SparseSchema.learn(batch))
    if not wanted.target:
        shown = ", ".join(map(repr, batch.rows.columns[:10]))
        raise InvalidInputError(f"say which column holds the labels with --target: there are {shown}.")
    lists = (tuple(dict.fromkeys(each or ())) for each in (wanted.drop, wanted.ids, wanted.categories))
    return TableSchema.learn(batch, Roles(wanted.target, wanted.weight or "", *lists))


def _classes(
    y: NDArray[np.generic], wanted: FitOptions, schema: Schema
) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """The two labels, the positive one last, with sentences that speak of the column."""
    found = np.unique(y).tolist()
    target = f"the target {wanted.target!r}" if wanted.target else "the target"
    if len(found) == 1:
        raise InvalidInputError(f"{target} is {found[0]!r} in every row: two classes are needed.")
    if len(found) > 2:
        shown = ", ".join(repr(label) for label in found[:5]) + (", ..." if len(found) > 5 else "")
        raise InvalidInputError(
            f"{target} has {len(found):,} different values ({shown}): two are needed. Is it the right column?"
        )
    if wanted.positive is None:
        return encode_binary_labels(y)
    positive = schema.label(wanted.positive)
    if positive not in found:
        raise InvalidInputError(
            f"{target} has no label {wanted.positive!r}: it has {found[0]!r} and {found[1]!r}."
        )
    return encode_binary_labels(y, positive)


def _size(schema: Schema, classes: NDArray[np.generic], positive: NDArray[np.bool_]) -> str:
    n, p, label = len(positive), int(positive.sum()), classes.tolist()[1]
    columns = f"{schema.n_features:,} column{'s' if schema.n_features > 1 else ''}"
    return f"{n:,} rows, {columns}; {label!r} is positive, {p:,} rows ({p / n:.1%})"


def _parameter(given: str) -> tuple[str, Any]:
    """``beta=2`` as a name and a number."""
    name, equals, value = given.partition("=")
    try:
        number = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        number = None
    number = None if isinstance(number, bool) or not isinstance(number, int | float) else number
    if not equals or number is None or not abs(number) < LARGEST_PARAMETER:
        raise InvalidInputError(f"--measure-arg is a name and a number, such as beta=2: got {given!r}.")
    return name.strip(), number


def _found(model: CAPOClassifier, output: Path) -> dict[str, Any]:
    """What a fit found, as plain values."""
    lines = model.summary().lines
    return {
        "model": str(output),
        "measure": model.measure_.label,
        "classes": model.classes_.tolist(),
        "rows": len(model.oof_decision_),
        "positive": model.n_positive_,
        "value": model.score_,
        "spread": model.score_std_,
        "threshold": model.threshold_,
        "C": model.C_,
        "gap": model.gap_,
        "out_of_fold": [{"name": each.name, "value": each.value, "spread": each.spread} for each in lines],
        "weights": model.auxiliary_weights_,
        "seconds": model.timings_,
    }
