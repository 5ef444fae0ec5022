"""``capo explain``: importance of columns, and explanations of rows."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from capo.cli.rows import MAX_ROWS, LabeledOutputs, ReportRows

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


def test_kept_rows_are_a_sample_of_all_batches_and_the_worst_of_all_errors():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"x": rng.normal(size=5000), "row": np.arange(1, 5001)})
    positive = rng.random(5000) < 0.3
    decision = rng.normal(size=5000)
    model = SimpleNamespace(target_type_="binary", classes_=LABELS, label_pair=LABELS)
    kept = ReportRows(model, seed=0)
    for start in range(0, 5000, 700):
        part = slice(start, start + 700)
        kept.observe(X[part], LabeledOutputs(positive[part], decision[part], None, None, None))
    sampled = kept.sample["X"]["row"].to_numpy()
    assert len(set(sampled)) == MAX_ROWS
    assert abs(sampled.mean() - 2500) < 150
    np.testing.assert_array_equal(kept.sample["y"] == "yes", positive[sampled - 1])
    wrong = np.flatnonzero((decision > 0) != positive)
    worst = wrong[np.argsort(-np.abs(decision[wrong]))][:10]
    assert [each.row for each in kept.errors] == (worst + 1).tolist()
    assert [each.values["row"] for each in kept.errors] == [str(row + 1) for row in worst]


def test_a_sample_keeps_the_rows_of_a_rare_class():
    y = np.where(np.arange(9000) % 90 == 0, "yes", "no")
    kept = ReportRows(SimpleNamespace(target_type_="multiclass"), 0)
    for start in range(0, 9000, 1000):
        batch = pl.DataFrame({"row": np.arange(start, start + 1000)})
        labels = y[start : start + 1000]
        kept.observe(batch, LabeledOutputs(labels, None, None, None, None))
    labels = kept.sample["y"]
    assert (labels == "yes").sum() == 100
    assert MAX_ROWS <= len(labels) <= MAX_ROWS + 100
    assert kept.weights[labels == "yes"].sum() / kept.weights.sum() == pytest.approx(100 / 9000)
