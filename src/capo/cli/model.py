"""``capo inspect``, ``show``, ``export``, ``measures`` and ``demo``: tables, model files and measures."""

from __future__ import annotations

# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InvalidInputError, list_labels
from . import options
from .console import check_file_ending, check_output, count, ignore_broken_pipe, printable, write_output
from .options import column_option, output_option

if TYPE_CHECKING:
    from ..io.source import Batch
    from ..io.table_schema import ColumnRoles
    from ..tables.checks import DataFinding
    from ..tables.schema import FeatureSchema


@options.command
def inspect(
    table: options.Table,
    console: options.Output,
    target: Annotated[str | None, column_option("--target -t COLUMN", "Column with the labels.")] = None,
    output: Annotated[
        Path | None, output_option("--output -o FILE", "TOML file to write, for 'capo fit --types'.")
    ] = None,
) -> None:
    """Show the kind of each column of a table.

    \b
    The output has the reason, an example and the share of missing values. With --target, notes list what may
    mislead: columns that determine the target, constant columns, rows that are sorted by the target. The
    kinds can be written to a file, edited, and used in training.
      capo inspect train.csv --target churned
      capo inspect train.csv -o types.toml
      capo fit train.csv --target churned --types types.toml -o churn.capo
    """
    from ..io.table_schema import ColumnRoles, column_notes, infer_features

    reader = table.open()
    check_output(output, *reader.paths)
    with console.step(f"reading {reader.name}"):
        batch, roles = reader.read(), ColumnRoles(target or "")
        features = infer_features(batch, roles)
        findings = _find_misleading_data(batch, roles, features, console) if target else []
    for note in [*column_notes(features), *(finding.message for finding in findings)]:
        console.note(note)
    if output is not None:
        write_output(_format_column_types(features, reader.name).encode(), output, console)
    console.result(
        f"{reader.name}: {count(len(batch), 'row')}, {count(len(features.columns), 'column')}\n\n"
        f"{features}\n\nTo change a kind, write all of them to a file with -o types.toml, edit it, and train "
        "with 'capo fit --types types.toml'.",
        {
            "table": reader.name,
            "rows": len(batch),
            "columns": [
                {
                    "name": str(each.key),
                    "kind": each.kind.name,
                    "reason": each.reason,
                    "doubt": each.doubt,
                    "example": each.example,
                    "missing_share": each.missing_share,
                    "is_used": each.kind.role != "none",
                }
                for each in features.columns
            ],
            "findings": [finding._asdict() for finding in findings],
        },
    )


def _find_misleading_data(
    batch: Batch, roles: ColumnRoles, features: FeatureSchema, console: options.Output
) -> list[DataFinding]:
    """Warnings about training for the target; empty, with a note, if a model cannot be trained."""
    import numpy as np

    from ..io.table_schema import infer_table_schema
    from ..tables.checks import check_data

    try:
        schema = infer_table_schema(batch, roles, features)
        labels, X = schema.labels(batch), schema.features(batch)
    except InvalidInputError as error:
        console.note(f"A model cannot be trained on this table: {error}")
        return []
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    main_class = 1 if len(classes) == 2 else int(counts.argmax())
    return check_data(X, codes == main_class, schema.table.parsed, target=roles.target)


def _format_column_types(features: FeatureSchema, table_name: str) -> str:
    """The kinds of a table's columns in TOML, with the reason for each as a comment."""
    from ..tables.schema import KINDS
    from .training_data import TYPES_TABLE

    lines = [
        f"# Kinds of the columns of {_one_line(table_name)}, written by 'capo inspect'.",
        "# Change a kind or delete a line, and train with: capo fit TABLE --types THIS_FILE ...",
        f"# Kinds: {', '.join(KINDS)}. An identifier is not used as a feature.",
        "# The format of values can be specified, too:",
        '#     "day" = {kind = "date", layout = "day-month-year"}',
        '#     "price" = {kind = "number", thousands = ".", decimal = ","}',
        f"\n[{TYPES_TABLE}]",
    ]
    for column in features.columns:
        doubt = f"; please check: {column.doubt}" if column.doubt else ""
        comment = _one_line(f"{column.reason}{doubt}; for example {column.example!r}")
        name, kind = json.dumps(str(column.key)), json.dumps(column.kind.name)
        lines.append(f"{name} = {kind}  # {comment}")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(printable(text).splitlines())


