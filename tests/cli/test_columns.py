"""Columns in the formats of real files, through all commands."""

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import capo
from capo.export.onnx import onnx_inputs

from .cases import run

FAST = ("--auxiliaries", "linear", "--delta", "none", "--folds", "2")
KINDS = {
    "price": "money",
    "share": "percentage",
    "day": "date",
    "zip": "code",
    "member": "boolean",
    "weight": "quantity",
    "town": "category",
}


def messy(n=150, seed=0):
    rng = np.random.default_rng(seed)
    price, share, day = rng.exponential(1500, n), rng.uniform(0, 100, n), rng.integers(0, 900, n)
    y = price / 1000 + share / 30 + day / 300 + rng.normal(size=n) > 5
    return pl.DataFrame(
        {
            "price": [f"${value:,.2f}" for value in price],
            "share": [f"{value:.1f}%" if value > 3 else "n.a." for value in share],
            "day": [(date(2022, 1, 1) + timedelta(days=int(k))).strftime("%d.%m.%Y") for k in day],
            "zip": [f"{code:05d}" for code in rng.integers(900, 930, n)],
            "member": rng.choice(["Yes", "no", "TRUE", "FALSE"], n),
            "weight": [f"{value:.1f} kg" for value in rng.uniform(1, 9, n)],
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "y": np.where(y, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    path = tmp_path_factory.mktemp("messy")
    messy().write_csv(path / "train.csv")
    messy(60, seed=1).write_csv(path / "test.csv")
    return path


@pytest.fixture(scope="module")
def fitted(tables):
    from .cases import exit_code

    path = tables / "m.capo"
    assert exit_code("fit", tables / "train.csv", "-t", "y", "-m", "roc_auc", *FAST, "-o", path, "-q") == 0
    return path


def test_inspect_shows_each_column(tables, capsys):
    code, out, _ = run(capsys, "inspect", tables / "train.csv", "-t", "y")
    assert code == 0
    assert "150 rows, 7 columns" in out
    assert "day     date" in out
    assert "different values are dates: day-month-year" in out
    assert "digits with leading zeros, such as '00" in out
    columns = json.loads(run(capsys, "inspect", tables / "train.csv", "-t", "y", "--json")[1])["columns"]
    assert {each["name"]: each["kind"] for each in columns} == KINDS
    assert columns[1]["missing_share"] == 0  # n.a. is a text that means missing among percentages
    assert columns[0]["example"].startswith("$")


def test_kinds_reach_the_model_and_its_file(fitted, tables, capsys):
    model = capo.load(fitted)
    assert model.score_ > 0.8
    assert "price (money), share (percentage), day (date), zip (code)" in run(capsys, "show", fitted)[1]
    evaluation = json.loads(run(capsys, "evaluate", fitted, tables / "test.csv", "--json")[1])
    assert evaluation["measures"][0]["value"] > 0.75


def test_types_are_written_changed_and_used(tables, tmp_path, capsys):
    path = tmp_path / "types.toml"
    assert run(capsys, "inspect", tables / "train.csv", "-t", "y", "-o", path)[0] == 0
    text = path.read_text()
    assert '"day" = "date"  # all ' in text
    changed = text.replace('"zip" = "code"', '"zip" = "number"')
    path.write_text(changed.replace('"town" = "category"', '"town" = "identifier"'))
    fit = ("fit", tables / "train.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    assert run(capsys, *fit, "--types", path)[0] == 0
    shown = run(capsys, "show", tmp_path / "m.capo")[1]
    assert "zip (number)" in shown
    assert "town" not in shown


def test_a_file_of_types_that_was_not_changed_changes_nothing(tmp_path, capsys):
    rows = messy().with_columns(
        day=pl.Series([f"{1 + k % 12:02d}/{1 + k % 11:02d}/2024" for k in range(150)]),
        price=pl.Series([f"{k % 9 + 1}.{k % 90 + 100} €" for k in range(150)]),
    )
    rows.write_csv(tmp_path / "train.csv")
    fit = ("fit", tmp_path / "train.csv", "-t", "y", *FAST)
    assert run(capsys, *fit, "-o", tmp_path / "a.capo")[0] == 0
    assert run(capsys, "inspect", tmp_path / "train.csv", "-t", "y", "-o", tmp_path / "types.toml")[0] == 0
    assert run(capsys, *fit, "--types", tmp_path / "types.toml", "-o", tmp_path / "b.capo")[0] == 0
    first, second = (
        run(capsys, "predict", tmp_path / f"{name}.capo", tmp_path / "train.csv")[1] for name in "ab"
    )
    assert first == second
    (tmp_path / "types.toml").write_text('[columns]\nday = {kind = "date", layout = "day-month-year"}')
    assert run(capsys, *fit, "--types", tmp_path / "types.toml", "-o", tmp_path / "c.capo")[0] == 0
    assert run(capsys, "predict", tmp_path / "c.capo", tmp_path / "train.csv")[1] != first


def test_free_text_and_tags_that_were_demanded_reach_the_model(tables, tmp_path, capsys):
    rng = np.random.default_rng(0)
    word, y = rng.choice(["late", "good"], 150), rng.random(150) < 0.1
    rows = pl.DataFrame(
        {
            "number": rng.normal(size=150),
            "title": [f"{each} {k}" for k, each in enumerate(word)],  # differs in each row
            "labels": [f"{each}/x" for each in rng.choice(["a", "b"], 150)],
            "y": np.where((word == "late") ^ y, "yes", "no"),
        }
    )
    rows.write_csv(tmp_path / "train.csv")
    (tmp_path / "types.toml").write_text(
        '[columns]\ntitle = "text"\nlabels = {kind = "tags", separator = "/"}'
    )
    fit = ("fit", tmp_path / "train.csv", "-t", "y", "-m", "roc_auc", *FAST)
    assert run(capsys, *fit, "--types", tmp_path / "types.toml", "-o", tmp_path / "m.capo")[0] == 0
    model = capo.load(tmp_path / "m.capo")
    assert [column.kind.name for column in model.schema_.columns] == ["number", "text", "tags"]
    assert model.score_ > 0.8
    assert run(capsys, *fit, "-o", tmp_path / "n.capo")[0] == 0
    assert capo.load(tmp_path / "n.capo").score_ < 0.7


def test_new_dates_and_new_texts_are_no_new_categories(fitted, tmp_path, capsys):
    rows = messy(60, seed=3).with_columns(day=pl.lit("31.12.2031"), town=pl.lit("Rom"))
    rows.write_csv(tmp_path / "new.csv")
    err = run(capsys, "predict", fitted, tmp_path / "new.csv", "-o", tmp_path / "p.csv")[2]
    assert "categories that were not in training: 'town' (60 rows)\n" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[columns]\nprice = "cash"', "the column 'price' the unknown kind 'cash': choose one of boolean"),
        ('[columns]\nprize = "money"', "there is no column 'prize'. Did you mean 'price'?"),
        ("[columns]\nprice = [1]", "the column 'price' the unknown kind [1]"),
        ('[columns]\nprice = {kind = "money", x = 1}', "the kind 'money' has no field 'x'"),
        ('[column]\nprice = "money"', "it must have one table, [columns]"),
        ("price: money", "is not a file of column types"),
    ],
)
def test_invalid_files_of_types(text, message, tables, tmp_path, capsys):
    path = tmp_path / "types.toml"
    path.write_text(text)
    code, _, err = run(capsys, "fit", tables / "train.csv", "-t", "y", "--types", path, "-o", tmp_path / "m")
    assert code == 2
    assert message in err
    missing = ("fit", tables / "train.csv", "-t", "y", "--types", "none.toml", "-o", tmp_path / "m")
    assert "none.toml cannot be read" in run(capsys, *missing)[2]


def test_other_values_in_new_rows(fitted, tables, tmp_path, capsys):
    rows = messy(20, seed=2)
    ahead = rows.with_columns(day=pl.lit("31.12.2031"), town=pl.lit("Rom"), member=pl.lit("maybe"))
    ahead.write_csv(tmp_path / "ahead.csv")
    assert run(capsys, "predict", fitted, tmp_path / "ahead.csv")[0] == 0
    rows.with_columns(price=pl.Series(["$5"] * 19 + ["five"])).write_csv(tmp_path / "wrong.csv")
    code, _, err = run(capsys, "predict", fitted, tmp_path / "wrong.csv")
    assert code == 2
    assert "the column 'price' held amounts of money in training, but row 20 contains 'five'" in err
    typed = rows.with_columns(
        price=pl.col("price").str.replace_all("[$,]", "").cast(float),
        day=pl.col("day").str.to_date("%d.%m.%Y"),
    )
    rows.write_csv(tmp_path / "text.csv")
    typed.write_parquet(tmp_path / "typed.parquet")
    first = run(capsys, "predict", fitted, tmp_path / "text.csv")[1]
    assert run(capsys, "predict", fitted, tmp_path / "typed.parquet")[1] == first


def test_graphs_get_the_same_columns(fitted, tables, tmp_path, capsys):
    runtime = pytest.importorskip("onnxruntime")
    assert run(capsys, "export", fitted, tmp_path / "m.onnx")[0] == 0
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    rows = pl.read_csv(tables / "test.csv", infer_schema=False)
    label, probability = session.run(["label", "probability"], onnx_inputs(rows, session))
    expected = pl.read_csv(run(capsys, "predict", fitted, tables / "test.csv")[1].encode())
    assert label.tolist() == expected["label"].to_list()
    np.testing.assert_allclose(probability, expected["score"].to_numpy(), rtol=1e-9)


def test_text_columns_are_refused_by_graphs_by_name(tmp_path, capsys):
    rng = np.random.default_rng(0)
    notes = [" ".join(rng.choice(["late", "soon", "good", "bad", "never"], 6)) for _ in range(150)]
    messy().with_columns(note=pl.Series(notes)).write_csv(tmp_path / "t.csv")
    assert run(capsys, "fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")[0] == 0
    code, _, err = run(capsys, "export", tmp_path / "m.capo", tmp_path / "m.onnx")
    assert code == 2
    assert "free text of the columns 'note', which has no ONNX equivalent" in err


def test_misleading_data_is_noted_and_an_error_if_strict(tables, tmp_path, capsys):
    rows = messy().sort("y")
    rows.with_columns(
        end=pl.when(pl.col("y") == "yes").then(pl.lit("2024-05-31")), plan=pl.lit("basic")
    ).write_csv(tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, *fit)
    assert code == 0
    assert "note: The column 'end' almost determines the target by itself (ROC area 1.000)" in err
    assert "note: The column 'plan' cannot be used: all rows have the same value" in err
    assert "note: The rows are sorted by the target" in err
    code, _, err = run(capsys, *fit, "--strict")
    assert code == 2
    assert "almost determines the target" in err
    assert "These notes are errors because of --strict." in err
    assert run(capsys, "fit", tables / "train.csv", *fit[2:], "--strict")[0] == 0


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("day", "They are dates: is this the right column?"),
        ("chance", "They are probabilities or shares: make labels from them, such as above 0.5 or not."),
        ("weight", "They are measurements: make labels from them"),
        ("sold", "They are spellings of yes and no: write each of the two in one way."),
    ],
)
def test_targets_that_are_no_labels(column, words, tmp_path, capsys):
    table = messy().with_columns(
        chance=pl.Series(np.linspace(0, 1, 150)), sold=pl.Series(["yes", "Yes", "no"] * 50)
    )
    table.write_csv(tmp_path / "t.csv")
    code, _, err = run(capsys, "fit", tmp_path / "t.csv", "-t", column, *FAST, "-o", tmp_path / "m.capo")
    assert code == 2
    assert words in err


