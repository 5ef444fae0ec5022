"""``capo explain``: importance of columns, and explanations of rows."""

import json
import re

import numpy as np
import polars as pl
import pytest

from .cases import exit_code, run, table

LABELS = np.array(["no", "yes"])


def test_importance_effects_and_rows(capsys, folder, model):
    output = folder / "why.json"
    code, out, err = run(capsys, "explain", model, folder / "test.csv", "--row", "3", "-o", output)
    assert code == 0
    assert "f1 is" in out
    assert "80 rows; each column was shuffled 5 times" in out
    assert "probability of 'yes'" in out
    assert "row 3: " in out
    assert f"wrote {output}" in err
    data = json.loads(output.read_text())
    assert {each["name"] for each in data["importance"]} == {"x", "z", "word"}
    assert data["importance"][0]["low"] <= data["importance"][0]["value"] <= data["importance"][0]["high"]
    row = data["rows"][0]
    assert row["row"] == 3
    assert row["baseline"] + sum(each["change"] for each in row["contributions"]) == pytest.approx(
        row["decision"]
    )


def test_rows_without_labels(capsys, folder, model):
    path = folder / "unlabeled.csv"
    table(20, seed=3).drop("y").write_csv(path)
    code, out, _ = run(capsys, "explain", model, path, "--row", "1", "--json")
    assert code == 0
    assert set(json.loads(out)) == {"table", "rows"}
    code, _, err = run(capsys, "explain", model, path)
    assert code == 2
    assert "add the target column, or name rows to explain with --row" in err


def test_folds_train_the_model_again(capsys, folder, model):
    train = folder / "train.csv"
    code, out, err = run(capsys, "explain", model, train, "--folds", "2", "--json", "--column", "x")
    assert code == 0
    assert json.loads(out)["evaluated_on"] == "out of fold"
    assert [each["name"] for each in json.loads(out)["importance"]] == ["x"]
    assert "too optimistic" not in err
    assert "too optimistic" in run(capsys, "explain", model, train)[2]


def test_bad_arguments(capsys, folder, model):
    test = folder / "test.csv"
    for arguments, message in (
        (("--row", "81"), "--row counts from 1, and the table has 80 rows: got 81"),
        (("--column", "nothing"), "X has no column 'nothing'"),
        (("-o", folder / "why.csv"), "explanations are written to a JSON file"),
    ):
        code, _, err = run(capsys, "explain", model, test, *arguments)
        assert code == 2
        assert message in err


def test_many_classes_and_sparse_rows(capsys, folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=90)
    frame = pl.DataFrame({"x": x, "z": rng.normal(size=90), "kind": np.digitize(x, [-0.4, 0.4])})
    frame.write_csv(folder / "kinds.csv")
    lines = [f"{int(each > 0)} 1:{each:.3f} 3:{1 + each**2:.3f}" for each in x]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    light = ("-a", "linear", "--folds", "2", "-q")
    for name, target, first in (("kinds.csv", ("-t", "kind", "-m", "f1_macro"), "x"), ("rows.svm", (), "1")):
        path = folder / f"{name}.capo"
        assert exit_code("fit", folder / name, *target, *light, "-o", path) == 0
        capsys.readouterr()
        code, out, _ = run(capsys, "explain", path, folder / name, "--json")
        assert code == 0
        assert json.loads(out)["importance"][0]["name"] == first
    page = folder / "kinds.html"
    assert run(capsys, "report", folder / "kinds.csv.capo", folder / "kinds.csv", "-o", page)[0] == 0
    assert "Which columns matter" in page.read_text()
    code, _, err = run(capsys, "explain", folder / "kinds.csv.capo", folder / "kinds.csv", "--row", "1")
    assert code == 2
    assert "models of two classes" in err


def test_the_report_explains_the_model(capsys, folder, model):
    page = folder / "why.html"
    assert run(capsys, "report", model, folder / "test.csv", "-o", page)[0] == 0
    text = page.read_text()
    assert "Which columns matter" in text
    assert "Worst errors" in text
    assert run(capsys, "report", model, folder / "test.csv", "--no-explain", "-o", page)[0] == 0
    assert "Which columns matter" not in page.read_text()
    assert "Worst errors" in page.read_text()


def test_values_are_shown_as_in_the_file(tmp_path, capsys):
    rng = np.random.default_rng(0)
    late, x = rng.random(120) < 0.5, rng.normal(size=120)
    y = np.where(x + 3 * late + rng.normal(size=120) > 1.5, "a", "b")
    columns = {"OverTime": np.where(late, "Yes", "No"), "x": x, "y": y}
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    model = tmp_path / "m.capo"
    options = ("-t", "y", "-a", "linear", "--delta", "none", "--folds", "2", "-o", model, "-q")
    assert exit_code("fit", tmp_path / "t.csv", *options) == 0
    code, out, _ = run(capsys, "explain", model, tmp_path / "t.csv", "--row", "1")
    assert code == 0
    assert f"OverTime = {columns['OverTime'][0]}" in out.partition("row 1:")[2]
    assert {"Yes", "No"} <= set(re.findall(r"^\w+", out, flags=re.M))  # the effect of the column
    assert run(capsys, "report", model, tmp_path / "t.csv", "-o", tmp_path / "r.html")[0] == 0
    errors = (tmp_path / "r.html").read_text().partition("orst errors")[2]
    assert re.search(r"\b(Yes|No)\b", errors.partition("<script")[0])
