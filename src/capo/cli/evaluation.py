"""``capo evaluate``, ``compare``, ``explain`` and ``report``: how good a model is, and why."""
# Commands import what they need when they run, so that the help is fast.
# ruff: noqa: PLC0415, D301

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from ..exceptions import InvalidInputError
from . import options
from .console import check_file_ending, check_output, count, to_json, write_output
from .options import Texts, column_option, model_option, other_option, output_option

#: Cross-fitting folds of each model of a comparison.
N_CROSS_FIT_FOLDS = 5


@options.command
def evaluate(
    model: options.Model,
    table: options.Table,
    console: options.Output,
    cluster: options.Cluster = None,
    partition_rows: options.PartitionRows = None,
    all_measures: Annotated[bool, output_option("--all", "List all measures.")] = False,
    seed: options.Seed = 0,
    trust: options.Trust = None,
) -> None:
    """Evaluate a model on labeled rows.

    \b
    Prints its measure and its rates, each with a 95% interval, and the confusion matrix. A guarantee of the
    model is tested. With more than two classes or several labels per row, precision, recall and F1 of each
    class or label follow.
      capo evaluate churn.capo test.csv
      capo evaluate churn.capo test.csv --all
      capo evaluate churn.capo test.csv --json > evaluation.json
      capo evaluate churn.capo 'test-*.parquet' --cluster tcp://scheduler:8786
    """
    from . import inputs, rows

    reader = table.open()
    check_output(None, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    if cluster is None:
        labeled = rows.predict_labeled_table(loaded, reader, console)
        evaluation = rows.evaluate_rows(loaded.model, labeled, seed, console, all_measures=all_measures)
        n_rows = len(labeled.y)
    else:
        from .. import dask

        found = loaded.model.guarantee_
        if (
            loaded.model.target_type_ != "binary"
            or rows.is_priced(loaded.model)
            or (found and found.segments)
        ):
            raise InvalidInputError(
                "--cluster is for models of two classes without prices and segments: leave it out."
            )
        if loaded.schema.weight:
            raise InvalidInputError("--cluster is for models trained without --weight: leave it out.")
        if loaded.schema.group:
            console.note("The intervals treat the rows as independent: groups are not used with --cluster.")
        parts = inputs.divide(reader, partition_rows, console)
        with inputs.connect(cluster, console) as client, console.step(f"evaluating on {cluster}"):
            X, y = inputs.read_parts(parts, loaded.schema)
            evaluation = dask.evaluate(
                loaded.model, X, y, all_measures=all_measures, random_state=seed, client=client
            )
        n_rows = int(sum(evaluation.confusion or ()))
    inputs.training_table_notes(loaded.manifest, reader, console)
    console.result(
        f"{reader.name}: {count(n_rows, 'row')}\n\n{evaluation}",
        {"table": reader.name, "rows": n_rows, **evaluation.to_dict()},
    )


@options.command
def compare(
    table: options.Table,
    training: options.Training,
    console: options.Output,
    folds: Annotated[int, model_option("--folds NUMBER", "Number of folds, each held out once.", min=2)] = 5,
    output: Annotated[
        Path | None, output_option("--output -o FILE", "JSON file, for 'capo report --comparison'.")
    ] = None,
) -> None:
    """Compare capo with simpler methods by cross-validation.

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
    from . import training_data
    from .inputs import table_sha256

    console.strict = training.strict
    if training.cost_ask is not None:
        raise InvalidInputError("the simpler methods cannot ask for a label: leave --cost-ask out.")
    reader = table.open()
    check_file_ending(output, [".json"], "a comparison is written to a .json file")
    plan = training_data.TrainingPlan(training, N_CROSS_FIT_FOLDS)
    check_output(output, *reader.paths, *plan.measure.files, training.types)
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
    size = f"{count(len(data.y), 'row')}, {comparison.folds} folds"
    heading = f"{reader.name}: {size}; default learner: {comparison.default_learner}"
    if output is not None:
        write_output(to_json(comparison.to_dict()).encode(), output, console)
    console.result(f"{heading}\n\n{comparison}", comparison.to_dict())


@options.command
def explain(
    model: options.Model,
    table: options.Table,
    console: options.Output,
    rows: Annotated[
        list[int] | None,
        model_option("--row NUMBER", "Explain this row, counted from 1; repeatable."),
    ] = None,
    columns: Annotated[
        Texts, column_option("--column COLUMN", "Explain this column only; repeatable.")
    ] = None,
    folds: Annotated[
        int | None, model_option("--folds NUMBER", "Explain models trained on folds of TABLE.", min=2)
    ] = None,
    max_rows: Annotated[
        int, model_option("--max-rows NUMBER", "Largest number of rows to use, drawn at random.", min=2)
    ] = 2000,
    output: Annotated[
        Path | None, output_option("--output -o FILE", "JSON file to write, in addition to the text.")
    ] = None,
    seed: options.Seed = 0,
    trust: options.Trust = None,
) -> None:
    """Show which columns matter, and explain predictions.

    \b
    The importance of a column is the loss of the measure if the column's values are shuffled among the rows,
    with a 95% interval. Columns that are near-copies of each other are shuffled together. The effects of the
    strongest columns on the probability follow. Use rows that the model was not trained on, or --folds.
      capo explain churn.capo test.csv
      capo explain churn.capo train.csv --folds 5
    --row shows the change in log-odds by each column of a row; the table needs no labels for that.
      capo explain churn.capo new.csv --row 17 --row 230
      capo explain churn.capo test.csv --json | jq '.importance[0]'
    """
    from .. import inspection
    from . import inputs
    from . import rows as table_rows

    reader = table.open()
    check_file_ending(output, [".json"], "explanations are written to a JSON file, whose name ends in .json")
    check_output(output, *reader.paths, model)
    loaded = inputs.load_model(model, trust, console)
    with console.step(f"reading {reader.name}"):
        batch = reader.read()
        X = loaded.schema.features(batch)
    for row in rows or ():
        if not 1 <= row <= len(batch):
            raise InvalidInputError(
                f"--row counts from 1, and the table has {count(len(batch), 'row')}: got {row}."
            )
    names = getattr(batch.rows, "columns", [""])  # a file in svmlight format has labels
    is_labeled = all(name in names for name in loaded.schema.label_columns)
    if not is_labeled and not rows:
        raise InvalidInputError(
            f"{reader.name} has no labels, and the importance of columns needs them: add the target column, "
            "or name rows to explain with --row."
        )
    explained: list[inspection.RowExplanation] = []
    if rows:
        explained = table_rows.explain_predictions(loaded, batch, X, rows, console, seed, columns)
    found = None
    if is_labeled:
        if folds is None:
            inputs.training_table_notes(loaded.manifest, reader, console)
        found = table_rows.explain_columns(loaded, batch, X, console, seed, columns, folds, max_rows)
    numbered = list(zip(rows or (), explained, strict=True))
    data = {"table": reader.name, **({} if found is None else found.to_dict())}
    data["rows"] = [{**each.to_dict(), "row": row} for row, each in numbered]
    if output is not None:
        write_output(to_json(data).encode(), output, console)
    texts = [] if found is None else [f"{reader.name}: {found}"]
    console.result("\n\n".join([*texts, *(f"row {row:,}: {each}" for row, each in numbered)]), data)


@options.command
def report(
    model: options.Model,
    table: options.Table,
    output: Annotated[Path, output_option("--output -o FILE", "HTML file to write.")],
    comparison: Annotated[
        Path | None, other_option("--comparison FILE", "Output of 'capo compare' to include.")
    ] = None,
    seed: options.Seed = 0,
    explain: Annotated[
        bool,
        output_option("--explain/--no-explain", "Show which columns matter (takes longer)."),
    ] = True,
    trust: options.Trust = None,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model and labeled rows.

    \b
    The page is one file that opens offline. It has a slider for the threshold, all measures,
    calibration, the columns that matter and their effects, the worst errors, and the training. For a
    model with prices of each row it shows the money that is saved in place of the slider.
      capo report churn.capo test.csv -o report.html
      capo report churn.capo test.csv --comparison comparison.json -o report.html
    """
    from ..report import render_report
    from . import inputs
    from . import rows as table_rows

    console = options.Output(quiet=quiet)
    reader = table.open()
    check_output(output, *reader.paths, model, comparison)
    check_file_ending(output, [".html", ".htm"], "the report is an HTML file, whose name ends in .html")
    loaded = inputs.load_model(model, trust, console)
    stored_comparison = None if comparison is None else table_rows.read_comparison(comparison, loaded)
    notes = inputs.training_table_notes(loaded.manifest, reader, console)
    with console.step("predicting"):
        batch = reader.read()
        rows = table_rows.predict_labeled(loaded, batch, needs_prices=False)
    notes += table_rows.missing_price_notes(loaded, batch)
    rows = rows._replace(groups=inputs.join_groups([rows.groups], loaded, console))
    evaluation = table_rows.evaluate_rows(loaded.model, rows, seed, console)
    importance = None
    if explain:
        try:
            importance = table_rows.explain_columns(loaded, batch, rows.X, console, seed)
        except InvalidInputError as error:
            console.note(f"The report does not show the importance of columns: {error}")
    if importance is not None and rows.prices is not None:
        notes.append("The importance of columns is computed with the mean prices and one threshold.")
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
            errors=table_rows.find_worst_errors(loaded, rows, batch),
            notes=notes,
        )
    write_output(html.encode(errors="backslashreplace"), output, console)