@pytest.fixture
def films(tmp_path):
    """A table with an age, and with several genres in one column."""
    rng = np.random.default_rng(0)
    genres = [
        "|".join(sorted(rng.choice(["Crime", "Drama", "War"], k, False))) for k in rng.integers(1, 4, 300)
    ]
    columns = {"x": rng.normal(size=300), "age": rng.integers(18, 80, 300), "genres": genres}
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("age", "They look like a quantity: make labels from them, such as above a limit or not."),
        ("genres", "They look like several labels per row: use --label-separator '|'."),
    ],
)
def test_quantities_and_lists_are_classes_only_on_demand(column, words, films, capsys):
    fit = ("fit", films / "t.csv", "-t", column, *FAST, "-o", films / "m.capo")
    code, _, err = run(capsys, *fit)
    assert code == 2
    assert words in err
    assert f"If they are classes, use --category {column}." in err
    assert run(capsys, *fit, "--category", column)[0] == 0
    (films / "types.toml").write_text(f'[columns]\n{column} = "category"\n')
    code, _, err = run(capsys, *fit, "--types", films / "types.toml")
    assert code == 0, err
    label = run(capsys, "predict", films / "m.capo", films / "t.csv")[1].splitlines()[1].split(",")[0]
    assert label in pl.read_csv(films / "t.csv", infer_schema=False)[column].to_list()
    assert run(capsys, "evaluate", films / "m.capo", films / "t.csv")[0] == 0


