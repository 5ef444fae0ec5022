"""The commands as they are typed, from a table to a model, figures and a page."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from onnxruntime import InferenceSession
from sklearn.metrics import confusion_matrix, f1_score, roc_auc_score

import capo
from capo import measures
from capo.export.onnx import onnx_inputs

from .cases import FAST, predictions, run, table


def test_fit_ends_with_the_summary(folder, model, capsys):
    again = folder / "again.capo"
    code, out, err = run(capsys, "fit", folder / "train.csv", "-t", "y", "--id", "id", *FAST, "-o", again)
    assert code == 0
    assert out.rstrip() == str(capo.load(again).summary())
    assert "120 rows, 3 columns; 'yes' is positive" in err
    assert f"wrote {again}" in err
    first, second = capo.load(model), capo.load(again)
    assert first.auxiliary_weights_ == second.auxiliary_weights_  # the same seed


def test_export_is_what_predict_says(folder, model, capsys, tmp_path):
    graph = tmp_path / "m.onnx"
    assert run(capsys, "export", model, graph)[0] == 0
    found = predictions(run(capsys, "predict", model, folder / "test.csv")[1])
    session = InferenceSession(graph.read_bytes())
    rows = table(80, seed=1).select("x", "z", "word")
    label, probability = session.run(["label", "probability"], onnx_inputs(rows, session))
    assert label.tolist() == found["label"].to_list()
    np.testing.assert_allclose(probability, found["score"], atol=1e-9)


def test_what_cannot_be_exported_is_named(folder, capsys, tmp_path):
    path = tmp_path / "m.capo"
    options = ("-a", "c45", "--delta", "none", "--folds", "2", "-o", path)
    assert run(capsys, "fit", folder / "train.csv", "-t", "y", *options)[0] == 0
    code, _, err = run(capsys, "export", path, tmp_path / "m.onnx")
    assert code == 2
    assert "c45" in err
    assert not (tmp_path / "m.onnx").exists()


def test_identifiers_that_are_not_there_are_left_out_unless_asked_for(folder, model, capsys, tmp_path):
    table(80, seed=1).drop("id").write_csv(tmp_path / "t.csv")
    code, out, _ = run(capsys, "predict", model, tmp_path / "t.csv")
    assert code == 0
    assert predictions(out).columns == ["label", "score", "threshold"]
    code, _, err = run(capsys, "predict", model, tmp_path / "t.csv", "--id", "id")
    assert code == 2
    assert "there is no column 'id' for the identifier" in err
    twice = run(capsys, "predict", model, folder / "test.csv", "--id", "id", "--id", "id")[1]
    assert predictions(twice).columns == ["id", "label", "score", "threshold"]


def test_a_positive_class_is_named_as_in_the_file(capsys, tmp_path):
    rows = table().with_columns(y=pl.when(pl.col("y") == "yes").then(pl.lit("1.0")).otherwise(pl.lit("0.0")))
    rows.write_csv(tmp_path / "t.csv")
    for given, label in (("0.0", 0), ("1", 1), ("+1", 1)):
        options = ("--positive", given, *FAST, "-o", tmp_path / "m.capo")
        assert run(capsys, "fit", tmp_path / "t.csv", "-t", "y", *options)[0] == 0
        assert capo.load(tmp_path / "m.capo").pos_label_ == label


def test_a_formula_is_explained_too(capsys):
    assert "a formula of your own" in run(capsys, "measures", "10*tp - fp")[1]


def test_quiet_and_json(folder, capsys, tmp_path):
    path = tmp_path / "m.capo"
    code, out, err = run(
        capsys, "fit", folder / "train.csv", "-t", "y", *FAST, "-o", path, "--json", "--quiet"
    )
    assert (code, err) == (0, "")
    found, fitted = json.loads(out), capo.load(path)
    assert found["classes"] == ["no", "yes"]
    assert found["value"] == fitted.score_
    assert found["threshold"] == fitted.threshold_


def test_predict_gives_label_score_and_threshold(folder, model, capsys):
    code, out, _ = run(capsys, "predict", model, folder / "test.csv")
    assert code == 0
    found, fitted = predictions(out), capo.load(model)
    rows = table(80, seed=1)
    X = rows.select("x", "z", "word")
    assert found.columns == ["id", "label", "score", "threshold"]
    assert found["id"].to_list() == rows["id"].to_list()
    assert found["label"].to_list() == fitted.predict(X).tolist()
    np.testing.assert_allclose(found["score"], fitted.predict_proba(X)[:, 1], rtol=1e-12)
    assert found["threshold"].unique().to_list() == [fitted.threshold_]
    assert ((found["score"] > found["threshold"]) == (found["label"] == "yes")).all()


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p"])
def test_predictions_go_to_a_file(name, folder, model, capsys, tmp_path):
    output = tmp_path / name
    code, out, _ = run(
        capsys, "predict", model, folder / "test.csv", "-o", output, "--id", "word", "--id", "x"
    )
    assert (code, out) == (0, "")
    data = gzip.decompress(output.read_bytes()) if name.endswith("gz") else output.read_bytes()
    found = pl.read_csv(data, separator="\t" if name.endswith("tsv") else ",")
    assert found.columns == ["word", "x", "label", "score", "threshold"]
    assert found.height == 80


def test_small_batches_predict_the_same(folder, model, capsys, monkeypatch):
    whole = run(capsys, "predict", model, folder / "test.csv")[1]
    monkeypatch.setattr("capo.cli.inputs.BATCH_SIZE", 7)
    monkeypatch.setattr("capo.io.source.BLOCK_SIZE", 100)
    assert run(capsys, "predict", model, folder / "test.csv")[1] == whole


@pytest.mark.parametrize("ending", ["parquet", "tsv", "csv.gz", "csv.bz2"])
def test_every_format_trains_and_predicts_the_same(ending, folder, model, capsys, tmp_path):
    def written(frame, path):
        if ending == "parquet":
            frame.write_parquet(path)
        else:
            text = frame.write_csv(separator="\t" if ending == "tsv" else ",").encode()
            packed = {"csv.gz": gzip.compress, "csv.bz2": __import__("bz2").compress}.get(ending, bytes)
            path.write_bytes(packed(text))
        return path

    train, test = (
        written(table(), tmp_path / f"a.{ending}"),
        written(table(80, seed=1), tmp_path / f"b.{ending}"),
    )
    other = tmp_path / "other.capo"
    assert run(capsys, "fit", train, "-t", "y", "--id", "id", *FAST, "-o", other)[0] == 0
    expected = run(capsys, "predict", model, folder / "test.csv")[1]
    assert run(capsys, "predict", other, test)[1] == expected
    assert run(capsys, "predict", model, test)[1] == expected


def test_svmlight_trains_and_predicts(capsys, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("train.svm", "test.svm"):
        X = rng.normal(size=(100, 4))
        lines = [
            f"{1 if row[0] > 0 else -1} " + " ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(row))
            for row in X
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.capo"
    assert run(capsys, "fit", tmp_path / "train.svm", "-a", "linear", "--folds", "2", "-o", model)[0] == 0
    code, out, _ = run(capsys, "predict", model, tmp_path / "test.svm")
    assert code == 0
    truth = [int(line.split()[0]) for line in (tmp_path / "test.svm").read_text().splitlines()]
    assert f1_score(truth, predictions(out)["label"].to_list()) > 0.9


def test_evaluate_gives_every_measure_with_an_interval(folder, model, capsys):
    code, out, _ = run(capsys, "evaluate", model, folder / "test.csv", "--all", "--json")
    assert code == 0
    found, fitted = json.loads(out), capo.load(model)
    rows = table(80, seed=1)
    X, y = rows.select("x", "z", "word"), rows["y"].to_numpy()
    by_name = {each["name"].partition("(")[0]: each for each in found["measures"]}
    rates = ["precision", "recall", "specificity", "predicted positive"]
    assert set(by_name) == {*measures.names(), *rates}
    assert [each["name"] for each in found["measures"][1:5]] == rates
    assert found["measures"][0]["name"] == "f1"
    assert by_name["f1"]["value"] == pytest.approx(f1_score(y, fitted.predict(X), pos_label="yes"))
    without = {each["name"] for each in found["measures"] if each["low"] is None}
    assert all(name.endswith(", best threshold") for name in without)
    assert len(without) == 3
    assert all(
        each["low"] <= each["value"] <= each["high"]
        for each in found["measures"]
        if each["name"] not in without
    )
    tn, fp, fn, tp = confusion_matrix(y, fitted.predict(X), labels=["no", "yes"]).ravel()
    assert found["confusion"] == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    text = run(capsys, "evaluate", model, folder / "test.csv")[1]
    names = [re.split("  +", line)[0] for line in text.splitlines()[2:8]]
    assert names == ["measure", "f1", *rates]
    assert re.search(rf"actual yes +{fn} +{tp}$", text, re.MULTILINE)


def test_the_rows_of_the_training_are_known_again(folder, model, capsys):
    assert (
        "trained on these rows: its values on them are too optimistic"
        in run(capsys, "evaluate", model, folder / "train.csv")[2]
    )
    assert "too optimistic" not in run(capsys, "evaluate", model, folder / "test.csv")[2]


def test_compare_ends_in_a_sentence(folder, capsys):
    arguments = ("compare", folder / "train.csv", "-t", "y", "--drop", "id", *FAST)
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    for name in ("default learner", "tuned threshold", "tuned stack", "capo"):
        assert re.search(rf"^{name} +[\d.]+ +[\d.]+ +[\d.]+$", out, re.MULTILINE)
    assert out.rstrip().splitlines()[-1].startswith("capo is")
    found = json.loads(run(capsys, *arguments, "--json")[1])
    assert [len(method["values"]) for method in found["methods"]] == [2] * 4


def test_report_is_a_page(folder, model, capsys, tmp_path):
    compared = tmp_path / "c.json"
    arguments = ("compare", folder / "train.csv", "-t", "y", *FAST[:4], "--folds", "2", "--json")
    compared.write_text(run(capsys, *arguments)[1])
    page = tmp_path / "report.html"
    code, _, _ = run(capsys, "report", model, folder / "test.csv", "--comparison", compared, "-o", page)
    assert code == 0
    html = page.read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert json.loads(compared.read_text())["verdict"][:20] in html


def test_show_tells_without_opening(model, capsys):
    code, out, _ = run(capsys, "show", model)
    assert code == 0
    assert "x (number), z (number), word (category)" in out
    assert str(capo.load(model).summary()) in out
    assert json.loads(run(capsys, "show", model, "--json")[1])["classes"] == ["no", "yes"]


def test_measures_are_listed_and_explained(capsys):
    out = run(capsys, "measures")[1]
    assert all(re.search(rf"^{name}\b", out, re.MULTILINE) for name in measures.names())
    assert "--measure-arg beta=1.0" in run(capsys, "measures", "fbeta")[1]
    assert len(json.loads(run(capsys, "measures", "--json")[1])) == len(measures.names())
    code, _, err = run(capsys, "measures", "f_beta")
    assert code == 2
    assert "Did you mean 'fbeta'?" in err


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        (("-m", "fbeta", "--measure-arg", "beta=2"), "fbeta(beta=2)"),
        (("-m", "10*tp - 2*fp"), "10*tp - 2*fp"),
        (("-m", "precision_at_k", "--measure-arg", "k=0.2", "--positive", "no"), "precision_at_k(k=0.2)"),
        (("-m", "recall_at_precision", "--measure-arg", "floor=0.6"), "recall_at_precision(floor=0.6)"),
    ],
)
def test_measures_and_the_positive_class_can_be_chosen(options, measure, folder, capsys, tmp_path):
    path = tmp_path / "m.capo"
    code, _, err = run(capsys, "fit", folder / "train.csv", "-t", "y", *FAST, *options, "-o", path)
    assert code == 0, err
    model = capo.load(path)
    assert model.measure_.label == measure
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.pos_label_ == ("no" if "--positive" in options else "yes")


def test_all_outputs_are_about_the_positive_class(folder, capsys, tmp_path):
    path = tmp_path / "m.capo"
    code, out, _ = run(
        capsys, "fit", folder / "train.csv", "-t", "y", *FAST, "--positive", "no", "--json", "-o", path
    )
    assert code == 0
    assert json.loads(out)["pos_label"] == "no"
    found = predictions(run(capsys, "predict", path, folder / "test.csv")[1])
    assert ((found["label"] == "no") == (found["score"] > found["threshold"])).all()
    truth = pl.read_csv(folder / "test.csv")["y"].to_numpy()
    assert roc_auc_score(truth == "no", found["score"].to_numpy()) > 0.7
    result = json.loads(run(capsys, "evaluate", path, folder / "test.csv", "--all", "--json")[1])
    by_name = {each["name"]: each["value"] for each in result["measures"]}
    assert by_name["f1"] == pytest.approx(f1_score(truth, found["label"].to_numpy(), pos_label="no"))
    assert by_name["roc_auc"] == pytest.approx(roc_auc_score(truth == "no", found["score"].to_numpy()))
    assert "'yes', 'no' (the last is positive)" in run(capsys, "show", path)[1]


def test_weights_are_used(capsys, tmp_path):
    rows = table()
    heavy = rows.with_columns(w=pl.when(pl.col("y") == "yes").then(3).otherwise(1))
    heavy.write_csv(tmp_path / "w.csv")
    options = (*FAST, "--weight", "w", "-m", "accuracy", "-o", tmp_path / "m.capo")
    assert run(capsys, "fit", tmp_path / "w.csv", "-t", "y", *options)[0] == 0
    out = run(capsys, "evaluate", tmp_path / "m.capo", tmp_path / "w.csv", "--json")[1]
    model = capo.load(tmp_path / "m.capo")
    X, weight = rows.select("x", "z", "word"), heavy["w"].to_numpy()
    assert json.loads(out)["measures"][0]["value"] == pytest.approx(
        model.score(X, rows["y"].to_numpy(), weight)
    )


# --- other programs on both sides ---------------------------------------------------------------


def test_an_index_is_left_out_with_a_note(capsys, tmp_path):
    rows = table().drop("id")
    pd.DataFrame(rows.sort("y").to_dict()).to_csv(tmp_path / "sorted.csv")  # an index without a name
    code, out, err = run(capsys, "fit", tmp_path / "sorted.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    assert code == 0
    assert "'column_1' has a different whole number in each row, and it has no name: it is left out" in err
    assert "few rows" in out
    assert capo.load(tmp_path / "m.capo").feature_names_in_.tolist() == ["x", "z", "word"]
    rows.with_columns(income=pl.int_range(pl.len()) ** 2).write_csv(tmp_path / "income.csv")
    err = run(capsys, "fit", tmp_path / "income.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")[2]
    assert "'income' has a different whole number in each row: if it is an identifier, leave it out" in err
    assert "income" in capo.load(tmp_path / "m.capo").feature_names_in_


def test_a_positive_class_with_most_of_the_rows_is_questioned(capsys, tmp_path):
    rows = table().drop("id")
    labels = pl.col("y").replace({"yes": "a bad one", "no": "good"})
    rows.with_columns(labels).write_csv(tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    err = run(capsys, *fit)[2]
    assert "The positive class is 'good', the larger of the two labels, which 6" in err
    assert "Use --positive 'a bad one' if that is the class to find, or --positive good to keep it." in err
    assert "larger of the two labels" not in run(capsys, *fit, "--positive", "good")[2]


def test_copies_of_rows_are_reported_with_their_share(capsys, tmp_path):
    rows = table().drop("id")
    pl.concat([rows, rows[:60]]).write_csv(tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "-t", "y", *FAST, "-o", tmp_path / "m.capo")
    assert re.search(r"[2-6]\d% of the rows have an exact copy in another fold", run(capsys, *fit)[2])
    compare = ("compare", tmp_path / "t.csv", "-t", "y", *FAST)
    assert len(re.findall("exact copy in another fold", run(capsys, *compare)[2])) == 1