@options.command
def show(model: options.Model, as_json: options.Json = False) -> None:
    """Describe a model file without loading the model.

    \b
      capo show churn.capo
    """
    from ..io.model_file import read_manifest

    check_output(None, model)
    manifest = read_manifest(model)
    schema, labels = manifest.schema, manifest.schema.get("label_names")
    positive = " (the last is positive)" if manifest.threshold is not None else ""
    versions = ", ".join(f"{package} {version}" for package, version in manifest.versions.items())
    fields = {
        "estimator": manifest.estimator,
        "measure": manifest.measure,
        "classes": f"{list_labels(manifest.classes)}{positive}",
        "columns": _describe_columns(schema),
        "target": schema.get("target", "") or (list_labels(labels) if isinstance(labels, list) else ""),
        "groups": schema.get("group", ""),
        "trained on": manifest.training.get("table", ""),
        "written": f"{manifest.created} with {versions}",
    }
    lines = "\n".join(f"{key:<11}{value}" for key, value in fields.items() if value)
    options.Output(as_json).result(f"{lines}\n\n{manifest.summary}".rstrip(), asdict(manifest))


def _describe_columns(schema: dict[str, Any]) -> str:
    """The columns with their kinds, as far as they are known: the schema may come from a damaged file."""
    columns = schema.get("columns")
    if isinstance(columns, dict) and columns:
        kinds = {
            name: kind.get("kind", "unknown") if isinstance(kind, dict) else kind
            for name, kind in columns.items()
        }
        return ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
    return str(schema.get("n_features", "unknown"))


@options.command
def export(
    model: options.Model,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file to write.")],
    trust: options.Trust = None,
    quiet: options.Quiet = False,
) -> None:
    """Convert a model to ONNX.

    \b
      capo export churn.capo churn.onnx
    """
    from ..export.onnx import to_onnx
    from .inputs import load_model, with_raw_tables

    console = options.Output(quiet=quiet)
    check_output(output, model)
    check_file_ending(output, [".onnx"], "the graph is an ONNX file, whose name ends in .onnx")
    loaded = load_model(model, trust, console)
    with console.step("converting"):
        graph = to_onnx(with_raw_tables(loaded.model, loaded.schema), loaded.schema.example_row())
    write_output(graph.SerializeToString(), output, console)


_MEASURES_FOOTER = """
P and N are the numbers of positives and negatives, n = P + N. Set parameters with --measure-arg, such as
--measure fbeta --measure-arg beta=2; k is a number of rows if it is an integer, and a
share of the rows if it has a decimal point (k=0.1).
Any formula of tp, fp, fn and tn is a measure too: --measure '10*tp - 2*fp'.

More than two classes: accuracy, balanced_accuracy, f1_macro, f1_weighted, jaccard_macro, mcc, cohen_kappa, \
quadratic_kappa, gmean, roc_auc_ovr, roc_auc_ovo.
Several labels per row: f1_macro, f1_micro, f1_weighted, f1_samples, precision_at_k.
A measure of two classes by its plain name, such as f1, is then averaged over the classes or labels; the
ending _macro, _weighted or _micro names the average ('capo measures f1_weighted')."""