def test_rows_without_a_label_are_left_out_on_demand(tmp_path, capsys):
    rows = messy().with_columns(y=pl.when(pl.col("town") == "Ulm").then(pl.lit("NA")).otherwise("y"))
    n_missing = int((rows["y"] == "NA").sum())
    assert n_missing > 1
    rows.write_csv(tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, *fit)
    assert code == 2
    assert f"the target 'y' is missing in {n_missing} of 150 rows" in err
    assert "--drop-unlabeled" in err
    code, _, err = run(capsys, *fit, "--drop-unlabeled")
    assert code == 0
    assert f"note: dropped {n_missing} rows of 150 without a label" in err
    assert f"{150 - n_missing} rows, " in err
    assert run(capsys, "compare", *fit[1:-2], "--drop-unlabeled")[0] == 0


def test_times_that_could_be_read_in_two_orders_are_noted(tmp_path, capsys):
    days = [f"{1 + k % 12:02}/{1 + k % 7:02}/2024" for k in range(150)]
    messy().with_columns(day=pl.Series(days)).write_csv(tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "-t", "y", *FAST, "--time", "day", "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, *fit)
    assert code == 0
    assert "note: The column 'day' is read as dates" in err
    assert "These notes are errors because of --strict." in run(capsys, *fit, "--strict")[2]


def test_folds_in_the_order_of_time(tables, tmp_path, capsys):
    fit = ("fit", tables / "train.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    assert run(capsys, *fit, "--time", "day")[0] == 0
    model = capo.load(tmp_path / "m.capo")
    assert "day" not in model.feature_names_in_
    days = messy()["day"].str.to_date("%d.%m.%Y").to_numpy()
    is_early = np.isnan(model.oof_decision_)
    assert 0.25 < is_early.mean() < 0.4
    assert days[is_early].max() < days[~is_early].min()
    compare = ("compare", tables / "train.csv", "-t", "y", *FAST, "--time", "day", "--json")
    assert json.loads(run(capsys, *compare)[1])["folds"] == 2
    assert "--group and --time cannot be combined" in run(capsys, *fit, "--time", "day", "--group", "town")[2]
    assert "the column 'town' of --time holds categories" in run(capsys, *fit, "--time", "town")[2]


def test_inspect_names_columns_that_give_the_target_away(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(["stay", "leave"], 60))
    frame = pl.DataFrame(
        {"age": rng.normal(size=120), "end": np.where(y == "leave", "2024-05-31", ""), "plan": "a", "y": y}
    )
    frame.write_csv(tmp_path / "leak.csv")
    code, out, err = run(capsys, "inspect", tmp_path / "leak.csv", "-t", "y", "--json")
    findings = json.loads(out)["findings"]
    assert code == 0
    assert [(each["topic"], each["columns"]) for each in findings] == [
        ("leak", ["end"]),
        ("constant", ["plan"]),
    ]
    assert "note: The column 'end' almost determines the target" in err
    assert "determines the target" not in run(capsys, "inspect", tmp_path / "leak.csv")[2]
    frame.with_columns(y=pl.lit(None, pl.String)).write_csv(tmp_path / "empty.csv")
    code, _, err = run(capsys, "inspect", tmp_path / "empty.csv", "-t", "y")
    assert code == 0
    assert "note: A model cannot be trained on this table" in err


def test_the_label_that_means_yes_is_positive(tmp_path, capsys):
    rows = "".join(f"{number % 7};{'ja' if number % 3 else 'nein'}\n" for number in range(60))
    (tmp_path / "t.csv").write_text("x;y\n" + rows)
    options = ("-t", "y", "-a", "nb", "--delta", "none", "-o", tmp_path / "m.capo")
    code, _, err = run(capsys, "fit", tmp_path / "t.csv", *options)
    assert code == 0
    assert "'ja' is positive, 40 rows (66.7%)" in err
    assert "The positive class is 'ja', the label that means yes, which 67% of the rows have." in err
