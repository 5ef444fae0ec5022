"""``capo evaluate``, ``compare``, ``explain`` and ``report``: how good a model is, and why."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..exceptions import InvalidInputError
from . import options
from .console import Console, check_file_ending, check_output, to_json, write_output

if TYPE_CHECKING:
    from ..io.source import Batch
    from .rows import LabeledOutputs

#: Cross-fitting folds of each model of a comparison.
N_CROSS_FIT_FOLDS = 5


@options.command("Evaluate a model on labeled rows.")
def evaluate(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    cluster: str | None = None,
    partition_rows: int | None = None,
    all_measures: Annotated[
        bool, options.output_option("--all", "List all measures, not only that of the model and its rates.")
    ] = False,
    seed: int = 0,
    console: Console,
) -> None:
    """Evaluate a model on labeled rows: its measure, its rates and the confusion matrix.

    \b
    Each value comes with a 95% interval. A promise of the model is tested. With more than two classes or
    several labels per row, precision, recall and F1 of each one follow.
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --all
      capo evaluate churn.capo test.csv --json > evaluation.json
      capo evaluate churn.capo 'test-*.parquet' --cluster tcp://scheduler:8786
    """
    from .inputs import training_table_notes
    from .rows import evaluate_on_cluster, evaluate_rows, predict_labeled

    reader = table.open()
    check_output(None, *reader.paths, model_file.path)
    loaded = model_file.load(console)
    if cluster is None:
        rows = predict_labeled(loaded, reader, console)
        evaluation = evaluate_rows(loaded.model, rows, seed, console, all_measures=all_measures)
        n_rows = len(rows.y)
    else:
        n_rows, evaluation = evaluate_on_cluster(
            loaded, reader, cluster, partition_rows, seed, console, all_measures=all_measures
        )
    training_table_notes(loaded.manifest, reader, console)
    console.result(
        f"{reader.name}: {n_rows:,} row{'' if n_rows == 1 else 's'}\n\n{evaluation}",
        {"table": reader.name, "rows": n_rows, **evaluation.to_dict()},
    )


@options.command("Compare capo with simpler methods by cross-validation.")
def compare(
    *,
    table: options.TableOptions,
    training: options.TrainingOptions,
    folds: Annotated[
        int,
        options.model_option(
            "--folds NUMBER", "Folds of the cross-validation; each is held out once.", min=2
        ),
    ] = 5,
    output: Annotated[
        Path | None,
        options.output_option("--output -o FILE", "JSON file to write, for 'capo report --comparison'."),
    ] = None,
    console: Console,
) -> None:
    """Compare capo with simpler methods on a table by cross-validation.

    \b
    The simpler methods are a default learner, the same learner with a tuned threshold, and the stack of
    all auxiliaries with a tuned threshold; each class or label has its own threshold if there are more
    than two. All are evaluated on the same held-out rows. With prices of each row, the values are the mean
    money per held-out row.
      capo compare train.csv --target churned --measure f1
      capo compare train.csv -t y -m mcc -a lgbm,rf,linear -o comparison.json
      capo compare train.csv -t fraud --cost-fn amount --cost-fp 5
    """
    from .. import inspection
    from ..learning.folds import TimeFolds
    from .inputs import table_sha256
    from .training_data import TrainingPlan

    reader = table.open()
    check_file_ending(output, [".json"], "a comparison is written to a .json file")
    plan = TrainingPlan(training, N_CROSS_FIT_FOLDS)
    check_output(output, *reader.paths, *plan.files)
    console.strict = training.strict
    data = plan.read(reader, console)
    with console.step("comparing", n_fits=folds) as step:
        comparison = inspection.compare(
            data.model,
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            groups=data.groups,
            folds=TimeFolds(folds) if training.time else folds,
            random_state=training.seed,
            prices=data.prices or None,
            on_progress=step.end_fit,
        )
    # By these 'capo report' recognizes the comparison.
    source = {"target": plan.target, "table": reader.name, "sha256": table_sha256(reader)}
    comparison = replace(comparison, source={**(comparison.source or {}), **source})
    size = f"{len(data.y):,} rows, {comparison.folds} folds"
    heading = f"{reader.name}: {size}; default learner: {comparison.default_learner}"
    if output is not None:
        write_output(to_json(comparison.to_dict()).encode(), output, console)
    console.result(f"{heading}\n\n{comparison}", comparison.to_dict())


@options.command("Show which columns matter, and why rows are predicted so.")
def explain(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    rows: list[int] | None = None,
    columns: list[str] | None = None,
    folds: Annotated[
        int | None,
        options.model_option(
            "--folds NUMBER",
            "Train the model again on this many folds of TABLE, and explain it on the held-out rows.",
            min=2,
        ),
    ] = None,
    max_rows: int = 2000,
    output: Annotated[
        Path | None,
        options.output_option("--output -o FILE", "JSON file to write, besides the text on standard output."),
    ] = None,
    seed: int = 0,
    console: Console,
) -> None:
    """Show which columns the measure depends on, and why single rows are predicted as they are.

    \b
    The importance of a column is what the measure loses if the column's values are shuffled among the rows,
    with a 95% interval. Columns that are near-copies of each other are shuffled together. The effects of the
    strongest columns on the probability follow. Use rows that the model was not trained on, or --folds.
      capo explain churn.capo test.csv
      capo explain churn.capo train.csv --folds 5
    --row shows the change in log-odds by each column of a row; the table needs no labels for that.
      capo explain churn.capo new.csv --row 17 --row 230
      capo explain churn.capo test.csv --json | jq '.importance[0]'
    """
    from .. import inspection
    from .inputs import training_table_notes
    from .rows import explain_columns, has_labels, is_priced

    reader = table.open()
    check_file_ending(output, [".json"], "explanations are written to a JSON file, whose name ends in .json")
    check_output(output, *reader.paths, model_file.path)
    loaded = model_file.load(console)
    with console.step(f"reading {reader.name}"):
        batch = reader.read()
        X = loaded.schema.features(batch)
    positions = [row - 1 for row in rows or ()]
    for row in rows or ():
        if not 1 <= row <= len(batch):
            raise InvalidInputError(f"--row counts from 1, and the table has {len(batch):,} rows: got {row}.")
    is_labeled = has_labels(loaded.schema, batch)
    if not is_labeled and not rows:
        raise InvalidInputError(
            f"{reader.name} has no labels, and the importance of columns needs them: add the target column, "
            "or name rows to explain with --row."
        )
    explained: list[inspection.RowExplanation] = []
    if positions:
        if is_priced(loaded.model):
            console.note(
                f"The model has prices: rows are explained at one threshold, {loaded.model.threshold_:.4g}; "
                "'capo predict' uses the threshold of each row."
            )
        with console.step("explaining rows") as step:
            explained = inspection.explain_rows(
                loaded.model,
                X[positions],
                X,
                columns=columns,
                random_state=seed,
                on_progress=step.progress,
            )
    found = None
    if is_labeled:
        if folds is None:
            training_table_notes(loaded.manifest, reader, console)
        found = explain_columns(loaded, batch, X, columns, folds, max_rows, seed, console)
    numbered = list(zip(positions, explained, strict=True))
    data = {"table": reader.name, **({} if found is None else found.to_dict())}
    data["rows"] = [{**each.to_dict(), "row": position + 1} for position, each in numbered]
    if output is not None:
        write_output(to_json(data).encode(), output, console)
    texts = [] if found is None else [f"{reader.name}: {found}"]
    texts += [f"row {position + 1:,}: {each}" for position, each in numbered]
    console.result("\n\n".join(texts), data)


@options.command("Write an HTML report on a model and labeled rows.")
def report(
    *,
    model_file: options.ModelOptions,
    table: options.TableOptions,
    output: Annotated[Path, options.output_option("--output -o FILE", "HTML file to write.")],
    comparison: Path | None = None,
    seed: int = 0,
    explain: bool = True,
    quiet: bool = False,
) -> None:
    """Write an HTML report on a model and labeled rows: one file that opens offline.

    \b
    The page has a slider for the threshold, all measures, calibration, the columns that matter and their
    effects, the worst errors, and the training. For a model with prices of each row it shows the money that
    is saved in place of the slider.
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from ..report import render_report
    from . import rows as table_rows
    from .inputs import training_table_notes

    reader = table.open()
    console = Console(quiet=quiet)
    check_output(output, *reader.paths, model_file.path, comparison)
    check_file_ending(output, [".html", ".htm"], "the report is an HTML file, whose name ends in .html")
    loaded = model_file.load(console)
    stored_comparison = None if comparison is None else table_rows.read_comparison(comparison, loaded)
    notes = training_table_notes(loaded.manifest, reader, console)
    kept = table_rows.ReportRows(loaded.model, seed)

    def observe(batch: Batch, features: Any, rows: LabeledOutputs) -> None:
        kept.observe(features, rows)
        if batch.first_row == 1:
            notes.extend(table_rows.missing_price_notes(loaded, batch))

    rows = table_rows.predict_labeled(loaded, reader, console, observe, needs_prices=False)
    evaluation = table_rows.evaluate_rows(loaded.model, rows, seed, console)
    importance = kept.importance(console) if explain else None
    if importance is not None and rows.prices is not None:
        notes.append(table_rows.IMPORTANCE_NOTE)
    with console.step("drawing"):
        html = render_report(
            loaded.model,
            rows.y,
            rows.outputs,
            prices=rows.prices,
            sample_weight=rows.weight,
            table_name=reader.name,
            comparison=stored_comparison,
            evaluation=evaluation,
            importance=importance,
            errors=kept.errors,
            notes=notes,
        )
    write_output(html.encode(errors="backslashreplace"), output, console)