@options.command
def measures(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a measure, or a formula; all measures by default."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the measures and when to use them.

    \b
      capo measures
      capo measures fbeta
    """
    from .. import measures as registry
    from ..measures import Description, multiclass, multilabel

    console, binary = options.Output(as_json), {each.name: each for each in registry.describe()}
    if name is None:
        rows = [("measure", "value", "when to use it")]
        for each in binary.values():
            parameters = f"({', '.join(each.parameters)})" if each.parameters else ""
            rows.append((each.name + parameters, each.value, each.use.replace("`", "")))
        first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = [f"{key:<{first}}  {value:<{second}}  {use}" for key, value, use in rows]
        console.result("\n".join([*lines, _MEASURES_FOOTER]), [each._asdict() for each in binary.values()])
        return
    many = {each.name: each for each in (*multilabel.describe(), *multiclass.describe())}
    found = binary.get(name) or many.get(name)
    if found is None:
        measure = registry.get(name)
        custom = Description(measure.name, {}, measure.name, "a formula of your own")
        found = binary.get(measure.name, custom)
    example = "".join(
        f" --measure-arg {key}={default}" for key, default in list(found.parameters.items())[:1]
    )
    lines = [
        found.name,
        f"  value       {found.value}",
        f"  when        {found.use.replace('`', '')}",
        *(f"  parameter   {key}, default {default!r}" for key, default in found.parameters.items()),
        f"  example     capo fit table.csv --target y --measure {found.name}{example} -o m.capo",
    ]
    console.result("\n".join(lines), found._asdict())


DEMO_MEASURES: dict[str, dict[str, float]] = {
    **{name: {} for name in ("f1", "mcc", "balanced_accuracy", "prbep", "roc_auc", "average_precision")},
    "recall_at_precision": {"floor": 0.9},
}
#: Random splits of the demo into training and test rows.
N_SPLITS = 3
N_TRAINING_ROWS = 400
#: Differences below this are ties when the best method is marked.
TIE = 1e-12

_DEMO_INTRODUCTION = f"""\
Digits 3, 8 and 9 against the others: {N_TRAINING_ROWS} training rows, the rest for testing;
mean of {N_SPLITS} splits.
default learner: boosted trees.
tuned threshold: the same with the threshold chosen out of fold for the measure.
tuned stack: logistic stack of capo's auxiliaries, threshold tuned.
capo: CAPOClassifier(measure).
The first line includes the time to train the auxiliaries; the others reuse them.

"""
_DEMO_NEXT_STEPS = """
Next, with a table of your own:
  capo compare table.csv --target COLUMN --measure f1      compare capo with simpler methods
  capo fit table.csv --target COLUMN --measure f1 -o model.capo
  capo report model.capo more.csv -o report.html
  capo measures                                            list the measures
or in Python: CAPOClassifier('10 * tp - 2 * fp', auxiliaries=[your_model, another]).fit(X, y)
The gallery of the documentation adapts a service that only says yes or no.
"""


@options.command
def demo() -> None:
    """Show a comparison on scikit-learn's digits.

    \b
    The data comes with scikit-learn.
      capo demo
    """
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from .. import measures
    from ..estimators import CAPOClassifier
    from ..inspection import METHODS, ComparedRows, compare_on_fold

    X_all, digit = load_digits(return_X_y=True)
    positive = np.isin(digit, (3, 8, 9))
    splits = [
        train_test_split(X_all, positive, train_size=N_TRAINING_ROWS, random_state=seed, stratify=digit)
        for seed in range(N_SPLITS)
    ]
    words = [name.rpartition(" ")[::2] for name in METHODS]
    heading = f"{'measure':<34}" + "".join(f"{word:>10}" for _, word in words) + f"{'seconds':>9}"
    first_line = f"{'':<34}" + "".join(f"{word:>10}" for word, _ in words)
    summary = None
    # The folder keeps the auxiliaries of a split for the next measure.
    with ignore_broken_pipe(), tempfile.TemporaryDirectory() as memory:
        typer.echo(f"{_DEMO_INTRODUCTION}{first_line.rstrip()}\n{heading}\n{'-' * len(heading)}\n", nl=False)
        for name, parameters in DEMO_MEASURES.items():
            measure, scores, seconds = measures.get(name, **parameters), [], 0.0
            for seed, (X, X_test, y, y_test) in enumerate(splits):
                start = time.perf_counter()
                model = CAPOClassifier(measure, memory=memory, random_state=seed).fit(X, y)
                seconds += time.perf_counter() - start
                summary = summary or model.summary()
                values, _ = compare_on_fold(model, ComparedRows(X, y), ComparedRows(X_test, y_test))
                scores.append([values[method] for method in METHODS])
            mean = np.mean(scores, axis=0)
            cells = "".join(f"{value:>9.4f}{'*' if value >= mean.max() - TIE else ' '}" for value in mean)
            typer.echo(f"{measure.label:<34}{cells}{seconds:>9.1f}\n", nl=False)
        typer.echo(f"\n* best of the line.  The summary() of the first model:\n\n{summary}\n", nl=False)
        typer.echo(_DEMO_NEXT_STEPS, nl=False)
